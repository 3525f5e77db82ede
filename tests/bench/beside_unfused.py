"""Forty fused functions beside themselves unfused, at three sizes, on the device of the run; on CPUs beside NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from tests.bench.array_gpu import wanted
from tests.bench.fused_functions import functions
from tests.bench.measure import Row, alternate, call_us

SIZES = (1_000, 100_000, 10_000_000)


def inputs(size: int) -> dict[str, Any]:
    random = np.random.default_rng(0)
    width = min(1000, size // 10)
    floats = [random.random(size, np.float32) + np.float32(0.5) for _ in range(3)]
    square = floats[0].reshape(-1, width)
    return {
        **dict(zip("xyz", floats, strict=True)),
        "m": floats[0] > floats[1],
        "k": (floats[0] * 1000).astype(np.int32),
        "X": square,
        "Y": floats[1].reshape(-1, width),
        "r": square[:1].copy(),
        "c": square[:, :1].copy(),
    }


def beside_unfused(section: str, parts: list[str]) -> Iterator[Row]:
    import quern

    on_cpu = quern.Device().is_cpu
    for size in SIZES:
        host = inputs(size)
        given = {name: quern.asarray(array) for name, array in host.items()}
        calls = max(3, 300_000 // size) if on_cpu and size > 1000 else 300
        for name, text in functions().items():
            what = f"{name}, {size}"
            if not wanted(what, parts):
                continue
            names = [each for each in host if each in compile(text, "", "eval").co_names]
            ours = eval(f"lambda {', '.join(names)}: {text}", {"np": quern})
            theirs = eval(f"lambda {', '.join(names)}: {text}", {"np": np})
            arrays = tuple(given[each] for each in names)
            time = partial(call_us, wait=quern.synchronize, calls=calls, repeats=5)
            timed = {
                "fused": partial(time, quern.fuse(ours), args=arrays),
                "unfused": partial(time, ours, args=arrays),
            }
            if on_cpu:
                timed["NumPy"] = partial(time, theirs, args=tuple(host[each] for each in names))
            samples = alternate(timed, rounds=5)
            # Near the limit noise decides.
            if samples["fused"].median > 1.02 * samples["unfused"].median:
                samples = alternate(timed, rounds=41)
            row = Row(
                section,
                what,
                "us",
                samples.pop("fused"),
                samples.pop("unfused"),
                "unfused",
                "<= 1.05x unfused",
                1.05,
            )
            row.peers = samples
            yield row
