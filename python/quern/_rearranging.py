"""Elements in other places: repeated, rolled, turned, cut, under NumPy's names; views where there is one."""

from __future__ import annotations

import functools
import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from quern import _core
from quern._creation import array, asarray, empty, zeros
from quern._manipulation import (
    broadcast_shapes,
    broadcast_to,
    ndim,
    swapaxes,
    transpose,
)
from quern._operands import (
    as_array,
    host_array,
    normalize_axis_index,
    normalize_axis_tuple,
    safe_index,
    ufuncs,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from quern._core import ElementwiseKernel, Order, Shape, ndarray

__all__ = [
    "asarray_chkfinite",
    "asfarray",
    "astype",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_arrays",
    "flip",
    "fliplr",
    "flipud",
    "matrix_transpose",
    "permute_dims",
    "repeat",
    "require",
    "resize",
    "roll",
    "rollaxis",
    "rot90",
    "tile",
    "trim_zeros",
]


def astype(
    x: ndarray, dtype: npt.DTypeLike, /, *, copy: bool = True, device: Any = None
) -> ndarray:
    """`x` as another dtype, as the array API has it. Source: NumPy, `numpy.astype`."""
    if not isinstance(x, _core.ndarray):
        raise TypeError(f"Input should be a quern array. It is a {type(x)} instead.")
    made = x.astype(dtype, copy=copy)
    return made if device is None else asarray(made, device=device)


def permute_dims(a: ndarray, axes: Shape | None = None) -> ndarray:
    """A view with its axes in the given order, reversed by default: `transpose`."""
    return transpose(a, axes)


def matrix_transpose(x: ndarray, /) -> ndarray:
    """A view with the last two axes exchanged.

    Raises: ValueError for fewer than two axes. Source: NumPy, `numpy.matrix_transpose`.
    """
    a = as_array(x)
    if a.ndim < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {a.ndim}")
    return swapaxes(a, -1, -2)


def rollaxis(a: ndarray, axis: int, start: int = 0) -> ndarray:
    """A view with one axis moved before another. Source: NumPy, `numpy.rollaxis`; `moveaxis` is plainer."""
    n = a.ndim
    axis = normalize_axis_index(axis, n)
    if start < 0:
        start += n
    if not 0 <= start < n + 1:
        raise np.exceptions.AxisError(
            f"'start' arg requires {-n} <= start < {n + 1}, but {start} was passed in"
        )
    if axis < start:
        start -= 1
    axes = [k for k in range(n) if k != axis]
    axes.insert(start, axis)
    return a.transpose(axes)


def atleast_1d(*arys: object) -> Any:
    """Each argument with at least one axis, as a view; several as a tuple. Source: NumPy, `numpy.atleast_1d`."""
    made = tuple(a.reshape(1) if a.ndim == 0 else a for a in map(as_array, arys))
    return made[0] if len(made) == 1 else made


def atleast_2d(*arys: object) -> Any:
    """Each argument with at least two axes, new ones in front, as a view. Source: NumPy, `numpy.atleast_2d`."""
    made = tuple(
        a.reshape((1,) * (2 - a.ndim) + a.shape) if a.ndim < 2 else a for a in map(as_array, arys)
    )
    return made[0] if len(made) == 1 else made


def atleast_3d(*arys: object) -> Any:
    """Each argument with at least three axes: (n,) as (1, n, 1), (m, n) as (m, n, 1).

    Source: NumPy, `numpy.atleast_3d`.
    """

    def widen(a: ndarray) -> ndarray:
        if a.ndim == 0:
            return a.reshape(1, 1, 1)
        if a.ndim == 1:
            return a[None, :, None]
        return a[:, :, None] if a.ndim == 2 else a

    made = tuple(widen(as_array(a)) for a in arys)
    return made[0] if len(made) == 1 else made


def broadcast_arrays(*args: object, subok: bool = False) -> tuple[ndarray, ...]:
    """All arguments in the shape that theirs broadcast to; those that must grow as read-only views.

    Source: NumPy, `numpy.broadcast_arrays`.
    """
    arrays = [as_array(a) for a in args]
    shape = broadcast_shapes(*(a.shape for a in arrays))
    return tuple(a if a.shape == shape else broadcast_to(a, shape) for a in arrays)


def asarray_chkfinite(
    a: object, dtype: npt.DTypeLike | None = None, order: Order | None = None
) -> ndarray:
    """`asarray`, which raises ValueError for NaN and infinity: it waits for the device to know.

    Source: NumPy, `numpy.asarray_chkfinite`.
    """
    made = asarray(a, dtype, order)
    if made.dtype.kind in "fcV" and not bool(ufuncs["isfinite"](made).all()):
        raise ValueError("array must not contain infs or NaNs")
    return made


def asfarray(a: object, dtype: npt.DTypeLike = np.float64) -> ndarray:
    """`asarray` as floats, float64 unless told. Source: CuPy, `cupy.asfarray`."""
    wanted = np.dtype(dtype)
    return asarray(a, wanted if wanted.kind in "fcV" else np.float64)


_REQUIREMENTS = {
    **dict.fromkeys(("C", "C_CONTIGUOUS", "CONTIGUOUS"), "C"),
    **dict.fromkeys(("F", "F_CONTIGUOUS", "FORTRAN"), "F"),
    **dict.fromkeys(("A", "ALIGNED"), "A"),
    **dict.fromkeys(("W", "WRITEABLE"), "W"),
    **dict.fromkeys(("O", "OWNDATA"), "O"),
    **dict.fromkeys(("E", "ENSUREARRAY"), "E"),
}


def require(
    a: object,
    dtype: npt.DTypeLike | None = None,
    requirements: str | Sequence[str] | None = None,
) -> ndarray:
    """`a` as an array with the given dtype and flags (C, F, A, W, O, E), copied only if it must be.

    Raises: KeyError for a flag that there is not; ValueError for both C and F.
    Source: NumPy, `numpy.require`.
    """
    if not requirements:
        return asarray(a, dtype)
    wanted = {_REQUIREMENTS[name.upper()] for name in requirements}
    wanted.discard("E")  # it is never a subclass
    if {"C", "F"} <= wanted:
        raise ValueError('Cannot specify both "C" and "F" order')
    order: Order = "F" if "F" in wanted else "C" if "C" in wanted else "A"
    made = array(a, dtype, None, order)
    return made if all(made.flags[flag] for flag in wanted) else made.copy(order)


def flip(m: object, axis: int | tuple[int, ...] | None = None) -> ndarray:
    """A view with the elements along the axes (all by default) in reverse. Source: NumPy, `numpy.flip`."""
    a = as_array(m)
    axes = range(a.ndim) if axis is None else normalize_axis_tuple(axis, a.ndim)
    return a[tuple(slice(None, None, -1 if k in axes else None) for k in range(a.ndim))]


def fliplr(m: object) -> ndarray:
    """A view with the second axis in reverse. Source: NumPy, `numpy.fliplr`."""
    a = as_array(m)
    if a.ndim < 2:
        raise ValueError("Input must be >= 2-d.")
    return a[:, ::-1]


def flipud(m: object) -> ndarray:
    """A view with the first axis in reverse. Source: NumPy, `numpy.flipud`."""
    a = as_array(m)
    if a.ndim < 1:
        raise ValueError("Input must be >= 1-d.")
    return a[::-1]


def rot90(m: object, k: int = 1, axes: tuple[int, int] = (0, 1)) -> ndarray:
    """A view turned `k` times by 90 degrees in the plane of two axes, from the first to the second.

    Source: NumPy, `numpy.rot90`.
    """
    a = as_array(m)
    if len(axes) != 2:
        raise ValueError("len(axes) must be 2.")
    first, second = axes
    if first == second or abs(first - second) == a.ndim:
        raise ValueError("Axes must be different.")
    if not (-a.ndim <= first < a.ndim and -a.ndim <= second < a.ndim):
        raise ValueError(f"Axes={tuple(axes)} out of range for array of ndim={a.ndim}.")
    k %= 4
    if k == 0:
        return a[...]
    if k == 2:
        return flip(flip(a, first), second)
    return (
        swapaxes(flip(a, second), first, second)
        if k == 1
        else flip(swapaxes(a, first, second), second)
    )


@functools.cache
def _roll_kernel(index: str) -> ElementwiseKernel:
    return _core.ElementwiseKernel(
        f"raw T x, {index} lead, {index} line",
        "T y",
        "const auto at = static_cast<decltype(line + 0)>(i); y = x[at % line < lead ? at + (line - lead) : at - lead];",
        "quern_roll",
    )


def roll(a: object, shift: Any, axis: Any = None) -> ndarray:
    """A copy with elements moved by `shift` along the axes; those that leave at one end come in at the other.

    By default over all elements in C order. Every axis that moves doubles the number of copies (two for one axis);
    a GPU moves short lines along one axis by one kernel.
    Raises: ValueError for shifts and axes that do not go together; AxisError.
    Source: NumPy, `numpy.roll`.
    """
    source = as_array(a)
    if axis is None:
        return roll(source.ravel(), shift, 0).reshape(source.shape)
    totals = dict.fromkeys(range(source.ndim), 0)
    if type(shift) is int and type(axis) is int:
        totals[normalize_axis_index(axis, source.ndim)] = shift
    else:
        axes = normalize_axis_tuple(axis, source.ndim, allow_duplicate=True)
        shifts = host_array(shift)
        if shifts.ndim > 1 or ndim(axis) > 1:
            raise ValueError("'shift' and 'axis' should be scalars or 1D sequences")
        for by, along in zip(*np.broadcast_arrays(np.atleast_1d(shifts), axes), strict=True):
            totals[int(along)] += int(by)
    result = _core.empty_like(source)
    if result.size == 0:
        return result
    moving = [along for along, extent in enumerate(source.shape) if totals[along] % extent]
    if len(moving) == 1 and source.flags.c_contiguous and not source.device.is_cpu:
        along = moving[0]
        inner = math.prod(source.shape[along + 1 :])
        line = source.shape[along] * inner
        if line * source.dtype.itemsize <= 256:  # copies of its parts would move parts of sectors
            lead = totals[along] % source.shape[along] * inner
            kernel = _roll_kernel("uint32" if source.size < 1 << 32 else "uint64")
            kernel(source, lead, line, result)
            return result
    moves: list[list[tuple[slice, slice]]] = []
    for along, extent in enumerate(source.shape):
        by = totals[along] % extent
        moves.append(
            [
                (slice(by, None), slice(None, extent - by)),
                (slice(None, by), slice(extent - by, None)),
            ]
            if by
            else [(slice(None), slice(None))]
        )
    for parts in itertools.product(*moves):
        result[tuple(to for to, _ in parts)] = source[tuple(start for _, start in parts)]
    return result


def tile(A: object, reps: Any) -> ndarray:
    """`A` laid beside itself `reps` times along each axis, in one copy.

    Shapes: the extents times `reps`; the shorter of both gets ones in front.
    Source: NumPy, `numpy.tile`.
    """
    a = as_array(A)
    if type(reps) is int and a.ndim == 1 and a.nbytes >= _SHORT // 2 and reps > 0:
        by = _CACHE_LINE // math.gcd(a.nbytes, _CACHE_LINE)
        if 1 < by < reps // 4 and reps % by == 0 and a.device.is_cpu and by * a.nbytes <= _NEAR:
            a, reps = tile(a, by), reps // by  # lines that begin where a cache's do
        lines = empty((reps, a.size), a.dtype, device=a.device)
        lines[...] = a
        return lines.reshape(-1)
    times = tuple(map(safe_index, host_array(reps) if np.iterable(reps) else (reps,)))
    axes = max(a.ndim, len(times))
    times = (1,) * (axes - len(times)) + times
    extents = (1,) * (axes - a.ndim) + a.shape
    shape = tuple(n * by for n, by in zip(extents, times, strict=True))
    result = empty(shape, a.dtype, device=a.device)
    if result.size:
        a = a.reshape(extents)
        short = _SHORT // a.dtype.itemsize
        if axes and a.size == extents[-1] <= short // 2 and times[-1] > 2 * short // extents[-1]:
            # A short line first becomes a longer one, so that what is copied over and over are long runs.
            block = short // extents[-1]
            whole, left = divmod(times[-1], block)
            longer = tile(a, block)
            run = block * extents[-1]
            lines = result.reshape(-1, shape[-1])
            lines[:, : whole * run].reshape(-1, whole, run)[...] = longer.reshape(-1)
            if left:
                lines[:, whole * run :] = longer.reshape(-1)[: left * extents[-1]]
            return result
        inner = tuple(k for n in extents for k in (1, n))
        outer = tuple(k for n, by in zip(extents, times, strict=True) for k in (by, n))
        result.reshape(outer)[...] = a.reshape(inner)
    return result


_SHORT = 1024  # bytes of a run from which its copies are as fast as they get
_CACHE_LINE, _NEAR = 64, 1 << 15  # bytes, of a CPU: of a line, and of what stays in the nearest cache


def repeat(a: object, repeats: Any, axis: int | None = None) -> ndarray:
    """A copy in which every element stands `repeats` times in a row along `axis`; by default of all in C order.

    `repeats` may be one count per position. Counts in a device's memory are waited for: the shape hangs on them.
    Raises: ValueError for negative counts, or as many as do not fit; TypeError for an array of floats or uint64.
    Source: NumPy, `numpy.repeat`.
    """
    source = as_array(a)
    if type(repeats) is int and 0 <= repeats <= np.iinfo(np.int64).max:
        return _repeat_alike(*_along(source, axis), repeats)
    if isinstance(repeats, (np.ndarray, _core.ndarray)):
        counts = host_array(repeats).astype(np.int64, casting="safe", copy=False)
    else:  # lists and scalars as int() takes them
        counts = host_array(repeats, np.int64)
    if counts.ndim > 1:
        raise ValueError("object too deep for desired array")
    source, axis = _along(source, axis)
    if counts.size and counts.min() < 0:
        raise ValueError("repeats may not contain negative values.")
    if counts.size == 1:
        return _repeat_alike(source, axis, counts.item())
    extent = source.shape[axis]
    if counts.size != extent:
        raise ValueError(
            f"operands could not be broadcast together with shape ({extent},) ({counts.size},)"
        )
    if source.ndim == 1 and extent and counts.max() <= _FEW:
        ends = counts.cumsum()
        result = empty(int(ends[-1]), source.dtype, device=source.device)
        if result.size:
            _repeats_kernel()(source, asarray(ends, device=source.device), result)
        return result
    return source.take(np.repeat(np.arange(extent), counts), axis)


def _along(source: ndarray, axis: int | None) -> tuple[ndarray, int]:
    if axis is None:
        return (source if source.ndim == 1 else source.ravel()), 0
    if source.ndim == 0:
        source = source.ravel()
    return source, normalize_axis_index(safe_index(axis), source.ndim)


def _repeat_alike(source: ndarray, axis: int, times: int) -> ndarray:
    lead, extent, rest = source.shape[:axis], source.shape[axis], source.shape[axis + 1 :]
    result = empty((*lead, extent * times, *rest), source.dtype, device=source.device)
    if 1 < times <= _FEW and source.device.is_cpu and math.prod(rest) == 1 and result.size:
        _repeat_kernel()(source, times, result)
    elif result.size:
        target = result.reshape((*lead, extent, times, *rest))
        target[...] = source.reshape((*lead, extent, 1, *rest))
    return result


_FEW = 32  # so many copies at most are written by the thread that read the element


@functools.cache
def _repeat_kernel() -> ElementwiseKernel:
    return _core.ElementwiseKernel(
        "T x, int64 times",
        "raw T y",
        "if (times == 2) { y[i * 2] = x; y[i * 2 + 1] = x; }"  # vectors of pairs
        " else for (long long k = 0; k < times; ++k) y[i * times + k] = x",
        "quern_repeat",
    )


@functools.cache
def _repeats_kernel() -> ElementwiseKernel:
    return _core.ElementwiseKernel(
        "T x, raw int64 ends",
        "raw T y",
        "for (long long k = i ? ends[i - 1] : 0; k < ends[i]; ++k) y[k] = x",
        "quern_repeats",
    )


def resize(a: object, new_shape: Any) -> ndarray:
    """The elements of `a` in C order, over and over, as many as the shape holds. Source: NumPy, `numpy.resize`."""
    flat = as_array(a).ravel()
    shape = (
        tuple(map(safe_index, new_shape))
        if isinstance(new_shape, (tuple, list))
        else (safe_index(new_shape),)
    )
    if any(n < 0 for n in shape):
        raise ValueError("all elements of `new_shape` must be non-negative")
    size = math.prod(shape)
    if flat.size == 0 or size == 0:
        return zeros(shape, flat.dtype, device=flat.device)
    result = empty(size, flat.dtype, device=flat.device)
    whole = size // flat.size * flat.size
    result[:whole].reshape(-1, flat.size)[...] = flat
    result[whole:] = flat[: size - whole]
    return result.reshape(shape)


def trim_zeros(filt: object, trim: str = "fb", axis: Any = None) -> ndarray:
    """A view without the zeros before the first and after the last element that is none, along the axes.

    It waits for the device: the shape hangs on the values. `trim` is any of 'f' (front) and 'b' (back).
    Source: NumPy, `numpy.trim_zeros`.
    """
    a = as_array(filt)
    sides = trim.lower()
    if sides not in ("f", "b", "fb", "bf"):
        raise ValueError(f"unexpected character(s) in `trim`: {trim!r}")
    if a.ndim == 0:
        return a
    axes = range(a.ndim) if axis is None else normalize_axis_tuple(axis, a.ndim)
    if a.size:
        *ends, any_filled = _filled_range(a, axes)
    else:
        ends, any_filled = [], 0
    window = [slice(None)] * a.ndim
    for place, k in enumerate(axes):
        first, last = (ends[2 * place], a.shape[k] - ends[2 * place + 1]) if any_filled else (0, 0)
        if not any_filled and sides == "f":
            first = last = a.shape[k]
        window[k] = slice(first if "f" in sides else None, last if "b" in sides else None)
    return a[tuple(window)]


def _filled_range(a: ndarray, axes: Sequence[int]) -> list[int]:
    """For each axis how far from both ends the first element is that is not 0; then whether there is one."""
    filled = ufuncs["not_equal"](a, 0)
    found = []
    for k in axes:
        others = tuple(j for j in range(a.ndim) if j != k)
        line = filled.any(others) if others else filled
        found += [line.argmax(), line[::-1].argmax()]
    found.append(filled.any().astype(np.int64))
    ends: list[int] = _core.concatenate([_core.expand_dims(x, 0) for x in found]).get().tolist()
    return ends
