"""Functions that make arrays. Names, defaults and dtype rules are NumPy's; every one takes `device=` besides."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

import numpy as np

from quern import _core

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from quern._core import DeviceLike, Order, Shape, StreamLike, ndarray

Number: TypeAlias = "bool | int | float | complex | np.generic"

__all__ = [
    "arange",
    "array",
    "asanyarray",
    "asarray",
    "ascontiguousarray",
    "asfortranarray",
    "asnumpy",
    "copy",
    "empty",
    "empty_like",
    "full",
    "full_like",
    "linspace",
    "ones",
    "ones_like",
    "zeros",
    "zeros_like",
]


def array(
    obj: object,
    dtype: npt.DTypeLike | None = None,
    copy: bool | None = True,
    order: Order | None = "K",
    subok: bool = False,
    ndmin: int = 0,
    *,
    blocking: bool = False,
    device: DeviceLike = None,
) -> ndarray:
    """Make an array from anything NumPy takes, from a quern array, or from an object with a device's memory.

    Objects with `__cuda_array_interface__` are used where they are unless a copy is asked for. `copy=None` copies only
    if needed; `copy=False` never does, and on the CPU then shares a NumPy array's memory.
    Shapes: at least `ndmin` axes.
    Raises: TypeError for a dtype that no device has; ValueError if `copy=False` cannot be.
    Source: NumPy, `numpy.array`; CuPy, `cupy.array`.
    """
    return _core.array(obj, dtype, copy, order, ndmin, device=device)


def asarray(
    a: object,
    dtype: npt.DTypeLike | None = None,
    order: Order | None = None,
    *,
    copy: bool | None = None,
    blocking: bool = False,
    device: DeviceLike = None,
) -> ndarray:
    """Like `array`, but a quern array that already fits is returned as it is.

    With `device=` the result is on that device, copied there if it must be.
    """
    return _core.array(a, dtype, copy, order, device=device)


def asanyarray(
    a: object, dtype: npt.DTypeLike | None = None, order: Order | None = None
) -> ndarray:
    """The same as `asarray`."""
    return _core.array(a, dtype, None, order)


def ascontiguousarray(a: object, dtype: npt.DTypeLike | None = None) -> ndarray:
    """An array in C order with at least one axis; the array itself if it is one."""
    return _core.array(a, dtype, None, "C", 1)


def asfortranarray(a: object, dtype: npt.DTypeLike | None = None) -> ndarray:
    """An array in Fortran order with at least one axis; the array itself if it is one."""
    return _core.array(a, dtype, None, "F", 1)


def copy(a: object, order: Order = "K") -> ndarray:
    """A copy of `a`, in its own layout unless `order` says otherwise."""
    return _core.array(a, None, True, order)


def asnumpy(
    a: object,
    stream: StreamLike = None,
    order: Order = "C",
    out: npt.NDArray[Any] | None = None,
    *,
    blocking: bool = True,
) -> npt.NDArray[Any]:
    """The values as a NumPy array: of a quern array copied from its device, of anything else `numpy.asarray`'s."""
    if isinstance(a, _core.ndarray):
        return a.get(stream, order, out, blocking)
    if hasattr(a, "__cuda_array_interface__"):
        return _core.array(a, None, None).get(stream, order, out, blocking)
    values = np.asarray(a, order=order)
    if out is None:
        return values
    out[...] = values
    return out


def empty(
    shape: Shape,
    dtype: npt.DTypeLike | None = float,
    order: Order = "C",
    *,
    device: DeviceLike = None,
) -> ndarray:
    """An array whose values are whatever the memory holds."""
    return _core.empty(shape, dtype, order, device=device)


def zeros(
    shape: Shape,
    dtype: npt.DTypeLike | None = float,
    order: Order = "C",
    *,
    device: DeviceLike = None,
) -> ndarray:
    """An array of zeros."""
    return _core.zeros(shape, dtype, order, device=device)


def ones(
    shape: Shape,
    dtype: npt.DTypeLike | None = float,
    order: Order = "C",
    *,
    device: DeviceLike = None,
) -> ndarray:
    """An array of ones."""
    return _core.full(shape, 1, dtype, order, device=device)


def full(
    shape: Shape,
    fill_value: Number | ndarray,
    dtype: npt.DTypeLike | None = None,
    order: Order = "C",
    *,
    device: DeviceLike = None,
) -> ndarray:
    """An array of copies of `fill_value`, whose dtype it takes by default."""
    if dtype is None:
        dtype = (
            fill_value.dtype
            if isinstance(fill_value, _core.ndarray)
            else np.asarray(fill_value).dtype
        )
    return _core.full(shape, fill_value, dtype, order, device=device)


def empty_like(
    prototype: object,
    dtype: npt.DTypeLike | None = None,
    order: Order = "K",
    subok: bool | None = None,
    shape: Shape | None = None,
    *,
    device: DeviceLike = None,
) -> ndarray:
    """An uninitialised array with the shape, dtype, layout and device of another."""
    return _core.empty_like(asarray(prototype), dtype, order, shape, device=device)


def zeros_like(
    a: object,
    dtype: npt.DTypeLike | None = None,
    order: Order = "K",
    subok: bool | None = None,
    shape: Shape | None = None,
    *,
    device: DeviceLike = None,
) -> ndarray:
    """An array of zeros with the shape, dtype, layout and device of another."""
    return _core.zeros_like(asarray(a), dtype, order, shape, device=device)


def ones_like(
    a: object,
    dtype: npt.DTypeLike | None = None,
    order: Order = "K",
    subok: bool | None = None,
    shape: Shape | None = None,
    *,
    device: DeviceLike = None,
) -> ndarray:
    """An array of ones with the shape, dtype, layout and device of another."""
    return _core.full_like(asarray(a), 1, dtype, order, shape, device=device)


def full_like(
    a: object,
    fill_value: Number | ndarray,
    dtype: npt.DTypeLike | None = None,
    order: Order = "K",
    subok: bool | None = None,
    shape: Shape | None = None,
    *,
    device: DeviceLike = None,
) -> ndarray:
    """An array of copies of `fill_value` with the shape, dtype, layout and device of another."""
    return _core.full_like(asarray(a), fill_value, dtype, order, shape, device=device)


def _plain(value: Number) -> bool | int | float | complex:
    plain: bool | int | float | complex = value.item() if isinstance(value, np.generic) else value
    return plain


def arange(
    start: Number,
    stop: Number | None = None,
    step: Number | None = None,
    dtype: npt.DTypeLike | None = None,
    *,
    device: DeviceLike = None,
) -> ndarray:
    """Values from `start` (0 if only one is given) up to, not including, `stop`, `step` apart.

    The dtype is the promotion of the arguments' dtypes, at least int64; the values are NumPy's to the last bit.
    """
    if step is None:
        step = 1
    wanted: np.dtype[Any]
    if dtype is not None:
        wanted = np.dtype(dtype)
    else:
        given = [np.asarray(value).dtype for value in (start, stop, step) if value is not None]
        wanted = np.result_type(np.intp, *given)
    if stop is None:
        start, stop = 0, start
    first, last, by = _plain(start), _plain(stop), _plain(step)
    if by == 0:
        raise ZeroDivisionError("arange(): step is zero")
    quotient = (last - first) / by
    if isinstance(quotient, complex):
        quotient = min(quotient.real, quotient.imag) if quotient.imag else quotient.real
    if math.isnan(quotient):
        raise ValueError("arange: cannot compute length")
    if math.isinf(quotient) and quotient > 0:
        raise ValueError("Maximum allowed size exceeded")
    count = max(0, math.ceil(quotient)) if math.isfinite(quotient) else 0
    if count < 2:
        values = np.array([first], dtype=wanted)
        return _core._range(values[0], values[0], count, wanted, device)
    if wanted.kind == "b" and count > 2:
        raise TypeError(
            "arange() is only supported for booleans when the result has at most length 2."
        )
    # NumPy rounds the first two elements to the dtype and goes on by their difference.
    pair = np.array([first, first + by], dtype=wanted)
    if wanted.kind == "b":
        return array(pair[:count], device=device)
    delta = (pair[1:] - pair[:1])[0] if wanted.kind in "iu" else pair[1].item() - pair[0].item()
    return _core._range(pair[0], delta, count, wanted, device)


@overload
def linspace(
    start: Number | ndarray | Sequence[Number],
    stop: Number | ndarray | Sequence[Number],
    num: int = 50,
    endpoint: bool = True,
    retstep: Literal[False] = False,
    dtype: npt.DTypeLike | None = None,
    axis: int = 0,
    *,
    device: DeviceLike = None,
) -> ndarray: ...
@overload
def linspace(
    start: Number | ndarray | Sequence[Number],
    stop: Number | ndarray | Sequence[Number],
    num: int = 50,
    endpoint: bool = True,
    *,
    retstep: Literal[True],
    dtype: npt.DTypeLike | None = None,
    axis: int = 0,
    device: DeviceLike = None,
) -> tuple[ndarray, float | complex | ndarray]: ...
def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: npt.DTypeLike | None = None,
    axis: int = 0,
    *,
    device: DeviceLike = None,
) -> ndarray | tuple[ndarray, float | complex | ndarray]:
    """`num` evenly spaced values from `start` to `stop`, which is the last one unless `endpoint=False`.

    The dtype is that of `start`, `stop` and a float together. With `retstep=True` also the step.
    Shapes: `start` and `stop` may be arrays, which broadcast; the values then lie along the new axis `axis`.
    """
    count = operator.index(num)
    if count < 0:
        raise ValueError(f"Number of samples, {count}, must be non-negative.")
    if not all(
        isinstance(value, bool | int | float | complex | np.generic) for value in (start, stop)
    ):
        from quern._grids import linspace_of_arrays  # which builds on this module

        return linspace_of_arrays(start, stop, count, endpoint, retstep, dtype, axis)  # type: ignore[no-any-return]
    if operator.index(axis) not in (0, -1):
        raise ValueError(f"linspace(): axis {axis} is out of bounds for one axis")
    wanted = np.dtype(dtype) if dtype is not None else np.result_type(start, stop, float(count))
    intervals = count - 1 if endpoint else count
    first, last = _plain(start) * 1.0, _plain(stop) * 1.0
    step = (last - first) / intervals if intervals > 0 else math.nan
    if (
        step == 0 and first != last
    ):  # too small for a float: the distance is scaled, not the step repeated
        made = arange(count, dtype=float, device=device) / intervals * (last - first) + first
        if endpoint:
            made[-1] = last
        return (made.astype(wanted), step) if retstep else made.astype(wanted)
    by = step if intervals > 0 else 0.0
    result = _core._linspace(first, last, by, count, endpoint and count > 1, wanted, device)
    return (result, step) if retstep else result
