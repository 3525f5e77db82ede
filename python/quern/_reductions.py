"""Reductions, under NumPy's names and with its semantics. Each is one kernel, or two where blocks share an output."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np

from quern import _core
from quern._averages import spread_about
from quern._core import _allow_atomic_joins, ndarray
from quern._operands import as_array

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from quern._core import Number

    Axis = int | tuple[int, ...] | None

__all__ = [
    "all",
    "amax",
    "amin",
    "any",
    "argmax",
    "argmin",
    "atomic_reductions",
    "count_nonzero",
    "max",
    "mean",
    "min",
    "nanargmax",
    "nanargmin",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
    "prod",
    "ptp",
    "std",
    "sum",
    "var",
]


_sum, _prod, _max, _min = ndarray.sum, ndarray.prod, ndarray.max, ndarray.min
_any, _all, _argmax, _argmin = ndarray.any, ndarray.all, ndarray.argmax, ndarray.argmin
_ptp, _mean = ndarray.ptp, ndarray.mean


def _reduce(name: str, a: object, *options: Any) -> ndarray:
    return _core.reduce(name, as_array(a), *options)


@contextlib.contextmanager
def atomic_reductions(allowed: bool = True) -> Iterator[None]:
    """Within it, reductions of this thread may join the results of blocks by atomic operations.

    Concerns `sum`, `nansum`, `count_nonzero`, `max`, `min`, `any` and `all` of real numbers on a GPU where several
    blocks share a result. The last of these blocks then has one value to fetch instead of every block's. Sums of floats
    may differ in their last bits from one call to the next; all else is the same. `QUERN_SHOW=launch` tells which
    plans make use of it. By default results are the same bits each time.
    """
    before = _allow_atomic_joins(allowed)
    try:
        yield
    finally:
        _allow_atomic_joins(before)


def sum(
    a: Any,
    axis: Axis = None,
    dtype: npt.DTypeLike | None = None,
    out: ndarray | None = None,
    keepdims: bool = False,
    initial: Number | None = None,
    where: ndarray | bool = True,
) -> ndarray:
    """Sum over all or some axes.

    Integers of less than 64 bits and bools are summed as 64-bit integers; float16 and bfloat16 in float32. Sums of
    floats are pairwise in large steps, in a fixed order: the same call gives the same bits each time.
    Shapes: the axes that are left, with extent 1 for each that is gone under `keepdims`; `where` broadcasts with `a`.
    Raises: numpy.exceptions.AxisError; ValueError for a repeated axis or an `out` of another shape; TypeError for an
    `out` that the result cannot be cast to by the rule 'same_kind'.
    Source: numpy.sum.
    """
    return _sum(as_array(a), axis, dtype, out, keepdims, initial, where)


def prod(
    a: Any,
    axis: Axis = None,
    dtype: npt.DTypeLike | None = None,
    out: ndarray | None = None,
    keepdims: bool = False,
    initial: Number | None = None,
    where: ndarray | bool = True,
) -> ndarray:
    """Product over all or some axes; dtypes, shapes and errors as in `sum`. Source: numpy.prod."""
    return _prod(as_array(a), axis, dtype, out, keepdims, initial, where)


def max(
    a: Any,
    axis: Axis = None,
    out: ndarray | None = None,
    keepdims: bool = False,
    initial: Number | None = None,
    where: ndarray | bool = True,
) -> ndarray:
    """Largest element over all or some axes; NaN where there is one.

    Raises: as `sum`; ValueError for an empty axis without `initial`, and for a mask `where` without it.
    Source: numpy.max.
    """
    return _max(as_array(a), axis, out, keepdims, initial, where)


def min(
    a: Any,
    axis: Axis = None,
    out: ndarray | None = None,
    keepdims: bool = False,
    initial: Number | None = None,
    where: ndarray | bool = True,
) -> ndarray:
    """Smallest element over all or some axes, as `max`. Source: numpy.min."""
    return _min(as_array(a), axis, out, keepdims, initial, where)


amax, amin = max, min


def ptp(
    a: ndarray, axis: Axis = None, out: ndarray | None = None, keepdims: bool = False
) -> ndarray:
    """Largest less smallest element, read in one pass. Raises: as `max`; TypeError for bool. Source: numpy.ptp."""
    return _ptp(as_array(a), axis, out, keepdims)


def any(
    a: Any,
    axis: Axis = None,
    out: ndarray | None = None,
    keepdims: bool = False,
    *,
    where: ndarray | bool = True,
) -> ndarray:
    """Is any element true? An array of bool; NaN is true. Source: numpy.any."""
    return _any(as_array(a), axis, out, keepdims, where=where)


def all(
    a: Any,
    axis: Axis = None,
    out: ndarray | None = None,
    keepdims: bool = False,
    *,
    where: ndarray | bool = True,
) -> ndarray:
    """Is every element true? An array of bool. Source: numpy.all."""
    return _all(as_array(a), axis, out, keepdims, where=where)


def argmax(
    a: Any,
    axis: int | None = None,
    out: ndarray | None = None,
    *,
    keepdims: bool = False,
    dtype: npt.DTypeLike | None = None,
) -> ndarray:
    """Position of the largest element, the first of equals, or of the first NaN: int64; flat for `axis=None`.

    `dtype`, which CuPy has, casts what was found. Raises: ValueError for an empty axis. Source: numpy.argmax.
    """
    return _argmax(as_array(a), axis, out, keepdims=keepdims, dtype=dtype)


def argmin(
    a: Any,
    axis: int | None = None,
    out: ndarray | None = None,
    *,
    keepdims: bool = False,
    dtype: npt.DTypeLike | None = None,
) -> ndarray:
    """Position of the smallest element, as `argmax`. Source: numpy.argmin."""
    return _argmin(as_array(a), axis, out, keepdims=keepdims, dtype=dtype)


def count_nonzero(a: ndarray, axis: Axis = None, *, keepdims: bool = False) -> ndarray:
    """Number of elements that are not zero: int64. Source: numpy.count_nonzero."""
    return _reduce("count_nonzero", a, axis, None, None, keepdims)


def mean(
    a: Any,
    axis: Axis = None,
    dtype: npt.DTypeLike | None = None,
    out: ndarray | None = None,
    keepdims: bool = False,
    *,
    where: ndarray | bool = True,
) -> ndarray:
    """Arithmetic mean; float64 for integers, else the dtype of `a`. NaN for no element. Source: numpy.mean."""
    return _mean(as_array(a), axis, dtype, out, keepdims, where=where)


def _spread(
    name: str,
    a: object,
    axis: Axis,
    dtype: npt.DTypeLike | None,
    out: ndarray | None,
    ddof: float,
    keepdims: bool,
    where: ndarray | bool,
    correction: float | None,
    mean: Any,
) -> ndarray:
    if correction is not None:
        if ddof != 0:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        ddof = correction
    if mean is None:
        return _reduce(name, a, axis, dtype, out, keepdims, None, where, ddof)
    return spread_about(name, a, mean, axis, dtype, out, ddof, keepdims, where)


def var(
    a: Any,
    axis: Axis = None,
    dtype: npt.DTypeLike | None = None,
    out: ndarray | None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: ndarray | bool = True,
    correction: float | None = None,
    mean: Any = None,
) -> ndarray:
    """Variance, in one pass: differences from a near value are summed, and parts combined by Chan's formula.

    The divisor is the number of elements less `ddof` (or `correction`). With `mean`, which broadcasts with `a`, the
    differences are those from it. Real for complex arrays. Source: numpy.var.
    """
    return _spread("var", a, axis, dtype, out, ddof, keepdims, where, correction, mean)


def std(
    a: Any,
    axis: Axis = None,
    dtype: npt.DTypeLike | None = None,
    out: ndarray | None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: ndarray | bool = True,
    correction: float | None = None,
    mean: Any = None,
) -> ndarray:
    """Standard deviation: the square root of `var`. Source: numpy.std."""
    return _spread("std", a, axis, dtype, out, ddof, keepdims, where, correction, mean)


def nansum(
    a: Any,
    axis: Axis = None,
    dtype: npt.DTypeLike | None = None,
    out: ndarray | None = None,
    keepdims: bool = False,
    initial: Number | None = None,
    where: ndarray | bool = True,
) -> ndarray:
    """`sum` with NaN as zero. Source: numpy.nansum."""
    return _reduce("nansum", a, axis, dtype, out, keepdims, initial, where)


def nanprod(
    a: Any,
    axis: Axis = None,
    dtype: npt.DTypeLike | None = None,
    out: ndarray | None = None,
    keepdims: bool = False,
    initial: Number | None = None,
    where: ndarray | bool = True,
) -> ndarray:
    """`prod` with NaN as one. Source: numpy.nanprod."""
    return _reduce("nanprod", a, axis, dtype, out, keepdims, initial, where)


def nanmax(
    a: Any,
    axis: Axis = None,
    out: ndarray | None = None,
    keepdims: bool = False,
    initial: Number | None = None,
    where: ndarray | bool = True,
) -> ndarray:
    """`max` of what is not NaN; NaN where nothing else is, or `initial`. Source: numpy.nanmax."""
    return _reduce("fmax", a, axis, None, out, keepdims, initial, where)


def nanmin(
    a: Any,
    axis: Axis = None,
    out: ndarray | None = None,
    keepdims: bool = False,
    initial: Number | None = None,
    where: ndarray | bool = True,
) -> ndarray:
    """`min` of what is not NaN; NaN where nothing else is, or `initial`. Source: numpy.nanmin."""
    return _reduce("fmin", a, axis, None, out, keepdims, initial, where)


def nanargmax(
    a: ndarray, axis: int | None = None, out: ndarray | None = None, *, keepdims: bool = False
) -> ndarray:
    """`argmax` of what is not NaN; -1 where nothing else is (NumPy raises, which would wait for the device).

    Source: numpy.nanargmax.
    """
    return _reduce("nanargmax", a, axis, None, out, keepdims)


def nanargmin(
    a: ndarray, axis: int | None = None, out: ndarray | None = None, *, keepdims: bool = False
) -> ndarray:
    """`argmin` of what is not NaN; -1 where nothing else is. Source: numpy.nanargmin."""
    return _reduce("nanargmin", a, axis, None, out, keepdims)


def _check_inexact(a: ndarray, dtype: npt.DTypeLike | None, out: ndarray | None) -> None:
    if a.dtype.kind in "biu":
        return
    for name, given in (("dtype", dtype), ("out", None if out is None else out.dtype)):
        if given is not None and np.dtype(given).kind in "biu":
            raise TypeError(f"If a is inexact, then {name} must be inexact, not {np.dtype(given)}")


def nanmean(
    a: Any,
    axis: Axis = None,
    dtype: npt.DTypeLike | None = None,
    out: ndarray | None = None,
    keepdims: bool = False,
    *,
    where: ndarray | bool = True,
) -> ndarray:
    """`mean` of what is not NaN; NaN where nothing else is.

    Raises: TypeError where `a` is inexact and `dtype` or that of `out` is not. Source: numpy.nanmean.
    """
    a = as_array(a)
    _check_inexact(a, dtype, out)
    return _reduce("nanmean", a, axis, dtype, out, keepdims, None, where)


def nanvar(
    a: Any,
    axis: Axis = None,
    dtype: npt.DTypeLike | None = None,
    out: ndarray | None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: ndarray | bool = True,
    correction: float | None = None,
    mean: Any = None,
) -> ndarray:
    """`var` of what is not NaN; NaN where no more than `ddof` of it is there. Source: numpy.nanvar."""
    a = as_array(a)
    _check_inexact(a, dtype, out)
    return _spread("nanvar", a, axis, dtype, out, ddof, keepdims, where, correction, mean)


def nanstd(
    a: Any,
    axis: Axis = None,
    dtype: npt.DTypeLike | None = None,
    out: ndarray | None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: ndarray | bool = True,
    correction: float | None = None,
    mean: Any = None,
) -> ndarray:
    """`std` of what is not NaN; NaN where no more than `ddof` of it is there. Source: numpy.nanstd."""
    a = as_array(a)
    _check_inexact(a, dtype, out)
    return _spread("nanstd", a, axis, dtype, out, ddof, keepdims, where, correction, mean)
