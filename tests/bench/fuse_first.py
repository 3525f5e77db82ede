"""First calls of fused functions. As a program: one process's, as a line of JSON. `first_call_rows` runs it in fresh
processes with an empty cache.
"""

from __future__ import annotations

import json
import tempfile
import time
from typing import Any

from tests.bench.cold import fresh
from tests.bench.measure import Row, Sample

LIMITS = {"simple": 15.0, "softmax": 40.0}  # ms


def simple(np: Any, x: Any, y: Any) -> Any:
    return np.where(x > 0, x * y + 1.0, np.sqrt(np.abs(y)))


def one_process() -> None:
    """Times, in ms: the process's first kernel, then the first call of each function."""
    import numpy as np

    import quern
    from tests.bench.fuse_gpu import softmax

    host = np.random.default_rng(0).standard_normal((64, 1024)).astype("f4")
    x, y = quern.asarray(host), quern.asarray(host + 1)
    kernel = quern.ElementwiseKernel("T x, T y", "T z", "z = x * 2 + y", "first")
    calls = {
        "first kernel": lambda: kernel(x, y),
        "simple": lambda: quern.fuse(lambda x, y: simple(quern, x, y), strict=True)(x, y),
        "softmax": lambda: quern.fuse(lambda x: softmax(quern, x, 1), strict=True)(x),
    }
    times: dict[str, float] = {}
    for name, call in calls.items():
        quern.synchronize()
        began = time.perf_counter()
        call()
        quern.synchronize()
        times[name] = (time.perf_counter() - began) * 1e3
    print(json.dumps(times))


def first_call_rows(section: str, device: str, repeats: int = 7) -> list[Row]:
    """Trace and compile, where a kernel of the process has run before."""
    found = []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory(prefix="quern-bench-") as cache:
            found.append(fresh(cache, device, "tests.bench.fuse_first"))
    first = Sample.of([times["first kernel"] for times in found])
    return [
        Row(
            section,
            f"first call, {name}",
            "ms",
            Sample.of([times[name] for times in found]),
            demand=f"<= {limit:.0f} ms, the process's first kernel aside",
            limit=limit,
            note=f"the first kernel: {first.median:.0f} ms",
        )
        for name, limit in LIMITS.items()
    ]


if __name__ == "__main__":
    one_process()
