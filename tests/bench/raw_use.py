"""RawKernel over time and over threads. As a program: what one fresh process saw, as a line of JSON, in wall time."""

import json
import os
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np

from tests.bench import raw_kernels as kernels
from tests.bench.measure import Row, Sample, call_us

SECTION = "raw"
SIDE = 512
N = 1 << 24


def first_second() -> dict[str, Any]:
    """The tiled product as it comes, launched for a second: when each launch ended, in ms from RawKernel()."""
    import quern

    x, y = quern.asarray(np.random.default_rng(1).random((2, SIDE, SIDE), np.float32))
    z = quern.zeros((SIDE, SIDE), np.float32)
    quern.synchronize()
    ends = []
    began = time.perf_counter()
    kernel = quern.RawKernel(kernels.CUDA + kernels.TILED, "tiled")
    while not ends or ends[-1] < 1000:
        kernel((32, 32), (16, 16), (x, y, z, SIDE))
        quern.synchronize()
        ends.append((time.perf_counter() - began) * 1e3)
    return {"ends_ms": ends}


def speeds() -> dict[str, Any]:
    """Microseconds of a steady launch, with as many threads as this process uses."""
    import quern

    a, b = np.random.default_rng(1).random((2, SIDE, SIDE), np.float32)
    x, y, z = quern.asarray(a), quern.asarray(b), quern.zeros((SIDE, SIDE), np.float32)
    long = [quern.ones(N, np.float32) for _ in range(3)]
    tiled = quern.RawKernel(kernels.CUDA + kernels.TILED, "tiled", ("--quern-waiting=regions",))
    power = quern.RawKernel(kernels.CUDA + kernels.EXP, "power")
    add = quern.RawKernel(kernels.CUDA + kernels.ADD, "add")
    calls = {
        "tiled": lambda: tiled((32, 32), (16, 16), (x, y, z, SIDE)),
        "power": lambda: power((N // 256,), (256,), (long[0], long[1], N)),
        "add": lambda: add((N // 256,), (256,), (*long, N)),
    }
    return {
        name: call_us(call, quern.synchronize, calls=3, repeats=5).median
        for name, call in calls.items()
    }


def fresh(what: str, **environment: str) -> dict[str, Any]:
    """The same in a process of its own, with an empty cache."""
    with tempfile.TemporaryDirectory(prefix="quern-bench-") as cache:
        done = subprocess.run(
            [sys.executable, "-m", "tests.bench.raw_use", what],
            env=dict(os.environ, QUERN_CACHE_DIR=cache, **environment),
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode != 0:
        raise RuntimeError(f"{what} failed: {done.stderr.strip().splitlines()[-1:]}")
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def use_rows(repeats: int = 5) -> list[Row]:
    """The first second of a kernel that starts as fibers, and all cores against one."""
    runs = [fresh("first_second")["ends_ms"] for _ in range(repeats)]
    shares, settled = [], []
    for ends in runs:
        times = np.diff(ends)
        steady = float(np.median(times[-max(5, len(times) // 4) :]))
        shares.append(len(ends) * steady / ends[-1])
        slow = np.flatnonzero(times > 2 * steady)
        settled.append(ends[slow[-1] + 1] if slow.size else ends[0])
    rows = [
        Row(
            SECTION,
            "tiled product as it comes: launches of the first second, of those at full speed",
            "share",
            Sample.of(shares),
            higher_is_better=True,
        ),
        Row(
            SECTION,
            "tiled product as it comes: from RawKernel() to full speed",
            "ms",
            Sample.of(settled),
        ),
    ]

    cores = len(os.sched_getaffinity(0))
    if cores == 1:
        return [*rows, Row(SECTION, "all cores against one", "", skipped="one CPU here")]
    one, all_ = [], []
    for _ in range(repeats):
        one.append(fresh("speeds", QUERN_NUM_THREADS="1"))
        all_.append(fresh("speeds", QUERN_NUM_THREADS=str(cores)))
    flops, million = 2 * SIDE**3 / 1e3, float(N)
    for name, what, unit, work, limit in (
        ("tiled", "tiled product, 512^2 float32", "GFLOP/s", flops, 0.8 * cores),
        ("power", "z = expf(x), 2^24 float32", "Melem/s", million, None),
        ("add", "z = x + y, 2^24 float32", "Melem/s", million, None),
    ):
        row = Row(
            SECTION,
            f"{what}, {cores} threads, wall time",
            unit,
            Sample.of([work / run[name] for run in all_]),
            Sample.of([work / run[name] for run in one]),
            "one thread",
            higher_is_better=True,
        )
        if limit:
            row.demand, row.limit = f">= {limit:g}x one thread", limit
        rows.append(row)
    return rows


if __name__ == "__main__":
    print(json.dumps({"first_second": first_second, "speeds": speeds}[sys.argv[1]]()))
