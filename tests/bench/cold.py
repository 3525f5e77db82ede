"""Cold starts. As a program: one process's first kernels, as a line of JSON. `cold_rows` runs it in fresh processes."""

import json
import os
import subprocess
import sys
import tempfile
import time

from tests.bench.measure import Row, Sample

FURTHER = 8  # simple kernels after the first, each different


def one_process() -> None:
    """Times, in ms: import, device, first kernel, and each further one."""
    import numpy as np

    clock = time.perf_counter
    began = clock()
    import quern

    imported = clock()
    x = quern.asarray(np.arange(1000, dtype=np.float32))
    y = quern.asarray(np.ones(1000, dtype=np.float32))
    quern.synchronize()
    ready = clock()
    times = []
    for k in range(FURTHER + 1):
        start = clock()
        kernel = quern.ElementwiseKernel("T x, T y", "T z", f"z = x * {k + 2} + y", f"cold_{k}")
        result = kernel(x, y)
        quern.synchronize()
        times.append((clock() - start) * 1e3)
        assert float(quern.asnumpy(result)[3]) == 3 * (k + 2) + 1
    start = clock()
    x.sum()
    quern.synchronize()
    reduction = (clock() - start) * 1e3
    stats = quern.cache.stats()
    print(
        json.dumps(
            {
                "import_ms": (imported - began) * 1e3,
                "device_ms": (ready - imported) * 1e3,
                "first_ms": times[0],
                "further_ms": sorted(times[1:])[len(times[1:]) // 2],
                "reduction_ms": reduction,
                "compiles": stats["compiles"],
                "disk_hits": stats["disk_hits"],
            }
        )
    )


def fresh(
    cache: str, device: str, module: str = "tests.bench.cold", *words: str
) -> dict[str, float]:
    """What a module of the bench measures in one fresh process against this cache folder."""
    environment = dict(os.environ, QUERN_CACHE_DIR=cache, QUERN_DEVICE=device)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
    done = subprocess.run(
        [sys.executable, "-m", module, *words],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{module} failed: {done.stderr.strip().splitlines()[-1:]}")
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def cold_rows(
    section: str, device: str, limits: tuple[float, float, float], repeats: int = 7
) -> list[Row]:
    """First kernel, each further, and from disk, in ms, over fresh processes."""
    compiled, loaded = [], []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory(prefix="quern-bench-") as cache:
            compiled.append(fresh(cache, device))
            loaded.append(fresh(cache, device))
    note = ""
    if any(run["compiles"] == 0 for run in compiled):
        note = "an empty cache did not compile"
    if any(run["compiles"] for run in loaded):
        note = "a filled cache still compiled"
    rows = []
    for what, runs, key, limit in (
        ("first kernel in a process, empty cache", compiled, "first_ms", limits[0]),
        ("each further simple kernel, empty cache", compiled, "further_ms", limits[1]),
        ("first kernel in a process, from disk", loaded, "first_ms", limits[2]),
        ("each further simple kernel, from disk", loaded, "further_ms", limits[2]),
    ):
        sample = Sample.of([run[key] for run in runs])
        rows.append(
            Row(section, what, "ms", ours=sample, demand=f"<= {limit:g} ms", limit=limit, note=note)
        )
    above = Sample.of([run["reduction_ms"] - run["further_ms"] for run in compiled])
    rows.append(
        Row(
            section,
            "first reduction over an elementwise kernel",
            "ms",
            above,
            demand="<= 25 ms",
            limit=25,
        )
    )
    imports = Sample.of([run["import_ms"] for run in compiled + loaded])
    rows.append(
        Row(section, "import quern, after NumPy", "ms", ours=imports, demand="<= 60 ms", limit=60)
    )
    ready = Sample.of([run["device_ms"] for run in compiled + loaded])
    rows.append(Row(section, "context and two small arrays", "ms", ours=ready))
    return rows


CUPY_COLD = """
import json, time, numpy as np, cupy
x = cupy.asarray(np.arange(1000, dtype=np.float32)); y = cupy.asarray(np.ones(1000, dtype=np.float32))
cupy.cuda.Device().synchronize()
times = []
for k in range(9):
    start = time.perf_counter()
    cupy.ElementwiseKernel("T x, T y", "T z", f"z = x * {k + 2} + y", f"cold_{k}")(x, y)
    cupy.cuda.Device().synchronize()
    times.append((time.perf_counter() - start) * 1e3)
start = time.perf_counter()
x.sum()
cupy.cuda.Device().synchronize()
reduction = (time.perf_counter() - start) * 1e3
further = sorted(times[1:])[4]
print(json.dumps({"first_ms": times[0], "further_ms": further, "above_ms": reduction - further}))
"""


def cupy_cold(repeats: int = 3) -> tuple[dict[str, Sample], dict[str, Sample]]:
    """CuPy's cold starts with an empty cache, and from disk: samples by the same names."""
    compiled: list[dict[str, float]] = []
    loaded: list[dict[str, float]] = []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory(prefix="quern-bench-") as cache:
            for runs in (compiled, loaded):
                done = subprocess.run(
                    [sys.executable, "-c", CUPY_COLD],
                    env=dict(os.environ, CUPY_CACHE_DIR=cache),
                    capture_output=True,
                    text=True,
                    check=True,
                )
                runs.append(json.loads(done.stdout.strip().splitlines()[-1]))
    return tuple(  # type: ignore[return-value]
        {
            key: Sample.of([run[key] for run in runs])
            for key in ("first_ms", "further_ms", "above_ms")
        }
        for runs in (compiled, loaded)
    )


if __name__ == "__main__":
    one_process()
