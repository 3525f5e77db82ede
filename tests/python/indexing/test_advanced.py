"""`a[index]` and `a[index] = value` with arrays, masks, lists and their mixtures, against NumPy."""

import functools

import numpy as np
import pytest

import quern

pytest.importorskip("hypothesis")  # a bare GPU machine may not have it

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

relaxed = settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
INTEGERS = ["i1", "u1", "i2", "i4", "u4", "i8", "u8"]


def numbers(shape, dtype=np.int32):
    return np.arange(int(np.prod(shape))).reshape(shape).astype(dtype)


def sent(key):
    """The key with its NumPy arrays as arrays of the device; lists, ints and slices stay."""
    if isinstance(key, tuple):
        return tuple(sent(item) for item in key)
    return quern.asarray(key) if isinstance(key, np.ndarray) else key


def same(ours, theirs):
    theirs = np.asarray(theirs)
    assert isinstance(ours, quern.ndarray)
    assert ours.shape == theirs.shape
    assert ours.dtype == theirs.dtype
    np.testing.assert_array_equal(ours.get(), theirs)


@st.composite
def keys(draw, shape):
    """An index tuple in bounds: arrays that broadcast, masks, ints, slices, ... and None in any order."""
    axis, items, used_ellipsis = 0, [], False
    index_shape = draw(hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3))
    while axis < len(shape) and draw(st.integers(0, 5)) > 0:
        extent = shape[axis]
        kind = draw(
            st.sampled_from(["array", "array", "mask", "slice", "int", "none", "dots", "truth"])
        )
        if kind == "array" and extent > 0:
            cut = draw(st.integers(0, len(index_shape)))
            part = tuple(n if draw(st.booleans()) else 1 for n in index_shape[cut:])
            dtype = np.dtype(draw(st.sampled_from(INTEGERS)))
            low = 0 if dtype.kind == "u" else -extent
            values = draw(hnp.arrays(np.int64, part, elements=st.integers(low, extent - 1)))
            items.append(values.astype(dtype))
            axis += 1
        elif kind == "mask":
            ndim = draw(st.integers(1, len(shape) - axis))
            items.append(draw(hnp.arrays(bool, shape[axis : axis + ndim])))
            axis += ndim
        elif kind == "slice":
            items.append(draw(st.slices(extent)))
            axis += 1
        elif kind == "int" and extent > 0:
            items.append(draw(st.integers(-extent, extent - 1)))
            axis += 1
        elif kind == "none":
            items.append(None)
        elif kind == "truth":
            items.append(draw(st.booleans()))
        elif kind == "dots" and not used_ellipsis:
            used_ellipsis = True
            items.append(...)
            axis += draw(st.integers(0, len(shape) - axis))
    if len(items) == 1 and draw(st.booleans()):
        return items[0]
    return tuple(items)


def outcome(work):
    try:
        return work(), None
    except (IndexError, ValueError, TypeError) as error:
        return None, error


@given(data=st.data(), shape=hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
@relaxed
def test_get(device, data, shape):
    host = numbers(shape)
    key = data.draw(keys(shape))
    wanted, complaint = outcome(lambda: host[key])
    found, ours = outcome(lambda: quern.asarray(host)[sent(key)])
    assert type(ours) is type(complaint), (ours, complaint)
    if complaint is None:
        same(found, wanted)


@given(data=st.data(), shape=hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4))
@relaxed
def test_set(device, data, shape):
    host = numbers(shape, np.float32)
    key = data.draw(keys(shape))
    taken, complaint = outcome(lambda: np.asarray(host[key]))
    if complaint is None:
        # Equal values for every place: the result does not hang on which duplicate wins.
        form = data.draw(st.sampled_from(["scalar", "row", "whole", "other dtype"]))
        dtype = np.float64 if form == "other dtype" else np.float32
        value = {"scalar": 7.0, "row": np.full(taken.shape[-1:], 8, dtype)}.get(
            form, np.full(taken.shape, 9, dtype)
        )
    else:
        value = 7.0
    array = quern.asarray(host.copy())
    _, complaint = outcome(lambda: host.__setitem__(key, value))
    _, ours = outcome(lambda: array.__setitem__(sent(key), sent(value)))
    assert type(ours) is type(complaint), (ours, complaint)
    if complaint is None:
        same(array, host)


def test_the_last_duplicate_wins_on_the_cpu(cpu_kernels):
    random = np.random.default_rng(1)
    for shape in [(5000,), (100, 50)]:
        with quern.Device("cpu"):
            host, key = np.zeros(37), random.integers(-37, 37, shape)
            values = random.normal(size=shape)
            array = quern.asarray(host.copy())
            host[key] = values
            array[quern.asarray(key)] = quern.asarray(values)
            same(array, host)


@pytest.mark.parametrize("dtype", ["?", "i1", "f2", "i4", "f8", "F", "D"])
def test_every_width(device, dtype, make):
    host = make((33, 20), dtype)
    key = np.random.default_rng(2).integers(-33, 33, 50)
    array = quern.asarray(host)
    views = [lambda a: a, lambda a: a[:, 1:], lambda a: a.T, lambda a: a[::-1, ::2]]
    for view in views:
        theirs, ours = view(host), view(array)
        rows, columns = key % theirs.shape[0], key % theirs.shape[1]
        same(ours[quern.asarray(rows)], theirs[rows])
        same(ours[:, quern.asarray(columns)], theirs[:, columns])
        same(ours[quern.asarray(rows), quern.asarray(columns)], theirs[rows, columns])


def test_rows_moved_in_wide_units(device):
    random = np.random.default_rng(3)
    for columns in (1, 3, 4, 8, 64, 100):
        host = random.normal(size=(200, columns)).astype(np.float32)
        key = random.integers(0, 200, 300)
        array = quern.asarray(host)
        same(array[quern.asarray(key)], host[key])
        array[quern.asarray(key[:50])] = quern.asarray(host[key[50:100]] * 0)
        host[key[:50]] = 0
        same(array, host)


def test_keys_of_lists_and_of_the_host(device):
    host = numbers((4, 5, 6))
    array = quern.asarray(host)
    keys = [
        [1, -1],
        [[0, 1], [2, 3]],
        ([0, 1], [2, 4]),
        [True, False, True, True],
        np.array([3, 0]),
        (slice(None), [0, 4]),
        np.array(2),
        (np.int8(1), [0, 1]),
        [],
        (1, ..., [0, 0]),
        True,
        np.True_,
    ]
    for key in keys:
        same(array[key], host[key])
    array[[0, 2]] = [[1], [2], [3], [4], [5]]
    host[[0, 2]] = [[1], [2], [3], [4], [5]]
    same(array, host)
    array[host > 50] = -1
    host[host > 50] = -1
    same(array, host)


def test_a_mask_takes_values_in_order(device):
    random = np.random.default_rng(4)
    for shape in [(5000,), (70, 90), (3, 4, 5)]:
        host = random.normal(size=shape)
        mask = random.random(shape) < 0.4
        array = quern.asarray(host)
        same(array[quern.asarray(mask)], host[mask])
        values = random.normal(size=int(mask.sum()))
        array[quern.asarray(mask)] = quern.asarray(values)
        host[mask] = values
        same(array, host)
        same(array.T[quern.asarray(mask.T)], host.T[mask.T])


def test_an_index_of_itself(device):
    host = np.random.default_rng(5).integers(0, 50, 50)
    array = quern.asarray(host)
    same(array[array], host[host])
    array[array] = array[::-1] * 0 + 3
    host[host] = 3
    same(array, host)


def test_overlapping_values_are_read_first(device):
    host = numbers((6, 4))
    array = quern.asarray(host)
    key = np.array([0, 1, 2])
    array[quern.asarray(key)] = array[1:4]
    host[key] = host[1:4].copy()
    same(array, host)


BAD = [
    (lambda a: a[[5]], IndexError),
    (lambda a: a[[0, 1], [3, -9]], IndexError),
    (lambda a: a[[0, 1], [0, 1, 2]], IndexError),
    (lambda a: a[[1.5]], IndexError),
    (lambda a: a[1.5], IndexError),
    (lambda a: a["x"], IndexError),
    (lambda a: a[[0], [0], [0]], IndexError),
    (lambda a: a[..., [0], ...], IndexError),
    (lambda a: a[[True, False]], IndexError),
    (lambda a: a[:, [True, False]], IndexError),
    (lambda a: a.__setitem__([0, 1], [[1.0], [2.0], [3.0]]), ValueError),
    (lambda a: a.__setitem__([7], 1), IndexError),
    (lambda a: a[[[0, 1], [2]]], ValueError),
]


@pytest.mark.parametrize("case", range(len(BAD)))
def test_complaints_are_numpys(device, case):
    work, kind = BAD[case]
    host = numbers((3, 4), np.float64)
    with pytest.raises(kind) as theirs:
        work(host)
    quern.config.index_check = "now"
    try:
        with pytest.raises(kind) as ours:
            work(quern.asarray(host))
    finally:
        quern.config.index_check = "later"
    assert str(ours.value).split("\n")[0] == str(theirs.value)


def test_masks_complain_as_numpy_does(device):
    host = numbers((3, 4), np.float64)
    mask = host > 8
    for value in ([1.0, 2.0], np.zeros((3, 1))):
        with pytest.raises((ValueError, TypeError)) as theirs:
            host[mask] = value
        with pytest.raises(theirs.type) as ours:
            quern.asarray(host)[quern.asarray(mask)] = quern.asarray(value)
        assert str(ours.value) == str(theirs.value)


@pytest.mark.parametrize("shape", [(0,), (0, 0), (0, 1), (0, 3), (2, 0), (3, 0)])
def test_a_mask_without_elements_stands_along_any_axis(device, shape):
    def take_and_set(m, key_of):
        array, key = m.zeros((2, 3)), key_of(m.zeros(shape, dtype=bool))
        array[key] = 7
        array[key] = m.ones(1)
        array[key] = m.ones(0)
        return array[key].shape

    for key_of in [lambda m: m, lambda m: (m, ...), lambda m: (None, m)]:
        theirs, complaint = outcome(functools.partial(take_and_set, np, key_of))
        ours, own = outcome(functools.partial(take_and_set, quern, key_of))
        assert (ours, type(own)) == (theirs, type(complaint))


def test_read_only(device):
    array = quern.broadcast_to(quern.zeros(3), (2, 3))
    with pytest.raises(ValueError, match="read-only"):
        array[[0, 1]] = 1
    with pytest.raises(ValueError, match="read-only"):
        array[quern.zeros((2, 3), bool)] = 1


def test_values_are_stored_by_numpys_rules(device):
    array = quern.zeros(3, np.uint8)
    with pytest.raises(OverflowError):
        array[[0]] = 300
    array[[0, 1]] = 2.7
    assert array.tolist() == [2, 2, 0]


def test_a_mask_without_elements(device):
    """NumPy does not look at its extents."""
    host = np.arange(24.0).reshape(2, 3, 4)
    array = quern.asarray(host)
    for shape in [(0,), (0, 3), (2, 0, 4), (0, 0, 4)]:
        mask = np.zeros(shape, bool)
        assert array[quern.asarray(mask)].shape == host[mask].shape
        array[quern.asarray(mask)] = 1
        array[quern.asarray(mask)] = quern.asarray(2.0)
    np.testing.assert_array_equal(array.get(), host)


def test_an_axis_without_elements(device):
    empty = quern.zeros((0, 3))
    assert empty[[]].shape == (0, 3)
    with pytest.raises(IndexError, match="index 5 is out of bounds for axis 0 with size 0"):
        empty[[5]]
    quern.config.index_check = "now"
    try:
        with pytest.raises(IndexError, match="out of bounds for axis 0 with size 3"):
            quern.zeros((3, 0))[[5]]
    finally:
        quern.config.index_check = "later"
