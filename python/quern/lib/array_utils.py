"""numpy.lib.array_utils, of quern's arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

if TYPE_CHECKING:
    from quern._core import ndarray

__all__ = ["byte_bounds", "normalize_axis_index", "normalize_axis_tuple"]


def byte_bounds(a: ndarray) -> tuple[int, int]:
    """Addresses of the first byte of an array's elements, and of the byte behind the last.

    Between them other bytes may lie, where the array is not contiguous. Source: NumPy,
    `numpy.lib.array_utils.byte_bounds`.
    """
    low = high = a.data.ptr
    if a.size == 0:
        return low, high
    for extent, stride in zip(a.shape, a.strides, strict=True):
        if stride < 0:
            low += (extent - 1) * stride
        else:
            high += (extent - 1) * stride
    return low, high + a.itemsize
