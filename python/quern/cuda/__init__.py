"""Devices, streams, events and memory pools, under the names that CuPy gives them. A CPU is a device here too."""

from __future__ import annotations

from quern._core import (
    Device,
    Event,
    ExternalStream,
    Memory,
    MemoryPointer,
    MemoryPool,
    PinnedMemoryPool,
    Stream,
    get_current_stream,
    get_elapsed_time,
    gpu_count,
)
from quern.cuda import compiler, driver, nvtx, runtime, texture

__all__ = [
    "Device",
    "Event",
    "ExternalStream",
    "Memory",
    "MemoryPointer",
    "MemoryPool",
    "PinnedMemoryPool",
    "Stream",
    "compiler",
    "driver",
    "get_current_stream",
    "get_device_id",
    "get_elapsed_time",
    "is_available",
    "nvtx",
    "runtime",
    "synchronize",
    "texture",
]


def is_available() -> bool:
    """Whether there is a GPU that quern can use. The CPU is always there."""
    return gpu_count() > 0


def get_device_id() -> int:
    """The id of the current device: a GPU's number; of the CPU 0 without a GPU, else -1."""
    return Device().id


def synchronize(device: Device | str | int | None = None) -> None:
    """Wait for all work of `device`, by default the current one."""
    Device(device).synchronize()
