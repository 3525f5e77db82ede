"""Compiles floor.cpp once and opens it."""

import ctypes

from tests.bench.measure import Sample
from tests.bench.native import build


class Floor:
    """Bare driver calls on one GPU; raises RuntimeError with the reason if they cannot be had."""

    def __init__(self, ordinal: int = 0) -> None:
        self._library = build("floor.cpp", "-O2", "-ldl")
        self._library.floor_launch_us.restype = ctypes.c_double
        self._library.floor_copy_gbs.restype = ctypes.c_double
        self._library.floor_copy_gbs.argtypes = [ctypes.c_size_t, ctypes.c_int]
        step = self._library.floor_open(ordinal)
        if step:
            steps = (
                "",
                "libcuda",
                "its symbols",
                "cuInit",
                "the primary context",
                "the module",
                "memory",
            )
            raise RuntimeError(f"the bare launch loop could not open {steps[step]}")

    def launch_us(self, calls: int = 2000, repeats: int = 15) -> Sample:
        """A cuLaunchKernel loop in C: microseconds a launch."""
        self._library.floor_launch_us(200)
        return Sample.of([self._library.floor_launch_us(calls) for _ in range(repeats)])

    def copy_gbs(self, size_bytes: int = 1 << 30, count: int = 20, repeats: int = 7) -> Sample:
        """Device to device copies: GB/s, read and written bytes counted."""
        return Sample.of([self._library.floor_copy_gbs(size_bytes, count) for _ in range(repeats)])
