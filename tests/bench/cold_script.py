"""A script of twenty lines in a fresh process, with an empty cache and from disk. As a program: one process, as a line
of JSON. The clock runs from before `import quern` to the last value read back; Python's start and NumPy's import come
before it. `script_rows` runs it in fresh processes.
"""

import json
import sys
import tempfile
import time

from tests.bench.cold import fresh
from tests.bench.measure import Row, Sample

SCRIPT = """
import quern as np
a = np.arange(100000, dtype=np.float32)
b = np.sqrt(a)
c = np.where(b > 100, b, a)
d = np.exp(-c / 1000)
total = d.sum()
middle = d.mean()
e = np.sin(a) + np.cos(b)
f = np.maximum(e, d)
g = f.astype(np.float64)
spread = g.std()
h = np.clip(g, -1, 1)
found = np.any(h > 0.5)
i = np.abs(h)
place = np.argmax(i)
j = np.log1p(i)
m = j.reshape(100, 1000)
rows = m.sum(axis=1)
columns = m.max(axis=0)
values = np.asnumpy(rows), np.asnumpy(columns), float(total), float(middle), float(spread), bool(found), int(place)
"""
CONTEXT = (
    "import quern; quern.empty(1); quern.synchronize()"  # of a GPU, whose start is the driver's
)


def one_process() -> None:
    """Times the script and says what was compiled."""
    import numpy

    if "--context" in sys.argv:
        exec(CONTEXT, {})
    began = time.perf_counter()
    names: dict[str, object] = {}
    exec(compile(SCRIPT, "script", "exec"), names)
    took = (time.perf_counter() - began) * 1e3

    a = numpy.arange(100000, dtype=numpy.float32)
    c = numpy.where(numpy.sqrt(a) > 100, numpy.sqrt(a), a)
    numpy.testing.assert_allclose(names["total"].get(), numpy.exp(-c / 1000).sum(), rtol=1e-5)  # type: ignore[attr-defined]
    stats = names["np"].cache.stats()  # type: ignore[attr-defined]
    print(json.dumps({"ms": took, "compiles": stats["compiles"], "disk_hits": stats["disk_hits"]}))


def script_rows(
    section: str, device: str, limits: tuple[float, float], repeats: int = 5
) -> list[Row]:
    """The script with an empty cache and from disk, in ms."""
    words = ["--context"] if device != "cpu" else []
    empty, filled = [], []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory(prefix="quern-bench-") as cache:
            empty.append(fresh(cache, device, "tests.bench.cold_script", *words))
            filled.append(fresh(cache, device, "tests.bench.cold_script", *words))
    note = "a filled cache still compiled" if any(run["compiles"] for run in filled) else ""
    counted = "import quern to the end" if device == "cpu" else "after the context, to the end"
    return [
        Row(
            section,
            f"script of 20 lines, {what} ({counted})",
            "ms",
            Sample.of([run["ms"] for run in runs]),
            demand=f"<= {limit:g} ms",
            limit=limit,
            note=note or f"{runs[0]['compiles']:g} compiled, {runs[0]['disk_hits']:g} read",
        )
        for what, runs, limit in (
            ("empty cache", empty, limits[0]),
            ("from disk", filled, limits[1]),
        )
    ]


if __name__ == "__main__":
    one_process()
