"""Waits for a device, forbidden where a program should not have any."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from quern import _core
from quern._errors import DeviceSynchronized

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["DeviceSynchronized", "allow_synchronize"]


@contextmanager
def allow_synchronize(allow: bool) -> Iterator[None]:
    """Inside, whether this thread's calls may bring values from a device or wait for all of its work.

    With False such a call (`float(a)`, `a.get()`, `nonzero(a)`, `Device.synchronize()`) raises DeviceSynchronized, on
    the CPU too. It may be nested.
    Source: CuPy, `cupyx.allow_synchronize`.
    """
    before = _core._allow_waits(allow)
    try:
        yield
    finally:
        _core._allow_waits(before)
