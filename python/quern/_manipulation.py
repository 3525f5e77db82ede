"""Functions over the views that arrays offer as methods, under NumPy's names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quern._core import broadcast_shapes, broadcast_to, expand_dims, may_share_memory, moveaxis

if TYPE_CHECKING:
    from quern._core import Order, Shape, ndarray

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


def reshape(a: ndarray, shape: Shape, order: Order = "C", *, copy: bool | None = None) -> ndarray:
    """The same elements in another shape; a view where the layout allows it, else a copy."""
    return a.reshape(shape, order=order, copy=copy)


def ravel(a: ndarray, order: Order = "C") -> ndarray:
    """All elements along one axis; a view where the layout allows it."""
    return a.ravel(order)


def squeeze(a: ndarray, axis: int | tuple[int, ...] | None = None) -> ndarray:
    """A view without axes of extent 1."""
    return a.squeeze(axis)


def transpose(a: ndarray, axes: Shape | None = None) -> ndarray:
    """A view with its axes in the given order, reversed by default."""
    return a.transpose(axes) if axes is not None else a.transpose()


def swapaxes(a: ndarray, axis1: int, axis2: int) -> ndarray:
    """A view with two axes exchanged."""
    return a.swapaxes(axis1, axis2)


def diagonal(a: ndarray, offset: int = 0, axis1: int = 0, axis2: int = 1) -> ndarray:
    """A view of a diagonal."""
    return a.diagonal(offset, axis1, axis2)


def shape(a: ndarray) -> tuple[int, ...]:
    """The extents of `a`."""
    return a.shape


def ndim(a: ndarray) -> int:
    """The number of axes of `a`."""
    return a.ndim


def size(a: ndarray, axis: int | None = None) -> int:
    """The number of elements of `a`, or along one axis."""
    return a.size if axis is None else a.shape[axis]
