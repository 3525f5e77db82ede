"""Functions that take, put and find elements by index, under NumPy's names."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from quern import _core
from quern._core import ElementwiseKernel, ndarray
from quern._creation import arange, asarray, empty, full
from quern._manipulation import broadcast_shapes, broadcast_to
from quern._operands import safe_index

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

__all__ = [
    "argwhere",
    "choose",
    "compress",
    "diag_indices",
    "diag_indices_from",
    "extract",
    "fill_diagonal",
    "flatnonzero",
    "indices",
    "ix_",
    "mask_indices",
    "nonzero",
    "place",
    "put",
    "put_along_axis",
    "putmask",
    "ravel_multi_index",
    "select",
    "take",
    "take_along_axis",
    "tril_indices",
    "tril_indices_from",
    "triu_indices",
    "triu_indices_from",
    "unravel_index",
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
    a = asarray(a)
    places = _core.flatnonzero(a)
    if a.ndim == 1:
        return places[:, None]
    result = empty((places.size, a.ndim), np.int64, device=a.device)
    if places.size:
        for k, column in enumerate(_core.unravel(places, a.shape)):
            result[:, k] = column
    return result


def fill_diagonal(a: ndarray, val: Any, wrap: bool = False) -> None:
    """Set the elements whose indices are all equal; values are repeated. `wrap`: again below, in tall matrices.

    Raises: ValueError for less than two axes, or more than two that are not of one length.
    Source: NumPy, `numpy.fill_diagonal`.
    """
    if _require(a).ndim < 2:
        raise ValueError("array must be at least 2-d")
    if a.ndim == 2:
        step = a.shape[1] + 1
        end = a.size if wrap else min(a.shape[1] * a.shape[1], a.size)
    else:
        if any(extent != a.shape[0] for extent in a.shape):
            raise ValueError("All dimensions of input must be of equal length")
        step = 1 + sum(math.prod(a.shape[:k]) for k in range(1, a.ndim))
        end = a.size
    a.put(arange(0, end, step, dtype=np.int64, device=a.device), val)


def diag_indices(n: int, ndim: int = 2) -> tuple[ndarray, ...]:
    """The indices of the main diagonal of an array of `ndim` axes of length `n`.

    Source: NumPy, `numpy.diag_indices`.
    """
    return (arange(n),) * ndim


def diag_indices_from(arr: ndarray) -> tuple[ndarray, ...]:
    """`diag_indices` of an array. Raises: ValueError for less than two axes, or axes of different lengths.

    Source: NumPy, `numpy.diag_indices_from`.
    """
    if arr.ndim < 2:
        raise ValueError("input array must be at least 2-d")
    if any(extent != arr.shape[0] for extent in arr.shape):
        raise ValueError("All dimensions of input must be of equal length")
    return diag_indices(arr.shape[0], arr.ndim)


# The `place`-th element on or below a diagonal: the first `tip` of them lie in rows of `start`, `start` + 1, ...
# elements, the others in whole rows. Guesses in doubles are one off at most.
_PLACE_IN_TRIANGLE = """
    const long long twice = 2 * start - 1, rest = place - tip;
    long long row = static_cast<long long>((sqrt(static_cast<double>(twice * twice + 8 * place)) - twice) * 0.5);
    row -= row * (row + twice) / 2 > place;
    row += (row + 1) * (row + 1 + twice) / 2 <= place;
    long long whole = static_cast<long long>(static_cast<double>(rest) / width);
    whole -= whole * width > rest;
    whole += (whole + 1) * width <= rest;
    const bool in_tip = rest < 0;
    const long long row_there = first + (in_tip ? row : rows + whole);
    const long long column_there = in_tip ? place - row * (row + twice) / 2 : rest - whole * width;
"""


@functools.cache
def _triangle_kernel(upper: bool) -> ElementwiseKernel:
    place, row, column = (
        ("last - i", "height - 1 - row_there", "width - 1 - column_there")
        if upper
        else ("i", "row_there", "column_there")
    )
    return _core.ElementwiseKernel(
        "int64 height, int64 width, int64 first, int64 start, int64 rows, int64 tip, int64 last",
        "int64 row_index, int64 column_index",
        f"const long long place = {place};{_PLACE_IN_TRIANGLE}row_index = {row}; column_index = {column};",
        f"quern_tri{'u' if upper else 'l'}_indices",
    )


def _triangle(n: int, m: int, k: int, *, upper: bool) -> tuple[ndarray, ...]:
    """Indices of what lies on and below the `k`-th diagonal; with `upper`, of that turned by half a turn."""
    n, m = max(n, 0), max(m, 0)
    first = max(0, -k)  # row with an element
    start = min(m, first + k + 1)
    rows = max(0, min(n - first, m - start + 1)) if start > 0 else 0
    tip = rows * start + rows * (rows - 1) // 2
    size = tip + max(0, n - first - rows) * m
    found = empty(size, np.int64), empty(size, np.int64)
    if size:
        _triangle_kernel(upper)(n, m, first, start, rows, tip, size - 1, *found)
    return found


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[ndarray, ...]:
    """The indices of an (n, m) array's elements on and below its `k`-th diagonal.

    Source: NumPy, `numpy.tril_indices`.
    """
    return _triangle(n, n if m is None else m, k, upper=False)


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[ndarray, ...]:
    """The indices of an (n, m) array's elements on and above its `k`-th diagonal.

    Source: NumPy, `numpy.triu_indices`.
    """
    m = n if m is None else m
    return _triangle(n, m, m - n - k, upper=True)


def tril_indices_from(arr: ndarray, k: int = 0) -> tuple[ndarray, ...]:
    """`tril_indices` of a matrix. Raises: ValueError unless it has two axes.

    Source: NumPy, `numpy.tril_indices_from`.
    """
    if arr.ndim != 2:
        raise ValueError("input array must be 2-d")
    return tril_indices(arr.shape[-2], k, arr.shape[-1])


def triu_indices_from(arr: ndarray, k: int = 0) -> tuple[ndarray, ...]:
    """`triu_indices` of a matrix. Raises: ValueError unless it has two axes.

    Source: NumPy, `numpy.triu_indices_from`.
    """
    if arr.ndim != 2:
        raise ValueError("input array must be 2-d")
    return triu_indices(arr.shape[-2], k, arr.shape[-1])


def mask_indices(n: int, mask_func: Any, k: Any = 0) -> tuple[ndarray, ...]:
    """The indices at which `mask_func(a, k)`, of an (n, n) array of ones, is not 0.

    Source: NumPy, `numpy.mask_indices`.
    """
    mask: ndarray = mask_func(full((n, n), 1, np.int64), k)
    return mask.nonzero()


def ix_(*args: Any) -> tuple[ndarray, ...]:
    """Indices that take every combination: each one-axis argument along an axis of its own. Bools stand for positions.

    Raises: ValueError for an argument of more axes.
    Source: NumPy, `numpy.ix_`.
    """
    result = []
    for axis, given in enumerate(args):
        part = asarray(given)
        if part.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        if part.size == 0:
            part = part.astype(np.int64)
        if part.dtype.kind == "b":
            part = _core.flatnonzero(part)
        shape = [1] * len(args)
        shape[axis] = part.size
        result.append(part.reshape(tuple(shape)))
    return tuple(result)


def indices(dimensions: Sequence[int], dtype: npt.DTypeLike = int, sparse: bool = False) -> Any:
    """The indices of a grid: of one array, the first axis telling which; with `sparse` an array for each axis.

    Shapes: (len(dimensions), *dimensions); sparse ones have all but one axis of length 1.
    Source: NumPy, `numpy.indices`.
    """
    shape = tuple(int(n) for n in dimensions)
    lines = [
        arange(n, dtype=dtype).reshape((1,) * k + (-1,) + (1,) * (len(shape) - k - 1))
        for k, n in enumerate(shape)
    ]
    if sparse:
        return tuple(lines)
    result = empty((len(shape), *shape), dtype)
    for k, line in enumerate(lines):
        result[k] = line
    return result


def _refuse_outside(wrong: ndarray, message: str) -> None:
    if bool(wrong.any()):
        raise ValueError(message)


def _plain_order(order: Literal["C", "F"] | None) -> Literal["C", "F"]:
    if order not in ("C", "F", None):
        raise ValueError("only 'C' or 'F' order is permitted")
    return order or "C"


def _extents(shape: Any) -> tuple[int, ...]:
    return tuple(map(safe_index, shape)) if np.iterable(shape) else (safe_index(shape),)


def unravel_index(
    indices: Any, shape: Any, order: Literal["C", "F"] | None = "C"
) -> tuple[ndarray, ...]:
    """Positions in an array of `shape` as an index for each axis. Waits, to check them.

    Raises: ValueError for a position outside or 2^63 elements and more; TypeError for positions that are no integers.
    Source: NumPy, `numpy.unravel_index`.
    """
    order = _plain_order(order)
    extents = _extents(shape)
    places = asarray(indices)
    if places.size == 0 and not isinstance(indices, ndarray):
        places = places.astype(np.int64)
    if places.dtype.kind not in "biu":
        raise TypeError("only int indices permitted")
    places = places.astype(np.int64, copy=False)
    size = math.prod(extents)
    if size >= 2**63:
        raise ValueError("dimensions are too large: so many elements have no int64 positions")
    if places.size:
        _refuse_outside(
            (places < 0) | (places >= size),
            f"an index is out of bounds for array with size {size}",
        )
    found: tuple[ndarray, ...] = _core.unravel(places, extents if order == "C" else extents[::-1])
    return found if order == "C" else found[::-1]


def ravel_multi_index(
    multi_index: Any, dims: Any, mode: Any = "raise", order: Literal["C", "F"] | None = "C"
) -> ndarray:
    """The positions in an array of shape `dims` of elements that are given by an index for each axis.

    `mode`, for all axes or one for each: "raise" (which waits, to check), "wrap" or "clip".
    Raises: ValueError for an index outside, another number of indices than axes, or dims of 2^63 elements and more.
    Source: NumPy, `numpy.ravel_multi_index`.
    """
    order = _plain_order(order)
    extents = _extents(dims)
    parts = [asarray(part) for part in multi_index]
    if len(parts) != len(extents):
        raise ValueError(f"parameter multi_index must be a sequence of length {len(extents)}")
    if math.prod(extents) >= 2**63:
        raise ValueError("invalid dims: so many elements have no int64 positions")
    modes = (mode,) * len(extents) if isinstance(mode, str) else tuple(mode)
    for axis, (part, kind) in enumerate(zip(parts, modes, strict=True)):
        if part.dtype.kind not in "biu":
            raise TypeError("only int indices permitted")
        if kind not in _AXIS_PLACE:
            raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {kind!r})")
        parts[axis] = part.astype(np.int64, copy=False)
    axes = list(range(len(extents)))
    if order == "F":
        axes.reverse()
    if 0 in extents and any(part.size for part in parts):
        raise ValueError("cannot unravel if shape has zero entries (is empty).")
    places: Any = 0
    for first in range(0, len(axes), _AXES_AT_ONCE):
        some = axes[first : first + _AXES_AT_ONCE]
        kernel = _ravel_kernel(tuple(modes[axis] for axis in some))
        places = kernel(places, *(x for axis in some for x in (parts[axis], extents[axis])))
    result: ndarray = places
    if "raise" in modes and result.size and int(result.min()) < 0:
        raise ValueError("invalid entry in coordinates array")
    return result


# What an index counts along its axis; outside, where that is refused, places become negative and stay so.
_AXIS_PLACE = {
    "raise": "bad |= static_cast<unsigned long long>(index{0}) >= static_cast<unsigned long long>(extent{0});"
    "const long long at{0} = index{0};",
    "wrap": "const long long rest{0} = index{0} % extent{0}, at{0} = rest{0} < 0 ? rest{0} + extent{0} : rest{0};",
    "clip": "const long long at{0} = index{0} < 0 ? 0 : index{0} < extent{0} ? index{0} : extent{0} - 1;",
}
_AXES_AT_ONCE = 16


@functools.cache
def _ravel_kernel(modes: tuple[str, ...]) -> ElementwiseKernel:
    axes = range(len(modes))
    steps = "".join(
        _AXIS_PLACE[modes[k]].format(k) + f"there = there * extent{k} + at{k};" for k in axes
    )
    return _core.ElementwiseKernel(
        "int64 before" + "".join(f", int64 index{k}, int64 extent{k}" for k in axes),
        "int64 place",
        f"bool bad = before < 0; long long there = before; {steps} place = bad ? -1 : there;",
        "quern_ravel_multi_index",
    )


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
