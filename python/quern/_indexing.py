"""Functions that take, put and find elements by index, under NumPy's names."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from quern import _core
from quern._core import ndarray
from quern._creation import arange, asarray, empty
from quern._manipulation import broadcast_shapes, broadcast_to

if TYPE_CHECKING:
    from collections.abc import Sequence


__all__ = [
    "argwhere",
    "choose",
    "compress",
    "extract",
    "fill_diagonal",
    "flatnonzero",
    "nonzero",
    "place",
    "put",
    "put_along_axis",
    "putmask",
    "select",
    "take",
    "take_along_axis",
]

Mode = Literal["raise", "wrap", "clip"]


def _require(a: Any, name: str = "a") -> ndarray:
    if not isinstance(a, ndarray):
        raise TypeError(
            f"{name} must be a quern.ndarray, not {type(a).__name__}: make one with quern.asarray(x)"
        )
    return a


def take(
    a: ndarray,
    indices: Any,
    axis: int | None = None,
    out: ndarray | None = None,
    mode: Mode = "raise",
) -> ndarray:
    """Elements of `a` at positions along `axis`, or of all elements in C order.

    `mode`: what an index out of bounds means: an error, counting round, or the nearest end.
    Shapes: that of `indices` in place of the axis.
    Raises: IndexError, on a GPU as `quern.config.index_check` says; TypeError for indices that are not integers,
    and for an `out` that is no part of the array's dtype; ValueError for one of another shape.
    Source: NumPy, `numpy.take`.
    """
    return asarray(a).take(indices, axis, out, mode)


def put(a: ndarray, ind: Any, v: Any, mode: Mode = "raise") -> None:
    """Set elements of `a` at positions in C order; `v` is repeated, or cut, to as many as there are.

    The last of several values for one element wins on the CPU, one of them on a GPU.
    Raises: as `take`; ValueError if `a` is read-only.
    Source: NumPy, `numpy.put`.
    """
    _require(a).put(ind, v, mode)


def take_along_axis(arr: ndarray, indices: Any, axis: int | None = -1) -> ndarray:
    """For each place of the result the element of `arr` whose position along `axis` stands in `indices`.

    Shapes: `indices` and `arr` have as many axes and broadcast along all others; with `axis=None` both are one axis.
    Raises: IndexError for indices that are no integers or out of bounds; ValueError for shapes.
    Source: NumPy, `numpy.take_along_axis`.
    """
    return _core.take_along_axis(_require(arr, "arr"), indices, axis)


def put_along_axis(arr: ndarray, indices: Any, values: Any, axis: int | None) -> None:
    """Set the elements of `arr` that `take_along_axis` would give; `values` broadcast to `indices`.

    Raises: as `take_along_axis`; ValueError if `arr` is read-only.
    Source: NumPy, `numpy.put_along_axis`.
    """
    _core.put_along_axis(_require(arr, "arr"), indices, values, axis)


def choose(a: Any, choices: Any, out: ndarray | None = None, mode: Mode = "raise") -> ndarray:
    """Element by element the one of `choices` whose number `a` holds.

    Shapes: `a` and all choices broadcast.
    Raises: ValueError for a number that no choice has, on a GPU as `quern.config.index_check` says.
    Source: NumPy, `numpy.choose`.
    """
    numbers = asarray(a)
    arrays = [asarray(c, device=numbers.device) for c in choices]
    if not arrays:
        raise ValueError("choose() needs at least one choice")
    shape = broadcast_shapes(numbers.shape, *(c.shape for c in arrays))
    dtype = np.result_type(*(c.dtype for c in arrays))
    stacked = empty((len(arrays), *shape), dtype, device=numbers.device)
    for k, choice in enumerate(arrays):
        stacked[k] = choice
    return _core.choose(numbers, stacked, out, mode)


def compress(
    condition: Any, a: ndarray, axis: int | None = None, out: ndarray | None = None
) -> ndarray:
    """The parts of `a` along `axis` for which a 1-D condition is true; it may be shorter than the axis.

    Waits for the number of them. Raises: ValueError for a condition of more axes; IndexError where it is too long.
    Source: NumPy, `numpy.compress`.
    """
    return asarray(a).compress(condition, axis, out)


def extract(condition: Any, arr: ndarray) -> ndarray:
    """The elements of `arr` in C order where `condition` is true. Waits for the number of them.

    Source: NumPy, `numpy.extract`.
    """
    values = asarray(arr)
    return values.compress(asarray(condition, device=values.device).ravel())


def place(arr: ndarray, mask: Any, vals: Any) -> None:
    """Set the elements of `arr` where `mask` is true to the values one after the other, again from their start.

    Raises: ValueError for a mask of another size, no values at all, or a read-only `arr`.
    Source: NumPy, `numpy.place`.
    """
    _core.place(_require(arr, "arr"), mask, vals)


def putmask(a: ndarray, mask: Any, values: Any) -> None:
    """Set the elements of `a` where `mask` is true to the values at the same positions, counted round.

    Raises: ValueError for a mask of another size or a read-only `a`; TypeError for values that are not cast safely.
    Source: NumPy, `numpy.putmask`.
    """
    if isinstance(values, _core.ndarray) and not np.can_cast(values.dtype, a.dtype, "safe"):
        raise TypeError(
            f"Cannot cast array data from {values.dtype!r} to {a.dtype!r} according to the rule 'safe'"
        )
    _core.putmask(_require(a), mask, values)


def nonzero(a: ndarray) -> tuple[ndarray, ...]:
    """The positions of the elements that are not 0, in C order: an int64 array for each axis. Waits for their number.

    Raises: ValueError for an array without axes.
    Source: NumPy, `numpy.nonzero`.
    """
    return asarray(a).nonzero()


def flatnonzero(a: ndarray) -> ndarray:
    """The positions in C order of the elements that are not 0. Waits for their number.

    Source: NumPy, `numpy.flatnonzero`.
    """
    return _core.flatnonzero(asarray(a))


def argwhere(a: ndarray) -> ndarray:
    """The positions of the elements that are not 0, one row each. Waits for their number.

    Shapes: (count, a.ndim).
    Source: NumPy, `numpy.argwhere`.
    """
    return _core.argwhere(asarray(a))


def fill_diagonal(a: ndarray, val: Any, wrap: bool = False) -> None:
    """Set the elements whose indices are all equal; values are repeated. `wrap`: again below, in tall matrices.

    Raises: ValueError for less than two axes, or more than two that are not of one length.
    Source: NumPy, `numpy.fill_diagonal`.
    """
    if _require(a).ndim < 2:
        raise ValueError("array must be at least 2-d")
    if a.ndim > 2 and any(extent != a.shape[0] for extent in a.shape):
        raise ValueError("All dimensions of input must be of equal length")
    line = a
    while line.ndim > 1:
        line = line.diagonal()
    more = wrap and a.ndim == 2 and a.shape[0] > a.shape[1]
    if not np.iterable(val) and not more:
        line[...] = val
        return
    step = 1 + sum(math.prod(a.shape[k:]) for k in range(1, a.ndim))
    end = a.size if more else line.size * step
    a.put(arange(0, end, step, dtype=np.int64, device=a.device), val)


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> ndarray:
    """Element by element the choice of the first condition that is true, else `default`.

    Shapes: all conditions and choices broadcast. One launch for each condition.
    Raises: ValueError for lists of different lengths or empty ones; TypeError for conditions that are not bools.
    Source: NumPy, `numpy.select`.
    """
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if len(condlist) == 0:
        raise ValueError("select with an empty condition list is not possible")
    conditions = [asarray(c) for c in condlist]
    for k, condition in enumerate(conditions):
        if condition.dtype.kind != "b":
            raise TypeError(f"invalid entry {k} in condlist: should be boolean ndarray")
    weak = (bool, int, float, complex)
    choices = [c if type(c) in weak else asarray(c) for c in (*choicelist, default)]
    dtype = np.result_type(*(c if type(c) in weak else c.dtype for c in choices))
    shapes = [c.shape for c in (*conditions, *choices) if isinstance(c, ndarray)]
    result = empty(broadcast_shapes(*shapes), dtype)
    result[...] = choices[-1]
    for condition, choice in zip(conditions[::-1], choices[-2::-1], strict=True):
        if isinstance(choice, ndarray):
            choice = broadcast_to(choice.astype(dtype, copy=False), result.shape)
        _core.put_where(result, condition, choice)
    return result
