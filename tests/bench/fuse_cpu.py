"""Fused functions on all cores of the CPU beside NumPy and beside themselves unfused, at three sizes, Black-Scholes
beside numexpr and Numba where they are, and first calls. Prints a line of JSON for each.

`python -m tests.bench.fuse_cpu "gelu"` runs the rows whose names begin so.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from tests.bench.array_gpu import wanted
from tests.bench.beside_unfused import beside_unfused
from tests.bench.fuse_first import first_call_rows
from tests.bench.fuse_gpu import black_scholes
from tests.bench.measure import Row, Sample, alternate, call_us, have

SECTION = "fuse-cpu"


def black_scholes_rows(parts: list[str]) -> Iterator[Row]:
    import quern

    if not wanted("Black-Scholes", parts):
        return
    random = np.random.default_rng(0)
    host = [random.random(10_000_000, np.float32) + np.float32(0.5) for _ in range(3)]
    given = [quern.asarray(a) for a in host]
    fused = quern.fuse(lambda s, k, t: black_scholes(quern, s, k, t))
    time = partial(call_us, calls=2, repeats=5)
    calls: dict[str, Any] = {
        "ours": partial(time, fused, args=tuple(given)),
        "NumPy": partial(time, lambda *a: black_scholes(np, *a), args=tuple(host)),
    }
    if have("numexpr"):
        import numexpr

        evaluate = numexpr.evaluate
        tail = (
            "exp(-0.5*d*d)*0.3989423*w*"
            "(0.3193815+w*(-0.3565638+w*(1.781478+w*(-1.821256+w*1.330274))))"
        )

        def phi(d: Any) -> Any:
            w = evaluate("1.0/(1.0 + 0.2316419*abs(d))", {"d": d})
            return evaluate(f"where(d > 0, 1.0 - {tail}, {tail})", {"d": d, "w": w})

        def by_numexpr(s: Any, k: Any, t: Any) -> Any:
            root = evaluate("0.3*sqrt(t)", {"t": t})
            d1 = evaluate("(log(s/k) + 0.065*t)/root", {"s": s, "k": k, "t": t, "root": root})
            d2 = evaluate("d1 - root", {"d1": d1, "root": root})
            discounted = evaluate("k*exp(-0.02*t)", {"k": k, "t": t})
            names = {"s": s, "e": discounted, "p": phi(d1), "q": phi(d2)}
            call = evaluate("s*p - e*q", names)
            return call, evaluate("c - s + e", {"c": call, **names})

        calls["numexpr"] = partial(time, by_numexpr, args=tuple(host))
    if have("numba"):
        calls["Numba"] = partial(time, by_numba(host), args=tuple(host))
    samples: dict[str, Sample] = alternate(calls, rounds=3)
    row = Row(
        SECTION,
        "Black-Scholes, 10^7",
        "us",
        samples.pop("ours"),
        samples["NumPy"],
        "NumPy",
        "<= 1/8 of NumPy's time on two cores",
        0.125,
    )
    row.peers = samples
    yield row


def by_numba(host: list[Any]) -> Any:
    """The same as a parallel loop, compiled."""
    import math

    import numba

    # The constants are float32, and so is the arithmetic.
    rate, half, dead, one = (np.float32(c) for c in (0.065, -0.5, -0.02, 1.0))
    coefficients = (0.2316419, 0.3989423, 0.3193815, -0.3565638, 1.781478, -1.821256, 1.330274)
    c0, c1, c2, c3, c4, c5, c6 = (np.float32(c) for c in coefficients)
    spread = np.float32(0.3)

    @numba.njit
    def phi(d: Any) -> Any:
        w = one / (one + c0 * abs(d))
        tail = c1 * math.exp(half * d * d) * w * (c2 + w * (c3 + w * (c4 + w * (c5 + w * c6))))
        return one - tail if d > 0 else tail

    @numba.njit(parallel=True)
    def run(s: Any, k: Any, t: Any) -> Any:
        call, put = np.empty_like(s), np.empty_like(s)
        for i in numba.prange(s.size):
            root = spread * math.sqrt(t[i])
            d1 = (math.log(s[i] / k[i]) + rate * t[i]) / root
            discounted = k[i] * math.exp(dead * t[i])
            call[i] = s[i] * phi(d1) - discounted * phi(d1 - root)
            put[i] = call[i] - s[i] + discounted
        return call, put

    for ours, theirs in zip(run(*host), black_scholes(np, *host), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)
    return run


def main(parts: list[str]) -> None:
    for rows in (
        black_scholes_rows(parts),
        first_call_rows(SECTION, "cpu") if wanted("first call", parts) else [],
        beside_unfused(SECTION, parts),
    ):
        for row in rows:
            print(row.as_json(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
