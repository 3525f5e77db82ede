"""Arrays put together and taken apart, under NumPy's names. Joining costs one copy per array, splitting none."""

from __future__ import annotations

import itertools
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from quern import _core
from quern._creation import arange, asarray, empty, full
from quern._manipulation import broadcast_to, moveaxis
from quern._operands import (
    as_array,
    as_arrays,
    host_array,
    normalize_axis_index,
    safe_index,
)
from quern._rearranging import atleast_1d, atleast_2d, atleast_3d

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from quern._core import ndarray

__all__ = [
    "append",
    "array_split",
    "block",
    "column_stack",
    "concat",
    "concatenate",
    "delete",
    "dsplit",
    "dstack",
    "hsplit",
    "hstack",
    "insert",
    "row_stack",
    "split",
    "stack",
    "unstack",
    "vsplit",
    "vstack",
]


def concatenate(
    arrays: Sequence[object],
    axis: int | None = 0,
    out: ndarray | None = None,
    *,
    dtype: npt.DTypeLike | None = None,
    casting: str = "same_kind",
) -> ndarray:
    """Arrays one after another along an axis; `axis=None` takes all their elements in C order.

    The dtype is what theirs promote to, or `dtype`, or that of `out`.
    Shapes: equal but for `axis`.
    Raises: ValueError for shapes, or no array at all; TypeError for casts that `casting` forbids.
    Source: NumPy, `numpy.concatenate`.
    """
    return _core.concatenate(as_arrays(arrays), axis, out, dtype, casting)


concat = concatenate


def stack(
    arrays: Sequence[object],
    axis: int = 0,
    out: ndarray | None = None,
    *,
    dtype: npt.DTypeLike | None = None,
    casting: str = "same_kind",
) -> ndarray:
    """Arrays of one shape along a new axis, which is `axis` of the result.

    Raises: ValueError where shapes differ; AxisError.
    Source: NumPy, `numpy.stack`.
    """
    parts = as_arrays(arrays)
    if not parts:
        raise ValueError("need at least one array to stack")
    if any(part.shape != parts[0].shape for part in parts):
        raise ValueError("all input arrays must have the same shape")
    axis = normalize_axis_index(axis, parts[0].ndim + 1)
    rows = [_core.expand_dims(part, axis) for part in parts]
    return _core.concatenate(rows, axis, out, dtype, casting)


def _several(arrays: ndarray | tuple[ndarray, ...]) -> tuple[ndarray, ...]:
    return arrays if isinstance(arrays, tuple) else (arrays,)


def vstack(
    tup: Sequence[object], *, dtype: npt.DTypeLike | None = None, casting: str = "same_kind"
) -> ndarray:
    """Arrays as rows, one below another: joined along the first of at least two axes. Source: NumPy, `numpy.vstack`."""
    rows = [atleast_2d(part) for part in as_arrays(tup)]
    return _core.concatenate(rows, 0, None, dtype, casting)


def row_stack(
    tup: Sequence[object], *, dtype: npt.DTypeLike | None = None, casting: str = "same_kind"
) -> ndarray:
    """`vstack` by the name that NumPy 2 deprecates, with a DeprecationWarning. Source: NumPy, `numpy.row_stack`."""
    message = "`row_stack` alias is deprecated. Use `quern.vstack` directly."
    warnings.warn(message, DeprecationWarning, stacklevel=2)
    return vstack(tup, dtype=dtype, casting=casting)


def hstack(
    tup: Sequence[object], *, dtype: npt.DTypeLike | None = None, casting: str = "same_kind"
) -> ndarray:
    """Arrays side by side: along the second axis, or the first where there is one. Source: NumPy, `numpy.hstack`."""
    parts = [atleast_1d(part) for part in as_arrays(tup)]
    axis = 0 if parts and parts[0].ndim == 1 else 1
    return _core.concatenate(parts, axis, None, dtype, casting)


def dstack(tup: Sequence[object]) -> ndarray:
    """Arrays joined along the third of at least three axes. Source: NumPy, `numpy.dstack`."""
    return _core.concatenate([atleast_3d(part) for part in as_arrays(tup)], 2)


def column_stack(tup: Sequence[object]) -> ndarray:
    """1-D arrays as columns of a 2-D one; 2-D arrays side by side. Source: NumPy, `numpy.column_stack`."""
    parts = as_arrays(tup)
    columns = [part if part.ndim >= 2 else atleast_2d(part).T for part in parts]
    return _core.concatenate(columns, 1)


def append(arr: object, values: object, axis: int | None = None) -> ndarray:
    """`values` after `arr` along `axis`; by default all elements of both. Source: NumPy, `numpy.append`."""
    return _core.concatenate([as_array(arr), as_array(values)], axis)


# block: where every leaf begins, then one copy per leaf.

Leaf = tuple[tuple[int, ...], "ndarray"]


def _leaves(block: object, path: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], object]]:
    if isinstance(block, tuple):
        raise TypeError(
            f"{_place(path)} is a tuple. Only lists can be used to arrange blocks, and np.block does not allow "
            "implicit conversion from tuple to ndarray."
        )
    if not isinstance(block, list):
        yield path, block
        return
    if not block:
        raise ValueError(f"List at {_place(path)} cannot be empty")
    for k, part in enumerate(block):
        yield from _leaves(part, (*path, k))


def _place(path: tuple[int, ...]) -> str:
    return "arrays" + "".join(f"[{k}]" for k in path)


def _arranged(block: Any, depth: int, ndim: int) -> tuple[tuple[int, ...], list[Leaf]]:
    if depth == 0:
        leaf = as_array(block)
        leaf = leaf.reshape((1,) * (ndim - leaf.ndim) + leaf.shape)
        return leaf.shape, [((0,) * ndim, leaf)]
    axis = ndim - depth
    parts = [_arranged(part, depth - 1, ndim) for part in block]
    shape = parts[0][0]
    placed: list[Leaf] = []
    start = 0
    for extents, leaves in parts:
        if (*extents[:axis], *extents[axis + 1 :]) != (*shape[:axis], *shape[axis + 1 :]):
            raise ValueError(
                f"Mismatched array shapes in block along axis {axis}: {shape} and {extents}"
            )
        for offset, leaf in leaves:
            placed.append(((*offset[:axis], offset[axis] + start, *offset[axis + 1 :]), leaf))
        start += extents[axis]
    return (*shape[:axis], start, *shape[axis + 1 :]), placed


def block(arrays: object) -> ndarray:
    """An array put together from nested lists of blocks: the innermost lists along the last axis, and so outward.

    Raises: ValueError for empty lists, uneven nesting or shapes; TypeError for tuples.
    Source: NumPy, `numpy.block`.
    """
    leaves = list(_leaves(arrays))
    first = leaves[0][0]
    for path, _ in leaves:
        if len(path) != len(first):
            raise ValueError(
                f"List depths are mismatched. First element was at {_place(first)}, but there is an element at "
                f"{_place(path)}"
            )
    parts = [as_array(leaf) for _, leaf in leaves]
    depth = len(first)
    ndim = max(depth, *(part.ndim for part in parts))
    shape, placed = _arranged(arrays, depth, ndim)
    result = empty(shape, np.result_type(*(part.dtype for part in parts)), device=parts[0].device)
    for offset, leaf in placed:
        window = tuple(slice(at, at + n) for at, n in zip(offset, leaf.shape, strict=True))
        result[window] = leaf
    return result


# Splitting: views.


def array_split(ary: object, indices_or_sections: Any, axis: int = 0) -> list[ndarray]:
    """Views of consecutive parts along `axis`: so many, the first ones one longer if need be, or cut at the positions.

    Source: NumPy, `numpy.array_split`.
    """
    a = as_array(ary)
    total = a.shape[axis]
    if np.iterable(indices_or_sections):
        cuts = [0, *host_array(indices_or_sections).tolist(), total]
    else:
        sections = int(indices_or_sections)
        if sections <= 0:
            raise ValueError("number sections must be larger than 0.")
        each, longer = divmod(total, sections)
        cuts = [k * each + min(k, longer) for k in range(sections + 1)]
    axis = normalize_axis_index(axis, a.ndim)
    lead = (slice(None),) * axis
    return [a[(*lead, slice(start, stop))] for start, stop in itertools.pairwise(cuts)]


def split(ary: object, indices_or_sections: Any, axis: int = 0) -> list[ndarray]:
    """`array_split` into parts of equal length, or at the given positions.

    Raises: ValueError if a number of parts does not divide the extent.
    Source: NumPy, `numpy.split`.
    """
    a = as_array(ary)
    if not np.iterable(indices_or_sections):
        sections = int(indices_or_sections)
        if a.shape[axis] % sections:
            raise ValueError("array split does not result in an equal division")
    return array_split(a, indices_or_sections, axis)


def hsplit(ary: object, indices_or_sections: Any) -> list[ndarray]:
    """`split` along the second axis, or the first where there is one. Source: NumPy, `numpy.hsplit`."""
    a = as_array(ary)
    if a.ndim == 0:
        raise ValueError("hsplit only works on arrays of 1 or more dimensions")
    return split(a, indices_or_sections, 1 if a.ndim > 1 else 0)


def vsplit(ary: object, indices_or_sections: Any) -> list[ndarray]:
    """`split` along the first of at least two axes. Source: NumPy, `numpy.vsplit`."""
    a = as_array(ary)
    if a.ndim < 2:
        raise ValueError("vsplit only works on arrays of 2 or more dimensions")
    return split(a, indices_or_sections, 0)


def dsplit(ary: object, indices_or_sections: Any) -> list[ndarray]:
    """`split` along the third of at least three axes. Source: NumPy, `numpy.dsplit`."""
    a = as_array(ary)
    if a.ndim < 3:
        raise ValueError("dsplit only works on arrays of 3 or more dimensions")
    return split(a, indices_or_sections, 2)


def unstack(x: object, /, *, axis: int = 0) -> tuple[ndarray, ...]:
    """Views of the array at each position along `axis`. Source: NumPy, `numpy.unstack`."""
    a = as_array(x)
    if a.ndim == 0:
        raise ValueError("Input array must be at least 1-d.")
    return tuple(moveaxis(a, axis, 0))


# Elements taken out and put in.


def _line(arr: object, axis: int | None) -> tuple[ndarray, int]:
    a = as_array(arr)
    if axis is None:
        return a.ravel(), 0
    return a, normalize_axis_index(safe_index(axis), a.ndim)


def _out_of_bounds(index: int | np.integer[Any], axis: int, extent: int) -> IndexError:
    return IndexError(f"index {index} is out of bounds for axis {axis} with size {extent}")


def _is_one(obj: object) -> bool:
    return isinstance(obj, (int, np.integer)) and not isinstance(obj, (bool, np.bool_))


def _positions(obj: object, function: str) -> npt.NDArray[Any]:
    indices = host_array(obj)
    if indices.size == 0 and not isinstance(obj, (np.ndarray, _core.ndarray)):
        indices = indices.astype(np.intp)
    if indices.dtype.kind not in "biu" and function == "insert" and indices.size == 1:
        raise TypeError("positions must be integers, slices or masks")
    if indices.dtype.kind not in "biu":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    if function == "insert" and indices.ndim > 1:
        raise ValueError(
            "boolean array argument obj to insert must be one dimensional"
            if indices.dtype.kind == "b"
            else "index array argument obj to insert must be one dimensional or scalar"
        )
    return indices


def delete(arr: object, obj: Any, axis: int | None = None) -> ndarray:
    """A copy without the positions `obj` along `axis`: an int, a slice, a list of ints or a mask.

    By default of all elements in C order. Positions in a device's memory are waited for: the shape hangs on them.
    Raises: IndexError for a position out of bounds; ValueError for a mask of another length.
    Source: NumPy, `numpy.delete`.
    """
    a, axis = _line(arr, axis)
    extent = a.shape[axis]
    lead = (slice(None),) * axis
    if type(obj) is int and -extent <= obj < extent:
        obj = slice(obj % extent, obj % extent + 1)
    if isinstance(obj, slice):
        gone = range(extent)[obj]
        if abs(gone.step) == 1 or len(gone) < 2:
            start = min(gone[0], gone[-1]) if gone else 0
            return _core.concatenate(
                [a[(*lead, slice(0, start))], a[(*lead, slice(start + len(gone), None))]], axis
            )
        obj = np.arange(extent)[obj]
    indices = np.asarray([obj]) if _is_one(obj) else _positions(obj, "delete")
    if indices.dtype.kind == "b":
        if indices.shape != (extent,):
            raise ValueError(
                "boolean array argument obj to delete must be one dimensional and match the axis length of "
                f"{extent}"
            )
        indices = np.flatnonzero(indices)
    wrong = (indices < -extent) | (indices >= extent)
    if wrong.any():
        raise _out_of_bounds(indices[wrong].flat[0], axis, extent)
    if indices.size <= _FEW:  # what stays between them is a few slices
        cuts = [-1, *np.unique(indices % max(extent, 1)).tolist(), extent]
        kept = [slice(last + 1, cut) for last, cut in itertools.pairwise(cuts)]
        return _core.concatenate([a[(*lead, part)] for part in kept], axis)
    keep = np.ones(extent, np.bool_)
    keep[indices] = False
    if a.device.is_cpu:
        return a[(*lead, asarray(keep))]
    return a.take(np.flatnonzero(keep), axis)  # nothing is waited for


_FEW = 8


_MOST_PIECES = 512  # to insert one by one


def insert(arr: object, obj: Any, values: object, axis: int | None = None) -> ndarray:
    """A copy with `values` before the positions `obj` along `axis`; by default among all elements in C order.

    Positions in a device's memory are waited for.
    Raises: IndexError for a position out of bounds; ValueError where `values` do not fit.
    Source: NumPy, `numpy.insert`.
    """
    a, axis = _line(arr, axis)
    extent = a.shape[axis]
    lead = (slice(None),) * axis
    if isinstance(obj, slice):
        indices = np.arange(*obj.indices(extent), dtype=np.intp)
    else:
        indices = _positions(obj, "insert")
        if indices.dtype.kind == "b":
            indices = np.flatnonzero(indices)
    if isinstance(values, int):  # which must fit
        new = full((), values, a.dtype, device=a.device)
    elif isinstance(values, (list, tuple)):
        new = asarray(values, a.dtype, device=a.device)
    else:
        new = as_array(values, a.device).astype(a.dtype, copy=False)
    if indices.size == 1:
        index = indices.item()
        if not -extent <= index <= extent:
            raise _out_of_bounds(index, axis, extent)
        index += extent if index < 0 else 0
        new = new.reshape((1,) * (a.ndim - new.ndim) + new.shape)
        if indices.ndim == 0:
            new = moveaxis(new, 0, axis)
        count = new.shape[axis]
        shape = (*a.shape[:axis], extent + count, *a.shape[axis + 1 :])
        result = empty(shape, a.dtype, device=a.device)
        result[(*lead, slice(0, index))] = a[(*lead, slice(0, index))]
        result[(*lead, slice(index, index + count))] = new
        result[(*lead, slice(index + count, None))] = a[(*lead, slice(index, None))]
        return result
    indices = indices.astype(np.intp)
    wrong = (indices < -extent) | (indices > extent)
    if wrong.any():
        raise _out_of_bounds(indices[wrong].flat[0], axis, extent)
    indices[indices < 0] += extent
    count = len(indices)
    if count == 0:
        return a.copy()
    rows = broadcast_to(new, (*a.shape[:axis], count, *a.shape[axis + 1 :]))
    order = indices.argsort(kind="stable")
    if count <= _MOST_PIECES:  # what lies between them is copied in one piece
        parts, start = [], 0
        for k in order.tolist():
            place = indices.item(k)
            parts += [a[(*lead, slice(start, place))], rows[(*lead, slice(k, k + 1))]]
            start = place
        return _core.concatenate([*parts, a[(*lead, slice(start, None))]], axis)
    at = indices[order] + np.arange(count)
    if a.ndim == 1:
        made = empty(extent + count, a.dtype, device=a.device)
        old = np.ones(extent + count, np.bool_)
        old[at] = False
        made[asarray(at, device=a.device)] = rows[asarray(order, device=a.device)]
        if extent:
            _core.place(made, asarray(old, device=a.device), a)
        return made
    positions, ends = arange(extent + count, device=a.device), asarray(at, device=a.device)
    positions -= _core._search_sorted(ends, positions, False)  # what stands there moves by as many
    positions[ends] = asarray(extent + order, device=a.device)
    return _core.concatenate([a, rows], axis).take(positions, axis)
