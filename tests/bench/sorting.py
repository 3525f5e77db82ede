"""Sorts, sets and counts beside CuPy and PyTorch on a GPU, on the CPU beside NumPy. Prints milliseconds, ours first.

`python -m tests.bench.sorting "sort float32"` runs what begins so. On the CPU one call is timed by the process's clock.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import quern
from quern import _core

Call = Callable[[], Any]


def milliseconds(call: Call, wait: Call, clock: Callable[[], float], rounds: int = 9) -> float:
    """The median of single calls, each waited for."""
    call()
    wait()
    found = []
    for _ in range(rounds):
        began = clock()
        call()
        wait()
        found.append(clock() - began)
    return statistics.median(found) * 1e3


def cases(gpu: bool) -> list[tuple[str, list[Any], Callable[[Any], Callable[..., Any]]]]:
    """Names, NumPy arrays, and how a module of NumPy's names is called on them."""
    random = np.random.default_rng(0)
    n = 1 << 27 if gpu else 10**6
    m = 1 << 22 if gpu else 10**6
    ints = random.integers(-(2**31), 2**31, n, dtype="i4")
    floats = random.standard_normal(n, dtype="f4")
    rows = [
        (f"sort float32 rows of {k}", [floats[: n // k * k].reshape(-1, k)], lambda np: np.sort)
        for k in (32, 1000, 5000, 100_000)
    ]
    return [
        ("sort float32", [floats], lambda np: np.sort),
        ("sort int32", [ints], lambda np: np.sort),
        ("sort float64", [floats[: n // 2].astype("f8")], lambda np: np.sort),
        ("sort int16", [ints.astype("i2")], lambda np: np.sort),
        ("sort int8", [ints.astype("i1")], lambda np: np.sort),
        ("sort float16", [floats.astype("f2")], lambda np: np.sort),
        *rows,
        ("argsort float32", [floats], lambda np: np.argsort),
        ("unique float32", [floats[:m]], lambda np: np.unique),
        ("unique int32 of 1000", [ints[:m] % 1000], lambda np: np.unique),
        ("searchsorted", [np.sort(floats[:m]), floats[:m]], lambda np: np.searchsorted),
        ("bincount of 100", [np.abs(ints[: n // 2] % 100)], lambda np: np.bincount),
        ("bincount of 100000", [np.abs(ints[: n // 2] % 100_000)], lambda np: np.bincount),
        ("histogram", [floats[: n // 2]], lambda np: np.histogram),
    ]


def layouts(a: Any, wait: Call) -> None:
    """A long sort with other numbers of threads and values of each."""
    for block in (256, 384, 512):
        for held in (8, 12, 16, 20, 24, 28, 32):
            if block * (held * a.itemsize + 32) <= 44 << 10:  # its values and its warps' counts
                call = partial(_core._sort, a, -1, road=2, block=block, held=held)
                took = milliseconds(call, wait, time.perf_counter, 5)
                print(f"  {block} threads of {held}: {took:.3f}", flush=True)


def main(parts: list[str]) -> None:
    """Runs and prints."""
    gpu = not quern.Device().is_cpu
    clock = time.perf_counter if gpu else time.process_time
    peers: dict[str, tuple[Any, Callable[[Any], Any], Call]] = {}
    if gpu:
        try:
            import cupy

            peers["cupy"] = (cupy, cupy.asarray, cupy.cuda.Device().synchronize)
        except ImportError:
            pass
    else:
        peers["numpy"] = (np, np.asarray, lambda: None)
    for name, arrays, function in cases(gpu):
        if parts and not any(name.startswith(part) for part in parts):
            continue
        ours = [quern.asarray(a) for a in arrays]
        took = milliseconds(partial(function(quern), *ours), quern.synchronize, clock)
        line = f"{name}: {took:.3f}"
        for peer, (module, move, wait) in peers.items():
            theirs = [move(a) for a in arrays]
            line += f" | {peer} {milliseconds(partial(function(module), *theirs), wait, clock):.3f}"
        print(line, flush=True)
        if gpu and name in ("sort float32", "sort float64"):
            layouts(ours[0], quern.synchronize)


if __name__ == "__main__":
    main(sys.argv[1:])
