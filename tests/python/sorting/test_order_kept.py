"""Rows that stand in order already, or nearly, and searches for values that rise or change little: against NumPy."""

import numpy as np
import pytest
from sorting.oracle import ALL, in_order, order, sample

import quern
from quern import _core

LENGTHS = [2, 63, 64, 65, 129, 1000, 70_001]


def rows_in_order(length, dtype):
    """In order, all alike, in the opposite order, and each with a value out of place at a multiple of 64 or an end."""
    rising = in_order(sample(length, dtype, 3))
    for row in (rising, np.full_like(rising, rising[length // 2]), rising[::-1].copy()):
        yield row
        for at in {0, 1, 63, 64, 65, length // 2, length - 1}:
            if at < length:
                changed = row.copy()
                changed[at] = rising[-1] if at < length // 2 else rising[0]
                yield changed


@pytest.mark.parametrize("dtype", ALL, ids=str)
@pytest.mark.parametrize("length", LENGTHS)
def test_rows_in_order(device, equal, dtype, length):
    for row in rows_in_order(length, dtype):
        ours = quern.asarray(row)
        equal(quern.sort(ours), in_order(row))
        equal(quern.argsort(ours), order(row))


@pytest.mark.parametrize("code", "qfdD")
@pytest.mark.parametrize("road", [1, 3])  # a row a block, rows dealt out by several
def test_rows_in_order_beside_others(device, equal, code, road):
    """Each row of one array goes its own way."""
    if not device.is_cpu:
        pytest.skip("roads of the CPU's")
    for length in (65, 3001):
        a = np.stack(list(rows_in_order(length, np.dtype(code))))
        a = np.concatenate([a, np.stack([sample(length, np.dtype(code), k) for k in range(3)])])
        ours = quern.asarray(a)
        equal(_core._sort(ours, -1, road=road), np.stack([in_order(row) for row in a]))
        equal(_core._argsort(ours, -1, road=road), np.stack([order(row) for row in a]))


def test_strictly_falling_rows_and_those_with_equal_neighbours(device, equal):
    """Only without equal neighbours is the opposite order a stable sort's."""
    for length in (300, 200_000):
        falling = np.arange(length)[::-1]
        for a in (falling, falling // 2, np.where(falling == length // 3, length, falling)):
            for dtype in ("i8", "f8", "f4"):
                row = a.astype(dtype)
                equal(quern.argsort(quern.asarray(row)), np.argsort(row, kind="stable"))
                equal(
                    quern.lexsort((quern.asarray(row), quern.asarray(row[::-1]))),
                    np.lexsort((row, row[::-1])),
                )


@pytest.mark.parametrize("dtype", [d for d in ALL if d.kind != "V"], ids=str)
@pytest.mark.parametrize("length", [2, 33, 64, 65, 140_003])
def test_distinct_values_of_rows_in_order(device, dtype, length):
    """All that is asked for, where runs of one value begin and end anywhere, or there is one or none."""
    for a in rows_in_order(length, dtype):
        if dtype.kind == "c":
            a[np.isnan(a)] = np.nan  # which of unlike NaN comes first is NumPy's affair
        for equal_nan in (True, False):
            for names in ("index counts inverse", "counts", "index counts", "inverse"):
                if names == "inverse" and not equal_nan:
                    continue  # NumPy's is by no stable sort then, and each NaN has a place of its own
                asked = {f"return_{name}": True for name in names.split()}
                found = quern.unique(quern.asarray(a), **asked, equal_nan=equal_nan)
                # Some NumPy's own sort of halves is not in order.
                wide = a.astype("f4") if dtype.char == "e" else a
                values, *others = np.unique(wide, **asked, equal_nan=equal_nan)
                expected = [values.astype(dtype), *others]
                for ours, theirs in zip(found, expected, strict=True):
                    assert ours.dtype == theirs.dtype
                    np.testing.assert_array_equal(ours.get(), theirs)


def keys_in_order(length):
    """Pairs, threes and single keys, of which some stand in order already."""
    random = np.random.default_rng(length)
    rising, alike = np.sort(random.integers(0, length // 3, length)), np.full(length, 2.5)
    falling, some = rising[::-1].astype("f4"), random.integers(0, 9, length)
    nearly = rising.copy()
    nearly[-1] = 0
    yield from ([rising], [alike], [falling], [some], [nearly])
    yield from ([rising, alike], [alike, rising], [alike, falling], [falling, alike])
    yield from ([some, rising], [rising, some], [some, alike], [rising, nearly], [nearly, rising])
    yield from ([rising, alike, some], [alike, some, rising], [alike, rising, alike, falling])


@pytest.mark.parametrize("length", [300, 1 << 14, 150_001])
def test_lexsort_of_keys_in_order(device, equal, length):
    for keys in keys_in_order(length):
        equal(quern.lexsort([quern.asarray(key) for key in keys]), np.lexsort(keys))


@pytest.mark.parametrize("shape", [(40, 1000), (3, 70_001), (500, 7), (1, 20_000), (4, 0), (0, 4)])
def test_lexsort_of_rows(device, equal, shape):
    random = np.random.default_rng(2)
    some = random.integers(0, 50, shape)
    floats = np.round(random.standard_normal(shape), 1).astype("f4")
    for keys in ([some], [some, floats], [np.sort(some, 1), some], [some, floats, some % 3 == 0]):
        ours = [quern.asarray(key) for key in keys]
        for axis in (-1, 0):
            equal(quern.lexsort(ours, axis), np.lexsort(keys, axis))


def test_lexsort_of_keys_in_order_where_nobody_waits(device, equal):
    rising = quern.arange(50_000)
    falling = rising[::-1].copy()
    quern.lexsort((rising, falling))
    before = quern.x.allow_synchronize(False)
    try:
        found = quern.lexsort((rising, falling))
    finally:
        quern.x.allow_synchronize(before)
    equal(found, np.arange(50_000)[::-1])


def test_partitions_of_rows_in_order(device):
    """All alike, nearly, in order and falling, with and without places."""
    random = np.random.default_rng(5)
    for code in "bifdeF":
        for row in rows_in_order(5000, np.dtype(code)):
            ordered = in_order(row)
            kth = sorted(random.integers(0, 5000, 3).tolist())
            for wanted in (kth[:1], kth):
                ours = quern.partition(quern.asarray(row), wanted).get()
                places = quern.argpartition(quern.asarray(row), wanted).get()
                np.testing.assert_array_equal(np.sort(places), np.arange(len(row)))
                for found in (ours, row[places]):
                    np.testing.assert_array_equal(found[wanted], ordered[wanted])
                    for part, sorted_part in zip(
                        np.split(found, wanted), np.split(ordered, wanted), strict=True
                    ):
                        np.testing.assert_array_equal(in_order(part), sorted_part)


def walks(random, count, length):
    """Places that rise, fall, wander, stay or are random, beyond both ends of what they are sought in too."""
    even = np.linspace(-0.1 * length, 1.1 * length, count)
    yield from (even, even[::-1], np.full(count, length / 3))
    yield length * (0.5 + 0.6 * np.sin(even * (40 / length)))
    yield np.cumsum(random.standard_normal(count)) + length / 2
    yield np.repeat(random.uniform(0, length, count // 50 + 1), 50)[:count]
    yield random.uniform(-1, length + 1, count)
    holes = even.copy()
    holes[:: max(count // 7, 1)] = np.nan
    yield holes


@pytest.mark.parametrize("code", ["d", "e", "l", "D"])
@pytest.mark.parametrize("length", [1, 7, 100, 5000, 100_000])
def test_searches_near_each_other(device, equal, code, length):
    random = np.random.default_rng(length)
    with np.errstate(over="ignore"):
        a = np.sort(random.uniform(0, length, length)).astype(code)
    sorter = random.permutation(length)
    ours, shuffled = quern.asarray(a), quern.asarray(a[np.argsort(sorter)])
    for count in (5, 1003, 70_000):
        for walk in walks(random, count, length):
            with np.errstate(invalid="ignore", over="ignore"):
                v = walk.astype(code)
            for side in ("left", "right"):
                expected = np.searchsorted(a, v, side)
                equal(quern.searchsorted(ours, quern.asarray(v), side), expected)
            equal(
                quern.searchsorted(shuffled, quern.asarray(v), "right", quern.asarray(sorter)),
                expected,
            )


def test_searches_in_nothing(device, equal):
    nothing, v = quern.empty(0), quern.arange(100.0)
    for side in ("left", "right"):
        equal(quern.searchsorted(nothing, v, side), np.zeros(100, int))
    equal(quern.isin(v, nothing), np.zeros(100, bool))


@pytest.mark.parametrize("code", ["d", "D"])
@pytest.mark.parametrize("length", [1, 2, 9, 300, 40_000])
def test_lines_between_points_near_each_other(device, code, length):
    random = np.random.default_rng(length)
    xp = np.sort(random.uniform(0, length, length))
    fp = random.standard_normal(length).astype(code)
    if code == "D":
        fp.imag = random.standard_normal(length)
    for count in (5, 1003, 70_000):
        for x in walks(random, count, length):
            x[count // 2] = xp[length // 2]
            for ends in ({}, {"left": -7.5}, {"left": np.nan, "right": 3}):
                ours = quern.interp(*(quern.asarray(each) for each in (x, xp, fp)), **ends)
                expected = np.interp(x, xp, fp, **ends)
                assert ours.dtype == expected.dtype
                np.testing.assert_allclose(ours.get(), expected, rtol=1e-11, atol=1e-11)


def test_ends_of_lines_are_scalars(device):
    x, points = quern.asarray([-1.0, 0.5, 3]), quern.asarray([0.0, 1])
    lines = quern.interp(x, points, points, left=quern.asarray(4), right=np.float32(2))
    assert lines.tolist() == [4.0, 0.5, 2.0]
    for end in ([1.0, 2.0], quern.ones(1)):
        with pytest.raises(TypeError, match="scalar"):
            quern.interp(x, points, points, left=end)
    with pytest.raises(TypeError):
        quern.interp(x, points, points, right=1j)
    assert quern.interp(x.reshape(1, 3), points, points).shape == (1, 3)
    assert quern.interp(quern.empty((0, 3)), points, points).shape == (0, 3)
    assert quern.interp(quern.asarray(0.25), points, points).item() == 0.25
