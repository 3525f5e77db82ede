"""ufunc.at: an index's places, found on the device, which the core updates in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quern import _core
from quern._core import ndarray
from quern._creation import asarray
from quern._manipulation import broadcast_to

if TYPE_CHECKING:
    from quern._core import ufunc

__all__ = ["at"]


def at(self: ufunc, a: ndarray, indices: Any, b: Any = None, /) -> None:
    """Compute `a[indices] = ufunc(a[indices], b)`, where an element that is named twice is updated twice.

    Updates of one element are made in the order of the indices, one after the other, on every device: the result is
    that of a loop, the same bits each time. What an index out of bounds names is not updated.
    Raises: IndexError, on a GPU as `quern.config.index_check` says; TypeError for values that no loop takes; ValueError
    for an `a` that is read-only.
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
    if b is not None and not isinstance(b, ndarray):
        kind = type(b) if type(b) in (int, float, complex) else _core.host_array(b).dtype
        b = asarray(b, dtype=self.resolve_dtypes((a.dtype, kind, None))[1], device=a.device)
    places, width, shape = _core.locate(a, indices)
    values = None if b is None else broadcast_to(b, shape)
    _core.ufunc_at(self, a, places.ravel(), width, values)
