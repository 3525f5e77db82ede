"""Kernels whose narrow index has 16 bits, so that arrays of 32 thousand elements stand where those of 2^31 would.

Layouts of GPUs, on whatever device, just below, at and above what that index holds. Blocks of 256 threads rule out 8
bits; elementwise kernels in small blocks have those too.
"""

from __future__ import annotations

import numpy as np
import pytest

import quern
from quern import _core

BITS = 16
MOST = (1 << (BITS - 1)) - 1  # of a signed index: bytes from an operand's first to its last
COUNT = MOST - 16  # positions; the rest is for packs that reach past the end


def values_of(shape, dtype, seed=0):
    random = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return random.integers(-8, 8, shape).astype(dtype)
    return random.integers(-100, 100, shape).astype(dtype)


def around(dtype):
    """Numbers of elements around the last that a narrow index holds."""
    size = np.dtype(dtype).itemsize
    last = min(COUNT, MOST // size)
    return [(last - 1, BITS), (last, BITS), (last + 1, 64), (2 * last + 5, 64)]


def shapes_of(count):
    """The same number of elements, or a little less, in other arrangements."""
    yield (count,), None
    yield (1, count), 0
    for inner in (7, 100, 3000):
        outer = count // inner
        yield (outer, inner), 0
        yield (outer, inner), 1
    yield (5, count // 35, 7), (0, 2)


@pytest.fixture(autouse=True)
def narrow(plan_as):
    with plan_as(gpu_layout=True, narrow_bits=BITS):
        yield


@pytest.mark.parametrize("dtype", ["int8", "float64"])
def test_reductions_at_the_edge(device, dtype):
    for count, bits in around(dtype):
        for shape, axis in shapes_of(count):
            values = values_of(shape, dtype)
            array = quern.asarray(values)
            if axis is None:
                assert f"| {bits}-bit" in _core.explain_reduce("sum", array, axis)
            for name in ("sum", "max", "std"):
                found = getattr(quern, name)(array, axis=axis).get()
                wanted = getattr(np, name)(values, axis=axis)
                np.testing.assert_allclose(
                    found, wanted, rtol=1e-12, err_msg=f"{name} {shape} {axis}"
                )
            if not isinstance(axis, tuple):
                np.testing.assert_array_equal(
                    quern.argmax(array, axis=axis).get(), np.argmax(values, axis=axis)
                )


def test_reductions_of_views_and_masks(device):
    """Rows that drift, every second element, walks that do not count up, turned axes, several blocks an output."""
    wide = values_of((2, COUNT // 2), "int8", 3)
    array = quern.asarray(wide)
    views = {
        "odd rows": lambda a: a[:, 1:],
        "steps": lambda a: a[:, ::2],
        "threes": lambda a: a[:, ::3],
        "backwards": lambda a: a[::-1, ::-1],
        "turned": lambda a: a.T,
    }
    for name, view in views.items():
        of_numpy, ours = view(wide), view(array)
        for axis in (None, 0, 1):
            for op in ("any", "argmin", "prod"):
                found = getattr(quern, op)(ours, axis=axis).get()
                np.testing.assert_array_equal(
                    found, getattr(np, op)(of_numpy, axis=axis), f"{op} {name} {axis}"
                )
    mask = wide % 3 == 0
    np.testing.assert_array_equal(
        quern.sum(array, axis=1, where=quern.asarray(mask)).get(), wide.sum(axis=1, where=mask)
    )
    total = quern.ReductionKernel("T x", "int64 y", "x", "a + b", "y = a", "0", "narrow_total")
    for splits in (2, 100):
        for axis in (None, 0, 1):
            np.testing.assert_array_equal(
                total(array, axis=axis, splits=splits).get(), wide.sum(axis=axis)
            )
            if axis != 0:  # whose outputs have too many bytes
                assert f"| {BITS}-bit" in total.explain(array, axis=axis, splits=splits)


@pytest.mark.parametrize("dtype", ["int8", "float64"])
def test_scans_at_the_edge(device, dtype):
    for count, _ in around("int64")[1:3]:  # what comes out of either is 8 bytes wide
        for shape, axis in shapes_of(count):
            if isinstance(axis, tuple):
                continue
            values = values_of(shape, dtype, 5)
            array = quern.asarray(values)
            for split in (0, 2):
                found = _core._cumulative(0, array, axis, split=split).get()
                np.testing.assert_array_equal(
                    found, np.cumsum(values, axis=axis), f"{shape} {axis} {split}"
                )
    bits = [_core._cumulative(0, quern.zeros(n, "f8"), explain=True) for n, _ in around("int64")]
    assert [
        f"| {want}-bit" in text for text, (_, want) in zip(bits, around("int64"), strict=True)
    ] == [True] * 4


def adder():
    return quern.ElementwiseKernel("T x, T y", "T z", "z = x + y", "narrow_add")


@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_elementwise_at_the_edge(device, dtype):
    place = quern.ElementwiseKernel("T x", "int64 z", "z = i", "narrow_place")
    for count, bits in around(dtype):
        x, y = values_of(count, dtype, 1) // 2, values_of(count, dtype, 2) // 2
        a, b = quern.asarray(x), quern.asarray(y)
        add = adder()
        for block_size in (32, 96, 128, 1024):
            np.testing.assert_array_equal(add(a, b, block_size=block_size).get(), x + y)
            assert f"| {bits}-bit" in add.cached_code.splitlines()[1]
        np.testing.assert_array_equal(add(a[1:], b[1:]).get(), x[1:] + y[1:])
        np.testing.assert_array_equal(add(a[::2], b[::2]).get(), x[::2] + y[::2])
        np.testing.assert_array_equal(add(a[::-1], b).get(), x[::-1] + y)
        rows = (count // 170, 170)
        u, v = x[: rows[0] * 170].reshape(rows), y[: rows[0] * 170].reshape(rows[::-1])
        p, q = quern.asarray(u), quern.asarray(v)
        np.testing.assert_array_equal(add(p, q.T).get(), u + v.T)
        np.testing.assert_array_equal(add(p[:, :1], q.T).get(), u[:, :1] + v.T)
        np.testing.assert_array_equal(place(p.T).get(), np.arange(u.size).reshape(u.T.shape))


def test_the_last_step_of_odd_blocks(device):
    """A thread's step past the end must not come round to a place that another thread has."""
    for count in (COUNT, COUNT - 100):
        for block_size in (96, 128, 1000):
            add = quern.ElementwiseKernel(
                "int8 x", "int8 z", "if (x == 101) return; z += x", "narrow_once"
            )
            z = quern.zeros(count, "int8")
            add(quern.asarray(np.ones(count, "int8")), z, block_size=block_size)
            np.testing.assert_array_equal(z.get(), 1)


def test_elementwise_in_eight_bits(device, plan_as):
    with plan_as(gpu_layout=True, narrow_bits=8):
        for count, bits in ((109, 8), (110, 8), (111, 8), (112, 64), (128, 64), (300, 64)):
            x, y = values_of(count, "int8", 1) // 2, values_of(count, "int8", 2) // 2
            a, b = quern.asarray(x), quern.asarray(y)
            for block_size in (4, 16):
                add = adder()
                np.testing.assert_array_equal(add(a, b, block_size=block_size).get(), x + y)
                assert f"| {bits}-bit" in add.cached_code.splitlines()[1]
                half = add(a[:110:2], b[:110:2], block_size=block_size).get()
                np.testing.assert_array_equal(half, x[:110:2] + y[:110:2])


@pytest.mark.parametrize("dtype", ["int8", "float64"])
def test_quantiles_at_the_edge(device, dtype):
    """Selection counts in 64 bits; the copies before it have the narrow index."""
    for count, _ in around(dtype)[1:3]:
        values = values_of((count // 50, 50), dtype, 7)
        array = quern.asarray(values)
        for axis in (None, 0):
            found = quern.quantile(array, [0.1, 0.5, 0.9], axis=axis).get()
            np.testing.assert_allclose(
                found, np.quantile(values.astype("f8"), [0.1, 0.5, 0.9], axis=axis)
            )
