"""Differences, slopes, areas and folds of sampled functions, under NumPy's names."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from quern import _core, _reductions
from quern._creation import asarray, ascontiguousarray, empty, empty_like
from quern._elementwise import where
from quern._manipulation import broadcast_to, ndim
from quern._operands import (
    as_array,
    normalize_axis_index,
    normalize_axis_tuple,
    ufuncs,
)
from quern._scans import cumsum
from quern._sorting import argsort

if TYPE_CHECKING:
    from quern._core import ElementwiseKernel, ndarray

__all__ = [
    "convolve",
    "correlate",
    "diff",
    "ediff1d",
    "gradient",
    "interp",
    "trapezoid",
    "unwrap",
]


def _along(axis: int, ndim: int, part: slice | int) -> tuple[slice | int, ...]:
    return (*(slice(None),) * axis, part, *(slice(None),) * (ndim - axis - 1))


def diff(a: object, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> ndarray:
    """The differences of neighbours along `axis`, `n` times over; of bools, whether they differ.

    Raises: ValueError for a negative `n` or a 0-d array. Source: NumPy, `numpy.diff`.
    """
    values = as_array(a)
    if n == 0:
        return values
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n!r}")
    if values.ndim == 0:
        raise ValueError("diff requires input that is at least one dimensional")
    axis = normalize_axis_index(axis, values.ndim)
    parts = [values]
    for end, place in ((prepend, 0), (append, 1)):
        if end is None:
            continue
        extra = as_array(end)
        if extra.ndim == 0:
            shape = (*values.shape[:axis], 1, *values.shape[axis + 1 :])
            extra = broadcast_to(extra, shape)
        parts.insert(0 if place == 0 else len(parts), extra)
    if len(parts) > 1:
        values = _core.concatenate(parts, axis)
    step = ufuncs["not_equal" if values.dtype == np.bool_ else "subtract"]
    for _ in range(n):
        values = step(
            values[_along(axis, values.ndim, slice(1, None))],
            values[_along(axis, values.ndim, slice(None, -1))],
        )
    return values


def ediff1d(ary: object, to_end: Any = None, to_begin: Any = None) -> ndarray:
    """The differences of neighbours among all elements in C order, between `to_begin` and `to_end`.

    Raises: TypeError for ends that are not of the same kind. Source: NumPy, `numpy.ediff1d`.
    """
    flat = as_array(ary).ravel()
    ends = []
    for end, name in ((to_begin, "to_begin"), (to_end, "to_end")):
        part = None if end is None else as_array(end).ravel()
        if part is not None and not np.can_cast(part.dtype, flat.dtype, "same_kind"):
            raise TypeError(
                f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule."
            )
        ends.append(part)
    before, after = (0 if part is None else part.size for part in ends)
    count = max(flat.size - 1, 0)
    made = empty(before + count + after, flat.dtype, device=flat.device)
    if ends[0] is not None:
        made[:before] = ends[0]
    if ends[1] is not None:
        made[before + count :] = ends[1]
    ufuncs["subtract"](flat[1:], flat[: max(flat.size - 1, 0)], out=made[before : before + count])
    return made


def gradient(f: object, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Slopes by central differences inside and one-sided ones at the ends, along each axis (or the given ones).

    `varargs` are distances: none, one for all axes, or one per axis, each a scalar or coordinates.
    Shapes: that of `f`; with several axes a tuple.
    Raises: ValueError for too few points, or distances that do not fit. Source: NumPy, `numpy.gradient`.
    """
    values = as_array(f)
    axes = tuple(range(values.ndim)) if axis is None else normalize_axis_tuple(axis, values.ndim)
    distances: list[Any]
    if not varargs:
        distances = [1.0] * len(axes)
    elif len(varargs) == 1 and ndim(varargs[0]) == 0:
        distances = [_spacing(varargs[0], values, k) for k in axes]
    elif len(varargs) == len(axes):
        distances = [_spacing(d, values, k) for d, k in zip(varargs, axes, strict=True)]
    else:
        raise TypeError("invalid number of arguments")
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    if values.dtype.kind in "iu":  # bools have no differences
        values = values.astype(np.float64)
    slopes = tuple(_slope(values, by, k, edge_order) for by, k in zip(distances, axes, strict=True))
    return slopes[0] if len(axes) == 1 else slopes


def _spacing(given: Any, f: ndarray, axis: int) -> Any:
    """A scalar as it is; coordinates along an axis of `f`, on whichever side they are, as their differences."""
    if isinstance(given, np.ndarray) and given.ndim == 0:
        given = given[()]
    if isinstance(given, (int, float, complex, np.generic)):
        return given
    line = given if isinstance(given, _core.ndarray) else asarray(given, device=f.device)
    if line.ndim == 0:
        return line
    if line.ndim != 1:
        raise ValueError("distances must be either scalars or 1d")
    if len(line) != f.shape[axis]:
        raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    return diff(line.astype(np.float64) if line.dtype.kind in "biu" else line)


def _slope(f: ndarray, by: Any, axis: int, edge_order: int) -> ndarray:
    extent, ndim = f.shape[axis], f.ndim
    if extent < edge_order + 1:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) elements are "
            "required."
        )

    def at(part: slice | int) -> ndarray:
        cut = part if isinstance(part, slice) else slice(part, part + 1 or None)
        return f[_along(axis, ndim, cut)]

    made = empty_like(f)

    def put(part: slice, values: ndarray) -> None:
        made[_along(axis, ndim, part)] = values

    uniform = not isinstance(by, _core.ndarray) or by.ndim == 0
    inside, first, last = slice(1, -1), slice(0, 1), slice(-1, None)
    before, here, after = at(slice(None, -2)), at(inside), at(slice(2, None))
    if uniform:
        put(inside, (after - before) / (2.0 * by))
    else:
        wide = (-1,) + (1,) * (ndim - axis - 1)
        left, right = by[:-1].reshape(wide), by[1:].reshape(wide)
        total = left + right
        put(
            inside,
            -right / (left * total) * before
            + (right - left) / (left * right) * here
            + left / (right * total) * after,
        )
    if edge_order == 1:
        put(first, (at(1) - at(0)) / (by if uniform else by[:1]))
        put(last, (at(-1) - at(-2)) / (by if uniform else by[-1:]))
        return made
    if uniform:
        put(first, at(0) * (-1.5 / by) + at(1) * (2.0 / by) + at(2) * (-0.5 / by))
        put(last, at(-3) * (0.5 / by) + at(-2) * (-2.0 / by) + at(-1) * (1.5 / by))
        return made
    d1, d2 = by[0:1], by[1:2]
    put(
        first,
        -(2.0 * d1 + d2) / (d1 * (d1 + d2)) * at(0)
        + (d1 + d2) / (d1 * d2) * at(1)
        - d1 / (d2 * (d1 + d2)) * at(2),
    )
    d1, d2 = by[-2:-1], by[-1:]
    put(
        last,
        d2 / (d1 * (d1 + d2)) * at(-3)
        - (d2 + d1) / (d1 * d2) * at(-2)
        + (2.0 * d2 + d1) / (d2 * (d1 + d2)) * at(-1),
    )
    return made


def trapezoid(y: object, x: object = None, dx: Any = 1.0, axis: int = -1) -> ndarray:
    """The area below samples `y`, at `x` or `dx` apart, along `axis`. Source: NumPy, `numpy.trapezoid`."""
    values = as_array(y)
    axis = normalize_axis_index(axis, values.ndim)
    step: Any = dx
    if x is not None:
        places = as_array(x)
        if places.ndim == 1:
            step = diff(places).reshape((-1,) + (1,) * (values.ndim - axis - 1))
        else:
            step = diff(places, axis=axis)
    upper = values[_along(axis, values.ndim, slice(1, None))]
    lower = values[_along(axis, values.ndim, slice(None, -1))]
    return _reductions.sum(step * (upper + lower) / 2.0, axis=axis)


def unwrap(
    p: object, discont: float | None = None, axis: int = -1, *, period: float = 2 * np.pi
) -> ndarray:
    """Angles along `axis` with jumps of more than half a `period` (or `discont`) taken out by whole periods.

    Source: NumPy, `numpy.unwrap`.
    """
    values = as_array(p)
    axis = normalize_axis_index(axis, values.ndim)
    jumps = diff(values, axis=axis)
    discont = period / 2 if discont is None else discont
    dtype = np.result_type(jumps.dtype, period)
    if dtype.kind in "iu":
        high, rest = divmod(int(period), 2)
        edge = rest == 0
    else:
        high, edge = period / 2, True  # type: ignore[assignment]
    low = -high
    correction = ufuncs["remainder"](jumps - low, period) + low
    if edge:
        correction = where((correction == low) & (jumps > 0), high, correction)
    correction = correction - jumps
    correction = where(ufuncs["absolute"](jumps) < discont, 0, correction)
    made = values.astype(dtype)
    rest_of = _along(axis, values.ndim, slice(1, None))
    made[rest_of] = values[rest_of] + cumsum(correction, axis)
    return made


_BLOCK = 16  # results that one thread works on: their sums stay in registers, and in vectors


@functools.cache
def _fold_kernel() -> ElementwiseKernel:
    """Sums of products of `v` with what of `a` lies under it, `shift` being where `v` begins for the first one."""
    return _core.ElementwiseKernel(
        "raw T a, raw T v, int64 na, int64 nv, int64 shift, int64 count",
        "raw T y",
        f"""
        const long long first = i * {_BLOCK}, begin = first + shift;
        if (begin >= 0 && begin + nv + {_BLOCK} - 1 <= na && first + {_BLOCK} <= count) {{
            T total[{_BLOCK}] = {{}};
            for (long long k = 0; k < nv; ++k) {{
                const T weight = v[k];
                for (int j = 0; j < {_BLOCK}; ++j) total[j] = total[j] + a[begin + j + k] * weight;
            }}
            for (int j = 0; j < {_BLOCK}; ++j) y[first + j] = total[j];
        }} else {{
            for (long long at = first; at < first + {_BLOCK} && at < count; ++at) {{
                T total = T(0);
                for (long long k = 0; k < nv; ++k)
                    if (at + shift + k >= 0 && at + shift + k < na) total = total + a[at + shift + k] * v[k];
                y[at] = total;
            }}
        }}
        """,
        "quern_correlate",
    )


def _fold(a: ndarray, v: ndarray, mode: str, name: str, turned: bool = False) -> ndarray:
    if a.ndim != 1 or v.ndim != 1:
        raise ValueError("object too deep for desired array")
    if a.size == 0 or v.size == 0:
        raise ValueError(f"{'a' if a.size == 0 else 'v'} cannot be empty")
    counts = {"valid": (a.size - v.size + 1, 0), "full": (a.size + v.size - 1, v.size - 1)}
    counts["same"] = (
        a.size,
        v.size // 2 if name == "correlate" else (v.size - 1) // 2 + (v.size - 1) % 2,
    )
    if mode not in counts:
        raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")
    count, before = counts[mode]
    dtype = np.result_type(a.dtype, v.dtype)
    wide = np.dtype(np.float32) if dtype.itemsize == 2 and dtype.kind in "fV" else dtype
    a, v = (ascontiguousarray(x.astype(wide, copy=False)) for x in (a, v))
    made = empty(count, wide, device=a.device)
    target = made[::-1] if turned else made
    _fold_kernel()(a, v, a.size, v.size, -before, count, target, size=-(-count // _BLOCK))
    return made.astype(dtype, copy=False)


def correlate(a: object, v: object, mode: str = "valid") -> ndarray:
    """Sums of products of `a` with `v` (conjugated) at every place that `mode` says: 'valid', 'same', 'full'.

    In one launch, product by product: right for short `v`. Source: NumPy, `numpy.correlate`.
    """
    x, y = as_array(a), as_array(v)
    y = ufuncs["conjugate"](y) if y.dtype.kind == "c" else y
    if y.size > x.size:
        return _fold(y, x, mode, "correlate", turned=True)
    return _fold(x, y, mode, "correlate")


def convolve(a: object, v: object, mode: str = "full") -> ndarray:
    """Sums of products of `a` with `v` turned round, at every place that `mode` says: 'full', 'same', 'valid'.

    In one launch, product by product: right for a short argument. Source: NumPy, `numpy.convolve`.
    """
    x, y = (x.reshape(1) if x.ndim == 0 else x for x in (as_array(a), as_array(v)))
    if y.size > x.size:
        x, y = y, x
    return _fold(x, y[::-1], mode, "convolve")


def interp(
    x: object,
    xp: object,
    fp: object,
    left: Any = None,
    right: Any = None,
    period: float | None = None,
) -> ndarray:
    """Values at `x` on the straight lines between the points (`xp`, `fp`), in one launch; `xp` must grow.

    Left and right of all points `left` and `right`, by default the first and the last value. With a `period` the
    points are sorted and go on for ever, and `left` and `right` say nothing.
    Raises: ValueError for points that do not fit, or none, and for a `period` of 0; TypeError for complex `x`
    or `xp`, and for a `left` or `right` that is no scalar.
    Source: NumPy, `numpy.interp`.
    """
    places, knots, values = as_array(x), as_array(xp), as_array(fp)
    if period == 0:
        raise ValueError("period must be a non-zero value")
    if knots.ndim != 1 or values.ndim != 1:
        raise ValueError("Data points must be 1-D sequences")
    if knots.size != values.size:
        raise ValueError("fp and xp are not of the same length.")
    if knots.size == 0:
        raise ValueError("array of sample points is empty")
    dtype = np.dtype(np.complex128 if values.dtype.kind == "c" else np.float64)
    places, knots = (side.astype(np.float64, copy=False, casting="safe") for side in (places, knots))
    if period is not None:
        places, knots, values = _within(abs(period), places, knots, values)
        left = right = None
    return _core._interpolate(
        asarray(places, order="C"),
        ascontiguousarray(knots),
        ascontiguousarray(values, dtype),
        *(end if end is None else _end_value(end, dtype) for end in (left, right)),
    )


def _end_value(end: object, dtype: np.dtype[Any]) -> ndarray:
    value = asarray(end, dtype)
    if value.ndim > 0:
        raise TypeError(f"left and right must be scalars, not arrays of shape {value.shape}")
    return value


def _within(
    period: float, places: ndarray, knots: ndarray, values: ndarray
) -> tuple[ndarray, ndarray, ndarray]:
    """Everything in one period from 0, the points sorted, with a neighbour from the next period at either end."""
    remainder = ufuncs["remainder"]
    knots = remainder(knots, period)
    order = argsort(knots)
    knots, values = knots[order], values[order]
    return (
        remainder(places, period),
        _core.concatenate([knots[-1:] - period, knots, knots[:1] + period], 0),
        _core.concatenate([values[-1:], values, values[:1]], 0),
    )
