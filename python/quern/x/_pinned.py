"""NumPy arrays in page-locked memory of the host, which copies to and from a GPU need not be staged in."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from quern._core import PinnedBytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from quern._core import ndarray

    Pinned = npt.NDArray[Any]

__all__ = ["empty_like_pinned", "empty_pinned", "zeros_like_pinned", "zeros_pinned"]


def empty_pinned(
    shape: int | Sequence[int], dtype: npt.DTypeLike = float, order: str = "C"
) -> Pinned:
    """A NumPy array without values in page-locked memory of the current device's pool; a CPU has plain memory.

    Shapes: `shape`; its order is C or F. Raises: ValueError for negative extents and other orders; MemoryError.
    Source: CuPy, `cupyx.empty_pinned`.
    """
    extents = [shape] if hasattr(shape, "__index__") else shape
    extents = tuple(operator.index(extent) for extent in extents)
    if min(extents, default=0) < 0:
        raise ValueError("negative dimensions are not allowed")
    if order not in ("C", "F"):
        raise ValueError(f"order must be 'C' or 'F', not {order!r}")
    kind = np.dtype(dtype)
    memory = memoryview(PinnedBytes(math.prod(extents) * kind.itemsize))
    return np.ndarray(extents, kind, memory, order="F" if order == "F" else "C")


def empty_like_pinned(
    a: Pinned | ndarray,
    dtype: npt.DTypeLike | None = None,
    order: str = "K",
    subok: None = None,
    shape: int | Sequence[int] | None = None,
) -> Pinned:
    """`empty_pinned` of the shape, dtype and order of `a`, where nothing else is asked for.

    Order 'K' and 'A' are F for arrays that lie in Fortran's order alone, else C. `subok` is not taken.
    Source: CuPy, `cupyx.empty_like_pinned`.
    """
    if subok is not None:
        raise TypeError("subok is not supported")
    if order in ("K", "A", None):
        order = "F" if a.flags.f_contiguous and not a.flags.c_contiguous else "C"
    return empty_pinned(
        a.shape if shape is None else shape, a.dtype if dtype is None else dtype, order
    )


def zeros_pinned(
    shape: int | Sequence[int], dtype: npt.DTypeLike = float, order: str = "C"
) -> Pinned:
    """`empty_pinned`, filled with zeros. Source: CuPy, `cupyx.zeros_pinned`."""
    made = empty_pinned(shape, dtype, order)
    made.fill(0)
    return made


def zeros_like_pinned(
    a: Pinned | ndarray,
    dtype: npt.DTypeLike | None = None,
    order: str = "K",
    subok: None = None,
    shape: int | Sequence[int] | None = None,
) -> Pinned:
    """`empty_like_pinned`, filled with zeros. Source: CuPy, `cupyx.zeros_like_pinned`."""
    made = empty_like_pinned(a, dtype, order, subok, shape)
    made.fill(0)
    return made
