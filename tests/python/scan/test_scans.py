"""Cumulative sums and products against NumPy: dtypes, shapes, axes, layouts, outputs, errors."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import quern
from quern import _core
from tests.python.conftest import DTYPES

SHAPES = [
    (1,), (2,), (31,), (257,), (4099,), (100_003,), (3_000_000,), (1, 1), (3, 5), (1, 3000), (3000, 1),
    (64, 64), (130, 1000), (1000, 130), (20_000, 3), (3, 20_000), (1024, 1025), (5, 7, 11), (2, 300, 170),
    (170, 2, 300), (300, 170, 2), (3, 1, 4, 5, 6),
]  # fmt: skip


def draw(shape, dtype, seed=0):
    random = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype == np.bool_:
        return random.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        return random.integers(0 if dtype.kind == "u" else -100, 100, shape).astype(dtype)
    if dtype.kind == "c":
        return (random.normal(size=shape) + 1j * random.normal(size=shape)).astype(dtype)
    return random.normal(size=shape).astype(dtype)


def is_small(dtype):
    return dtype in (np.float16, ml_dtypes.bfloat16)


def assert_sums(found, values, axis, name="cumsum"):
    """Exactly NumPy's for integers, else close to the scan in a wider type by the size of what was added."""
    function = getattr(np, name)
    if values.dtype.kind in "?biu":
        expected = function(values, axis=axis)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found.get(), expected)
        return
    assert found.dtype == values.dtype
    kinds = (
        {8: np.complex128, 16: np.clongdouble} if values.dtype.kind == "c" else {8: np.longdouble}
    )
    wide = values.astype(kinds.get(values.dtype.itemsize, np.float64))
    expected = function(wide, axis=axis)
    scale = np.cumsum(np.abs(wide), axis=axis)
    unit = (
        ml_dtypes.finfo(values.dtype).eps if is_small(values.dtype) else np.finfo(values.dtype).eps
    )
    accumulating = np.finfo(np.float32).eps if is_small(values.dtype) else unit
    got = found.get().astype(wide.dtype)
    assert got.shape == expected.shape
    bound = 100 * float(accumulating) * scale + float(unit) * np.abs(expected) + 1e-30
    assert np.all(np.abs(got - expected) <= bound)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["int64", "float32"])
def test_every_axis(device, dtype, shape):
    values = draw(shape, dtype)
    array = quern.asarray(values)
    for axis in (None, *range(-1, len(shape))):
        assert_sums(quern.cumsum(array, axis=axis), values, axis)


@pytest.mark.parametrize("shape", [(5000,), (70, 90), (6, 70, 17)], ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype(device, dtype, shape):
    values = draw(shape, dtype, 1)
    array = quern.asarray(values)
    for axis in (None, *range(len(shape))):
        assert_sums(quern.cumsum(array, axis=axis), values, axis)
        assert_sums(array.cumsum(axis), values, axis)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_products(device, dtype):
    values = draw((40, 33), dtype, 2)
    array = quern.asarray(values)
    for axis in (None, 0, 1):
        found = quern.cumprod(array, axis=axis)
        np.testing.assert_array_equal(array.cumprod(axis).get(), found.get())
        if dtype.kind in "?biu":
            np.testing.assert_array_equal(found.get(), np.cumprod(values, axis=axis))
            continue
        wide = np.cumprod(
            values.astype(np.complex128 if dtype.kind == "c" else np.float64), axis=axis
        )
        count = 1320 if axis is None else values.shape[axis]
        accumulating = np.finfo(np.float32 if is_small(dtype) else dtype).eps
        last = ml_dtypes.finfo(dtype).eps if is_small(dtype) else accumulating
        tiny = float(ml_dtypes.finfo(dtype).tiny if is_small(dtype) else np.finfo(dtype).tiny)
        got = found.get().astype(wide.dtype)
        normal = np.abs(wide) > 1e3 * tiny
        error = np.abs(got - wide)[normal] / np.abs(wide)[normal]
        assert np.all(error <= 8 * count * float(accumulating) + float(last))
        assert np.all(np.abs(got[~normal]) <= 1e4 * tiny)


def views():
    yield "transposed", lambda a: a.transpose()
    yield "rotated", lambda a: a.transpose(1, 2, 0)
    yield "reversed", lambda a: a[::-1, :, ::-1]
    yield "strided", lambda a: a[:, ::2, ::3]
    yield "offset", lambda a: a[1:, 1:, 1:]
    yield "odd", lambda a: a[:, :, 1:-2]
    yield "last", lambda a: a[:, :, -1:]


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("shape", [(9, 33, 130), (130, 9, 33), (40, 50, 60)], ids=str)
def test_views(device, dtype, shape):
    values = draw(shape, dtype, 3)
    array = quern.asarray(values)
    for _, view in views():
        for axis in (None, 0, 1, 2):
            assert_sums(quern.cumsum(view(array), axis=axis), view(values), axis)


def test_broadcast_input(device):
    values = draw((1, 300), "int32")
    array = quern.broadcast_to(quern.asarray(values), (70, 300))
    for axis in (None, 0, 1):
        expected = np.cumsum(np.broadcast_to(values, (70, 300)), axis=axis)
        np.testing.assert_array_equal(quern.cumsum(array, axis=axis).get(), expected)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (0, 2, 1)], ids=str)
def test_order_of_axes_is_kept(device, order):
    values = np.ones((3, 4, 5))
    found = quern.cumsum(quern.asarray(values).transpose(order), axis=1)
    assert found.strides == np.cumsum(values.transpose(order), axis=1).strides


def test_shapes_at_the_edges(device):
    zero_d = quern.asarray(np.float32(3))
    for axis in (None, 0, -1):
        found = quern.cumsum(zero_d, axis=axis)
        assert found.shape == (1,)
        assert found.get() == [3]
    for shape in ((0,), (0, 3), (3, 0), (2, 0, 4)):
        values = np.zeros(shape, np.int16)
        for axis in (None, *range(len(shape))):
            found = quern.cumsum(quern.asarray(values), axis=axis)
            expected = np.cumsum(values, axis=axis)
            assert (found.shape, found.dtype) == (expected.shape, expected.dtype)


@pytest.mark.parametrize("given", DTYPES, ids=str)
def test_dtypes_by_name(device, given):
    values = draw((300,), "int8", 4)
    found = quern.cumsum(quern.asarray(values), dtype=given)
    assert found.dtype == given
    if given.kind in "?biu":
        np.testing.assert_array_equal(found.get(), np.cumsum(values, dtype=given))
    else:  # whole numbers below 2^24: only the last rounding counts
        exact = np.cumsum(values.astype(np.int64))
        np.testing.assert_array_equal(found.get(), exact.astype(given))


@pytest.mark.parametrize("name", ["nancumsum", "nancumprod"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "int8", "bool"])
def test_nan_is_nothing(device, name, dtype):
    values = np.ones((50, 70), dtype) if dtype == "float16" else draw((50, 70), dtype, 5)
    if values.dtype.kind in "fc":
        values[np.random.default_rng(6).random(values.shape) < 0.2] = np.nan
        values[:, 0] = np.nan
    array = quern.asarray(values)
    for axis in (0, 1):
        found = getattr(quern, name)(array, axis=axis)
        expected = getattr(np, name)(values, axis=axis)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found.get(), expected, rtol=1e-4, atol=1e-3)


def test_nan_and_infinity_reach_all_behind(device):
    values = np.ones((3, 9000), np.float32)
    values[0, 5000], values[1, 0], values[2, 8999] = np.nan, np.inf, -np.inf
    for axis in (0, 1):
        np.testing.assert_array_equal(
            quern.cumsum(quern.asarray(values), axis=axis).get(), np.cumsum(values, axis=axis)
        )


def test_nothing_is_joined_to_the_first(device):
    values = np.array([-0.0, -0.0], np.float32)
    assert np.all(np.signbit(quern.cumsum(quern.asarray(values)).get()))
    first = np.array([complex(np.inf, 1), 1], np.complex128)
    assert quern.cumprod(quern.asarray(first)).get()[0] == first[0]


def test_integers_wrap(device):
    values = np.full(3000, 2**62, np.int64)
    np.testing.assert_array_equal(quern.cumsum(quern.asarray(values)).get(), np.cumsum(values))
    small = np.full(300, 100, np.int8)
    np.testing.assert_array_equal(
        quern.cumsum(quern.asarray(small), dtype="int8").get(), np.cumsum(small, dtype="int8")
    )


@pytest.mark.parametrize("given", ["float32", "int32", "bool", "uint8"])
def test_out(device, given):
    values = draw((40, 50), given, 7)
    array = quern.asarray(values)
    for axis in (0, 1):
        for dtype in ("float32", "float64", "int32", "int8", "bool", "complex64"):
            for shape, view in (((40, 50), lambda a: a), ((80, 50), lambda a: a[::2, ::-1])):
                host = np.zeros(shape, dtype)
                out = quern.asarray(host)
                quern.cumsum(array, axis=axis, out=view(out))
                np.cumsum(values, axis=axis, out=view(host))
                np.testing.assert_allclose(out.get(), host, rtol=1e-5, atol=1e-5)
    out = quern.empty((40, 50), given)
    assert quern.cumsum(array, 1, None, out) is out
    other = quern.empty((40, 50), "float64")  # added in int64, then cast
    np.testing.assert_array_equal(
        quern.cumsum(array, 0, "int64", other).get(), np.cumsum(values.astype("int64"), axis=0)
    )


@pytest.mark.parametrize("shape", [(1_000_000,), (300, 2000), (2000, 300)], ids=str)
def test_out_is_the_input(device, shape):
    values = draw(shape, "int64", 8)
    for axis in range(len(shape)):
        array = quern.asarray(values.copy())
        quern.cumsum(array, axis=axis, out=array)
        np.testing.assert_array_equal(array.get(), np.cumsum(values, axis=axis))
    base = quern.asarray(np.concatenate([values.ravel(), [0]]))
    quern.cumsum(base[:-1], out=base[1:])
    np.testing.assert_array_equal(base.get()[1:], np.cumsum(values))


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
def test_array_api(device, name):
    ours, numpys = getattr(quern, name), getattr(np, name)
    values = draw((6, 7, 8), "int16", 9)
    array = quern.asarray(values)
    for axis in (0, 1, -1):
        for initial in (False, True):
            expected = numpys(values, axis=axis, include_initial=initial)
            found = ours(array, axis=axis, include_initial=initial)
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found.get(), expected)
            out = quern.empty(expected.shape, expected.dtype)
            assert ours(array, axis=axis, include_initial=initial, out=out) is out
            np.testing.assert_array_equal(out.get(), expected)
    line = quern.asarray(values[0, 0])
    np.testing.assert_array_equal(ours(line).get(), numpys(values[0, 0]))
    np.testing.assert_array_equal(
        ours(quern.asarray(np.int32(3)), include_initial=True).get(),
        numpys(np.int32(3), include_initial=True),
    )
    np.testing.assert_array_equal(
        ours(quern.empty((0,), "float32"), include_initial=True).get(),
        numpys(np.empty(0, "float32"), include_initial=True),
    )
    with pytest.raises(ValueError, match="axis"):
        ours(array)


def test_errors(device):
    values = quern.ones((3, 4))
    with pytest.raises(np.exceptions.AxisError):
        quern.cumsum(values, axis=2)
    with pytest.raises(np.exceptions.AxisError):
        quern.asarray(1.0).cumsum(axis=1)
    with pytest.raises(TypeError):
        quern.cumsum(values, axis=1.0)
    with pytest.raises(TypeError):
        quern.cumsum(values, axis=(0,))
    with pytest.raises(ValueError, match="wrong size"):
        quern.cumsum(values, axis=0, out=quern.empty((4, 3)))
    with pytest.raises(ValueError, match="wrong size"):
        quern.cumsum(values, out=quern.empty((3, 4)))
    with pytest.raises(TypeError, match="output must be an array"):
        quern.cumsum(values, axis=0, out=np.empty((3, 4)))
    with pytest.raises(ValueError, match="read-only"):
        quern.cumsum(quern.ones(3), out=quern.broadcast_to(quern.empty((1,)), (3,)))
    with pytest.raises(TypeError):
        quern.cumsum(values, dtype="datetime64[s]")
    np.testing.assert_array_equal(values.cumsum(0).get()[:, 0], [1, 2, 3])


@pytest.mark.parametrize("shape", [(3_000_000,), (5, 400_000), (400_000, 5), (700, 900)], ids=str)
def test_the_same_bits_each_time(device, shape):
    array = quern.asarray(draw(shape, "float32", 10))
    for axis in range(len(shape)):
        first = quern.cumsum(array, axis=axis).get().tobytes()
        for _ in range(20):
            assert quern.cumsum(array, axis=axis).get().tobytes() == first


@pytest.mark.parametrize("split", [1, 2, 7])
@pytest.mark.parametrize("shape", [(9001,), (3, 9001), (9001, 3), (4, 901, 6), (33, 40)], ids=str)
def test_forced_splits(device, shape, split):
    values = draw(shape, "int32", 11)
    array = quern.asarray(values)
    for axis in range(len(shape)):
        found = _core._cumulative(0, array, axis, split=split)
        np.testing.assert_array_equal(found.get(), np.cumsum(values, axis=axis))


@pytest.mark.parametrize("batch", [0, 1])
@pytest.mark.parametrize("split", [0, 1, 2])
@pytest.mark.parametrize(
    "shape",
    [(5,), (700,), (40_001,), (3, 9001), (9001, 3), (3, 700, 6), (33, 400), (400, 33), (7000, 9), (70, 3, 50)],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("dtype", ["int8", "float16", "int32", "float64", "complex128"])
def test_layouts_of_gpus(device, plan_as, dtype, shape, split, batch):
    """On the CPU as well: the layouts that GPUs have are CUDA like any other."""
    values = draw(shape, dtype, 12)
    array = quern.asarray(values)
    for axis in range(len(shape)):
        with plan_as(gpu_layout=True):
            found = _core._cumulative(0, array, axis, split=split, batch=batch)
        assert_sums(found, values, axis)


@pytest.mark.parametrize("dtype", ["int8", "float16", "float64"])
def test_strided_inputs_in_layouts_of_gpus(device, plan_as, dtype):
    """Inputs that are read one by one, beside outputs that are written by packs."""
    wide = draw((40, 1300), dtype, 15)
    for values, view in (
        (wide.ravel()[::2], lambda array: array.ravel()[::2]),
        (wide[:, ::-3], lambda array: array[:, ::-3]),
        (wide[1::2, 5:], lambda array: array[1::2, 5:]),
        (wide[:, :16], lambda array: array[:, :16]),
    ):
        array = view(quern.asarray(wide))
        for axis in range(values.ndim):
            for split in (0, 2):
                with plan_as(gpu_layout=True):
                    found = _core._cumulative(0, array, axis, split=split)
                assert_sums(found, values, axis)


def test_windows_of_tiles(device, plan_as):
    """Many times the tiles whose totals are asked for at once, also where lines end within them."""
    for values, axis in (
        (draw((700_001,), "int64", 13), 0),
        (draw((140_000, 3), "int64", 14), 0),
        (draw((70, 10_001), "int64", 14), 1),
    ):
        with plan_as(gpu_layout=True):
            found = _core._cumulative(0, quern.asarray(values), axis, split=2, batch=1)
        np.testing.assert_array_equal(found.get(), np.cumsum(values, axis=axis))


def test_two_streams_at_once(device, plan_as):
    values = [draw((300_000,), "int64", seed) for seed in (15, 16)]
    streams = [quern.Stream(non_blocking=True) for _ in values]
    arrays = [quern.asarray(each) for each in values]
    quern.synchronize()
    found = []
    for _ in range(5):
        for array, stream in zip(arrays, streams, strict=True):
            with stream, plan_as(gpu_layout=True):
                found.append(_core._cumulative(0, array, 0, split=2))
    quern.synchronize()
    for k, each in enumerate(found):
        np.testing.assert_array_equal(each.get(), np.cumsum(values[k % 2]))


def test_plans_are_told(device):
    text = _core._cumulative(0, quern.ones((100, 100)), 0, explain=True)
    assert "quern_cumsum" in text
    assert "columns" in text
