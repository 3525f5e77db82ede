"""reduce, accumulate, reduceat, at and outer against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ufunc import oracle

import quern

BINARY = [n for n in oracle.UFUNCS if getattr(np, n).nin == 2 and getattr(np, n).nout == 1]
REGROUPED = [
    "add", "multiply", "maximum", "minimum", "fmax", "fmin", "logical_and", "logical_or", "logical_xor", "bitwise_and",
    "bitwise_or", "bitwise_xor", "gcd", "lcm", "hypot", "logaddexp", "logaddexp2",
]  # fmt: skip


def sample(name, shape, letter, seed=0):
    random = np.random.default_rng(seed)
    dtype = oracle.dtype_of(letter)
    if dtype.kind == "b":
        return random.random(shape) < 0.7
    if dtype.kind in "iu":
        low = 0 if dtype.kind == "u" or name in ("power", "left_shift", "right_shift") else -6
        return random.integers(low, 2 if name in ("power", "multiply", "lcm") else 7, shape).astype(
            dtype
        )
    values = (
        random.uniform(0.5, 2, shape)
        if name in ("power", "multiply", "divide")
        else random.normal(0, 2, shape)
    )
    if name in ("fmax", "fmin", "maximum", "minimum"):
        values = np.where(random.random(shape) < 0.1, np.nan, values)
    if dtype.kind == "c":
        return (values + 1j * random.uniform(-1, 1, shape)).astype(dtype)
    return values.astype(dtype)


def joins(name, letter):
    """Does NumPy reduce this dtype by this ufunc?"""
    try:
        oracle.numpy_answer(
            name, np.ones(2, oracle.dtype_of(letter)), np.ones(2, oracle.dtype_of(letter))
        )
        with np.errstate(all="ignore"):
            getattr(np, name).reduce(np.ones(2, oracle.dtype_of(letter)))
    except TypeError:
        return False
    return True


def close(name, found, wanted):
    assert isinstance(found, quern.ndarray)
    wanted = np.asarray(wanted)
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    got = found.get()
    if wanted.dtype.kind in "biu":
        np.testing.assert_array_equal(got, wanted)
        return
    wide = "c16" if wanted.dtype.kind == "c" else "f8"
    # NumPy rounds two-byte floats at each step; quern joins them in float where it may.
    known = {"float16": 2e-2, "bfloat16": 2e-1, "float32": 2e-5, "complex64": 2e-5}
    tolerance = known.get(wanted.dtype.name, 1e-12)
    np.testing.assert_allclose(
        got.astype(wide), wanted.astype(wide), rtol=tolerance, atol=tolerance
    )


def steps(name, values, axis, start=None):
    """Every element joined to those before it, one call of NumPy's ufunc for each."""
    rows = np.moveaxis(values, axis, 0)
    dtype = getattr(quern, name).resolve_dtypes((values.dtype, values.dtype, None))[2]
    total = rows[0].astype(dtype) if start is None else np.full(rows[0].shape, start, dtype)
    made = [total] if start is None else []
    for row in rows if start is not None else rows[1:]:
        total = np.asarray(oracle.numpy_answer(name, total, row)).astype(dtype)
        made.append(total)
    return np.moveaxis(np.array(made), 0, axis)


def reduced(name, values, axis, **options):
    """NumPy's reduction; of what is joined in order a loop's, since NumPy 2.4 loses some of the powers on some CPUs."""
    if name in REGROUPED:
        return oracle.numpy_answer_of(getattr(np, name).reduce, values, axis, **options)
    return steps(name, values, axis, **options).take(-1, axis)


def accumulated(name, values, axis):
    if name in REGROUPED:
        return oracle.numpy_answer_of(getattr(np, name).accumulate, values, axis)
    return steps(name, values, axis)


@pytest.mark.parametrize("name", BINARY)
def test_reduce_and_accumulate(device, name):
    ours = getattr(quern, name)
    for letter in "?bhIlLeXfdF":
        values = sample(name, (3, 5, 4), letter)
        array = quern.asarray(values)
        if not joins(name, letter):
            for method in ("reduce", "accumulate"):
                with pytest.raises(TypeError):
                    getattr(ours, method)(array)
            continue
        for axis in (0, 1, 2) if letter in "hf" else (1,):
            close(name, ours.reduce(array, axis), reduced(name, values, axis))
            close(name, ours.accumulate(array, axis), accumulated(name, values, axis))
        found = ours.reduce(array.T, 0, keepdims=True)
        close(name, found, np.asarray(reduced(name, values.T, 0))[None])
        starts = [0, 3, 1, 4, 2]
        if name in REGROUPED:
            wanted = oracle.numpy_answer_of(getattr(np, name).reduceat, values, starts, 1)
        else:
            ends = zip(starts, [*starts[1:], 5], strict=True)
            wanted = np.stack([reduced(name, values[:, s : max(e, s + 1)], 1) for s, e in ends], 1)
        close(name, ours.reduceat(array, starts, 1), wanted)
        mask = np.random.default_rng(1).random((5, 4)) < 0.5
        if (
            letter != "X" and name in REGROUPED
        ):  # ml_dtypes' scalars are no initial value for NumPy's reductions
            options = {"initial": values.flat[0]}
            wanted = reduced(name, values, 1, where=mask, **options)
            close(name, ours.reduce(array, 1, where=quern.asarray(mask), **options), wanted)


@pytest.mark.parametrize("name", REGROUPED)
def test_reduce_all_and_several_axes(device, name):
    letter = "i" if name.startswith("bitwise") or name in ("gcd", "lcm") else "d"
    values = sample(name, (4, 3, 5), letter)
    array = quern.asarray(values)
    ours, theirs = getattr(quern, name), getattr(np, name)
    for axis in (None, (0, 2), (), (-1, 0, 1)) if name != "lcm" else (1,):  # NumPy refuses lcm's
        close(name, ours.reduce(array, axis), theirs.reduce(values, axis))
    out = quern.empty((4, 5), theirs.reduce(values, 1).dtype)
    assert ours.reduce(array, 1, out=out) is out
    close(name, out, theirs.reduce(values, 1))
    out = quern.empty((4, 3, 5), theirs.reduce(values, 1).dtype)
    assert ours.accumulate(array, 1, None, out) is out
    close(name, out, theirs.accumulate(values, 1))
    empty = quern.zeros((0, 3), values.dtype)
    if theirs.identity is None:
        with pytest.raises(ValueError, match="no identity"):
            ours.reduce(empty)
    else:
        close(name, ours.reduce(empty), theirs.reduce(np.zeros((0, 3), values.dtype)))


def test_one_path(device):
    values = np.random.default_rng(0).normal(0, 1, 100000).astype("f4")
    array = quern.asarray(values)
    for ufunc, function in (
        (quern.add, quern.sum),
        (quern.maximum, quern.max),
        (quern.logical_or, quern.any),
    ):
        assert ufunc.reduce(array).get().tobytes() == function(array).get().tobytes()
    assert quern.add.accumulate(array).get().tobytes() == quern.cumsum(array).get().tobytes()
    many = sample("hypot", 100000, "d")
    for name in ("hypot", "logaddexp", "maximum", "bitwise_xor"):
        data = many if name != "bitwise_xor" else many.view("i8")
        close(
            name,
            getattr(quern, name).accumulate(quern.asarray(data)),
            getattr(np, name).accumulate(data),
        )


def test_order_of_what_may_not_be_regrouped(device):
    values = np.array([100.0, 2.0, 5.0, 0.5])
    array = quern.asarray(values)
    for name in (
        "subtract",
        "divide",
        "power",
        "arctan2",
        "floor_divide",
        "copysign",
        "nextafter",
        "float_power",
    ):
        ours = getattr(quern, name)
        close(name, ours.reduce(array), reduced(name, values, 0))
        close(name, ours.reduce(array, initial=3.0), reduced(name, values, 0, start=3.0))
        close(name, ours.accumulate(array[::-1]), accumulated(name, values[::-1], 0))
        close(name, ours.reduce(array[1]), values[1])
        mask = np.array([True, False, True, True])
        found = ours.reduce(array, initial=3.0, where=quern.asarray(mask))
        close(name, found, reduced(name, values[mask], 0, start=3.0))
    with pytest.raises(ValueError, match="not reorderable"):
        quern.subtract.reduce(quern.ones((2, 3)), axis=None)
    with pytest.raises(ValueError, match="no identity"):
        quern.subtract.reduce(quern.ones((0, 3)))
    with pytest.raises(ValueError, match="specify 'initial'"):
        quern.subtract.reduce(array, where=array > 1)
    strided = quern.asarray(np.arange(60.0).reshape(3, 4, 5))[::2, ::-1, 1:]
    close("s", quern.subtract.reduce(strided, 1), np.subtract.reduce(strided.get(), 1))
    close(
        "s",
        quern.subtract.accumulate(strided.T, 1),
        np.subtract.accumulate(strided.get().T, 1),
    )


def test_errors_of_methods(device, monkeypatch):
    monkeypatch.setattr(quern.config, "index_check", "now")  # a GPU would tell at its next wait
    x = quern.ones(3)
    host = np.ones(3)
    for call in (
        lambda m, x: m.sin.reduce(x),
        lambda m, x: m.divmod.reduce(x),
        lambda m, x: m.divmod.accumulate(x),
        lambda m, x: m.add.reduce(x, axis=1),
        lambda m, x: m.add.accumulate(x, axis=1),
        lambda m, x: m.add.accumulate(x[0:1].reshape(()), axis=0),
        lambda m, x: m.add.accumulate(x.reshape(3, 1), axis=None),
        lambda m, x: m.add.reduceat(x, [0, 3]),
        lambda m, x: m.add.at(x, [0, 5], 1),
        lambda m, x: m.add.at(x, [0.5], 1),
        lambda m, x: m.add.at(x, [0]),
        lambda m, x: m.negative.at(x, [0], 1),
        lambda m, x: m.less.reduce(x),
        lambda m, x: m.logical_and.reduce(x, dtype=float),
        lambda m, x: m.sin.outer(x, x),
        lambda m, x: m.maximum.reduce(x, where=x > 0),
    ):
        with pytest.raises(Exception) as theirs:  # noqa: PT011
            call(np, host)
        with pytest.raises((TypeError, ValueError, IndexError)) as ours:
            call(quern, x)
        kinds = (TypeError, ValueError, IndexError)
        assert [isinstance(ours.value, k) for k in kinds] == [
            isinstance(theirs.value, k) for k in kinds
        ]


def test_outer(device):
    a, b = np.arange(6.0).reshape(2, 3), np.arange(4)
    for left, right in ((a, b), (b, a), (a[0, 0], b), (b, 3), (a, a)):
        put = [quern.asarray(x) if isinstance(x, np.ndarray) else x for x in (left, right)]
        close("s", quern.subtract.outer(*put), np.subtract.outer(left, right))
    found = quern.less.outer(quern.asarray(a), quern.asarray(b))
    close("less", found, np.less.outer(a, b))
    close(
        "add",
        quern.add.outer(quern.asarray(b), quern.asarray(b), dtype="f4"),
        np.add.outer(b, b, dtype="f4"),
    )


def test_methods_of_lists(device):
    rows, places = [[3, 1, 2], [0, 5, 4]], [0, 2]
    close("add", quern.add.reduce(rows), np.add.reduce(rows))
    close("add", quern.add.reduce(5), np.add.reduce(5))
    close("add", quern.add.accumulate(rows, 1), np.add.accumulate(rows, 1))
    close("add", quern.add.reduceat(rows[0], places), np.add.reduceat(rows[0], places))
    close("add", quern.add.outer(rows, places), np.add.outer(rows, places))
    close("add", quern.add.outer(rows, 2), np.add.outer(rows, 2))
    close("minimum", quern.minimum.reduce([], initial=7.0), np.float64(7))
    x = np.arange(5)
    y = quern.asarray(x)
    found = quern.logical_or.reduce((y < 1, y > 3, y == 2))
    close("logical_or", found, np.logical_or.reduce((x < 1, x > 3, x == 2)))
    for method in (quern.add.reduce, quern.add.accumulate):
        with pytest.raises(TypeError, match=r"make an array with quern\.asarray"):
            method(x)
        with pytest.raises(TypeError):
            method("text")


INDICES = [
    [0, 2, 2, 1, 2, -1],
    3,
    -1,
    np.array([[1, 1], [0, 1]]),
    ([0, 1, 0, 0], [2, 2, 2, -4]),
    slice(1, None, 2),
    (slice(None), [0, 0, 1]),
    Ellipsis,
    (Ellipsis, 0),
    [],
]


@pytest.mark.parametrize("index", INDICES, ids=repr)
@pytest.mark.parametrize(
    "name", ["add", "subtract", "maximum", "multiply", "bitwise_xor", "negative", "sqrt", "power"]
)
def test_at(device, name, index):
    ours, theirs = getattr(quern, name), getattr(np, name)
    letters = "bIl" if name == "bitwise_xor" else "hfdF" if name in ("add", "subtract") else "d"
    for letter in letters:
        values = (
            abs(sample(name, (4, 5), letter))
            if name in ("sqrt", "power")
            else sample(name, (4, 5), letter)
        )
        host, array = values.copy(), quern.asarray(values)
        if theirs.nin == 1:
            theirs.at(host, index)
            assert ours.at(array, index) is None
        else:
            wanted = np.asarray(values[index])
            other = sample(name, wanted.shape, letter, 3)
            with np.errstate(all="ignore"):
                theirs.at(host, index, other)
            ours.at(array, index, quern.asarray(other))
        np.testing.assert_allclose(array.get(), host, rtol=1e-6)


@pytest.mark.parametrize("gpu_layout", [False, True], ids=["own", "gpu"])
@pytest.mark.parametrize("places", [1, 7, 300, 100_000])
def test_at_of_many(device, plan_as, gpu_layout, places):
    """Few places that are updated often, and many that hardly are; each is the result of a loop in order."""
    random = np.random.default_rng(places)
    at = random.integers(-places, places, 9001)
    by = random.standard_normal((9001, 2))
    for name, letter in (
        ("add", "f"),
        ("subtract", "d"),
        ("divide", "d"),
        ("maximum", "e"),
        ("negative", "i"),
    ):
        host = sample(name, (places, 2), letter)
        array, values = quern.asarray(host), (by + np.sign(by)).astype(letter)
        given = () if name == "negative" else (values,)
        with np.errstate(all="ignore"):
            getattr(np, name).at(host, at, *given)
        with plan_as(gpu_layout=gpu_layout):
            getattr(quern, name).at(array, quern.asarray(at), *(quern.asarray(g) for g in given))
        np.testing.assert_array_equal(array.get(), host)


@pytest.mark.parametrize("width", [1, 31, 32, 33, 100])
def test_at_of_rows(device, width):
    """Rows of one to several stretches of columns, C order and not, with a column of values for all."""
    random = np.random.default_rng(width)
    at = random.integers(-50, 50, 700)
    for name, letter in (("add", "f"), ("subtract", "d"), ("maximum", "h"), ("negative", "i")):
        for layout in (np.ascontiguousarray, np.asfortranarray):
            host = layout(sample(name, (50, width), letter))
            array = quern.asarray(host)
            for shape in ((700, width), (700, 1)):
                given = () if name == "negative" else (sample(name, shape, letter, 3),)
                getattr(np, name).at(host, at, *given)
                getattr(quern, name).at(array, quern.asarray(at), *map(quern.asarray, given))
            np.testing.assert_array_equal(array.get(), host)


def test_at_with_scalars_masks_and_views(device):
    host = np.arange(12.0)
    array = quern.asarray(host)
    np.add.at(host, [1, 1, 1], 0.1)
    quern.add.at(array, [1, 1, 1], 0.1)
    np.add.at(host, host > 5, 2)
    quern.add.at(array, array > 5, 2)
    where = quern.asarray([3, 3, 0])
    np.subtract.at(host, [3, 3, 0], 1)
    quern.subtract.at(array, where, 1)
    np.testing.assert_array_equal(array.get(), host)
    quern.multiply.at(array[::-2], [0, 0], 3)
    np.multiply.at(host[::-2], [0, 0], 3)
    np.testing.assert_array_equal(array.get(), host)
    np.add.at(host, [0, 1, 1, 2], host[:4])  # values that the updates would change
    quern.add.at(array, [0, 1, 1, 2], array[:4])
    np.testing.assert_array_equal(array.get(), host)
    for values in (
        host[:3] * 2,
        [1, 2, 3],
        (0.5,),
        np.float32(7),
    ):  # of the host, as the indices are
        np.maximum.at(host, [0, 1, 1], values)
        quern.maximum.at(array, [0, 1, 1], values)
    np.testing.assert_array_equal(array.get(), host)
    many = np.random.default_rng(0).integers(0, 1000, 20000)
    weights = np.random.default_rng(1).normal(0, 1, 20000).astype("f4")
    found = quern.zeros(1000, "f4")
    quern.add.at(found, quern.asarray(many), quern.asarray(weights))
    wanted = np.zeros(1000, "f4")
    np.add.at(wanted, many, weights)
    assert found.get().tobytes() == wanted.tobytes()  # the order of the updates is NumPy's
    with pytest.raises(ValueError, match="read-only"):
        quern.add.at(quern.broadcast_to(array, (2, 12)), 0, 1)


@settings(max_examples=50, deadline=None)
@given(
    shape=st.lists(st.integers(1, 6), min_size=1, max_size=4),
    axis=st.integers(0, 3),
    name=st.sampled_from(["subtract", "bitwise_or", "hypot", "fmax", "divide", "gcd"]),
    turned=st.booleans(),
    seed=st.integers(0, 99),
)
def test_random_shapes(shape, axis, name, turned, seed):
    letter = "h" if name in ("bitwise_or", "gcd") else "d"
    values = sample(name, shape, letter, seed)
    array = quern.asarray(values)
    if turned:
        values, array = values.T[::-1], array.T[::-1]
    axis %= len(shape)
    ours = getattr(quern, name)
    close(name, ours.reduce(array, axis), reduced(name, values, axis))
    close(name, ours.accumulate(array, axis), accumulated(name, values, axis))
    starts = np.random.default_rng(seed).integers(0, values.shape[axis], 4)
    wanted = oracle.numpy_answer_of(getattr(np, name).reduceat, values, starts, axis)
    close(name, ours.reduceat(array, starts, axis), wanted)


@pytest.mark.parametrize("letter", "?bhiqBefdFD")
@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "logical_or", "bitwise_xor"])
def test_segments_of_any_length(device, name, letter):
    """Long ones have many totals at a time, of elements side by side; others, and the last ones, go one by one."""
    ufunc, theirs = getattr(quern, name), getattr(np, name)
    random = np.random.default_rng(6)
    lengths = [1, 2, 7, 15, 16, 17, 31, 33, 64, 127, 128, 129, 300, 5000, 1]
    starts = np.cumsum([0, *lengths[:-1]])
    a = np.where(random.random((3, sum(lengths))) < 0.9, 1, 2).astype(letter)
    a[1] = random.integers(0, 2, a.shape[1]).astype(letter)
    if letter in "FD":
        a.imag = random.integers(0, 2, a.shape)
    if name == "multiply":
        a[0] = 1
    if letter in "FD":
        a[0] = 1
    try:
        theirs.reduceat(a[1:2], starts, axis=1)
    except TypeError:
        with pytest.raises(TypeError):
            ufunc.reduceat(quern.asarray(a), quern.asarray(starts), axis=1)
        return
    for x in (a, a[:, ::-1], a[:, ::2]):
        at = starts if x.shape == a.shape else starts[starts < x.shape[1]]
        wide = x.astype("f4") if letter == "e" else x
        with np.errstate(all="ignore"):
            expected = theirs.reduceat(wide, at, axis=1)
            found = ufunc.reduceat(quern.asarray(a)[:, :: x.strides[1] // a.itemsize], at, axis=1)
            np.testing.assert_allclose(found.get(), expected.astype(found.dtype), rtol=1e-3)
