"""Rows of the CPU backend. Run by __main__ with QUERN_DEVICE=cpu; prints a line of JSON for each row."""

import numpy as np

from tests.bench.array_calls import array_call_rows
from tests.bench.cold import cold_rows
from tests.bench.cold_script import script_rows
from tests.bench.device_raw import CODE
from tests.bench.measure import Row, alternate, call_us, have

SECTION = "cpu"


def call_rows() -> list[Row]:
    """What one call costs when there is next to nothing to compute."""
    import quern

    a, b = np.ones(1000, np.float32), np.full(1000, 2, np.float32)
    c = np.empty_like(a)
    x, y = quern.asarray(a), quern.asarray(b)
    z = quern.empty_like(x)
    add = quern.ElementwiseKernel("T x, T y", "T z", "z = x + y", "bench_add")
    raw = quern.RawKernel(CODE, "add")
    samples = alternate(
        {
            "given": lambda: call_us(lambda: add(x, y, z), quern.synchronize),
            "made": lambda: call_us(lambda: add(x, y), quern.synchronize),
            "raw": lambda: call_us(lambda: raw((1,), (32,), (x, y, z, 0)), quern.synchronize),
            "numpy out": lambda: call_us(lambda: np.add(a, b, out=c)),
            "numpy": lambda: call_us(lambda: a + b),
        }
    )
    return [
        Row(
            SECTION,
            "call, 1000 float32, output given",
            "us",
            samples["given"],
            demand="<= 1.5 us",
            limit=1.5,
            peers={"NumPy out=": samples["numpy out"]},
        ),
        Row(
            SECTION,
            "call, 1000 float32, output made",
            "us",
            samples["made"],
            peers={"NumPy a+b": samples["numpy"]},
        ),
        Row(
            SECTION,
            "RawKernel launch, 4 arguments, no work",
            "us",
            samples["raw"],
            demand="<= 1 us",
            limit=1.0,
        ),
    ]


def throughput_rows() -> list[Row]:
    """Ten million float32: one kernel bound by memory, one by arithmetic."""
    import quern

    rng = np.random.default_rng(1)
    n = 10_000_000
    a, b = rng.standard_normal(n, np.float32), rng.standard_normal(n, np.float32)
    c = np.empty_like(a)
    x, y = quern.asarray(a), quern.asarray(b)
    z = quern.empty_like(x)
    rows = []
    add = quern.ElementwiseKernel("T x, T y", "T z", "z = x + y", "bench_add")
    bell = quern.ElementwiseKernel("T x, T y", "T z", "z = exp(-x * x) * y", "bench_bell")

    def bell_numpy() -> None:
        np.multiply(np.exp(-a * a), b, out=c)

    for what, kernel, theirs, limit in (
        ("z = x + y, 1e7 float32", add, lambda: np.add(a, b, out=c), 1.0),
        ("z = exp(-x*x)*y, 1e7 float32", bell, bell_numpy, 3.0),
    ):
        calls = {
            "ours": lambda kernel=kernel: call_us(
                lambda: kernel(x, y, z), quern.synchronize, calls=3, repeats=7
            ),
            "numpy": lambda theirs=theirs: call_us(theirs, calls=3, repeats=7),
        }
        if have("numba"):
            calls["numba"] = numba_call(what, a, b, c)
        samples = alternate(calls)
        speed = {
            name: sample.map(lambda us: n / us) for name, sample in samples.items()
        }  # elements a us
        row = Row(
            SECTION,
            what,
            "Melem/s",
            speed["ours"],
            speed["numpy"],
            "NumPy",
            f">= {limit:g}x NumPy",
            limit,
            True,
        )
        if "numba" in speed:
            row.peers["Numba parallel"] = speed["numba"]
        rows.append(row)
    return rows


def numba_call(what: str, a, b, c):  # type: ignore[no-untyped-def]
    """The same loop by Numba, all cores, fast enough to be a fair peer."""
    import math

    import numba

    if "exp" in what:

        @numba.njit(parallel=True, fastmath=False)
        def loop(x, y, z):  # type: ignore[no-untyped-def]
            for i in numba.prange(x.size):
                z[i] = math.exp(-x[i] * x[i]) * y[i]
    else:

        @numba.njit(parallel=True, fastmath=False)
        def loop(x, y, z):  # type: ignore[no-untyped-def]
            for i in numba.prange(x.size):
                z[i] = x[i] + y[i]

    loop(a, b, c)
    return lambda: call_us(lambda: loop(a, b, c), calls=3, repeats=7)


def main() -> None:
    for rows in (
        call_rows,
        lambda: array_call_rows(SECTION, {"NumPy": (np, np.asarray, lambda: None)}, 1.5),
        throughput_rows,
        lambda: cold_rows(SECTION, "cpu", (80, 20, 2)),
        lambda: script_rows(SECTION, "cpu", (1000, 100)),
    ):
        for row in rows():
            print(row.as_json(), flush=True)


if __name__ == "__main__":
    main()
