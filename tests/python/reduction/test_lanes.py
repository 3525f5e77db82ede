"""What vectorised loops may get wrong: ends of rows, places of equals, NaN between, gaps, many rows of sums."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import quern

LENGTHS = [1, 7, 8, 63, 64, 65, 255, 256, 1000, 4095, 4097, 20_000, 70_001]
KINDS = [np.dtype(c) for c in ("i1", "u2", "f2", "f4", "f8", "i8")] + [np.dtype(ml_dtypes.bfloat16)]


@pytest.mark.parametrize("dtype", KINDS, ids=str)
def test_places(device, dtype):
    """argmax and argmin: the first of equals wherever it stands; NaN before all; values that grow all along."""
    random = np.random.default_rng(4)
    for length in LENGTHS:
        values = random.integers(0, 9, length).astype(dtype)
        first = int(random.integers(length))
        values[first] = 100
        values[int(random.integers(length))] = 100
        rising = (np.arange(length) % 60_000).astype(dtype)
        nans = values.copy()
        if dtype.kind in "fV":
            nans[length // 2 :: 5] = np.nan
        for x in (values, rising, -rising, nans, np.zeros(length, dtype)):
            wide = x.astype("f4") if dtype.kind == "V" else x
            array = quern.asarray(x)
            assert int(quern.argmax(array)) == wide.argmax()
            assert int(quern.argmin(array)) == wide.argmin()
        if dtype.kind in "fV" and not np.isnan(nans.astype("f4")).all():
            wide = nans.astype("f4")
            assert int(quern.nanargmax(quern.asarray(nans))) == np.nanargmax(wide)
            assert float(quern.nanmin(quern.asarray(nans))) == np.nanmin(wide)
    low = np.full(5000, -np.inf, "f4")
    assert int(quern.argmax(quern.asarray(low))) == 0
    low[:4000] = np.nan
    assert int(quern.nanargmax(quern.asarray(low))) == 4000


@pytest.mark.parametrize("kind", ["i1", "f4", "D"])
def test_places_in_views(device, kind):
    """The first of equals by NumPy's order of the view, wherever memory goes; skipped NaN have no place."""
    random = np.random.default_rng(11)
    views = (np.s_[::-1], np.s_[..., ::-2], np.s_[::-3, ::3])
    for shape in ((1, 9000), (130, 70)):
        values = random.integers(0, 4, shape).astype(kind)
        if kind == "D":
            values.imag = random.integers(0, 3, shape)
        if kind != "i1":
            values[random.random(shape) < 0.2] = -np.inf
            values[random.random(shape) < 0.001] = np.nan
        for view in views:
            for axes in ((0, 1), (1, 0)):
                x = values.transpose(axes)[view]
                ours = quern.asarray(values).transpose(axes)[view]
                for axis in (None, 0, 1):
                    for name in ("argmax", "argmin"):
                        found = getattr(quern, name)(ours, axis=axis).get()
                        np.testing.assert_array_equal(found, getattr(np, name)(x, axis=axis))
                    if kind == "f4" and not np.isnan(x).all(axis=axis).any():
                        found = quern.nanargmin(ours, axis=axis).get()
                        np.testing.assert_array_equal(found, np.nanargmin(x, axis=axis))


@pytest.mark.parametrize("dtype", [k for k in KINDS if k.kind in "fV"], ids=str)
@pytest.mark.parametrize("name", ["max", "min", "ptp"])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_extremes(device, name, dtype):
    """NaN wins wherever it stands, zeros of both signs are equal; by axes, and fused with rows."""
    random = np.random.default_rng(6)
    fused = quern.fuse(lambda x: x >= getattr(quern, name)(x, axis=1, keepdims=True))
    for shape in ((3, 7), (70, 64), (33, 1000), (9, 8192), (8192, 9), (2, 100_000)):
        values = random.standard_normal(shape).astype(dtype)
        values[:, random.integers(shape[1])] = random.choice([-np.inf, np.inf], shape[0])
        values[0] = -0.0
        values[0, shape[1] // 2 :] = 0.0
        values[random.random(shape[0]) < 0.3, random.integers(shape[1])] = np.nan
        wide, ours = values.astype("f8"), quern.asarray(values)
        for axis in (1, 0, None):
            found = getattr(quern, name)(ours, axis=axis).get().astype("f8")
            wanted = getattr(np, name)(wide, axis=axis).astype(dtype).astype("f8")
            np.testing.assert_array_equal(found, wanted)
        wanted = getattr(np, name)(wide, axis=1, keepdims=True).astype(dtype).astype("f8")
        np.testing.assert_array_equal(fused(ours).get(), wide >= wanted)


@pytest.mark.parametrize("step", [2, 3, 4, 5, -2])
@pytest.mark.parametrize(
    "name", ["sum", "max", "std", "any", "count_nonzero", "nansum", "nanmax", "argmin"]
)
def test_gaps(device, name, step):
    """What stands between strided elements never counts, whatever it is."""
    for length in LENGTHS:
        values = np.full(length * 5 + 3, np.nan, "f4")
        values[::step] = np.random.default_rng(length).integers(-9, 9, values[::step].shape)
        view = values[::step][: max(length, 2)]
        found = getattr(quern, name)(quern.asarray(values)[::step][: max(length, 2)])
        np.testing.assert_allclose(
            float(found), getattr(np, name)(view.astype("f8")), rtol=2e-6, atol=1e-6
        )


@pytest.mark.parametrize("name", ["var", "nanvar"])
@pytest.mark.parametrize("kind", ["f4", "f8", "F"])
def test_variances(device, name, kind):
    """Means far from zero, NaN first and between, in rows, in short rows and in columns."""
    random = np.random.default_rng(8)
    for shape in ((3, 40), (40, 3), (5, 3000), (3000, 70), (1, 100_000), (700, 700)):
        values = (random.standard_normal(shape) + 1000).astype(kind)
        if name == "nanvar":
            values[random.random(shape) < 0.3] = np.nan
            values[:1, : shape[1] // 2] = np.nan
        wide = values.astype("c16" if kind == "F" else "f8")
        for axis in (0, 1, None):
            if name == "nanvar" and (np.isnan(wide).all(axis=axis)).any():
                continue
            found = getattr(quern, name)(quern.asarray(values), axis=axis).get()
            wanted = getattr(np, name)(wide, axis=axis)
            np.testing.assert_allclose(found, wanted, rtol=1e-9 if kind == "f8" else 2e-4)


def test_long_columns_lose_nothing(device):
    """Sums down a million rows are no worse than pairwise ones across."""
    values = np.random.default_rng(2).random((1 << 20, 4)).astype("f4")
    wanted = values.sum(axis=0, dtype="f8")
    found = quern.sum(quern.asarray(values), axis=0).get()
    np.testing.assert_allclose(found, wanted, rtol=3e-6)
    assert abs(found - wanted).max() <= abs(values.sum(axis=0) - wanted).max()


FOLDED = [(3, 5, 600), (20, 7, 1000), (300, 3, 520), (2, 600, 2050), (5, 2, 9000)]


@pytest.mark.parametrize("kind", ["b", "f2", "f4", "f8", "D"])
@pytest.mark.parametrize("name", ["sum", "prod", "max", "mean", "std", "nansum", "nanmax", "any"])
def test_runs(device, name, kind):
    """Kept axes between reduced ones: runs of each output, of whole lanes or not, also with gaps and backwards."""
    random = np.random.default_rng(len(name))
    for shape in FOLDED:
        values = random.integers(-9, 10, shape).astype(kind)
        if name == "prod":
            values = np.where(random.random(shape) < 0.5, 1, -1).astype(kind)
        if np.dtype(kind).kind in "fc":
            values[random.random(shape) < 0.01] = 0 if name == "prod" else 0.5
            if name.startswith("nan"):
                values[random.random(shape) < 0.2] = np.nan
        for cut in (np.s_[:], np.s_[:, :, ::2], np.s_[::-1, :, ::-1], np.s_[:, 1:, :-3]):
            view = values[cut]
            wide = view.astype({"i": "i8", "f": "f8", "c": "c16"}[view.dtype.kind])
            found = quern.asnumpy(getattr(quern, name)(quern.asarray(values)[cut], axis=(0, 2)))
            np.testing.assert_allclose(
                found.astype(np.result_type(found, "f8")),
                getattr(np, name)(wide, axis=(0, 2)),
                rtol=2e-3 if kind == "f2" else 1e-5,
                atol=1e-5,
            )


NAMES = ["sum", "max", "argmin", "nanargmax", "nanmax", "var", "all"]


def agree(name, values, axis):
    """quern and NumPy in a wider type on the same values; rounding where there is some."""
    wide = values.astype({"b": "?", "i": "i8", "u": "i8", "f": "f8", "c": "c16"}[values.dtype.kind])
    found = quern.asnumpy(getattr(quern, name)(quern.asarray(values), axis=axis))
    wanted = getattr(np, name)(wide, axis=axis)
    loose = 3e-3 if values.dtype.itemsize == 2 and values.dtype.kind == "f" else 1e-4
    if wanted.dtype.kind in "fc":
        np.testing.assert_allclose(
            found.astype(wanted.dtype), wanted, rtol=loose, atol=loose * 10, equal_nan=True
        )
    else:
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("kind", ["?", "i1", "i8", "f2", "f4", "D"])
@pytest.mark.parametrize("name", NAMES)
def test_few_columns(device, name, kind):
    """Rows of some elements that make one line together: rows left over, several blocks, behind a kept axis."""
    random = np.random.default_rng(len(name))
    for shape in ((5000, 3), (4999, 5), (5000, 33), (2001, 65), (701, 40), (70_000, 7)):
        values = random.integers(-9, 10, shape).astype(kind)
        if np.dtype(kind).kind in "fc":
            values[random.random(shape) < 0.01] = np.nan
        agree(name, values, 0)
    values = random.integers(-9, 10, (4, 999, 6)).astype(kind)
    agree(name, values, 1)
    agree(name, values[:, ::-1], 1)


@pytest.mark.parametrize("kind", ["i1", "f2", "f8", "F"])
@pytest.mark.parametrize("name", NAMES)
def test_short_middle_axes(device, name, kind):
    """Many kept rows of few elements with few steps behind each: threads go on from one row to the next."""
    random = np.random.default_rng(len(name))
    for shape in ((700, 8, 3), (77, 8, 33), (41, 5, 200), (500, 2, 17), (9, 300, 40), (3, 4, 5, 6)):
        values = random.integers(-9, 10, shape).astype(kind)
        if np.dtype(kind).kind in "fc":
            values[random.random(shape) < 0.01] = np.nan
        agree(name, values, 1)
        agree(name, values[..., 1:], 1)
        agree(name, values[::2, ::-1], 1)
        if len(shape) == 4 and not name.startswith(("arg", "nanarg")):
            agree(name, values, (1, 3))


def test_few_columns_have_places(device):
    """A kernel sees where each element stands, also among rows that make one line."""
    places = quern.ReductionKernel("T x", "int64 y", "_J", "a + b", "y = a", "0", "places")
    for rows, columns in ((5000, 3), (4999, 5), (70_001, 7)):
        found = places(quern.zeros((rows, columns)), axis=0).get()
        np.testing.assert_array_equal(found, np.full(columns, rows * (rows - 1) // 2))


@pytest.mark.parametrize("kind", ["?", "i1", "u2", "f2"])
@pytest.mark.parametrize("name", ["sum", "max", "argmax", "any", "prod"])
def test_ends_of_small_elements(device, name, kind):
    """Rows of every length near those of vectors: small elements have no masks on some CPUs."""
    random = np.random.default_rng(3)
    for length in (*range(1, 36), 63, 65, 100, 127, 129, 255, 257, 300, 1000, 1025, 2047, 5001):
        values = random.integers(0, 3, (5, length)).astype(kind)
        if name == "prod":
            values[random.random(values.shape) < 0.9] = 1
        agree(name, values, 1)
        for step in (2, 3):
            agree(name, np.repeat(values, step, axis=1)[:, ::step], 1)
