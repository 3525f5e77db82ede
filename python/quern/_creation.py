"""Functions that make arrays. Names, defaults and dtype rules are NumPy's; every one takes `device=` besides."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

import numpy as np

from quern import _core
from quern._core import (
    array,
    asanyarray,
    asarray,
    ascontiguousarray,
    asfortranarray,
    copy,
    empty,
    empty_like,
    frombuffer,
    full,
    full_like,
    ones,
    ones_like,
    zeros,
    zeros_like,
)
from quern._errors import UnsupportedDtypeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from quern._core import DeviceLike, Order, StreamLike, ndarray

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
    "frombuffer",
    "full",
    "full_like",
    "linspace",
    "ones",
    "ones_like",
    "zeros",
    "zeros_like",
]


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
    values = np.asarray(_core.host_array(a), order=order)
    if out is None:
        return values
    out[...] = values
    return out


def _number(value: Any) -> Any:
    """The number in a 0-d array, which is waited for; anything else as it is."""
    return value.get()[()] if isinstance(value, _core.ndarray) else value


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
    if type(start) is int and stop is None and step is None and dtype is None and start < 2**63:
        return _core._range(0, 1, max(start, 0), np.int64, device)
    if step is None:
        step = 1
    start, stop, step = map(_number, (start, stop, step))
    wanted: np.dtype[Any]
    if dtype is not None:
        wanted = np.dtype(dtype)
    else:
        given = [np.asarray(value).dtype for value in (start, stop, step) if value is not None]
        wanted = np.result_type(np.intp, *given)
    if wanted.kind == "O":
        raise UnsupportedDtypeError(
            "arange: a bound is past 64 bits, and arrays of Python objects stay on the host; give dtype=float"
        )
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
    scalars = (bool, int, float, complex, np.generic)
    if not (isinstance(start, scalars) and isinstance(stop, scalars)):
        from quern._grids import linspace_of_arrays  # which builds on this module

        return linspace_of_arrays(start, stop, count, endpoint, retstep, dtype, axis, device)  # type: ignore[no-any-return]
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
