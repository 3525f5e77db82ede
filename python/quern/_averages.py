"""Means and variances that are more than one reduction by name: with weights, and about a mean that is given."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from quern import _core
from quern._core import ElementwiseKernel, ReductionKernel
from quern._creation import asarray, full
from quern._elementwise import written
from quern._operands import as_array, normalize_axis_tuple, ufuncs

if TYPE_CHECKING:
    import numpy.typing as npt

    from quern._core import ndarray

    Axis = int | tuple[int, ...] | None

__all__ = ["average", "laid_along", "spread_about"]

_PAIR = """
template <class T> struct WeightedSum {
    T sum, weight;
    __device__ WeightedSum() : sum(0), weight(0) {}
    __device__ WeightedSum(T x, T w) : sum(x * w), weight(w) {}
    __device__ WeightedSum operator+(const WeightedSum& other) const {
        WeightedSum both;
        both.sum = sum + other.sum;
        both.weight = weight + other.weight;
        return both;
    }
};
"""


@functools.cache
def _weighted(result: str) -> ReductionKernel:
    spelling = ElementwiseKernel("", f"{result} y", "y = 0").out_params[0].ctype
    pair = f"WeightedSum<{spelling}>"
    return ReductionKernel(
        "X x, W w",
        f"{result} mean, {result} total",
        f"{pair}(quern::convert<{spelling}>(x), quern::convert<{spelling}>(w))",
        "a + b",
        "mean = a.sum / a.weight; total = a.weight",
        f"{pair}()",
        "quern_average",
        pair,
        preamble=_PAIR,
    )


def laid_along(a: ndarray, given: Any, axes: tuple[int, ...] | None) -> ndarray:
    """Weights on the device of `a` that broadcast with it: of its shape, or as long as its `axes`, in their order.

    Raises: TypeError for weights of another shape without axes, ValueError for lengths that do not fit.
    """
    weights = asarray(given, device=a.device)
    if weights.shape == a.shape:
        return weights
    if axes is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    if weights.shape != tuple(a.shape[d] for d in axes):
        raise ValueError(
            "Shape of weights must be consistent with shape of a along specified axis."
        )
    order = sorted(range(len(axes)), key=lambda k: axes[k])
    extents = tuple(n if d in axes else 1 for d, n in enumerate(a.shape))
    return weights.transpose(order).reshape(extents)


def average(
    a: Any,
    axis: Axis = None,
    weights: ndarray | None = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> Any:
    """Weighted mean; `weights` has the shape of `a`, or one axis as long as the one averaged over.

    Returns: the average, with `returned=True` a tuple of it and the sum of the weights.
    Raises: TypeError for weights of another shape without an axis; ValueError for a length that does not fit;
    ZeroDivisionError for weights that sum to 0, for which the device is waited for.
    Source: numpy.average.
    """
    a = asarray(a)
    if weights is None:
        result = _core.reduce("mean", a, axis, keepdims=keepdims)
        if not returned:
            return result
        count = a.size // result.size if result.size else 0
        return result, full(result.shape, count, result.dtype)
    axes = None if axis is None else normalize_axis_tuple(axis, a.ndim, "axis")
    weights = laid_along(a, weights, axes)
    dtype = np.result_type(a.dtype, weights.dtype, *(["f8"] if a.dtype.kind in "biu" else []))
    found, total = _weighted(dtype.name)(a, weights, axis=axis, keepdims=keepdims)
    if bool(_core.reduce("any", total == 0)):
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    return (found, total) if returned else found


def spread_about(
    name: str,
    a: Any,
    mean: Any,
    axis: Axis,
    dtype: npt.DTypeLike | None,
    out: ndarray | None,
    ddof: float,
    keepdims: bool,
    where: Any,
) -> ndarray:
    """The `var`, `std`, `nanvar` or `nanstd` of `a` about `mean`, which broadcasts with it."""
    a = as_array(a)
    mean = asarray(mean, device=a.device)
    wanted = np.dtype(dtype if dtype is not None else "f8" if a.dtype.kind in "biu" else a.dtype)
    result = np.empty(0, wanted).real.dtype
    wide = np.result_type(result, np.float32)
    distance = ufuncs["absolute"](ufuncs["subtract"](a, mean, dtype=np.result_type(wanted, wide)))
    if name.startswith("nan"):
        known = ufuncs["equal"](a, a)
        where = ufuncs["logical_and"](known, where)
        distance = ufuncs["where"](known, distance, 0.0)
    squares = ufuncs["multiply"](distance, distance)
    weights = where if isinstance(where, _core.ndarray) else full((), where, device=a.device)
    found, count = _weighted(wide.name)(squares, weights, axis=axis, keepdims=keepdims)
    found *= count / ufuncs["maximum"](count - ddof, 0)
    if name.endswith("std"):
        ufuncs["sqrt"](found, found)
    found = found.astype(result, copy=False)
    return found if out is None else written(found, out)
