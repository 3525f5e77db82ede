"""First calls of fused functions. As a program: the first kernel of one process, as a line of JSON. `first_call_rows`
runs it in fresh processes with an empty cache.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

from tests.bench.cold import fresh
from tests.bench.measure import Row, Sample

LIMITS = {"simple": 15.0, "softmax": 40.0}  # ms


def simple(np: Any, x: Any, y: Any) -> Any:
    return np.where(x > 0, x * y + 1.0, np.sqrt(np.abs(y)))


def one_process(which: str) -> None:
    """Time, in ms, of the process's first kernel: a plain one, or a fused function's."""
    import numpy as np

    import quern
    from tests.bench.fuse_gpu import softmax

    host = np.random.default_rng(0).standard_normal((64, 1024)).astype("f4")
    x, y = quern.asarray(host), quern.asarray(host + 1)
    kernel = quern.ElementwiseKernel("T x, T y", "T z", "z = x * 2 + y", "first")
    calls: dict[str, Callable[[], object]] = {
        "plain": lambda: kernel(x, y),
        "simple": lambda: quern.fuse(lambda x, y: simple(quern, x, y), strict=True)(x, y),
        "softmax": lambda: quern.fuse(lambda x: softmax(quern, x, 1), strict=True)(x),
    }
    quern.synchronize()
    began = time.perf_counter()
    calls[which]()
    quern.synchronize()
    print(json.dumps({"ms": (time.perf_counter() - began) * 1e3}))


def first_call_rows(section: str, device: str, repeats: int = 7) -> list[Row]:
    """Trace and compile, above what a plain kernel takes as the process's first; medians of fresh processes."""
    found: dict[str, list[float]] = {"plain": []} | {name: [] for name in LIMITS}
    for _ in range(repeats):
        for name, times in found.items():
            with tempfile.TemporaryDirectory(prefix="quern-bench-") as cache:
                times.append(fresh(cache, device, "tests.bench.fuse_first", name)["ms"])
    plain = Sample.of(found.pop("plain"))
    return [
        Row(
            section,
            f"first call, {name}, above a plain kernel",
            "ms",
            Sample.of([ms - plain.median for ms in times]),
            demand=f"<= {LIMITS[name]:.0f} ms above the process's first kernel",
            limit=LIMITS[name],
            note=f"a plain kernel: {plain.median:.1f} ms",
        )
        for name, times in found.items()
    ]


if __name__ == "__main__":
    one_process(sys.argv[1])
