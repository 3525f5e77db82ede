"""ufunc.at: NumPy's index rules turned into places, which the core updates in order."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from quern import _core
from quern._core import ndarray
from quern._creation import asarray
from quern._manipulation import broadcast_to

if TYPE_CHECKING:
    import numpy.typing as npt

    from quern._core import ufunc

__all__ = ["at"]


def _is_integers(index: Any) -> bool:
    if isinstance(index, (list, tuple)):
        index = np.asarray(index)
        return bool(index.size) and index.dtype.kind in "iu"
    if isinstance(index, (ndarray, np.ndarray, np.generic)):
        return index.dtype.kind in "iu"
    return isinstance(index, int) and not isinstance(index, bool)


def _checked(index: npt.NDArray[Any], axis: int, extent: int) -> npt.NDArray[np.int64]:
    index = index.astype(np.int64)
    wrong = (index < -extent) | (index >= extent)
    if wrong.any():
        first = index[wrong].flat[0]
        raise IndexError(f"index {first} is out of bounds for axis {axis} with size {extent}")
    return np.where(index < 0, index + extent, index)


def _places(a: ndarray, index: Any) -> tuple[npt.NDArray[np.int64], tuple[int, ...]]:
    """The places that `a[index]` names, and the shape of the elements of `a` that each of them is."""
    items = index if isinstance(index, tuple) else (index,)
    items = tuple(x.get() if isinstance(x, ndarray) else x for x in items)
    if len(items) <= a.ndim and all(_is_integers(x) for x in items):
        lead = a.shape[: len(items)]
        parts = [
            _checked(np.asarray(x), axis, n)
            for axis, (x, n) in enumerate(zip(items, lead, strict=True))
        ]
        places = np.zeros((), np.int64)
        for part, extent in zip(parts, lead, strict=True):
            places = places * extent + part
        return places, a.shape[len(items) :]
    places = np.arange(a.size).reshape(a.shape)[items]
    return places, ()


def at(self: ufunc, a: ndarray, indices: Any, b: Any = None, /) -> None:
    """Compute `a[indices] = ufunc(a[indices], b)`, where an element that is named twice is updated twice.

    Updates of one element are made in the order of the indices, one after the other, on every device: the result is
    that of a loop, the same bits each time. Indices in a device's memory are waited for, and all are checked at once.
    Raises: IndexError; TypeError for values that no loop takes; ValueError for an `a` that is read-only.
    Source: NumPy, `numpy.ufunc.at`.
    """
    if not isinstance(a, ndarray):
        raise TypeError(f"first operand must be a quern.ndarray, not {type(a).__name__}")
    if (b is None) != (self.nin == 1):
        raise ValueError(
            "second operand needed for ufunc"
            if b is None
            else "second operand provided when ufunc is unary"
        )
    places, row = _places(a, indices)
    values = None
    if b is not None:
        if not isinstance(b, ndarray):
            if isinstance(b, (np.ndarray, list, tuple)):
                raise TypeError(f"Unsupported type {type(b)}: make an array with quern.asarray(b)")
            kind = type(b) if type(b) in (int, float, complex) else np.asarray(b).dtype
            b = asarray(b, dtype=self.resolve_dtypes((a.dtype, kind, None))[1], device=a.device)
        values = broadcast_to(b, places.shape + row)
    on_device = asarray(np.ascontiguousarray(places).ravel(), device=a.device)
    _core.ufunc_at(self, a, on_device, math.prod(row), values)
