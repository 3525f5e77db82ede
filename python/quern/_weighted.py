"""Weighted quantiles by NumPy's 'inverted_cdf': the least element at which the weights so far reach a part of all.

Keys that order as values do are halved until one is left. Each step reads everything once and adds up the weights of
what lies below, so nothing is sorted and the steps are as many as a key has bits.
"""

from __future__ import annotations

import functools
from typing import Any

from quern._averages import laid_along
from quern._core import ElementwiseKernel, ReductionKernel, ndarray, ufuncs
from quern._creation import asarray, empty, full
from quern._elementwise import written
from quern._operands import normalize_axis_tuple
from quern._reductions import any as any_of
from quern._reductions import count_nonzero

_KEYS = '#include "quern/ordered.cuh"'


@functools.cache
def _kernels() -> tuple[ReductionKernel, ElementwiseKernel, ElementwiseKernel]:
    weigh = ReductionKernel(
        "T x, float64 w, uint64 most, bool skip_nan",
        "float64 s",
        "quern::Ordered<T>::key(x) <= most && !(skip_nan && x != x) ? w : 0.0",
        "a + b",
        "s = a",
        "0",
        "quern_weight_below",
        preamble=_KEYS,
    )
    halve = ElementwiseKernel(
        "float64 s, float64 total, P q",
        "uint64 low, uint64 high, uint64 middle",
        """
        if (s > 0 && static_cast<P>(s / total) >= q) high = middle;
        else if (low < high) low = middle + 1;
        middle = low + (high - low) / 2
        """,
        "quern_halve",
    )
    value = ElementwiseKernel(
        "uint64 key, bool lost",
        "T y",
        """
        typedef typename quern::Ordered<T>::Key Key;
        y = quern::Ordered<T>::value(lost ? static_cast<Key>(~static_cast<Key>(0)) : static_cast<Key>(key))
        """,
        "quern_value_of_key",
        preamble=_KEYS,
    )
    return weigh, halve, value


def weighted_quantiles(
    a: ndarray,
    parts: Any,
    axis: int | tuple[int, ...] | None,
    out: ndarray | None,
    keepdims: bool,
    given: Any,
    skip_nan: bool,
) -> ndarray:
    """What `quantile(a, parts, axis, out, method="inverted_cdf", keepdims=keepdims, weights=given)` returns."""
    weigh, halve, value = _kernels()
    axes = None if axis is None else normalize_axis_tuple(axis, a.ndim, "axis")
    weights = laid_along(a, given, axes).astype("f8")
    if any_of(ufuncs["less"](weights, 0.0)):
        raise ValueError("Weights must be non-negative.")
    if parts.ndim > 2:
        raise ValueError("q must be a scalar or 1d")
    if a.size == 0:
        raise IndexError("index -1 is out of bounds for axis 0 with size 0")
    gone = tuple(range(a.ndim)) if axes is None else axes
    kept = tuple(1 if d in gone else n for d, n in enumerate(a.shape))
    floating = a.dtype.kind not in "biu"

    lost = full(kept, False, dtype="?", device=a.device)
    if floating and skip_nan:
        there = count_nonzero(ufuncs["equal"](a, a), gone, keepdims=True)
        lost = ufuncs["equal"](there, 0)
    elif floating:
        lost = any_of(ufuncs["not_equal"](a, a), gone, keepdims=True)
    bits = 8 * a.dtype.itemsize
    last = (1 << bits) - 1
    total = weigh(
        a, weights, full((), last, dtype="u8", device=a.device), skip_nan, axis=gone, keepdims=True
    )
    usable = ufuncs["logical_and"](ufuncs["greater"](total, 0.0), ufuncs["isfinite"](total))
    if any_of(ufuncs["logical_not"](ufuncs["logical_or"](usable, lost) if skip_nan else usable)):
        raise ValueError("Weights included NaN, inf or were all zero.")

    places = parts if parts.dtype.kind == "f" else parts.astype("f8")
    q = asarray(places.reshape(parts.shape + (1,) * a.ndim), device=a.device)
    shape = parts.shape + kept
    low = full(shape, 0, dtype="u8", device=a.device)
    high = full(shape, last, dtype="u8", device=a.device)
    middle = full(shape, last // 2, dtype="u8", device=a.device)
    behind = tuple(d + parts.ndim for d in gone)
    for _ in range(bits):
        below = weigh(
            a.reshape((1,) * parts.ndim + a.shape),
            weights,
            middle,
            skip_nan,
            axis=behind,
            keepdims=True,
        )
        halve(below, total, q, low, high, middle)
    found: ndarray = value(high, lost, empty(shape, dtype=a.dtype, device=a.device))
    if not keepdims:
        found = found.reshape(
            parts.shape + tuple(n for d, n in enumerate(a.shape) if d not in gone)
        )
    return found if out is None else written(found, out)
