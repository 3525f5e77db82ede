"""NumPy's reductions, as functions and methods, against NumPy."""

from __future__ import annotations

import itertools
import warnings

import ml_dtypes
import numpy as np
import pytest

import quern

FUNCTIONS = [
    "sum", "prod", "max", "min", "ptp", "any", "all", "argmax", "argmin", "count_nonzero", "mean", "var", "std",
    "nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd",
]  # fmt: skip
FEW_SHAPES = [(17,), (3, 200, 4)]
SHAPES = [*FEW_SHAPES, (), (1,), (4000,), (5, 9), (40, 300), (300, 40), (4, 5, 6)]
ONE_AXIS = {"argmax", "argmin"}


def axes_of(name, ndim):
    yield None
    for count in range(1, (1 if name in ONE_AXIS else ndim) + 1):
        for axes in itertools.combinations(range(ndim), count):
            yield axes[0] if len(axes) == 1 else axes


def sample(name, shape, dtype, seed):
    random = np.random.default_rng(seed)
    kind = dtype.kind
    if "prod" in name:
        values = random.choice([1, 1, 1, 1, 2] if kind in "bu" else [1, -1, 1, -1, 2], shape)
    elif kind in "bu":
        values = random.integers(0, 100, shape)
    else:
        values = random.integers(-100, 100, shape)
    values = values.astype(dtype)
    if kind == "c" and "prod" in name:
        return random.choice([1, -1, 1j, -1j], shape).astype(dtype)
    if kind == "c":
        values = values + 1j * random.integers(-3, 3, shape).astype(dtype)
    if kind == "b":
        values = random.random(shape) < 0.5
    if "nan" in name and kind in "fcV":
        values = np.where(random.random(shape) < 0.2, np.array(np.nan, dtype), values)
    return np.asarray(values).astype(dtype)


def expected(name, values, **options):
    """NumPy's answer; of floats the one that twice the width gives, in their dtype."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name not in ("any", "all", "argmax", "argmin", "count_nonzero"):
            wide = {"f": "f8", "V": "f8", "c": "c16"}.get(values.dtype.kind)
            if wide:
                found = np.asarray(getattr(np, name)(values.astype(wide), **options))
                return found.astype(values.real.dtype if found.dtype == "f8" else values.dtype)
        if values.dtype.kind == "V":
            values = values.astype("f4")
        return np.asarray(getattr(np, name)(values, **options))


def check(name, found, wanted):
    assert isinstance(found, quern.ndarray)
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    exact = wanted.dtype.kind in "biu" or name in ("max", "min", "nanmax", "nanmin", "ptp")
    got = found.get()
    if exact:
        np.testing.assert_array_equal(
            got.astype("f8") if wanted.dtype.kind == "V" else got,
            wanted.astype("f8") if wanted.dtype.kind == "V" else wanted,
        )
        return
    wide = "c16" if wanted.dtype.kind == "c" else "f8"
    digits = {"float16": 2e-3, "bfloat16": 1e-2, "float32": 4e-6, "complex64": 4e-6}
    tolerance = digits.get(wanted.dtype.name, 1e-12)
    np.testing.assert_allclose(
        got.astype(wide), wanted.astype(wide), rtol=tolerance, atol=tolerance
    )


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(device, dtype, name):
    if name == "ptp" and dtype.kind == "b":
        with pytest.raises(TypeError, match="boolean subtract"):
            quern.ptp(quern.zeros(3, bool))
        return
    for seed, shape in enumerate(SHAPES if dtype == "f4" else FEW_SHAPES):
        values = sample(name, shape, dtype, seed)
        array = quern.asarray(values)
        for axis in axes_of(name, len(shape)):
            check(name, getattr(quern, name)(array, axis=axis), expected(name, values, axis=axis))
        last = len(shape) - 1 if shape else None
        check(
            name,
            getattr(quern, name)(array, axis=last, keepdims=True),
            expected(name, values, axis=last, keepdims=True),
        )


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if hasattr(np.ndarray, n)])
def test_methods_and_views(device, name):
    values = sample(name, (12, 30, 20), np.dtype("f4"), 5)
    array = quern.asarray(values)
    for view in (lambda a: a.T, lambda a: a[::-1, ::3], lambda a: a[:, :, ::-2], lambda a: a[3:4]):
        for axis in axes_of(name, 3):
            check(name, getattr(view(array), name)(axis), expected(name, view(values), axis=axis))


def test_positions_are_the_first(device):
    values = np.array([[3, 7, 7, 1], [5, 5, 5, 5], [1, 2, 0, 0]], "int8")
    array = quern.asarray(values)
    np.testing.assert_array_equal(quern.argmax(array, axis=1).get(), values.argmax(axis=1))
    np.testing.assert_array_equal(quern.argmin(array, axis=1).get(), values.argmin(axis=1))
    long = np.zeros(1_000_000, "f4")
    long[[70_001, 500_000, 999_999]] = 4
    assert int(quern.argmax(quern.asarray(long))) == 70_001
    long[[123_456, 777_777]] = np.nan
    assert (
        int(quern.argmax(quern.asarray(long))) == int(quern.argmin(quern.asarray(long))) == 123_456
    )
    assert bool(np.isnan(quern.max(quern.asarray(long)).get()))
    assert float(quern.nanmax(quern.asarray(long))) == 4
    assert int(quern.nanargmax(quern.asarray(long))) == 70_001
    assert int(quern.nanargmin(quern.asarray(long))) == 0
    assert int(quern.nanargmax(quern.full(5, np.nan))) == -1
    assert bool(np.isnan(quern.nanmin(quern.full(5, np.nan)).get()))


def test_accuracy_of_float32(device):
    values = np.random.default_rng(1).random(1 << 22, "f4")
    exact = values.astype("f8").sum()
    ours = abs(float(quern.sum(quern.asarray(values))) - exact)
    assert ours <= max(abs(float(values.sum()) - exact), np.spacing(np.float32(exact)))


def test_variance_of_large_means(device):
    random = np.random.default_rng(2)
    for dtype, offset, tolerance in (("f4", 1e5, 1e-3), ("f8", 1e9, 1e-6), ("i4", 10**9, 1e-9)):
        values = (random.standard_normal((64, 5000)) * 30 + offset).astype(dtype)
        for axis in (None, 0, 1):
            exact = values.astype("longdouble").var(axis=axis)
            found = quern.var(quern.asarray(values), axis=axis).get()
            np.testing.assert_allclose(found, exact.astype("f8"), rtol=tolerance)
            found = quern.std(quern.asarray(values), axis=axis, ddof=1).get()
            np.testing.assert_allclose(
                found,
                values.astype("longdouble").std(axis=axis, ddof=1).astype("f8"),
                rtol=tolerance,
            )


def test_where_and_initial(device):
    random = np.random.default_rng(3)
    values = random.integers(-50, 50, (30, 70)).astype("f8")
    mask = random.random((30, 70)) < 0.4
    array, ours = quern.asarray(values), quern.asarray(mask)
    for axis in (None, 0, 1):
        for name in ("sum", "prod", "nansum"):
            values_of = np.sign(values) if name == "prod" else values
            found = getattr(quern, name)(
                quern.asarray(values_of), axis=axis, where=ours, initial=3
            ).get()
            np.testing.assert_allclose(
                found, getattr(np, name)(values_of, axis=axis, where=mask, initial=3), rtol=1e-12
            )
        for name in ("mean", "var", "std", "any", "all"):
            found = getattr(quern, name)(array, axis=axis, where=ours).get()
            np.testing.assert_allclose(
                found, getattr(np, name)(values, axis=axis, where=mask), rtol=1e-12
            )
        found = quern.max(array, axis=axis, where=ours, initial=-7).get()
        np.testing.assert_array_equal(found, values.max(axis=axis, where=mask, initial=-7))
    column = quern.asarray(mask[:, :1])
    np.testing.assert_array_equal(
        quern.sum(array, axis=1, where=column).get(), values.sum(axis=1, where=mask[:, :1])
    )
    assert float(quern.max(quern.zeros(0), initial=-3)) == -3
    with pytest.raises(ValueError, match="does not have an identity"):
        quern.max(array, where=ours)
    with pytest.raises(TypeError, match="where must be an array of bool"):
        quern.sum(array, where=array)


def test_where_of_lists(device):
    values = np.random.default_rng(8).random((2, 3))
    array = quern.asarray(values)
    for mask in ([True, False, True], [[True], [False]], ([1, 0, 2], [0, 0, 1]), False, [False]):
        kept = np.array(mask, bool)
        found = quern.sum(array, where=mask).get()
        np.testing.assert_allclose(found, np.sum(values, where=kept), rtol=1e-15)
        found = array.max(0, where=mask, initial=-1).get()
        np.testing.assert_array_equal(found, values.max(0, where=kept, initial=-1))
    with pytest.raises(TypeError, match=r"where must be a quern.ndarray"):
        quern.sum(array, where=np.array([True, False, True]))


def test_nan_under_a_mask(device):
    values, mask = (
        np.array([[1, np.nan, 3], [4, 5, np.nan]]),
        np.array([[1, 1, 1], [1, 1, 0]], bool),
    )
    array, ours = quern.asarray(values), quern.asarray(mask)
    for name in ("mean", "var", "std", "sum", "nanmean", "nansum"):
        found = getattr(quern, name)(array, axis=1, where=ours).get()
        np.testing.assert_allclose(found, getattr(np, name)(values, axis=1, where=mask))


@pytest.mark.parametrize("letter", "?lefdFD")
def test_nan_extremes_with_initial_and_where(device, letter):
    random = np.random.default_rng(6)
    values = random.normal(size=(4, 5)) * 5
    if letter in "efdFD":
        values[random.random((4, 5)) < 0.4] = np.nan
    values = values.astype(letter)
    mask = random.random((4, 5)) < 0.6
    array, ours = quern.asarray(values), quern.asarray(mask)
    for name in ("nanmax", "nanmin"):
        for axis, initial in itertools.product((None, 0, 1), (-2, 2)):
            with np.errstate(invalid="ignore"):  # what NumPy says of complex NaN
                wanted = getattr(np, name)(values, axis, initial=initial)
                masked = getattr(np, name)(values, axis, None, True, initial, mask)
            found = getattr(quern, name)(array, axis, initial=initial)
            np.testing.assert_array_equal(found.get(), wanted)
            assert found.dtype == wanted.dtype
            found = getattr(quern, name)(array, axis, None, True, initial, ours)
            np.testing.assert_array_equal(found.get(), masked)
        with pytest.raises(ValueError, match="does not have an identity"):
            getattr(quern, name)(array, where=ours)


def test_dtype_and_out(device):
    values = np.random.default_rng(4).integers(0, 100, (20, 30)).astype("int16")
    array = quern.asarray(values)
    for dtype in ("int16", "uint8", "float32", "float64", "complex64"):
        found = quern.sum(array, axis=0, dtype=dtype)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found.get(), values.sum(axis=0, dtype=dtype))
    out = quern.zeros(30, "float32")
    assert quern.sum(array, axis=0, out=out) is out
    np.testing.assert_array_equal(out.get(), values.sum(axis=0))
    strided = quern.zeros((20, 3), "int64")
    array.sum(1, out=strided[:, 1])
    np.testing.assert_array_equal(strided.get()[:, 1], values.sum(axis=1))
    with pytest.raises(TypeError, match="same_kind"):
        quern.std(array, axis=0, out=quern.zeros(30, "int32"))
    with pytest.raises(ValueError, match="Out shape is mismatched"):
        quern.sum(array, axis=0, out=quern.zeros(20, "int64"))


@pytest.mark.parametrize("name", ["sum", "prod", "max", "mean", "var", "nansum"])
def test_out_of_another_dtype(device, name):
    """NumPy's reductions compute in what the array and `out` have in common, and then cast to anything."""
    values = np.random.default_rng(5).normal(0, 40, (6, 5))
    for into, of in [("i8", "f4"), ("i4", "f8"), ("f8", "f4"), ("i2", "i4"), ("f4", "i8")]:
        source = values.astype(of)
        wanted, out = np.zeros(6, into), quern.zeros(6, into)
        with np.errstate(all="ignore"):
            getattr(np, name)(source, axis=1, out=wanted)
        assert getattr(quern, name)(quern.asarray(source), axis=1, out=out) is out
        fits = np.abs(np.asarray(getattr(np, name)(source, axis=1), "d")) < 100
        fits = fits | (np.dtype(into).kind == "f")
        np.testing.assert_allclose(out.get()[fits], wanted[fits], rtol=1e-5)


def test_empty_and_wrong(device):
    empty = quern.zeros((0, 4))
    np.testing.assert_array_equal(quern.sum(empty, axis=0).get(), np.zeros(4))
    np.testing.assert_array_equal(quern.prod(empty, axis=0).get(), np.ones(4))
    assert quern.sum(empty, axis=1).shape == (0,)
    assert bool(quern.all(empty))
    assert not bool(quern.any(empty))
    assert np.isnan(quern.mean(empty).get())
    assert np.isnan(quern.var(empty).get())
    for name in ("max", "min", "ptp", "argmax", "argmin", "nanmax"):
        with pytest.raises(ValueError, match="zero-size array to reduction operation"):
            getattr(quern, name)(empty)
    full = quern.zeros((3, 4))
    with pytest.raises(np.exceptions.AxisError):
        quern.sum(full, axis=2)
    with pytest.raises(ValueError, match="duplicate value in 'axis'"):
        quern.sum(full, axis=(1, -1))
    for axis in (True, (0, True)):
        with pytest.raises(TypeError, match="an integer is required, not a bool"):
            full.sum(axis)
    with pytest.raises(TypeError, match=r"quern\.asarray"):
        quern.sum(np.ones(3))
    with pytest.raises(ValueError, match="ddof and correction"):
        quern.var(full, ddof=1, correction=1)
    np.testing.assert_array_equal(quern.sum(full, axis=()).get(), np.zeros((3, 4)))


@pytest.mark.parametrize(
    "name", ["sum", "prod", "max", "mean", "std", "nansum", "nanmax", "median"]
)
@pytest.mark.parametrize("axis", [0, 1])
def test_results_inside_the_input(device, name, axis):
    """Rows and columns of the input take results as if they were elsewhere."""
    values = np.random.default_rng(8).standard_normal((9, 9))
    wanted = getattr(np, name)(values, axis=axis)
    for place in ((2,), (slice(None), 5), (slice(None, None, -1), 0)):
        array = quern.asarray(values)
        getattr(quern, name)(array, axis=axis, out=array[place])
        np.testing.assert_allclose(array[place].get(), wanted, rtol=1e-12)
    array = quern.asarray(values > 0)
    numbers = quern.asarray(values)
    quern.any(numbers, axis=axis, out=array[3], where=array)
    np.testing.assert_array_equal(array[3].get(), (values > 0).any(axis=axis))
    with pytest.raises(ValueError, match=r"shape|dimensions"):
        getattr(quern, name)(numbers, axis=axis, out=numbers[1, :4])


@pytest.mark.parametrize("gpu_layout", [False, True])
def test_axes_of_a_scalar(device, plan_as, gpu_layout):
    """NumPy gives a scalar a first and a last axis, but not where it counts the elements behind a moment."""
    with plan_as(gpu_layout=gpu_layout):
        check_axes_of_a_scalar()


def check_axes_of_a_scalar():
    values = np.array(-3.5, "f4")
    array = quern.asarray(values)
    plain = ["sum", "prod", "max", "min", "any", "all", "argmax", "argmin", "ptp", "count_nonzero"]
    for name in [*plain, "nansum", "nanprod", "nanmax", "nanmin", "nanargmax", "nanargmin"]:
        for axis in (0, -1):
            for keepdims in (False, True):
                wanted = getattr(np, name)(values, axis=axis, keepdims=keepdims)
                found = getattr(quern, name)(array, axis=axis, keepdims=keepdims)
                assert (found.shape, found.dtype) == ((), np.asarray(wanted).dtype)
                np.testing.assert_array_equal(found.get(), wanted)
        with pytest.raises(np.exceptions.AxisError):
            getattr(quern, name)(array, axis=1)
    for name in ("mean", "var", "std", "median"):
        with pytest.raises(np.exceptions.AxisError):
            getattr(quern, name)(array, axis=0)


def test_average(device):
    random = np.random.default_rng(5)
    values, weights = random.standard_normal((6, 7, 8)), random.random((6, 7, 8))
    array = quern.asarray(values)
    for axis in (None, 0, 1, 2, (0, 2)):
        np.testing.assert_allclose(
            quern.average(array, axis, quern.asarray(weights)).get(),
            np.average(values, axis, weights),
            rtol=1e-12,
        )
    found, total = quern.average(array, 1, quern.asarray(weights[0, :, 0]), returned=True)
    wanted, of_weights = np.average(values, 1, weights[0, :, 0], returned=True)
    np.testing.assert_allclose(found.get(), wanted, rtol=1e-12)
    np.testing.assert_allclose(total.get(), of_weights, rtol=1e-12)
    np.testing.assert_allclose(quern.average(array, 1).get(), np.average(values, 1), rtol=1e-12)
    with pytest.raises(TypeError, match="Axis must be specified"):
        quern.average(array, None, quern.asarray(weights[0]))


def test_bfloat16_accumulates_in_float32(device):
    values = np.ones(5000, ml_dtypes.bfloat16)
    assert float(quern.sum(quern.asarray(values))) == 4992  # 5000, rounded once
    assert float(quern.mean(quern.asarray(values))) == 1
    half = np.full(4000, 1.0009765625, "float16")
    assert float(quern.mean(quern.asarray(half))) == 1.0009765625


def test_plans_are_told():
    text = quern._core.explain_reduce("sum", quern.zeros((300, 400)), axis=1)
    assert "300 outputs of 400 elements" in text
    assert "rows" in text


@pytest.mark.parametrize("dtype", ["int8", "uint8", "float16", "float32"])
def test_views_with_steps(device, dtype):
    values = sample("sum", (9, 4096), np.dtype(dtype), 11)
    array = quern.asarray(values)
    for rows in (slice(None), slice(None, None, -2)):
        for start, step in ((0, 2), (1, 2), (6, 2), (0, 4), (3, 4), (-1, -2), (-4, -4), (2, 3)):
            key = (rows, slice(start, None, step))
            for name in ("sum", "max", "argmax", "std"):
                for axis in (None, 0, 1):
                    found = getattr(quern, name)(array[key], axis=axis)
                    check(name, found, expected(name, values[key], axis=axis))


@pytest.mark.parametrize("dtype", ["int8", "int32", "float16", "float32", "float64"])
def test_first_of_equals_in_any_layout(device, dtype):
    values = np.random.default_rng(12).integers(0, 3, (6, 70, 50)).astype(dtype)
    array = quern.asarray(values)
    views = (
        lambda a: a.T,
        lambda a: a.transpose(1, 2, 0),
        lambda a: a[::-1, :, ::-1].transpose(2, 0, 1),
        lambda a: a[:, ::-3],
    )
    for view in views:
        for axis in (None, 0, 1, 2):
            for name in ("argmax", "argmin"):
                found = getattr(quern, name)(view(array), axis=axis).get()
                np.testing.assert_array_equal(found, getattr(np, name)(view(values), axis=axis))


def test_places_of_the_worst_values(device):
    for dtype in ("float16", "float32", "float64"):
        for shape in ((5,), (3000,), (40, 30)):
            low = np.full(shape, -np.inf, dtype)
            one = low.copy()
            one.flat[-2] = -np.nan
            for values in (low, -low, one):
                for name in ("argmax", "argmin"):
                    for view in (lambda a: a, lambda a: a.T):
                        found = getattr(quern, name)(view(quern.asarray(values)))
                        assert int(found) == getattr(np, name)(view(values))
    lowest = np.full(3000, -128, "int8")
    assert int(quern.argmax(quern.asarray(lowest))) == 0


@pytest.mark.parametrize("letter", "?bBhHiIqQ")
def test_integers_have_no_nan(device, letter):
    """Then the forms that skip it do what the others do, and extremes of bools are truths."""
    random = np.random.default_rng(21)
    seldom = random.random((50, 60)) < 0.03  # the first packs of a row have none
    for x in (random.integers(0, 2, (50, 60)), seldom, np.ones((50, 60)), np.zeros((50, 60))):
        x = x.astype(letter)
        a = quern.asarray(x)
        names = ["nanmax", "nanmin", "nansum", "nanprod", "max", "min", "nanargmax", "nanargmin"]
        names += ["argmax", "argmin", "any", "all", "count_nonzero"]
        for name, axis in itertools.product(names, (None, 0, 1)):
            found, wanted = getattr(quern, name)(a, axis), np.asarray(getattr(np, name)(x, axis))
            np.testing.assert_array_equal(found.get(), wanted)
            assert found.dtype == wanted.dtype
    for name in ("max", "nanmin"):
        with pytest.raises(ValueError, match="zero-size"):
            getattr(quern, name)(quern.zeros(0, letter))


def test_a_mask_that_is_one_bool(device):
    values = np.random.default_rng(2).random((4, 5))
    array = quern.asarray(values)
    for where in (False, True, np.False_, np.True_):
        for axis in (None, 0, 1):
            found = array.sum(axis=axis, where=where).get()
            np.testing.assert_allclose(found, values.sum(axis=axis, where=where))
            found = quern.max(array, axis, initial=0.5, where=where).get()
            np.testing.assert_array_equal(found, np.max(values, axis, initial=0.5, where=where))
    with pytest.raises(ValueError, match="identity"):
        array.max(where=False)
    with pytest.raises(TypeError, match="where"):
        array.sum(where=1.5)


@pytest.mark.parametrize("dtype", ["e", "f", "d", "F", "D"])
def test_spread_of_few_numbers(device, dtype):
    """NaN where `ddof` leaves nothing, by rows, by columns, of all and of each axis that is not the last."""
    values = np.random.default_rng(3).integers(-9, 9, (5, 6, 4)).astype(dtype)
    values[np.arange(6) < np.arange(5)[:, None]] = np.nan
    values[2] = np.nan
    array = quern.asarray(values)
    for axis in (None, 0, 1, 2, (0, 1)):
        for ddof in (0, 1, 2, 3, 4, 60, 2.5):
            for name in ("nanvar", "nanstd"):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    wide = values.astype("D" if dtype in "FD" else "d")
                    wanted = getattr(np, name)(wide, axis, ddof=ddof)
                found = getattr(quern, name)(array, axis, ddof=ddof).get()
                np.testing.assert_allclose(found, wanted, rtol=2e-3 if dtype == "e" else 1e-5)


@pytest.mark.parametrize("name", ["nanmean", "nanvar", "nanstd"])
def test_inexact_numbers_want_inexact_results(device, name):
    array, out = quern.ones((3, 4)), quern.empty(3, int)
    for call in (
        lambda f, a, o: f(a, 1, dtype=int),
        lambda f, a, o: f(a, 1, dtype=bool),
        lambda f, a, o: f(a, 1, out=o),
    ):
        with pytest.raises(TypeError, match="inexact"):
            call(getattr(np, name), array.get(), out.get())
        with pytest.raises(TypeError, match="inexact"):
            call(getattr(quern, name), array, out)
    found = getattr(quern, name)(array.astype(int), 1, dtype=float)
    assert found.dtype == float
