"""Sorts, orders, partitions and searches against NumPy, in the layouts of both kinds of device."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sorting.oracle import ALL, in_order, order, sample

import quern
from quern import _core


@pytest.mark.parametrize("dtype", ALL, ids=str)
@pytest.mark.parametrize("shape", [(1,), (7, 30), (3, 257), (2, 5000)], ids=str)
def test_sort_and_argsort(device, equal, dtype, shape):
    a = sample(shape, dtype, 1)
    ours = quern.asarray(a)
    equal(quern.sort(ours), in_order(a))
    equal(quern.argsort(ours), order(a))
    ours.sort()
    equal(ours, in_order(a))


# Roads of GPUs, which the CPU runs too, and blocks that share a row on the CPU.
ROADS = [
    (dict(gpu_layout=True), (40, 51)),
    (dict(gpu_layout=True), (3, 1500)),
    (dict(gpu_layout=True, road=2, held=2), (2, 2500)),
    (dict(road=2), (2, 3000)),
    (dict(road=3), (2, 30_000)),
    (dict(road=3), (3, 17)),
]


@pytest.mark.parametrize("code", ["?", "e", "f", "D"])
@pytest.mark.parametrize(("road", "shape"), ROADS, ids=str)
def test_every_road(device, equal, code, road, shape):
    if not device.is_cpu and "gpu_layout" not in road:
        pytest.skip("a road of the CPU's")
    a = sample(shape, np.dtype(code), 2)
    equal(_core._sort(quern.asarray(a), -1, **road), in_order(a))
    equal(_core._argsort(quern.asarray(a), -1, **road), order(a))


@pytest.mark.parametrize("code", ["b", "e", "f", "d", "D"])
def test_rows_of_every_length_on_gpus(device, equal, code):
    """A thread sorts its stretch and blocks merge them, or a block ranks digits; stretches end anywhere."""
    lengths = [
        *range(1, 20),
        31,
        33,
        63,
        64,
        65,
        127,
        161,
        193,
        257,
        500,
        641,
        768,
        769,
        1025,
        1281,
    ]
    for length in lengths:
        a = sample((max(3, 600 // length), length), np.dtype(code), length)
        ours = quern.asarray(a)
        equal(_core._sort(ours, -1, gpu_layout=True), in_order(a))
        equal(_core._argsort(ours, -1, gpu_layout=True), order(a))


LIVE = [
    [0, 0, 0, 0],  # factors of a key's bytes: those with 0 are alike in all values
    [1, 0, 0, 0],
    [0, 0, 1, 0],
    [0, 1, 0, 1],
    [1, 1, 0, 1],
    [0, 1, 1, 1],
]


@pytest.mark.parametrize("code", ["i", "u4", "f"])
@pytest.mark.parametrize("live", LIVE, ids=str)
@pytest.mark.parametrize("road", [1, 2])
def test_digits_that_are_alike_on_gpus(device, equal, code, live, road):
    random = np.random.default_rng(7)
    digits = random.integers(1, 120, (3, 2600, 4)).astype("u1")
    digits[:, :, [k for k, is_live in enumerate(live) if not is_live]] = 63
    digits[1] = digits[1, 0]  # a row of one value
    a = digits.view(code)[..., 0]
    ours = quern.asarray(a)
    equal(_core._sort(ours, -1, gpu_layout=True, road=road), np.sort(a))
    equal(_core._argsort(ours, -1, gpu_layout=True, road=road), np.argsort(a, kind="stable"))


@pytest.mark.parametrize("code", ["?", "b", "B"])
@pytest.mark.parametrize("shape", [(1, 40_000), (5, 9_001)], ids=str)
def test_bytes_are_written_anew_on_gpus(device, equal, code, shape):
    random = np.random.default_rng(8)
    for most in (3, 256):
        a = random.integers(0, most, shape).astype("u1").astype(code)
        equal(_core._sort(quern.asarray(a), -1, gpu_layout=True, road=2), np.sort(a))


def patterns(length, dtype):
    """Rows that divide badly: alike, in order, to and fro, of few values, of the greatest, with all floats have."""
    random = np.random.default_rng(length)
    mixed = sample((length,), dtype, length)
    most = np.inf if dtype.kind == "f" else np.iinfo(dtype).max
    yield np.full(length, 7, dtype)
    yield np.arange(length).astype(dtype)
    yield np.arange(length)[::-1].astype(dtype)
    yield np.minimum(np.arange(length), np.arange(length)[::-1]).astype(dtype)
    yield random.integers(0, 3, length).astype(dtype)
    yield np.where(random.random(length) < 0.5, most, mixed).astype(dtype)
    yield mixed
    if dtype.kind == "f":
        yield np.full(length, np.nan, dtype)
        yield np.where(random.random(length) < 0.5, 0.0, -0.0).astype(dtype)
        yield random.standard_normal(length).astype(dtype)


@pytest.mark.parametrize("code", ["i", "I", "l", "L", "f", "d"])
def test_rows_that_the_cpu_divides_at_pivots(device, equal, code):
    if not device.is_cpu:
        pytest.skip("roads of the CPU's")
    around = [b + k for b in (8, 16, 32, 64, 128, 256) for k in (-1, 0, 1)]
    lengths = [1, 2, 3, *around, 130, 513, 1500, 9000]
    for length in lengths:
        for a in patterns(length, np.dtype(code)):
            ours = quern.asarray(a[None])
            equal(_core._sort(ours, -1, road=1), in_order(a)[None])
            equal(quern.sort(ours), in_order(a)[None])
            equal(_core._sort(ours, -1, road=3), in_order(a)[None])
            equal(_core._argsort(ours, -1, road=3), order(a)[None])


@pytest.mark.parametrize("code", "iIlL")
def test_few_values_are_counted_by_the_blocks_that_share_a_row(device, equal, code):
    """Near each other, with one far off that no sample meets, and about as many as a part has room to count."""
    if not device.is_cpu:
        pytest.skip("a road of the CPU's")
    random = np.random.default_rng(9)
    bounds = np.iinfo(code)
    for rows, length in ((1, 140_000), (3, 20_001), (2, 65)):
        for least, most in (
            (0, 2),
            (100, 300),
            (bounds.min, bounds.min + 9),
            (bounds.max - 500, bounds.max),
            (0, length // 16),
            (0, length // 8),
            (0, length),
        ):
            a = random.integers(least, max(most, least + 1), (rows, length), code)
            equal(_core._sort(quern.asarray(a), -1, road=3), np.sort(a))
            equal(quern.sort(quern.asarray(a)), np.sort(a))
            a[0, 3], a[-1, 4] = bounds.max, bounds.min
            equal(_core._sort(quern.asarray(a), -1, road=3), np.sort(a))
            equal(_core._argsort(quern.asarray(a), -1, road=3), np.argsort(a, kind="stable"))


def test_rows_that_blocks_share_are_sorted_where_they_lie(device, equal):
    """In place, by as many threads as there are, whose parts end anywhere; places as well."""
    for length in (70_000, 131_073, 400_001):
        for a in patterns(length, np.dtype("f")):
            ours = quern.asarray(a)
            equal(quern.argsort(ours), order(a))
            ours.sort()
            equal(ours, in_order(a))


@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_axes_and_layouts(device, equal, layout, axis):
    a = layout(sample((37, 45), np.dtype("f4"), 3))
    ours = quern.asarray(a)
    equal(quern.sort(ours, axis), in_order(a, axis))
    equal(quern.argsort(ours, axis), order(a, axis))
    if axis is not None:
        ours[...] = quern.asarray(a)
        ours.sort(axis)
        equal(ours, in_order(a, axis))


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=4),
    st.integers(-3, 3),
    st.sampled_from("bIfdF"),
    st.integers(0, 99),
)
def test_any_shape(shape, axis, code, seed):
    a = sample(tuple(shape), np.dtype(code), seed)
    ours = quern.asarray(a)
    if not -a.ndim <= axis < a.ndim:
        with pytest.raises(np.exceptions.AxisError):
            quern.sort(ours, axis)
        return
    assert quern.sort(ours, axis).get().tobytes() == in_order(a, axis).tobytes()
    assert (quern.argsort(ours, axis).get() == order(a, axis)).all()


def spreads(dtype):
    """Long rows whose values lie as sorts by cells like them least: in one heap, over all exponents, in few values."""
    random = np.random.default_rng(11)
    count = 40_000
    if dtype.kind in "iu":
        bounds = np.iinfo(dtype)
        heap = random.integers(0, 9, count).astype(dtype)
        heap[:3] = bounds.min, bounds.max, bounds.max
        yield heap
        steps = np.array([bounds.max >> k for k in range(8 * dtype.itemsize)], dtype)
        yield random.choice(steps, count)
        yield random.integers(bounds.min, bounds.max, count, dtype=dtype, endpoint=True)
        return
    real = np.dtype(dtype.char.lower())
    with np.errstate(over="ignore", under="ignore"):
        wide = np.exp(random.standard_normal(count) * 60).astype(real)
        heap = (1 + random.standard_normal(count) * 1e-4).astype(real)
        heap[0] = np.finfo(real).max
        tiny = random.integers(0, 2000, count) * np.finfo(real).smallest_subnormal
    for values in (wide, heap, tiny.astype(real), random.integers(0, 5, count).astype(real)):
        made = np.empty(count, dtype)
        made.real[...] = values
        if dtype.kind == "c":
            made.imag[...] = random.permutation(values)
        yield made
    sign = random.choice([-1, 1], count).astype(real)
    yield np.concatenate([wide * sign, heap * sign]).astype(dtype)


@pytest.mark.parametrize("code", "hilQefdFD")
def test_long_rows_of_any_spread(device, equal, code):
    for a in spreads(np.dtype(code)):
        ours = quern.asarray(a)
        equal(quern.sort(ours), in_order(a))
        equal(quern.argsort(ours), order(a))


def check_partition(a, found, kth):
    """Is `found` a partition of the rows of `a`, with NaN behind all else?"""
    wanted = in_order(a)
    assert (in_order(found) == wanted)[wanted == wanted].all()
    for k in kth:
        pivot = found[..., k : k + 1]
        same = (pivot == wanted[..., k : k + 1]) | (pivot != pivot)
        there = wanted[..., k : k + 1]
        assert (same & ((pivot == pivot) == (there == there))).all()
        if a.dtype.kind != "c":
            numbers = (pivot == pivot)[..., 0]
            assert not np.isnan(found[..., :k][numbers].astype("f8")).any()
            assert not (found[..., :k] > pivot).any()
            assert not (found[..., k:] < pivot).any()


@pytest.mark.parametrize("dtype", ALL[:-1], ids=str)
def test_long_rows_are_partitioned(device, dtype):
    for shape in ((3, 300), (2, 20_000)):
        a = sample(shape, dtype, 12)
        ours = quern.asarray(a)
        last = shape[1] - 1
        for kth in ([0], [7], [last // 2], [last], [2, 250, last // 3, last - 3]):
            check_partition(a, quern.partition(ours, kth).get(), kth)
            places = quern.argpartition(ours, kth).get()
            assert (np.sort(places) == np.arange(shape[1])).all()
            check_partition(a, np.take_along_axis(a, places, -1), kth)
    many = list(range(0, 20_000, 100))
    check_partition(a, quern.partition(ours, many).get(), many)
    for values in spreads(dtype) if dtype.kind in "if" else ():
        check_partition(values, quern.partition(quern.asarray(values), 20_000).get(), [20_000])


def test_complex_numbers_with_nan_are_partitioned(device):
    """NaN of one part are ordered by the other part."""
    random = np.random.default_rng(15)
    a = np.array([complex(k, np.nan) for k in random.permutation(1000)])
    kinds = np.array([complex(1, np.nan), complex(np.nan, 1), complex(np.nan, np.nan), 2 + 1j])
    for values in (a, random.permutation(np.repeat(kinds, 80)), random.permutation([*a, *kinds])):
        ours = quern.asarray(values)
        ordered = np.sort(values)
        for kth in (0, 100, values.size // 2, values.size - 20):
            wanted = ordered[kth]
            for found in (
                quern.partition(ours, kth)[kth],
                ours[quern.argpartition(ours, kth)[kth]],
            ):
                found = found.get()
                np.testing.assert_array_equal([found.real, found.imag], [wanted.real, wanted.imag])


def test_places_of_a_partition(device):
    a = np.random.default_rng(16).permutation(300)
    for kth in (np.array(1), range(2), np.int8(5), [np.uint8(3)]):
        at = np.atleast_1d(np.asarray(kth))
        found = quern.partition(quern.asarray(a), kth).get()
        np.testing.assert_array_equal(found[at], at)
    for kth, error in ((True, ValueError), (1.5, TypeError), ([], TypeError), ("1", TypeError)):
        with pytest.raises(error):
            quern.partition(quern.asarray(a), kth)
    for shape in ((0,), (2, 0, 3)):  # no place is wrong where there is none
        assert quern.partition(quern.zeros(shape), 9).shape == shape
        assert quern.argpartition(quern.zeros(shape), [0, 9]).dtype == np.intp


def test_a_row_of_one_value_and_rows_in_order(device, equal):
    for a in (np.full(3000, 7, "i8"), np.arange(3000.0), np.arange(3000)[::-1]):
        equal(quern.sort(quern.asarray(a)), np.sort(a))
        equal(quern.argsort(quern.asarray(a)), np.argsort(a, kind="stable"))


def test_views_are_sorted_in_place(device, equal):
    a = np.random.default_rng(4).integers(0, 99, (20, 30))
    ours = quern.asarray(a)
    ours[::2, 3:17].sort(0)
    a[::2, 3:17].sort(0)
    equal(ours, a)


@pytest.mark.parametrize("code", ["i", "d", "F"])
def test_partitions(device, equal, code):
    a = sample((5, 70), np.dtype(code), 5)
    ours = quern.asarray(a)
    for kth in (3, -1, [2, 4]):
        equal(quern.partition(ours, kth), in_order(a))
        equal(quern.argpartition(ours, kth, axis=0), order(a, 0))
    ours.partition(4, axis=0)
    equal(ours, in_order(a, 0))
    equal(ours.argpartition(2), order(in_order(a, 0)))


def test_lexsort(device, equal):
    random = np.random.default_rng(6)
    keys = [random.integers(0, 4, (6, 50)), random.integers(0, 3, (6, 50)), random.random((6, 50))]
    for count in (1, 2, 3):
        ours = [quern.asarray(k) for k in keys[:count]]
        equal(quern.lexsort(tuple(k[0] for k in ours)), np.lexsort([k[0] for k in keys[:count]]))
        equal(quern.lexsort(ours), np.lexsort(keys[:count]))
        equal(quern.lexsort(ours, axis=0), np.lexsort(keys[:count], axis=0))
    equal(quern.lexsort(quern.asarray(keys[0])), np.lexsort(keys[0]))
    equal(quern.lexsort((quern.asarray(3),)), np.asarray(np.lexsort((np.array(3),))))


def test_sort_complex_and_msort(device, equal):
    for code in "bHlfdFD":
        a = sample((4, 9), np.dtype(code), 7)
        wanted = in_order(a).astype(np.sort_complex(a[:1, :1]).dtype)
        equal(quern.sort_complex(quern.asarray(a)), wanted)
    a = sample((4, 9), np.dtype("f"), 7)
    equal(quern.msort(quern.asarray(a)), in_order(a, 0))


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "float16", "float32", "float64", "complex64", "complex128"]
)
@pytest.mark.parametrize("length", [1, 6, 63, 64, 1023, 1024, 2047, 4096, 4097, 9001, 70_000])
def test_many_searches(device, equal, dtype, length):
    kind = np.dtype(dtype).kind
    random = np.random.default_rng(12)
    a, v = (
        random.integers(0, 2 if kind == "b" else 100, n).astype(dtype) for n in (length, 66_000)
    )
    if kind in "fc":
        a[::1000], v[::999] = np.nan, np.nan
        v[5::77] = np.inf
    a.sort()
    for side in ("left", "right"):
        ours = quern.searchsorted(quern.asarray(a), quern.asarray(v), side)
        equal(ours, np.searchsorted(a, v, side))
    equal(quern.isin(quern.asarray(v), quern.asarray(a)), np.isin(v, a))


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_searchsorted(device, equal, dtype):
    a, v = in_order(sample(300, dtype, 8)), sample((7, 11), dtype, 9)
    numpy = (a.astype("f4"), v.astype("f4")) if dtype.kind == "V" else (a, v)
    for side in ("left", "right"):
        ours = quern.searchsorted(quern.asarray(a), quern.asarray(v), side)
        equal(ours, np.searchsorted(*numpy, side))
    assert quern.asarray(a).searchsorted(quern.asarray(v)).shape == (7, 11)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 40), st.integers(0, 40), st.booleans(), st.integers(0, 99))
def test_searches_of_any_size(length, count, right, seed):
    random = np.random.default_rng(seed)
    a, v = random.integers(0, 9, length), random.integers(-1, 10, count).astype("f4")
    sorter, side = np.argsort(a, kind="stable"), "right" if right else "left"
    ours = quern.searchsorted(quern.asarray(a), quern.asarray(v), side, quern.asarray(sorter))
    assert (ours.get() == np.searchsorted(a, v, side, sorter)).all()
    assert quern.searchsorted(quern.asarray(np.sort(a)), 4, side).get() == np.searchsorted(
        np.sort(a), 4, side
    )


def test_digitize(device, equal):
    x = sample((5, 8), np.dtype("d"), 10)
    nan = np.nan
    x.flat[:8] = [nan, np.inf, -np.inf, 0, 1, 4, -2, 3]
    for bins in (
        np.array([-3.0, 0, 0.5, 4]), np.array([4.0, 1, 1, -2]), np.array([1.0]), x[0, :0], np.array([2.0, 2, 2]),
        np.array([1.0, 1, 3, nan]), np.array([nan, nan]),
    ):  # fmt: skip
        for right in (False, True):
            equal(
                quern.digitize(quern.asarray(x), quern.asarray(bins), right),
                np.digitize(x, bins, right),
            )


THREE = np.arange(3)
ERRORS = [
    lambda np, a: np.sort(a, 1),
    lambda np, a: np.sort(a.reshape(3, 1)[0, 0]),
    lambda np, a: np.sort(a, kind="foo"),
    lambda np, a: np.sort(a, order="x"),
    lambda np, a: np.sort(a, kind="stable", stable=True),
    lambda np, a: np.argsort(a, 5),
    lambda np, a: np.partition(a, 10),
    lambda np, a: np.partition(a, -4),
    lambda np, a: np.argpartition(a, 1.5),
    lambda np, a: np.lexsort(()),
    lambda np, a: np.lexsort((a, a[:2])),
    lambda np, a: np.lexsort((a, a), axis=1),
    lambda np, a: np.searchsorted(a, a, "middle"),
    lambda np, a: np.searchsorted(a.reshape(1, 3), a),
    lambda np, a: np.searchsorted(a, a, sorter=a[:2]),
    lambda np, a: np.searchsorted(a, a, sorter=a + 7),
    lambda np, a: np.searchsorted(a, a, sorter=a * 1.0),
    lambda np, a: np.digitize(a, (a - 1) ** 2),
    lambda np, a: np.digitize(a * 1j, a),
    lambda np, a: np.digitize(a, a * 1j),
    lambda np, a: np.digitize(a, a.reshape(1, 3)),
]


@pytest.mark.parametrize("call", ERRORS, ids=range(len(ERRORS)))
def test_errors_are_numpys(device, call):
    with pytest.raises(Exception) as theirs:  # noqa: PT011
        call(np, THREE)
    with pytest.raises(type(theirs.value)):
        call(quern, quern.asarray(THREE))


def test_a_read_only_array_is_not_sorted(device):
    with pytest.raises(ValueError, match="read-only"):
        quern.broadcast_to(quern.asarray(THREE), (2, 3)).sort()


def test_explain(device):
    text = _core._explain_sort(quern.zeros(100_000, "f4"), -1, gpu_layout=True)
    assert "split rows | 4 digits of 8 bits, 17 blocks a row of 6144 elements each" in text
    assert "short rows" in _core._explain_sort(quern.zeros((9, 9)), 0)
    assert "a copy in C order comes first" in _core._explain_sort(quern.zeros((9, 9)), 0)
