"""Counts by value and by bin, under NumPy's names: counts are exact, and sums of weights the same bits each time."""

from __future__ import annotations

import operator
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from quern import _core
from quern._bin_widths import WIDTHS
from quern._core import ndarray
from quern._creation import asarray, ascontiguousarray, empty, linspace, zeros
from quern._sorting import searchsorted

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Bins = int | str | npt.ArrayLike | ndarray
    Range = tuple[float, float] | None

# Of a dtype: the distance of 1 from the next number, the least number before those lie closer, and the greatest.
ROUNDING = {
    np.dtype(letter): tuple(float(getattr(np.finfo(letter), limit)) for limit in ("eps", "tiny", "max"))
    for letter in "efd"
}

__all__ = [
    "bincount",
    "histogram",
    "histogram2d",
    "histogram_bin_edges",
    "histogramdd",
]


def bincount(x: Any, weights: ndarray | None = None, minlength: int = 0) -> ndarray:
    """How often each integer from 0 on is in `x`, as int64; with `weights` their sums, as float64.

    The largest value decides the size: one synchronisation. Shapes: `x` and `weights` 1-D.
    Raises: ValueError for negative values, more axes, weights of another length; TypeError for what is not integer, and
    complex weights. Source: numpy.bincount.
    """
    if minlength is None:
        raise TypeError("use 0 instead of None for minlength")
    minlength = operator.index(minlength)
    if minlength < 0:
        raise ValueError("'minlength' must not be negative")
    x = asarray(x, np.int64 if isinstance(x, (list, tuple)) and not x else None)
    if x.ndim != 1:
        raise ValueError(
            f"object {'too deep' if x.ndim else 'of too small depth'} for desired array"
        )
    if x.dtype.kind not in "biu":
        raise _cannot_cast(x.dtype, "int64")
    if weights is not None:
        weights = _weights(weights, x)
        if weights.shape != x.shape:
            raise ValueError("The weights and list don't have the same length.")
    bins = minlength
    if x.size == 0:
        weights = None  # as NumPy, which returns integers then
    else:
        most = int(x.view(f"u{x.dtype.itemsize}").max())  # beyond all others if one is negative
        if x.dtype.kind == "i" and most > np.iinfo(x.dtype).max:
            raise ValueError("'list' argument must have no negative elements")
        bins = max(bins, most + 1)
    return _core._count(ascontiguousarray(x), bins, None, 0.0, weights)


def histogram_bin_edges(
    a: ndarray, bins: Bins = 10, range: Range = None, weights: ndarray | None = None
) -> ndarray:
    """The edges that `histogram` would use. Source: numpy.histogram_bin_edges."""
    a, weights = _sample(a, weights)
    return _edges(a, bins, range, weights)[0]


def histogram(
    a: ndarray,
    bins: Bins = 10,
    range: Range = None,
    density: bool | None = None,
    weights: ndarray | None = None,
) -> tuple[ndarray, ndarray]:
    """How many elements lie in each bin, as int64 or the dtype of `weights`, and the edges of the bins.

    A bin holds its lower edge, the last one both; what is outside, NaN too, is left out. `bins` is a number of bins of
    one width, the rising edges, or the name of one of NumPy's rules. Without `range` the least and greatest element
    decide: one synchronisation; another checks edges that are given.
    Raises: ValueError for a range that is not finite or not rising, edges that do not rise, no bins, weights of another
    shape; TypeError for bins of another type, complex numbers, and a rule's name with weights.
    Source: numpy.histogram.
    """
    a, weights = _sample(a, weights)
    edges, distance = _edges(a, bins, range, weights)
    count = edges.size - 1
    scale = count / distance if distance else 0.0
    common = a.dtype if edges.dtype == a.dtype else np.result_type(a.dtype, edges.dtype)
    bounds = ascontiguousarray(edges, common)
    if count < 1:
        found = zeros(0, "i8" if weights is None else weights.dtype, device=a.device)
    elif weights is None:
        found = _core._count(a, count, bounds, scale)
    elif weights.dtype.kind == "c":
        pairs = weights.astype("D").view("f8").reshape(weights.size, 2)
        parts = [
            _core._count(a, count, bounds, scale, ascontiguousarray(pairs[:, part]))
            for part in (0, 1)
        ]
        found = (parts[0] + 1j * parts[1]).astype(weights.dtype)
    else:
        sums = _core._count(a, count, bounds, scale, ascontiguousarray(weights, "f8"))
        found = sums.astype(weights.dtype)
    if density:
        widths = (edges[1:] - edges[:-1]).astype("f8")
        return found / widths / found.sum(), edges
    return found, edges


def histogramdd(
    sample: ndarray | Sequence[ndarray],
    bins: int | Sequence[Any] = 10,
    range: Sequence[Range] | None = None,
    density: bool | None = None,
    weights: ndarray | None = None,
) -> tuple[ndarray, list[ndarray]]:
    """How many points lie in each cell of a grid, as float64, and the edges along each axis.

    `sample` is (points, axes), or an array of coordinates for each axis. Bins as `histogram`'s, one number for all axes
    or one entry for each. Source: numpy.histogramdd.
    """
    columns = _columns(sample)
    ndim = len(columns)
    try:
        given = list(bins)  # type: ignore[arg-type]
    except TypeError:
        given = ndim * [bins]
    if len(given) != ndim:
        raise ValueError("The dimension of bins must be equal to the dimension of the sample x.")
    ranges = (None,) * ndim if range is None else range
    if len(ranges) != ndim:
        raise ValueError("range argument must have one entry per dimension")
    edges = [
        _axis_edges(x, b, r, k)
        for k, (x, b, r) in enumerate(zip(columns, given, ranges, strict=True))
    ]
    shape = [e.size + 1 for e in edges]
    cell: Any = 0
    for x, e, extent in zip(columns, edges, shape, strict=True):
        at = searchsorted(e, x, "right") - (x == e[-1])  # the last bin has its upper edge too
        cell = cell * extent + at
    if weights is not None:
        weights = _weights(weights, columns[0])
        if weights.shape != columns[0].shape:
            raise ValueError("The weights and list don't have the same length.")
    counts = _core._count(ascontiguousarray(cell), int(np.prod(shape)), None, 0.0, weights)
    found = counts.reshape(shape).astype("f8")[ndim * (slice(1, -1),)]
    if density:
        total = found.sum()
        for k, e in enumerate(edges):
            widths = [1] * ndim
            widths[k] = e.size - 1
            found = found / (e[1:] - e[:-1]).reshape(widths)
        found = found / total
    return ascontiguousarray(found), edges


def histogram2d(
    x: ndarray,
    y: ndarray,
    bins: Any = 10,
    range: Sequence[Range] | None = None,
    density: bool | None = None,
    weights: ndarray | None = None,
) -> tuple[ndarray, ndarray, ndarray]:
    """`histogramdd` of two coordinates: the counts and both axes' edges; one array of edges serves both.

    Raises: ValueError if `x` and `y` differ in length; otherwise as `histogramdd`. Source: numpy.histogram2d.
    """
    if len(x) != len(y):
        raise ValueError("x and y must have the same length.")
    try:
        n = len(bins)
    except TypeError:
        n = 1
    if n not in (1, 2):
        bins = [bins, bins]
    found, (first, second) = histogramdd([x, y], bins, range, density, weights)
    return found, first, second


def _cannot_cast(dtype: np.dtype[Any], to: str) -> TypeError:
    return TypeError(
        f"Cannot cast array data from dtype('{dtype}') to dtype('{to}') according to the rule 'safe'"
    )


def _weights(weights: Any, like: ndarray) -> ndarray:
    given = asarray(weights, device=like.device)
    if given.dtype.kind == "c":
        raise _cannot_cast(given.dtype, "float64")
    return asarray(given, "f8", order="C")


def _ends(a: ndarray) -> Any:
    """The least and the greatest element, in one synchronisation."""
    both = empty(2, a.dtype, device=a.device)
    a.min(out=both[0])
    a.max(out=both[1])
    return both.get()


def _sample(a: Any, weights: Any) -> tuple[ndarray, ndarray | None]:
    a = asarray(a)
    if a.dtype.kind == "b":
        warnings.warn(
            f"Converting input from {a.dtype} to {np.dtype('u1')} for compatibility.",
            RuntimeWarning,
            stacklevel=3,
        )
        a = a.astype("u1")
    if a.dtype.kind == "c":
        raise TypeError("a must hold real numbers: complex ones lie in no bin")
    if weights is not None:
        weights = asarray(weights, device=a.device)
        if weights.shape != a.shape:
            raise ValueError("weights should have the same shape as a.")
        weights = weights.ravel()
    return ascontiguousarray(a.ravel()), weights


def _outer(a: ndarray, range: Range) -> tuple[Any, Any]:
    first: Any
    last: Any
    if range is not None:
        first, last = range
        if first > last:
            raise ValueError("max must be larger than min in range parameter.")
        if not (np.isfinite(first) and np.isfinite(last)):
            raise ValueError(f"supplied range of [{first}, {last}] is not finite")
    elif a.size == 0:
        first, last = 0, 1
    else:
        first, last = _ends(a)
        if not (np.isfinite(first) and np.isfinite(last)):
            raise ValueError(f"autodetected range of [{first}, {last}] is not finite")
    if first == last:
        first, last = first - 0.5, last + 0.5
    return first, last


def _edges(
    a: ndarray, bins: Any, range: Range, weights: ndarray | None
) -> tuple[ndarray, float | None]:
    """The edges, and how far the last is from the first if the bins are of one width."""
    if isinstance(bins, str):
        if bins not in WIDTHS:
            raise ValueError(f"{bins!r} is not a valid estimator for `bins`")
        if weights is not None:
            raise TypeError(
                "Automated estimation of the number of bins is not supported for weighted data"
            )
        first, last = _outer(a, range)
        if range is not None:
            a = a[(a >= first) & (a <= last)]
        count = _bins_by_rule(a, bins, (float(first), float(last)))
    elif type(bins) is int or not np.iterable(bins):
        try:
            count = operator.index(bins)
        except TypeError:
            raise TypeError("`bins` must be an integer, a string, or an array") from None
        if count < 1:
            raise ValueError("`bins` must be positive, when an integer")
        first, last = _outer(a, range)
    else:
        edges = asarray(bins, device=a.device)
        if edges.ndim != 1:
            raise ValueError("`bins` must be 1d, when an array")
        if bool((edges[:-1] > edges[1:]).any()):
            raise ValueError("`bins` must increase monotonically, when an array")
        return edges, None
    dtype = np.result_type(first, last, a.dtype)
    if dtype.kind in "iu":
        dtype = np.result_type(dtype, float)
    ends = _ends_of_rising(first, last, count, dtype)
    if ends is not None:
        low, high = ends
        edges = linspace(low, high, count + 1, dtype=dtype, device=a.device)
        return edges, float(dtype.type(high)) - float(dtype.type(low))
    made = np.linspace(first, last, count + 1, endpoint=True, dtype=dtype)
    if np.any(made[:-1] >= made[1:]):
        raise ValueError(f"Too many bins for data range. Cannot create {count} finite-sized bins.")
    return asarray(made, device=a.device), float(made[-1]) - float(made[0])


def _ends_of_rising(
    first: Any, last: Any, count: int, dtype: np.dtype[Any]
) -> tuple[float, float] | None:
    """The ends, if nobody need look at the edges; of short floats, in which NumPy computes them, somebody must."""
    low, high = (
        end.item() if isinstance(end, np.integer | np.float64) else end for end in (first, last)
    )
    if type(low) not in (float, int) or type(high) not in (float, int) or dtype not in ROUNDING:
        return None
    step, least, most = ROUNDING[dtype]
    size: float = max(abs(low), abs(high), least)
    if size <= most and 4 * step * size * count < high - low <= most:
        return float(low), float(high)
    return None


def _bins_by_rule(a: ndarray, rule: str, outer: tuple[float, float]) -> int:
    if a.size == 0:
        return 1
    least, most = _ends(a)
    width = WIDTHS[rule](a, float(most) - float(least), outer)
    if width and a.dtype.kind in "iu" and width < 1:
        width = 1.0
    return int(np.ceil((outer[1] - outer[0]) / width)) if width else 1


def _columns(sample: Any) -> list[ndarray]:
    if isinstance(sample, np.ndarray):
        sample = asarray(sample)
    if isinstance(sample, ndarray):
        if sample.ndim == 1:
            return [sample]
        if sample.ndim != 2:
            raise ValueError("sample must be (points, axes), or an array for each axis")
        return [ascontiguousarray(sample[:, k]) for k in range(sample.shape[1])]
    columns = [ascontiguousarray(x) for x in sample]
    if any(x.shape != columns[0].shape for x in columns):
        raise ValueError("sample must have as many values along each axis")
    return columns


def _axis_edges(x: ndarray, bins: Any, range: Range, k: int) -> ndarray:
    if not np.iterable(bins):
        if bins < 1:
            raise ValueError(f"`bins[{k}]` must be positive, when an integer")
        first, last = _outer(x, range)
        try:
            made = np.linspace(first, last, bins + 1)
        except TypeError as error:
            raise TypeError(f"`bins[{k}]` must be an integer, when a scalar") from error
        return asarray(made, device=x.device)
    edges = asarray(bins, device=x.device)
    if edges.ndim != 1:
        raise ValueError(f"`bins[{k}]` must be a scalar or 1d array")
    if bool((edges[:-1] > edges[1:]).any()):
        raise ValueError(f"`bins[{k}]` must be monotonically increasing, when an array")
    return edges
