"""Medians, percentiles and quantiles against NumPy, in float64 wherever a value lies between two elements."""

from __future__ import annotations

import itertools
import warnings

import ml_dtypes
import numpy as np
import pytest

import quern
from quern import _core

METHODS = list(_core._quantile_methods)
REAL = [np.dtype(c) for c in "?bhilBHILefd"] + [np.dtype(ml_dtypes.bfloat16)]
SHAPES = [
    ((1,), None),
    ((31,), 0),
    ((6, 45), 1),
    ((45, 6), 0),
    ((3, 8, 40), (0, 2)),
    ((5, 2000), 1),
]


def sample(shape, dtype, seed, nans=0.0):
    random = np.random.default_rng(seed)
    if dtype.kind == "b":
        return random.random(shape) < 0.4
    if dtype.kind in "iu":
        low = -100 if dtype.kind == "i" else 0
        return random.integers(low, 120, shape).astype(dtype)
    values = np.round(random.standard_normal(shape) * 8, 1).astype(dtype)  # with ties
    values[random.random(shape) < nans] = np.nan
    return values


def numpy_dtype(name, values, q, method):
    """What NumPy's result is made of; bfloat16 behaves as float16 does."""
    model = values.astype("f2") if values.dtype.kind == "V" else values
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = np.asarray(getattr(np, name)(model.ravel()[:1], q, method=method)).dtype
    return values.dtype if found == "f2" and values.dtype.kind == "V" else found


def check(found, wanted, dtype):
    assert isinstance(found, quern.ndarray)
    assert found.dtype == dtype
    assert found.shape == wanted.shape
    got = found.get().astype("f8")
    digits = {"float16": 1e-3, "bfloat16": 8e-3, "float32": 2e-7}.get(dtype.name, 1e-13)
    np.testing.assert_allclose(got, wanted, rtol=digits, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", REAL, ids=str)
def test_methods(device, dtype, method):
    takes = _core._quantile_methods[method]
    if dtype.kind == "b" and not takes:
        with pytest.raises(TypeError, match="boolean subtract"):
            quern.quantile(quern.zeros(3, bool), 0.5, method=method)
        return
    for seed, (shape, axis) in enumerate(SHAPES):
        values = sample(shape, dtype, seed)
        array = quern.asarray(values)
        for q in (0.37, 1, np.array([0.0, 0.25, 0.5, 1.0, 0.9]), [0.5]):
            wanted = np.asarray(np.quantile(values.astype("f8"), q, axis=axis, method=method))
            found = quern.quantile(array, q, axis=axis, method=method)
            check(found, wanted, numpy_dtype("quantile", values, q, method))
    found = quern.percentile(array, [10, 60.5], axis=axis, method=method)
    wanted = np.percentile(values.astype("f8"), [10, 60.5], axis=axis, method=method)
    check(found, wanted, numpy_dtype("percentile", values, [10, 60.5], method))


@pytest.mark.parametrize("dtype", REAL, ids=str)
def test_median(device, dtype):
    for seed, (shape, axis) in enumerate(SHAPES):
        values = sample(shape, dtype, seed)
        wanted = np.asarray(np.median(values.astype("f8"), axis=axis))
        result = dtype if dtype.kind not in "biu" else np.dtype("f8")
        for name in ("median", "nanmedian"):
            check(getattr(quern, name)(quern.asarray(values), axis=axis), wanted, result)


@pytest.mark.parametrize("dtype", [d for d in REAL if d.kind not in "biu"], ids=str)
def test_nan(device, dtype):
    for seed, (shape, axis) in enumerate(SHAPES):
        values = sample(shape, dtype, seed, nans=0.1 if seed % 2 else 0.7)
        array = quern.asarray(values)
        wide = values.astype("f8")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name, options in (
                ("median", {}),
                ("nanmedian", {}),
                ("nanquantile", {"q": 0.3}),
                ("nanpercentile", {"q": 81, "method": "hazen"}),
                ("nanquantile", {"q": 0.4, "method": "nearest"}),
                ("quantile", {"q": 0.3}),
            ):
                wanted = np.asarray(getattr(np, name)(wide, axis=axis, **options))
                check(getattr(quern, name)(array, axis=axis, **options), wanted, dtype)


def test_views_and_axes(device):
    values = sample((12, 30, 20), np.dtype("f4"), 7)
    array = quern.asarray(values)
    for view in (lambda a: a.T, lambda a: a[::-1, ::3], lambda a: a[:, 5:, ::-2], lambda a: a[3:4]):
        x, y = view(values).astype("f8"), view(array)
        for count in range(4):
            for axes in itertools.combinations(range(3), count):
                axis = tuple(d - 3 for d in axes)
                wanted = np.asarray(np.quantile(x, [0.2, 0.5], axis=axis, keepdims=count % 2 == 1))
                found = quern.quantile(
                    y, quern.asarray([0.2, 0.5]), axis=axis, keepdims=count % 2 == 1
                )
                check(found, wanted, np.dtype("f8"))


def test_wide_integers(device):
    """Distances between 64-bit integers are exact, and those between small ones do not wrap."""
    big = np.array([-(2**63), -(2**62) - 3, 5, 2**62 + 1, 2**63 - 1])
    for at in range(4):
        q = np.longdouble(at) / 4 + np.longdouble(0.125)
        low, high = (int(v) for v in big[at : at + 2])
        wanted = (low + high) / 2
        assert float(quern.quantile(quern.asarray(big), float(q))) == wanted
    assert float(quern.percentile(quern.asarray(np.array([-100, 100], "i1")), 25)) == -50
    unsigned = np.array([0, 2**64 - 1], "u8")
    assert float(quern.quantile(quern.asarray(unsigned), 0.25)) == 2.0**62


def test_infinities(device):
    """A place at an element is that element, whatever stands beside it."""
    inf = np.inf
    for values, q, wanted in (
        ([1, 2, inf], 0.5, 2.0),
        ([1, inf, inf], 0.75, inf),
        ([-inf, -inf, 3], 0.25, -inf),
        ([-inf, 3], 0.5, -inf),
        ([3, inf], 0.9, inf),
        ([-inf, inf], 0.5, np.nan),
    ):
        np.testing.assert_equal(float(quern.quantile(quern.asarray(np.array(values)), q)), wanted)
    assert float(quern.median(quern.asarray(np.array([inf, inf, -inf])))) == inf
    large = np.array([-1.7e308, 1.7e308])
    assert float(quern.quantile(quern.asarray(large), 0.5)) == 0


def test_zeros_and_ties(device):
    values = np.array([0.0, -0.0, 5, 5, 5, -0.0, 0.0], "f4")
    for q in np.linspace(0, 1, 13):
        assert float(quern.quantile(quern.asarray(values), q)) == np.quantile(values, q)
    same = quern.full((3, 40_000), 2.5, dtype="f4")
    np.testing.assert_array_equal(quern.percentile(same, [0, 33, 100], axis=1).get(), 2.5)


LENGTHS = [1, 2, 5, 8, 17, 32, 33, 100, 1024, 1025, 16_383, 20_000]


@pytest.mark.parametrize("gpu_layout", [False, True], ids=["own", "gpu"])
@pytest.mark.parametrize("kind", ["f4", "f8", "i8", "i1", "e"])
def test_every_plan(device, plan_as, gpu_layout, kind):
    """Rows short and long, whole and split, few places and many, in the layouts of both kinds of device."""
    dtype = np.dtype(kind)
    for length, rows in itertools.product(LENGTHS, (1, 5, 700)):
        if rows == 700 and length > 33:
            continue
        values = sample((rows, length), dtype, length, nans=0.2)
        array = quern.asarray(values)
        for places in (1, 8, 19) if length <= 1025 else (1, 9):
            q = np.random.default_rng(places).random(places)
            for skip_nan, splits in ((True, 0), (False, 0), (True, 3)):
                with plan_as(gpu_layout=gpu_layout):
                    found = _core._quantile(
                        array, quern.asarray(q), 1, "linear", np.dtype("f8"), False, None, skip_nan,
                        splits=min(splits, length),
                    )  # fmt: skip
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    reduce = np.nanquantile if skip_nan else np.quantile
                    wanted = reduce(values.astype("f8"), q, axis=1)
                np.testing.assert_allclose(found.get(), wanted, rtol=1e-13, atol=1e-13)


def test_ranks(device):
    """The primitive itself: values by rank, as a sort would place them."""
    values = sample((4, 3000), np.dtype("i2"), 3)
    ranks = np.array([0, 1, 17, 1500, 2998, 2999])
    found = _core._quantile(
        quern.asarray(values), quern.asarray(ranks.astype("f8")), 1, "rank", values.dtype, False,
        None, False,
    )  # fmt: skip
    np.testing.assert_array_equal(found.get(), np.sort(values, axis=1)[:, ranks].T)


def distributions(length, dtype, seed, sampled):
    """Rows of one dtype: spread, alike, of few values, in order, at the ends of what there is, with NaN."""
    random = np.random.default_rng(seed)
    if dtype.kind == "b":
        yield from (random.random(length) < share for share in (0.0, 0.01, 0.5, 1.0))
        return
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        yield random.integers(info.min, info.max, length, dtype, endpoint=True)
        yield random.choice(np.array([info.min, info.max], dtype), length)
        yield np.full(length, info.max, dtype)
    else:
        spread = random.standard_normal(length).astype(dtype)
        yield spread
        yield np.where(random.random(length) < 0.3, np.inf, spread).astype(dtype)
        yield random.choice(np.array([-np.inf, -0.0, 0.0, np.inf], dtype), length)
        for share in (1e-3, 0.5, 0.999, 1.0):
            yield np.where(random.random(length) < share, np.nan, spread).astype(dtype)
    yield np.full(length, 3, dtype)
    yield random.integers(0, 4, length).astype(dtype)
    yield np.sort(random.integers(0, 120, length)).astype(dtype)[::-1].copy()
    odd = np.ones(length, dtype)  # a sample's places: what lies there tells nothing of the others
    noise, apart = 0x9E3779B9, length // sampled
    for k in range(sampled):
        noise = (noise * 1664525 + 1013904223) % (1 << 32)
        odd[k * apart + (noise >> 8) % apart] = 7
    yield odd


@pytest.mark.parametrize("dtype", REAL, ids=str)
def test_ranks_of_any_row(device, dtype):
    """Ranks of rows that one block reads, or several, whatever lies in them: as a sort would place them."""
    for length in (1500, 70_000):
        q = np.array([0, 1, length // 3, length // 3 + 1, length // 2, length - 2, length - 1])
        for ranks, skip_nan, splits in itertools.product((q, q[4:5]), (False, True), (1, 3)):
            sampled = max(int(np.cbrt(0.2 * length * ranks.size) ** 2), 256)
            for values in distributions(length, dtype, length, sampled):
                found = _core._quantile(
                    quern.asarray(values), quern.asarray(ranks.astype("f8")), 0, "rank", dtype, False, None,
                    skip_nan, splits=splits,
                )  # fmt: skip
                numbers = np.sort(values[values == values])
                got, wanted = found.get(), np.full(ranks.shape, np.nan)
                if numbers.size == length or (skip_nan and numbers.size > 0):
                    wanted = numbers[np.minimum(ranks, numbers.size - 1)]
                if dtype.kind not in "iub":
                    got, wanted = got.astype("f8"), wanted.astype("f8")
                np.testing.assert_array_equal(got, wanted)


def test_many_places(device):
    """More places than elements, in no order, of rows that each lack another number of values."""
    random = np.random.default_rng(12)
    values = random.standard_normal((3, 700)).astype("f4")
    values[1, :5] = np.nan
    values[2, 9:200] = np.nan
    q = random.random(5000)
    found = quern.nanquantile(quern.asarray(values), quern.asarray(q), axis=1).get()
    np.testing.assert_allclose(found, np.nanquantile(values.astype("f8"), q, axis=1), rtol=1e-6)


def test_rows_that_are_sampled(device):
    """Long enough for a sample without being asked: some places, in rows that lack some values or none."""
    values = np.random.default_rng(4).standard_normal((2, 1 << 21)).astype("f4")
    values[1, ::5] = np.nan
    q = [0.001, 0.5, 0.999]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = quern.quantile(quern.asarray(values), q, axis=1).get()
    np.testing.assert_array_equal(found[:, 1], np.nan)
    wanted = np.quantile(values[0].astype("f8"), q)
    np.testing.assert_allclose(found[:, 0], wanted, rtol=1e-6)
    found = quern.nanquantile(quern.asarray(values), q, axis=1).get()
    np.testing.assert_allclose(found, np.nanquantile(values.astype("f8"), q, axis=1), rtol=1e-6)


def test_long_rows(device, plan_as):
    values = sample((3, 1 << 18), np.dtype("f4"), 11)
    array = quern.asarray(values)
    q = [0.001, 0.5, 0.5000001, 0.999]
    check(quern.quantile(array, q), np.quantile(values.astype("f8"), q), np.dtype("f8"))
    wanted = np.median(values.astype("f8"), axis=1)
    check(quern.median(array, axis=1), wanted, np.dtype("f4"))
    with plan_as(gpu_layout=True):
        plan = _core._quantile(
            array,
            quern.asarray(0.5),
            None,
            "linear",
            "f4",
            False,
            None,
            False,
            splits=7,
            explain=True,
        )
    assert "split rows | digits of 11 bits, 3 readings | 2 ranks" in plan


def test_out_and_keepdims(device):
    values = sample((4, 50), np.dtype("f4"), 2)
    array = quern.asarray(values)
    out = quern.empty((2, 4, 1), dtype="f4")
    assert quern.quantile(array, [0.1, 0.6], axis=1, keepdims=True, out=out) is out
    wanted = np.quantile(values.astype("f8"), [0.1, 0.6], axis=1, keepdims=True)
    np.testing.assert_allclose(out.get(), wanted, rtol=2e-7)
    strided = quern.zeros((8, 3), dtype="f8")[::2, 1]
    assert quern.median(array, axis=1, out=strided) is strided
    np.testing.assert_allclose(strided.get(), np.median(values, axis=1))
    assert quern.median(array, keepdims=True).shape == (1, 1)
    assert quern.quantile(array, np.full((2, 3), 0.5), axis=0).shape == (2, 3, 50)
    assert quern.quantile(array, []).shape == (0,)
    assert quern.quantile(quern.asarray(5.0), [0.1, 0.2]).get().tolist() == [5, 5]
    before = array.get()
    quern.median(array, overwrite_input=True)
    np.testing.assert_array_equal(array.get(), before)


def test_empty(device):
    for shape, axis in (((0, 3), 1), ((3, 0), 0), ((2, 0, 4), 2)):
        values = np.zeros(shape)
        array = quern.asarray(values)
        for name, arguments in (("quantile", ([0.5, 0.1],)), ("median", ()), ("nanmedian", ())):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                wanted = getattr(np, name)(values, *arguments, axis=axis)
            found = getattr(quern, name)(array, *arguments, axis=axis).get()
            np.testing.assert_array_equal(found, wanted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for shape, axis in (((0,), None), ((0, 3), 0), ((0, 3), None)):
            array = quern.zeros(shape)
            for name, arguments in (
                ("median", ()),
                ("nanmedian", ()),
                ("nanquantile", ([0.5, 0.2],)),
                ("nanpercentile", (50,)),
            ):
                wanted = getattr(np, name)(np.zeros(shape), *arguments, axis=axis)
                np.testing.assert_array_equal(
                    getattr(quern, name)(array, *arguments, axis=axis).get(), wanted
                )


@pytest.mark.parametrize(
    ("name", "shape", "dtype", "arguments", "options"),
    [
        ("quantile", (0,), "f8", (0.5,), {}),
        ("percentile", (0, 3), "f4", (50,), {"axis": 0}),
        ("quantile", (4,), "f8", (1.5,), {}),
        ("quantile", (4,), "f8", (np.nan,), {}),
        ("nanquantile", (4,), "f8", ([0.5, -0.1],), {}),
        ("percentile", (4,), "f8", (101,), {}),
        ("quantile", (4,), "f8", (0.5,), {"method": "middling"}),
        ("quantile", (4,), "f8", (np.zeros((1, 1, 1)),), {}),
        ("quantile", (4,), "f8", (0.5,), {"axis": 1}),
        ("median", (4, 4), "f8", (), {"axis": -3}),
        ("median", (4, 4), "f8", (), {"axis": (0, 0)}),
        ("quantile", (4, 4), "f8", (0.5,), {"axis": (1, -1)}),
        ("quantile", (4,), "c8", (0.5,), {}),
        ("nanpercentile", (4,), "c16", (50,), {}),
        ("quantile", (4,), "?", (0.5,), {}),
        ("quantile", (4,), "f8", (0.5j,), {}),
        ("quantile", (4,), "f8", (0.5,), {"weights": np.ones(4)}),
    ],
)
def test_errors(device, name, shape, dtype, arguments, options):
    """NumPy's exception types; the device is usable afterwards."""
    try:
        getattr(np, name)(np.zeros(shape, dtype), *arguments, **options)
    except Exception as error:
        wanted = type(error)
    with pytest.raises((ValueError, TypeError, IndexError)) as caught:
        getattr(quern, name)(quern.zeros(shape, dtype=dtype), *arguments, **options)
    assert issubclass(wanted, caught.type)
    assert float(quern.median(quern.asarray([3.0, 1, 2]))) == 2


def test_bad_outputs(device):
    array = quern.zeros((3, 4))
    for out, error in (
        (quern.zeros(4), ValueError),
        (quern.zeros(3, dtype="i4"), TypeError),
        (np.zeros(3), TypeError),
    ):
        with pytest.raises(error):
            quern.quantile(array, 0.5, axis=1, out=out)
    with pytest.raises(TypeError):
        quern.quantile(quern.zeros(3, dtype="c8"), 0.5)


@pytest.mark.parametrize("dtype", ["F", "D"])
def test_medians_of_complex_numbers(device, dtype):
    draw = np.random.default_rng(4)
    values = (draw.integers(-3, 4, (3, 4, 5)) + 1j * draw.integers(-3, 4, (3, 4, 5))).astype(dtype)
    holed = values.copy()
    holed[draw.random(values.shape) < 0.3] = np.nan
    holed[:, 1, 2] = np.nan
    for axis in (None, 0, -1, (0, 2), [2, 1]):
        for name, given in (("median", values), ("median", holed), ("nanmedian", holed)):
            for keepdims in (False, True):
                with np.errstate(all="ignore"), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    wanted = getattr(np, name)(given, axis, keepdims=keepdims)
                found = getattr(quern, name)(quern.asarray(given), axis, keepdims=keepdims)
                assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
                gone = np.isnan(wanted)
                np.testing.assert_array_equal(np.isnan(found.get()), gone)
                np.testing.assert_allclose(found.get()[~gone], wanted[~gone], rtol=1e-6)
    assert quern.median(quern.zeros((0, 6), dtype), 1).shape == (0,)
    out = quern.empty((4, 5), dtype)
    assert quern.median(quern.asarray(values), 0, out=out) is out
    np.testing.assert_allclose(out.get(), np.median(values, 0), rtol=1e-6)
    with pytest.raises(ValueError, match="shape"):
        quern.median(quern.asarray(values), 0, out=out[0])


def test_axes_as_lists(device):
    values = np.random.default_rng(5).random((3, 4, 5))
    array = quern.asarray(values)
    for name, more in (("median", ()), ("nanmedian", ()), ("quantile", (0.3,))):
        found = getattr(quern, name)(array, *more, axis=[0, 2])
        np.testing.assert_allclose(found.get(), getattr(np, name)(values, *more, axis=(0, 2)))


def test_same_bits_each_time(device):
    array = quern.asarray(sample((2, 100_000), np.dtype("f4"), 5))
    found = {quern.quantile(array, [0.3, 0.7], axis=1).get().tobytes() for _ in range(20)}
    assert len(found) == 1


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "u2", "i4", "u8"])
def test_rows_beside_each_other(device, dtype):
    """Short rows are sorted a vector of them at a time: every length, and rows left over, with NaN among them."""
    random = np.random.default_rng(5)
    for length in (1, 2, 3, 7, 8, 31, 32, 33, 64, 65, 127, 200, 255, 256, 257):
        count = int(random.integers(1, 150))
        values = (random.standard_normal((count, length)) * 40).astype(dtype)
        holed = np.dtype(dtype).kind == "f"
        if holed:
            values[random.random(values.shape) < 0.2 / length] = np.nan
            values[random.integers(count)] = np.nan
        array = quern.asarray(values)
        wide = values.astype("f8")
        rtol = {"f2": 2e-3, "f4": 1e-6}.get(dtype, 1e-12)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            for name in ("median", "nanmedian"):
                got = getattr(quern, name)(array, axis=1).get().astype("f8")
                np.testing.assert_allclose(got, getattr(np, name)(wide, axis=1), rtol=rtol)
            for name in ("quantile", "nanquantile"):
                got = getattr(quern, name)(array, [0.1, 0.9, 1.0], axis=1, method="nearest").get()
                wanted = getattr(np, name)(wide, [0.1, 0.9, 1.0], axis=1, method="nearest")
                np.testing.assert_array_equal(got.astype("f8"), wanted)
