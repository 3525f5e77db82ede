"""What CuPy calls the driver's complaint about a call."""

from __future__ import annotations

from quern._errors import DriverError as CUDADriverError

__all__ = ["CUDADriverError"]
