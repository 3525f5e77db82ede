"""Polynomials by their coefficients, lowest power first, under numpy.polynomial.polynomial's names."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from quern import _reductions
from quern._absent import later_module
from quern._creation import asarray, empty, zeros
from quern._manipulation import moveaxis
from quern._operands import operands
from quern._polynomials import horner
from quern._rearranging import atleast_1d
from quern._scans import cumprod
from quern.polynomial.polyutils import as_series

if TYPE_CHECKING:
    from quern._core import ndarray

__all__ = ["polycompanion", "polyroots", "polyval", "polyvalfromroots", "polyvander"]


def __getattr__(name: str) -> Any:
    raise later_module("polynomial.polynomial", name)


def polyvander(x: object, deg: int) -> ndarray:
    """The powers of `x` from 0 to `deg`, along a new last axis; integers as float64.

    Raises: ValueError for a negative `deg`, TypeError for one that is no integer.
    Source: NumPy, `numpy.polynomial.polynomial.polyvander`.
    """
    try:
        degree = operator.index(deg)
    except TypeError as error:
        raise TypeError(f"deg must be an integer, received {deg}") from error
    if degree < 0:
        raise ValueError("deg must be non-negative")
    values = atleast_1d(operands(x)[0]) + 0.0
    made = empty((degree + 1, *values.shape), values.dtype, device=values.device)
    made[0] = values * 0 + 1
    made[1:] = values
    if degree > 1:
        cumprod(made[1:], 0, out=made[1:])
    moved: ndarray = moveaxis(made, 0, -1)
    return moved


def polycompanion(c: object) -> ndarray:
    """The companion matrix of a series of degree n: (n, n). It waits, for trailing zeros are left out.

    Raises: ValueError for a degree of 0. Source: NumPy, `numpy.polynomial.polynomial.polycompanion`.
    """
    (series,) = as_series([c])
    if len(series) < 2:
        raise ValueError("Series must have maximum degree of at least 1.")
    n = len(series) - 1
    made = zeros((n, n), series.dtype, device=series.device)
    made.reshape(-1)[n :: n + 1] = 1
    made[:, -1] -= series[:-1] / series[-1]
    return made


def polyroots(c: object) -> ndarray:
    """Where a series is 0, in order, which the host computes with NumPy's LAPACK.

    Source: NumPy, `numpy.polynomial.polynomial.polyroots`.
    """
    (series,) = as_series([c])
    found = np.polynomial.polynomial.polyroots(series.get())
    return asarray(found, device=series.device)


def polyval(x: object, c: object, tensor: bool = True) -> ndarray:
    """The values of a series at `x`, by Horner's rule, in one launch.

    Shapes: with `tensor` that of `c` but its first axis, then that of `x`; without, both broadcast.
    Source: NumPy, `numpy.polynomial.polynomial.polyval`.
    """
    places, series = operands(x, c)
    series = atleast_1d(series)
    if series.dtype.kind in "?biu":
        series = series.astype(np.float64)
    if isinstance(x, (bool, int, float, complex)) and not isinstance(x, np.generic):
        places = places.astype(np.result_type(series.dtype, x))
    if tensor:
        series = series.reshape(series.shape + (1,) * places.ndim)
    return horner(series[::-1], places)


def polyvalfromroots(x: object, r: object, tensor: bool = True) -> ndarray:
    """The values at `x` of polynomials with the roots along the first axis of `r`, the highest coefficient being 1.

    Shapes: as `polyval`. Raises: ValueError where `r` has not more axes than `x` without `tensor`.
    Source: NumPy, `numpy.polynomial.polynomial.polyvalfromroots`.
    """
    places, zeros_at = operands(x, r)
    zeros_at = atleast_1d(zeros_at)
    if zeros_at.dtype.kind in "?biu":
        zeros_at = zeros_at.astype(np.float64)
    if tensor:
        zeros_at = zeros_at.reshape(zeros_at.shape + (1,) * places.ndim)
    elif places.ndim >= zeros_at.ndim:
        raise ValueError("x.ndim must be < r.ndim when tensor == False")
    return _reductions.prod(places - zeros_at, axis=0)
