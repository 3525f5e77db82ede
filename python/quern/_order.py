"""Medians, percentiles and quantiles, under NumPy's names: values are selected by rank, nothing is sorted."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from quern._core import _quantile, _quantile_methods, ndarray
from quern._creation import asarray, full
from quern._elementwise import where, written
from quern._indexing import take_along_axis
from quern._joining import concatenate
from quern._manipulation import moveaxis
from quern._operands import as_array, host_array, normalize_axis_tuple, ufuncs
from quern._reductions import count_nonzero, mean, nanmean
from quern._sorting import partition, sort
from quern._weighted import weighted_quantiles

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Axis = int | Sequence[int] | None
    Places = float | npt.ArrayLike | ndarray

__all__ = [
    "median",
    "nanmedian",
    "nanpercentile",
    "nanquantile",
    "percentile",
    "quantile",
]


def median(
    a: Any,
    axis: Axis = None,
    out: ndarray | None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> ndarray:
    """The middle of the sorted values over all or some axes; of an even number the mean of the two in the middle.

    float64 for integers and bools, else the dtype of `a`. NaN where there is one, and for no element. Nothing is ever
    overwritten.
    Shapes and errors: as `quantile`. Source: numpy.median.
    """
    return _median(a, axis, out, keepdims, False)


def nanmedian(
    a: Any,
    axis: Axis = None,
    out: ndarray | None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> ndarray:
    """`median` of what is not NaN; NaN where nothing else is. Source: numpy.nanmedian."""
    return _median(a, axis, out, keepdims, True)


def quantile(
    a: Any,
    q: Places,
    axis: Axis = None,
    out: ndarray | None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ndarray | None = None,
) -> ndarray:
    """The values below which the parts `q` (from 0 to 1) of the elements lie, over all or some axes.

    `q` is a number, or numbers of NumPy or of quern, which the host reads. All of NumPy's methods; those that go
    between two elements give float64 for integers, for floats the dtype of `a` when `q` is a Python number and what
    both promote to when it is an array, as in NumPy. Places, and values between elements, are computed in float64. One
    NaN makes the result NaN; an infinite neighbour makes it infinite, where NumPy gives NaN.
    Nothing is sorted: a GPU reads every element once for each digit of a key, three times for float32, with eight `q`
    together; a CPU divides at pivots, of long rows what lies between keys of a sample. What does not lie in one piece
    along the axes is copied first; nothing is ever overwritten.
    Shapes: the axes of `q`, then those that are left, with extent 1 for each that is gone under `keepdims`.
    Raises: numpy.exceptions.AxisError; ValueError for `q` out of range, an unknown method, a repeated axis or an `out`
    of another shape; TypeError for complex numbers, for bools between elements, and for an `out` that the result
    cannot be cast to by the rule 'same_kind'; IndexError for no element.
    With `weights` (method 'inverted_cdf' alone, of the shape of `a` or of its extents along `axis`) the least element
    at which the sum of weights so far reaches `q` of all: as many readings as an element has bits. Raises ValueError
    for negative, NaN, infinite and all-zero ones, and other methods and shapes; TypeError where an axis must be given.
    Source: numpy.quantile.
    """
    return _quantiles(a, q, axis, out, method, keepdims, weights, "Quantiles", False)


def nanquantile(
    a: Any,
    q: Places,
    axis: Axis = None,
    out: ndarray | None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ndarray | None = None,
) -> ndarray:
    """`quantile` of what is not NaN; NaN where nothing else is. Source: numpy.nanquantile."""
    return _quantiles(a, q, axis, out, method, keepdims, weights, "Quantiles", True)


def percentile(
    a: Any,
    q: Places,
    axis: Axis = None,
    out: ndarray | None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ndarray | None = None,
) -> ndarray:
    """`quantile` for `q` from 0 to 100. Source: numpy.percentile."""
    return _quantiles(a, q, axis, out, method, keepdims, weights, "Percentiles", False)


def nanpercentile(
    a: Any,
    q: Places,
    axis: Axis = None,
    out: ndarray | None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ndarray | None = None,
) -> ndarray:
    """`percentile` of what is not NaN; NaN where nothing else is. Source: numpy.nanpercentile."""
    return _quantiles(a, q, axis, out, method, keepdims, weights, "Percentiles", True)


def _tuple_of(axis: Axis) -> int | tuple[int, ...] | None:
    return tuple(axis) if isinstance(axis, (list, tuple)) else axis  # type: ignore[return-value]


def _median(
    given: Any, along: Axis, out: ndarray | None, keepdims: bool, skip_nan: bool
) -> ndarray:
    a, axis = as_array(given), _tuple_of(along)
    axes = tuple(range(a.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if a.size == 0 and any(a.shape[d] == 0 for d in axes):
        return nanmean(a, axis, out=out, keepdims=keepdims)
    if a.dtype.kind == "c":
        return _complex_median(a, axes, out, keepdims, skip_nan)
    dtype = np.dtype("f8") if a.dtype.kind in "biu" else a.dtype
    half = full((), 0.5, device=a.device)
    found: ndarray = _quantile(a, half, axis, "median", dtype, keepdims, out, skip_nan)
    return found


def _complex_median(
    a: ndarray, axes: tuple[int, ...], out: ndarray | None, keepdims: bool, skip_nan: bool
) -> ndarray:
    """The mean of the two in the middle as a sort orders them, by real and then by imaginary parts, NaN last."""
    gone = normalize_axis_tuple(axes, a.ndim)
    rows = moveaxis(a, gone, range(-len(gone), 0))
    lines = rows.shape[: a.ndim - len(gone)]
    count = math.prod(rows.shape[len(lines) :])
    rows = rows.reshape((*lines, count))
    if skip_nan:
        rows = sort(rows)
        lost = ufuncs["isnan"](rows)
        counts = count - count_nonzero(lost, -1, keepdims=True)
        low, high = ((ufuncs["maximum"](counts - k, 0)) // 2 for k in (1, 0))
        pair = concatenate([take_along_axis(rows, places, -1) for places in (low, high)], -1)
        found = where(lost[..., 0], rows[..., -1], mean(pair, -1))
    else:
        first, second = (count - 1) // 2, count // 2
        rows = partition(rows, (first, second, count - 1))
        last = rows[..., -1]
        found = where(ufuncs["isnan"](last), last, mean(rows[..., first : second + 1], -1))
    if keepdims:
        found = found.reshape(tuple(1 if k in gone else n for k, n in enumerate(a.shape)))
    return found if out is None else written(found, out)


def _quantiles(
    values: Any,
    q: Places,
    along: Axis,
    out: ndarray | None,
    method: str,
    keepdims: bool,
    weights: ndarray | None,
    what: str,
    skip_nan: bool,
) -> ndarray:
    a, axis = as_array(values), _tuple_of(along)
    if a.dtype.kind == "c":
        raise TypeError("a must be an array of real numbers")
    weak = type(q) in (int, float)
    given: npt.NDArray[Any] = host_array(q)
    if given.dtype.kind not in "biuf":
        raise TypeError(f"q must be real numbers, not {given.dtype}")
    parts = given if what == "Quantiles" else np.true_divide(given, 100, out=...)
    if not ((parts >= 0) & (parts <= 1)).all():  # NaN is neither
        raise ValueError(f"{what} must be in the range [0, {1 if what == 'Quantiles' else 100}]")
    if weights is not None:
        if method != "inverted_cdf":
            raise ValueError(f"Only method 'inverted_cdf' supports weights. Got: {method}.")
        if skip_nan and a.size == 0:
            return nanmean(a, axis, out=out, keepdims=keepdims)
        return weighted_quantiles(a, parts, axis, out, keepdims, weights, skip_nan)
    if skip_nan and a.size == 0:
        return nanmean(a, axis, out=out, keepdims=keepdims)
    if parts.ndim > 2:
        raise ValueError("q must be a scalar or 1d")
    if method not in _quantile_methods:
        raise ValueError(
            f"{method!r} is not a valid method. Use one of: {', '.join(_quantile_methods)}"
        )
    dtype = a.dtype
    if not _quantile_methods[method] and not (method == "linear" and parts.dtype.kind in "biu"):
        if a.dtype.kind == "b":
            raise TypeError(
                "numpy boolean subtract, the `-` operator, is not supported: between bools there is "
                "nothing; use a method that takes an element, like 'lower' or 'inverted_cdf'"
            )
        if not weak:
            dtype = np.result_type(a.dtype, parts.dtype if parts.dtype.kind == "f" else "f8")
        elif a.dtype.kind in "iu":
            dtype = np.dtype("f8")
    places = (
        full((), float(parts), device=a.device)  # a fill, where an upload would wait
        if parts.ndim == 0
        else asarray(parts.astype("f8"), device=a.device)
    )
    found: ndarray = _quantile(a, places, axis, method, dtype, keepdims, out, skip_nan)
    return found
