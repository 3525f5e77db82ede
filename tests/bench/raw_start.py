"""What RawKernel costs before it runs. As a program: one process's compilations, as a line of JSON."""

import json
import os
import subprocess
import sys
import tempfile
import time
from typing import Any

from tests.bench import raw_kernels as kernels
from tests.bench.measure import Row, Sample

SECTION = "raw"
FURTHER = 5  # compilations of each kind after the first call
REGIONS = ("--quern-waiting=regions",)

# kind -> text, kernel, options
KINDS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "no barriers, z = x + y": (kernels.ADD, "add", ()),
    "no barriers, z = expf(x)": (kernels.EXP, "power", ()),
    "no barriers, product": (kernels.PRODUCT, "product", ()),
    "barriers, tree reduction, fibers": (kernels.TREE, "tree", ()),
    "barriers, tiled product, fibers": (kernels.TILED, "tiled", ()),
    "barriers, tree reduction, regions": (kernels.TREE, "tree", REGIONS),
    "barriers, tiled product, regions": (kernels.TILED, "tiled", REGIONS),
}


def one_process(first: str) -> dict[str, Any]:
    """Times, in ms: from import to device, the first call of one kind, and further compilations of every kind."""
    import numpy as np

    clock = time.perf_counter
    began = clock()
    import quern

    x, y, z = (quern.asarray(np.ones(512, np.float32)) for _ in range(3))
    quern.synchronize()
    ready = clock()
    text, name, options = KINDS[first]
    kernel = quern.RawKernel(kernels.CUDA + text, name, options)
    args = (x, z) if name == "tree" else (x, y, z, 16 if name == "tiled" else 512)
    kernel((1,), (16, 16) if name == "tiled" else (256,), args)
    quern.synchronize()
    called = clock()
    further: dict[str, list[float]] = {}
    for kind, (text, name, options) in KINDS.items():
        for k in range(FURTHER):
            start = time.process_time()
            quern.RawKernel(f"{kernels.CUDA}{text}// {k}\n", name, options).compile()
            further.setdefault(kind, []).append((time.process_time() - start) * 1e3)
    return {
        "ready_ms": (ready - began) * 1e3,
        "first_ms": (called - ready) * 1e3,
        "further_ms": further,
        "disk_hits": quern.cache.stats()["disk_hits"],
    }


def fresh(first: str) -> dict[str, Any]:
    """One fresh process with an empty cache."""
    with tempfile.TemporaryDirectory(prefix="quern-bench-") as cache:
        done = subprocess.run(
            [sys.executable, "-m", "tests.bench.raw_start", first],
            env=dict(os.environ, QUERN_CACHE_DIR=cache),
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode != 0:
        raise RuntimeError(f"a start failed: {done.stderr.strip().splitlines()[-1:]}")
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def start_rows(repeats: int = 7) -> list[Row]:
    """First calls in wall time, further compilations in CPU time."""
    plain, waiting = "no barriers, z = x + y", "barriers, tiled product, fibers"
    runs = {kind: [fresh(kind) for _ in range(repeats)] for kind in (plain, waiting)}
    every = [run for several in runs.values() for run in several]
    note = "an empty cache was not empty" if any(run["disk_hits"] for run in every) else ""
    rows = [
        Row(
            SECTION,
            f"first call in a process, empty cache, after import ({kind})",
            "ms",
            Sample.of([run["first_ms"] for run in several]),
            demand="<= 120 ms",
            limit=120,
            note=note,
        )
        for kind, several in runs.items()
    ]
    rows.append(
        Row(
            SECTION,
            "import quern after NumPy, context, three small arrays",
            "ms",
            Sample.of([run["ready_ms"] for run in every]),
        )
    )
    for kind in KINDS:
        row = Row(
            SECTION,
            f"compile, {kind}",
            "ms",
            Sample.of([time for run in every for time in run["further_ms"][kind]]),
        )
        limit = 60 if kind.startswith("no ") else 30 if kind.endswith("fibers") else None
        if limit:
            row.demand, row.limit = f"<= {limit} ms", limit
        rows.append(row)
    return rows


if __name__ == "__main__":
    print(json.dumps(one_process(sys.argv[1])))
