"""Compiles floor.cpp once and opens it."""

import ctypes
import os
import subprocess
from pathlib import Path

from tests.bench.measure import Sample


class Floor:
    """Bare driver calls on one GPU; raises RuntimeError with the reason if they cannot be had."""

    def __init__(self, ordinal: int = 0) -> None:
        source = Path(__file__).with_name("floor.cpp")
        target = Path("out/bench/libfloor.so")
        target.parent.mkdir(parents=True, exist_ok=True)
        compiler = os.environ.get("CXX", "c++")
        command = [
            compiler,
            "-O2",
            "-std=c++17",
            "-shared",
            "-fPIC",
            str(source),
            "-o",
            str(target),
            "-ldl",
        ]
        try:
            made = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            raise RuntimeError(f"no C++ compiler ({compiler}) for the bare launch loop") from None
        if made.returncode != 0:
            raise RuntimeError(f"floor.cpp does not compile: {made.stderr.strip()[-300:]}")
        self._library = ctypes.CDLL(str(target.resolve()))
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
