"""Readings of coefficients, lowest power first, under numpy.polynomial.polyutils' names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quern import _core
from quern._absent import later_module
from quern._logic import common_type
from quern._operands import as_arrays
from quern._rearranging import atleast_1d, trim_zeros

if TYPE_CHECKING:
    from collections.abc import Iterable

    from quern._core import ndarray

__all__ = ["as_series", "trimcoef", "trimseq"]


def __getattr__(name: str) -> Any:
    raise later_module("polynomial.polyutils", name)


def trimseq(seq: ndarray) -> ndarray:
    """A view without trailing zeros, but with one element at least. It waits for the device.

    Raises: TypeError for a 0-d array; ValueError for several axes. Source: NumPy, `numpy.polynomial.polyutils.trimseq`.
    """
    if len(seq) < 2 and seq.ndim == 1:
        return seq
    if seq.ndim > 1:
        raise ValueError(f"coefficients have one axis, not the shape {seq.shape}")
    kept = trim_zeros(seq, "b")
    return kept if kept.size else seq[:1]


def as_series(alist: Iterable[Any], trim: bool = True) -> list[ndarray]:
    """Copies of one inexact dtype of 1-D coefficients, with `trim` without trailing zeros, which waits.

    Raises: ValueError for no coefficients, several axes, or bools.
    Source: NumPy, `numpy.polynomial.polyutils.as_series`.
    """
    arrays = [atleast_1d(a) for a in as_arrays(alist)]
    for a in arrays:
        if a.size == 0:
            raise ValueError("Coefficient array is empty")
        if a.ndim != 1:
            raise ValueError("Coefficient array is not 1-d")
    if trim:
        arrays = [trimseq(a) for a in arrays]
    try:
        dtype = common_type(*arrays)
    except TypeError as error:
        raise ValueError("Coefficient arrays have no common type") from error
    return [a.astype(dtype) for a in arrays]


def trimcoef(c: object, tol: float = 0) -> ndarray:
    """A copy without trailing elements that are at most `tol` away from 0, but with one element at least.

    It waits for the device. Raises: ValueError for a negative `tol`, and as `as_series`.
    Source: NumPy, `numpy.polynomial.polyutils.trimcoef`.
    """
    if tol < 0:
        raise ValueError("tol must be non-negative")
    (series,) = as_series([c])
    kept = trim_zeros(_core.ufuncs["absolute"](series) > tol, "b").size
    return series[:kept].copy() if kept else series[:1] * 0
