"""Views of an array's memory with other shapes and strides, under numpy.lib.stride_tricks' names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quern import _core
from quern._operands import as_array, normalize_axis_tuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quern._core import ndarray

__all__ = ["as_strided", "sliding_window_view"]


def as_strided(
    x: ndarray, shape: Sequence[int] | None = None, strides: Sequence[int] | None = None
) -> ndarray:
    """A view from the first element of `x` on, with any shape and strides in bytes; by default those of `x`.

    Raises: ValueError for a view that leaves the memory of `x`. Source: NumPy, `numpy.lib.stride_tricks.as_strided`.
    """
    shape = x.shape if shape is None else tuple(shape)
    strides = x.strides if strides is None else tuple(strides)
    return _core.ndarray(shape, x.dtype, x.data, strides)


def sliding_window_view(
    x: Any,
    window_shape: int | Sequence[int],
    axis: Any = None,
    *,
    subok: bool = False,
    writeable: bool = False,
) -> ndarray:
    """All windows of a size along the axes (all of them by default): a view with the window's axes last.

    Raises: ValueError for a window that is negative, too large, or not of as many extents as axes.
    Source: NumPy, `numpy.lib.stride_tricks.sliding_window_view`.
    """
    window = tuple(window_shape) if hasattr(window_shape, "__iter__") else (window_shape,)
    if any(n < 0 for n in window):
        raise ValueError("`window_shape` cannot contain negative values")
    x = as_array(x)
    if axis is None and len(window) != x.ndim:
        raise ValueError(
            "Since axis is `None`, must provide window_shape for all dimensions of `x`; "
            f"got {len(window)} window_shape elements and `x.ndim` is {x.ndim}."
        )
    axes = (
        tuple(range(x.ndim))
        if axis is None
        else normalize_axis_tuple(axis, x.ndim, allow_duplicate=True)
    )
    if len(window) != len(axes):
        raise ValueError(
            "Must provide matching length window_shape and axis; "
            f"got {len(window)} window_shape elements and {len(axes)} axes elements."
        )
    shape = list(x.shape)
    for k, n in zip(axes, window, strict=True):
        if shape[k] < n:
            raise ValueError("window shape cannot be larger than input array shape")
        shape[k] -= n - 1
    made = as_strided(x, (*shape, *window), (*x.strides, *(x.strides[k] for k in axes)))
    if not writeable:
        made.flags.writeable = False
    return made
