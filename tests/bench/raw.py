"""Rows of RawKernel on the CPU, one thread: speed against plain C and PoCL. Run by __main__; prints JSON lines.

Both sides are timed by the CPU time of all their threads, on the same memory, in turn.
"""

import ctypes
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tests.bench import native
from tests.bench import raw_kernels as kernels
from tests.bench.measure import Row, Sample, alternate, call_us
from tests.bench.opencl import OpenCL
from tests.bench.raw_start import start_rows
from tests.bench.raw_use import use_rows

SECTION = "raw"
N = 1 << 24
SIDE = 512
ROUNDS, BLOCKS = 1000, 64  # of the row of barriers
STEADY = ("--quern-waiting=regions",)  # the tier that a kernel in use soon has

Call = Callable[[], object]


class Sides:
    """The same work by quern, by plain C and by PoCL; the reason stands in `without` where there is no PoCL."""

    def __init__(self) -> None:
        self.plain = native.build("plain.cpp", "-O3", "-march=native", "-ffast-math")
        self.plain.plain_compiler.restype = ctypes.c_char_p
        self.c_name = " ".join(self.plain.plain_compiler().decode().split()[:2])  # "GCC 12.2.0"
        self.pocl: OpenCL | None = None
        self.without = ""
        try:
            self.pocl = OpenCL()
        except RuntimeError as error:
            self.without = f"without PoCL: {error}"

    def c(self, name: str, *args: Any) -> Call:
        function = getattr(self.plain, name)
        taken = [
            a.ctypes.data_as(ctypes.c_void_p) if isinstance(a, np.ndarray) else a for a in args
        ]
        return partial(function, *taken)

    def both(
        self, text: str, name: str, grid: tuple[int, ...], block: tuple[int, ...], *args: Any
    ) -> dict[str, Call]:
        """The kernel by quern and by PoCL."""
        calls = {"ours": launcher(text, name, grid, block, STEADY, *args)}
        if self.pocl:
            theirs = [as_numpy(a) for a in args]
            calls["PoCL"] = self.pocl.launcher(kernels.OPENCL + text, name, grid, block, *theirs)
        return calls


def launcher(
    text: str,
    name: str,
    grid: tuple[int, ...],
    block: tuple[int, ...],
    options: tuple[str, ...],
    *args: Any,
) -> Call:
    """One launch by quern, and the wait for it."""
    import quern

    kernel = quern.RawKernel(kernels.CUDA + text, name, options)

    def call() -> None:
        kernel(grid, block, args)
        quern.synchronize()

    return call


def as_numpy(value: Any) -> Any:
    """An array of quern's as NumPy sees it, on the same memory."""
    return value if isinstance(value, np.generic) else np.from_dlpack(value, copy=False)


def row(
    what: str,
    unit: str,
    calls: dict[str, Call],
    convert: Callable[[float], float],
    against: str = "",
    limit: float | None = None,
    faster_is_more: bool = False,
    note: str = "",
    batch: int = 3,
) -> Row:
    """Times the sides in turn; `convert` makes microseconds a call into the unit, and `against` names the side that
    the limit is about."""
    timed = {
        name: partial(call_us, call, calls=batch, repeats=7, clock=time.process_time_ns)
        for name, call in calls.items()
    }
    samples: dict[str, Sample] = {
        name: sample.map(convert) for name, sample in alternate(timed, rounds=5).items()
    }
    made = Row(SECTION, what, unit, samples.pop("ours"), higher_is_better=faster_is_more, note=note)
    sign = ">=" if faster_is_more else "<="
    if against in samples:
        made.reference, made.reference_name = samples.pop(against), against
        if limit:
            made.demand, made.limit = f"{sign} {limit:g}x {against}", limit
    elif limit and not against:
        made.demand, made.limit = f"{sign} {limit:g} {unit}", limit
    made.peers = samples
    return made


def ms(us: float) -> float:
    return us / 1e3


def product_rows(sides: Sides) -> list[Row]:
    """The matrix product, in tiles of shared memory and without."""
    import quern

    a, b = np.random.default_rng(1).random((2, SIDE, SIDE), np.float32)
    x, y = quern.asarray(a), quern.asarray(b)
    z, c = quern.zeros((SIDE, SIDE), np.float32), np.empty((SIDE, SIDE), np.float32)
    plain = sides.c("plain_product", as_numpy(x), as_numpy(y), c, SIDE)
    rows = []
    for what, text, name, limit in (
        ("tiled product, 512^2 float32, 16 x 16 tiles", kernels.TILED, "tiled", 1.5),
        ("product without shared memory, 512^2 float32", kernels.PRODUCT, "product", None),
    ):
        args = (x, y, z, np.int32(SIDE))
        calls = sides.both(text, name, (32, 32), (16, 16), *args)
        calls[sides.c_name] = plain
        for call in calls.values():
            z.fill(0)
            c.fill(0)
            call()
            found = c if call is plain else as_numpy(z)
            np.testing.assert_allclose(found, a @ b, rtol=1e-4)
        rows.append(row(what, "ms", calls, ms, sides.c_name, limit, note=sides.without))
    return rows


def tree_rows(sides: Sides) -> list[Row]:
    """Sums of 2^24 floats by trees in shared memory."""
    import quern

    numbers = np.random.default_rng(2).random(N, np.float32)
    x = quern.asarray(numbers)
    rows = []
    for what, text, name, blocks, limit, rest in (
        ("tree reduction, 2^24 float32, 2 a thread", kernels.TREE, "tree", N // 512, 0.2, ()),
        (
            "tree reduction, 2^24 float32, 64 blocks that stride",
            kernels.TREE_STRIDE,
            "tree_stride",
            64,
            None,
            (np.int32(N),),
        ),
    ):
        sums = quern.zeros(blocks, np.float32)
        calls = sides.both(text, name, (blocks,), (256,), x, sums, *rest)
        for call in calls.values():
            sums.fill(0)
            call()
            found = as_numpy(sums).sum(dtype=np.float64)
            np.testing.assert_allclose(found, numbers.sum(dtype=np.float64), rtol=1e-4)
        calls[f"{sides.c_name}, one sum"] = sides.c("plain_sum", as_numpy(x), N)
        rows.append(row(what, "ms", calls, ms, "PoCL", limit, note=sides.without))
    return rows


def barrier_rows(sides: Sides) -> list[Row]:
    """A barrier and one read of shared memory, again and again."""
    import quern

    numbers = np.random.default_rng(3).random(BLOCKS * 256, np.float32)
    x, y = quern.asarray(numbers), quern.zeros(BLOCKS * 256, np.float32)
    calls = sides.both(kernels.BARRIERS, "barriers", (BLOCKS,), (256,), x, y, np.int32(ROUNDS))
    lines = numbers.reshape(BLOCKS, 256).astype(np.float64)
    expected = sum(np.roll(lines, -(k % 256), axis=1) for k in range(ROUNDS))
    for call in calls.values():
        y.fill(0)
        call()
        np.testing.assert_allclose(as_numpy(y), expected.ravel(), rtol=1e-4)
    each = BLOCKS * 256 * ROUNDS / 1e3
    what = "barrier and one shared read, blocks of 256, a thread"
    return [row(what, "ns", calls, lambda us: us / each, limit=1.0, note=sides.without)]


def element_rows(sides: Sides) -> list[Row]:
    """Kernels without barriers, an element a thread and with strides."""
    import quern

    random = np.random.default_rng(4)
    a, b = random.random((2, N), np.float32)
    x, y, z = quern.asarray(a), quern.asarray(b), quern.zeros(N, np.float32)
    add = sides.c("plain_add", as_numpy(x), as_numpy(y), as_numpy(z), N)
    power = sides.c("plain_exp", as_numpy(x), as_numpy(z), N)
    rows = []
    for what, text, name, blocks, plain, args, oracle, limit in (
        ("z = x + y", kernels.ADD, "add", N // 256, add, (x, y), a + b, 0.9),
        ("z = x + y, grid-stride", kernels.ADD_STRIDE, "add_stride", 256, add, (x, y), a + b, 0.9),
        ("z = expf(x)", kernels.EXP, "power", N // 256, power, (x,), np.exp(a), 0.9),
        (
            "z = expf(x), grid-stride",
            kernels.EXP_STRIDE,
            "power_stride",
            256,
            power,
            (x,),
            np.exp(a),
            0.9,
        ),
    ):
        calls = sides.both(text, name, (blocks,), (256,), *args, z, np.int32(N))
        calls[sides.c_name] = plain
        for call in calls.values():
            z.fill(0)
            call()
            np.testing.assert_allclose(as_numpy(z), oracle, rtol=1e-5)
        rows.append(
            row(
                f"{what}, 2^24 float32",
                "Melem/s",
                calls,
                lambda us: N / us,
                sides.c_name,
                limit,
                faster_is_more=True,
                note=sides.without,
            )
        )
    return rows


def stride_rows(sides: Sides) -> list[Row]:
    """Kernels whose threads go through their data with strides, and keep something or change what they read."""
    import quern

    random = np.random.default_rng(5)
    a, b = random.random((2, N), np.float32)
    letters = random.integers(0, 256, N, np.uint8)
    x, y, text = quern.asarray(a), quern.asarray(b), quern.asarray(letters)
    sums, counts = quern.zeros(256, np.float32), quern.zeros(256, np.int32)
    own, factor = quern.asarray(b), np.float32(0.25)
    n = np.int32(N)

    def fill(array: Any, value: Any) -> Call:
        return lambda: array.fill(value)

    def restore() -> None:
        as_numpy(own)[:] = b

    def saxpy_is_right(_: Call) -> None:
        np.testing.assert_allclose(as_numpy(own), 0.25 * a + b, rtol=1e-5)

    def dot_is_right(call: Call) -> None:
        if call is not plain_dot:
            wanted = np.dot(a.astype(np.float64), b)
            np.testing.assert_allclose(as_numpy(sums).sum(dtype=np.float64), wanted, rtol=1e-4)

    def histogram_is_right(_: Call) -> None:
        np.testing.assert_array_equal(as_numpy(counts), np.bincount(letters, minlength=256))

    plain_dot = sides.c("plain_dot", as_numpy(x), as_numpy(y), N)
    rows = []
    for what, kernel, name, args, plain, prepare, check in (
        (
            "y = a x + y",
            kernels.SAXPY_STRIDE,
            "saxpy_stride",
            (x, own, factor, n),
            sides.c("plain_saxpy", as_numpy(x), as_numpy(own), ctypes.c_float(0.25), N),
            restore,
            saxpy_is_right,
        ),
        (
            "dot product",
            kernels.DOT_STRIDE,
            "dot_stride",
            (x, y, sums, n),
            plain_dot,
            fill(sums, 0),
            dot_is_right,
        ),
        (
            "histogram of bytes",
            kernels.HISTOGRAM_STRIDE,
            "histogram_stride",
            (text, counts, n),
            sides.c("plain_histogram", as_numpy(text), as_numpy(counts), N),
            fill(counts, 0),
            histogram_is_right,
        ),
    ):
        calls = sides.both(kernel, name, (256,), (256,), *args)
        calls[sides.c_name] = plain
        for call in calls.values():
            prepare()
            call()
            check(call)
        rows.append(
            row(
                f"{what}, grid-stride, 2^24",
                "Melem/s",
                calls,
                lambda us: N / us,
                sides.c_name,
                faster_is_more=True,
                note=sides.without,
            )
        )
    return rows


def main() -> None:
    sides = Sides()
    for rows in (
        lambda: product_rows(sides),
        lambda: tree_rows(sides),
        lambda: barrier_rows(sides),
        lambda: element_rows(sides),
        lambda: stride_rows(sides),
        use_rows,
        start_rows,
    ):
        for made in rows():
            print(made.as_json(), flush=True)


if __name__ == "__main__":
    main()
