"""take, put, choose and their kin against NumPy."""

import itertools

import numpy as np
import pytest

import quern

RANDOM = np.random.default_rng(7)
FLOATS = RANDOM.normal(size=(6, 7, 5)).astype(np.float32)
NUMBERS = RANDOM.integers(0, 3, (6, 7, 5))


def sent(value):
    if isinstance(value, (list, tuple)) and any(isinstance(v, np.ndarray) for v in value):
        return type(value)(sent(v) for v in value)
    return quern.asarray(value) if isinstance(value, np.ndarray) else value


def same(ours, theirs):
    if isinstance(theirs, (tuple, list)):
        assert len(ours) == len(theirs)
        for mine, other in zip(ours, theirs, strict=True):
            same(mine, other)
        return
    theirs = np.asarray(theirs)
    assert isinstance(ours, quern.ndarray)
    assert ours.shape == theirs.shape
    assert ours.dtype == theirs.dtype
    np.testing.assert_array_equal(ours.get(), theirs)


K = np.array([[0, 2], [1, -1]])
CASES = [
    ("take", FLOATS, K),
    ("take", FLOATS, K, 1),
    ("take", FLOATS, 3, 2),
    ("take", FLOATS.T, K, None),
    ("take", FLOATS[::2, ::-1], K, -1),
    ("take", FLOATS, np.array([-300, 999, 4]), None, None, "wrap"),
    ("take", FLOATS, np.array([-300, 999, 4]), 1, None, "clip"),
    ("take", FLOATS, np.array([True, False]), 0),
    ("take", np.float64(3.0) * np.ones(()), np.array([0, 0])),
    ("take_along_axis", FLOATS, np.argsort(FLOATS, 1), 1),
    ("take_along_axis", FLOATS, RANDOM.integers(-6, 6, (3, 1, 5)), 0),
    ("take_along_axis", FLOATS.ravel(), K.ravel(), None),
    ("choose", NUMBERS, [FLOATS, NUMBERS, np.float64(2) * FLOATS]),
    ("choose", NUMBERS, [np.arange(5), np.array(7), FLOATS[0]]),
    ("choose", NUMBERS * 5 - 3, [FLOATS, -FLOATS], None, "wrap"),
    ("choose", NUMBERS * 5 - 3, [FLOATS, -FLOATS], None, "clip"),
    ("compress", np.array([True, False, True]), FLOATS, 0),
    ("compress", np.array([0, 2, 1, 0, 5]), FLOATS, 2),
    ("compress", np.array([True, False, True]), FLOATS),
    ("extract", FLOATS > 0, FLOATS),
    ("extract", NUMBERS, FLOATS.T.copy()),
    ("nonzero", NUMBERS),
    ("nonzero", NUMBERS.T),
    ("nonzero", FLOATS > 9),
    ("nonzero", np.zeros((3, 0, 2))),
    ("flatnonzero", NUMBERS),
    ("argwhere", NUMBERS),
    ("argwhere", np.array(3)),
    ("argwhere", np.zeros(4)),
    ("select", [FLOATS > 0, NUMBERS == 1], [FLOATS, NUMBERS], 7),
    ("select", [FLOATS > 0, FLOATS[0, 0] > 0], [1, FLOATS], 0.5),
    ("ix_", np.array([0, 2]), np.array([True, False, True]), np.array([1])),
    ("indices", (2, 3, 4)),
    ("indices", (2, 3), np.float32),
    ("indices", (2, 3), np.int32, True),
    ("diag_indices", 4, 3),
    ("diag_indices_from", NUMBERS[:5, :5, :5]),
    ("tril_indices", 4),
    ("tril_indices", 4, -1, 6),
    ("tril_indices", 4, 2, 3),
    ("triu_indices", 4, 1),
    ("triu_indices", 4, -2, 6),
    ("tril_indices_from", NUMBERS[0], 1),
    ("triu_indices_from", NUMBERS[0], -1),
    ("ix_", np.empty(0, np.float32), np.array([1, 2])),
    ("unravel_index", np.array(0), ()),
    ("unravel_index", np.array([[0, 33], [209, 17]]), (6, 7, 5)),
    ("unravel_index", np.array([0, 33, 209], np.int32), (6, 7, 5), "F"),
    ("ravel_multi_index", (np.array([1, 5]), np.array([6, 0]), np.array([[4], [2]])), (6, 7, 5)),
    ("ravel_multi_index", (np.array([1, -5]), np.array([60, 0])), (6, 7), ("wrap", "clip"), "F"),
]


@pytest.mark.parametrize("case", range(len(CASES)), ids=lambda k: f"{k}-{CASES[k][0]}")
def test_function(device, case):
    name, *args = CASES[case]
    same(getattr(quern, name)(*(sent(a) for a in args)), getattr(np, name)(*args))


def test_triangles_of_every_kind(device):
    for n, m, k in itertools.product((0, 1, 2, 5, 40), (0, 1, 3, 7, 41), range(-9, 10)):
        for name in ("tril_indices", "triu_indices"):
            same(getattr(quern, name)(n, k, m), getattr(np, name)(n, k, m))
    same(quern.triu_indices(3001, -5, 4100), np.triu_indices(3001, -5, 4100))


PUTS = [
    ("put", np.array([0, 5, -2]), np.array([1.5, 2.5])),
    ("put", np.array([[900, -900]]), 4.0, "wrap"),
    ("put", np.array([900, -900]), np.arange(5.0), "clip"),
    ("put", np.array([], int), 4.0),
    ("put", [1, 2], [7, 8]),
    ("put_along_axis", np.argmax(FLOATS, 1)[:, None], 99.0, 1),
    ("put_along_axis", np.zeros((1, 1, 5), int), np.arange(7.0)[None, :, None], 0),
    ("place", FLOATS > 0, np.array([1.0, 2.0, 3.0], np.float32)),
    ("place", FLOATS > 99, np.array([1.0], np.float32)),
    ("putmask", FLOATS > 0, np.array([1.0, 2.0, 3.0], np.float32)),
    ("putmask", FLOATS > 0, FLOATS * 2),
    ("fill_diagonal", 7.0),
]


@pytest.mark.parametrize("case", range(len(PUTS)), ids=lambda k: f"{k}-{PUTS[k][0]}")
@pytest.mark.parametrize("layout", ["c", "turned", "sliced"])
def test_writing_function(device, case, layout):
    name, *args = PUTS[case]
    view = {
        "c": lambda a: a,
        "turned": lambda a: a.transpose(0, 2, 1),
        "sliced": lambda a: a[::-1, :, :],
    }[layout]
    host = FLOATS.copy() if name != "fill_diagonal" else FLOATS[:5, :5, :5].copy()
    if layout == "turned" and name != "put" and name != "fill_diagonal":
        args = [
            a.transpose(0, 2, 1) if isinstance(a, np.ndarray) and a.ndim == 3 else a for a in args
        ]
        if name == "put_along_axis":
            args[-1] = {0: 0, 1: 2}[args[-1]]
    array = quern.asarray(host)
    getattr(np, name)(view(host), *args)
    getattr(quern, name)(view(array), *(sent(a) for a in args))
    same(array, host)


def test_fill_diagonal_of_matrices(device):
    for shape in [(4, 4), (3, 7), (9, 3)]:
        for wrap, value in itertools.product((False, True), ([1, 2], 7, np.array(3.0))):
            host = np.zeros(shape)
            array = quern.zeros(shape)
            np.fill_diagonal(host, value, wrap)
            quern.fill_diagonal(array, sent(value), wrap)
            same(array, host)
            np.fill_diagonal(host[::-1].T, value, wrap)
            quern.fill_diagonal(array[::-1].T, sent(value), wrap)
            same(array, host)


def test_methods(device):
    array = quern.asarray(NUMBERS)
    same(array.take(sent(K), 1), NUMBERS.take(K, 1))
    same(array.nonzero(), NUMBERS.nonzero())
    same(array.compress([True, False, True], 0), NUMBERS.compress([True, False, True], 0))
    same(array.choose([sent(FLOATS), sent(NUMBERS), 3]), NUMBERS.choose([FLOATS, NUMBERS, 3]))
    array.put([0, -1], 9)
    assert array[0, 0, 0] == array[-1, -1, -1] == 9


def test_out(device):
    out = quern.zeros((6, 2, 2, 5), np.float32)
    assert quern.take(quern.asarray(FLOATS), sent(K), 1, out) is out
    same(out, FLOATS.take(K, 1))
    narrow = quern.zeros((6, 2, 2, 5), np.float16)
    quern.take(quern.asarray(FLOATS), sent(K), 1, out=narrow)
    same(narrow, FLOATS.take(K, 1).astype(np.float16))
    for dtype in (np.float64, np.int32):
        with pytest.raises(TypeError, match="according to the rule 'safe'"):
            quern.take(quern.asarray(FLOATS), sent(K), 1, quern.zeros((6, 2, 2, 5), dtype))
    with pytest.raises(ValueError, match="output array does not match"):
        quern.take(quern.asarray(FLOATS), sent(K), 1, quern.zeros(3))


COMPLAINTS = [
    (lambda n, a: n.take(a, n.asarray([0.5])), TypeError),
    (lambda n, a: n.take(a[:0], [1], 0, mode="wrap"), IndexError),
    (lambda n, a: n.take(n.asarray(5), [0], 2), ValueError),
    (lambda n, a: a.fill([1.0]), ValueError),
    (lambda n, a: a.fill(np.ones(1)), ValueError),
    (lambda n, a: n.put(a, [0], 1, mode="never"), ValueError),
    (lambda n, a: n.choose(n.asarray([0, 3]), [n.asarray(1), n.asarray(2)]), ValueError),
    (lambda n, a: n.compress([True] * 9, a, 0), IndexError),
    (lambda n, a: n.take_along_axis(a, n.zeros((3, 3)), 0), IndexError),
    (lambda n, a: n.take_along_axis(a, n.asarray([0]), 0), ValueError),
    (lambda n, a: n.nonzero(n.asarray(5)), ValueError),
    (lambda n, a: n.place(a, n.asarray([True]), n.asarray([1.0])), ValueError),
    (lambda n, a: n.place(a, a > 0, n.asarray([], np.float32)), ValueError),
    (lambda n, a: n.fill_diagonal(a, 1), ValueError),
    (lambda n, a: n.unravel_index(n.asarray([99]), (3, 4)), ValueError),
    (lambda n, a: n.ravel_multi_index((n.asarray([9]), n.asarray([0])), (3, 4)), ValueError),
    (lambda n, a: n.unravel_index(n.asarray([5]), (2**62, 2)), ValueError),
    (lambda n, a: n.unravel_index([], (3, 4)), TypeError),
    (lambda n, a: n.unravel_index([0], ()), ValueError),
    (lambda n, a: n.ravel_multi_index((n.asarray([9]), n.asarray([0])), (2**62, 2)), ValueError),
    (lambda n, a: n.ix_(n.zeros((2, 2), int)), ValueError),
    (lambda n, a: n.select([], []), ValueError),
    (lambda n, a: n.diag_indices_from(a), ValueError),
]


@pytest.mark.parametrize("case", range(len(COMPLAINTS)))
def test_complaints_have_numpys_type(device, case):
    work, kind = COMPLAINTS[case]
    with pytest.raises(kind):
        work(np, FLOATS.copy())
    quern.config.index_check = "now"
    try:
        with pytest.raises(kind):
            work(quern, quern.asarray(FLOATS))
    finally:
        quern.config.index_check = "later"


def test_flat(device):
    for host in (FLOATS.copy(), FLOATS.T.copy().T, FLOATS[::2, ::-1].copy()[:, ::2]):
        array = quern.asarray(host)
        flat = array.flat
        assert len(flat) == host.size
        for key in (
            3,
            -1,
            slice(2, 40, 7),
            slice(None, None, -1),
            [1, 5],
            K,
            ...,
            np.arange(host.size) % 3 == 0,
        ):
            same(flat[sent(key)], host.flat[key])
        for key, value in ((3, 1.0), (slice(0, 9), [1, 2]), (K, 5.0), ([0, 4], [6, 7])):
            flat[sent(key)] = value
            host.flat[key] = value
            same(array, host)
        array.flat = [1, 2, 3]
        host.flat = [1, 2, 3]
        same(array, host)
        same(flat.copy(), host.flat.copy())
    assert [int(v) for v in quern.arange(4).reshape(2, 2).T.flat] == [0, 2, 1, 3]
    for key in (10**6, 1.5, "x", (1, 2), None):
        with pytest.raises(IndexError):
            quern.zeros(4).flat[key]


@pytest.mark.parametrize("dtype", ["i1", "i4", "u8", "f2", "f4", "f8", "F"])
@pytest.mark.parametrize("name", ["add", "max", "min"])
def test_scatter(device, name, dtype):
    if name != "add" and dtype == "F":
        pytest.skip("complex numbers have no order that CuPy scatters by")
    host = RANDOM.integers(0, 50, (40, 3)).astype(dtype)
    key = RANDOM.integers(-40, 40, 200)
    values = RANDOM.integers(0, 60, (200, 3)).astype(dtype)
    array = quern.asarray(host)
    ufunc = {"add": "add", "max": "maximum", "min": "minimum"}[name]
    getattr(quern.x, f"scatter_{name}")(array, sent(key), sent(values))
    getattr(np, ufunc).at(host, key, values)
    same(array, host)


def test_at_through_every_kind_of_index(device):
    for key in (np.array([0, 0, 5]), (slice(1, 4), np.array([2, 2])), FLOATS > 0, (..., np.array([4, 4, 0])),
                (np.array([1, 1]), np.array([2, 2])), 3, (slice(None), None, 2)):  # fmt: skip
        host = FLOATS.astype(np.float64)
        array = quern.asarray(host)
        np.add.at(host, key, 2.0)
        quern.add.at(array, sent(key), 2.0)
        same(array, host)


@pytest.mark.parametrize("dtype", ["?", "i1", "f", "d", "F"])
@pytest.mark.parametrize("shape", [(), (1,), (1000,), (40, 50), (3, 5, 70)])
def test_masks_of_the_arrays_own_shape(device, shape, dtype):
    """extract, compress, argwhere and putmask where each element has its own truth, and value."""
    random = np.random.default_rng(11)
    x = random.integers(0, 2 if dtype == "?" else 90, shape).astype(dtype)
    m = random.random(shape) < 0.4
    ours, mask = quern.asarray(x), quern.asarray(m)
    same(quern.extract(mask, ours), np.extract(m, x))
    same(quern.extract(mask.T, ours), np.extract(m.T, x))
    same(ours.compress(mask.ravel()), x.compress(m.ravel()))
    same(ours.T.compress(mask.ravel()), x.T.compress(m.ravel()))
    same(quern.argwhere(mask), np.argwhere(m))
    other = x[::-1].copy() if x.ndim else x.copy()
    quern.putmask(ours, mask, quern.asarray(other))
    np.putmask(x, m, other)
    same(ours, x)
    quern.putmask(ours, mask, ours[::-1] if x.ndim else ours)
    np.putmask(x, m, x[::-1].copy() if x.ndim else x)
    same(ours, x)


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (2, 1, 3)], ids=str)
def test_ndenumerate(device, shape):
    a = np.random.default_rng(0).standard_normal(shape)
    ours = list(quern.ndenumerate(quern.asarray(a, device=device)))
    assert ours == list(np.ndenumerate(a))
