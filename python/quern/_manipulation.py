"""Functions over the views that arrays offer as methods, under NumPy's names."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from quern import _core
from quern._core import broadcast_shapes, may_share_memory
from quern._operands import as_array, host_array, normalize_axis_tuple

if TYPE_CHECKING:
    from quern._core import Order, Shape, ndarray

    Axes = int | tuple[int, ...]

__all__ = [
    "broadcast_shapes",
    "broadcast_to",
    "diagonal",
    "expand_dims",
    "may_share_memory",
    "moveaxis",
    "ndim",
    "ravel",
    "reshape",
    "shape",
    "size",
    "squeeze",
    "swapaxes",
    "transpose",
]


def broadcast_to(array: object, shape: Shape) -> ndarray:
    """A read-only view in which axes of extent 1 are repeated as often as `shape` says.

    Raises: ValueError for a shape that does not fit. Source: NumPy, `numpy.broadcast_to`.
    """
    return _core.broadcast_to(as_array(array), shape)


def expand_dims(a: object, axis: Axes) -> ndarray:
    """A view with further axes of extent 1. Source: NumPy, `numpy.expand_dims`."""
    return _core.expand_dims(as_array(a), axis)


def moveaxis(a: object, source: Any, destination: Any) -> ndarray:
    """A view in which axes stand elsewhere. Source: NumPy, `numpy.moveaxis`."""
    return _core.moveaxis(as_array(a), source, destination)


def reshape(a: object, shape: Shape, order: Order = "C", *, copy: bool | None = None) -> ndarray:
    """The same elements in another shape; a view where the layout allows it, else a copy."""
    return as_array(a).reshape(shape, order=order, copy=copy)


def ravel(a: object, order: Order = "C") -> ndarray:
    """All elements along one axis; a view where the layout allows it."""
    return as_array(a).ravel(order)


def squeeze(a: object, axis: int | tuple[int, ...] | None = None) -> ndarray:
    """A view without axes of extent 1."""
    return as_array(a).squeeze(axis)


def transpose(a: object, axes: Shape | None = None) -> ndarray:
    """A view with its axes in the given order, reversed by default."""
    array = as_array(a)
    return array.transpose(axes) if axes is not None else array.transpose()


def swapaxes(a: object, axis1: int, axis2: int) -> ndarray:
    """A view with two axes exchanged."""
    return as_array(a).swapaxes(axis1, axis2)


def diagonal(a: object, offset: int = 0, axis1: int = 0, axis2: int = 1) -> ndarray:
    """A view of a diagonal."""
    return as_array(a).diagonal(offset, axis1, axis2)


def shape(a: Any) -> tuple[int, ...]:
    """The extents of `a`, an array or what NumPy makes one of."""
    return a.shape if isinstance(a, _core.ndarray) else host_array(a).shape


def ndim(a: Any) -> int:
    """The number of axes of `a`, an array or what NumPy makes one of."""
    return a.ndim if isinstance(a, _core.ndarray) else host_array(a).ndim


def size(a: Any, axis: Axes | None = None) -> int:
    """The number of elements of `a`, or along some axes. Source: NumPy, `numpy.size`."""
    extents = shape(a)
    if axis is not None:
        extents = tuple(extents[k] for k in normalize_axis_tuple(axis, len(extents)))
    return math.prod(extents)
