"""Distinct values and sets against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sorting.oracle import ALL, sample

import quern


def as_numpy(found):
    return [a.get() for a in found] if isinstance(found, tuple) else [found.get()]


def check(found, wanted):
    ours, theirs = as_numpy(found), wanted if isinstance(wanted, tuple) else (wanted,)
    assert len(ours) == len(theirs)
    for got, want in zip(ours, theirs, strict=True):
        assert got.dtype == want.dtype
        assert got.shape == want.shape
        np.testing.assert_array_equal(got, want)


def few(dtype, count, seed):
    """Values among which there are many alike."""
    a = sample(count, dtype, seed)
    return np.where(
        np.random.default_rng(seed).random(count) < 0.7, a.ravel()[: 1 + count // 9][0], a
    )


@pytest.mark.parametrize("dtype", [d for d in ALL if d.kind != "V"], ids=str)
def test_unique(device, dtype):
    a = few(dtype, 400, 1)
    if dtype.kind == "c":
        a[np.isnan(a)] = np.nan  # which of unlike NaN comes first is NumPy's affair
    check(quern.unique(quern.asarray(a)), np.unique(a))
    check(quern.unique(quern.asarray(a), True, True, True), np.unique(a, True, True, True))
    ours = quern.unique(quern.asarray(a), return_counts=True, equal_nan=False)
    check(ours, np.unique(a, return_counts=True, equal_nan=False))


@pytest.mark.parametrize("code", ["b", "H", "e", "f", "q", "D"])
@pytest.mark.parametrize("most", [1, 40, 10**6])
@pytest.mark.parametrize("gpu_layout", [False, True])
def test_unique_of_many(device, plan_as, code, most, gpu_layout):
    """Runs of one value begin and end anywhere in what a block has, or there are none."""
    random = np.random.default_rng(most)
    with plan_as(gpu_layout=gpu_layout):
        check_unique_of_many(random, code, most)


def check_unique_of_many(random, code, most):
    for count in (1, 31, 1024, 8192, 8193, 30_001):
        a = random.integers(0, min(most, {"b": 127, "H": 2**16, "e": 2000}.get(code, most)), count).astype(code)
        if code in "efD":
            a[::7] = np.nan
        for equal_nan in (True, False):
            check(
                quern.unique(quern.asarray(a), equal_nan=equal_nan),
                np.unique(a, equal_nan=equal_nan),
            )


@pytest.mark.parametrize("dtype", [d for d in ALL if d.itemsize <= 2], ids=str)
def test_unique_of_all_bits(device, plan_as, dtype):
    """Whatever small elements there can be, both zeros and NaN among them, from any byte on."""
    random = np.random.default_rng(7)
    for count, start in ((1, 0), (7, 1), (100, 3), (5000, 9), (200_000, 5)):
        a = random.integers(0, 2 if dtype.kind == "b" else 256, count * dtype.itemsize, np.uint8)
        a = a.view(dtype)[start:] if count > start else a.view(dtype)
        if dtype.kind in "fV":
            a[::5] = random.choice([0.0, -0.0, np.nan, np.inf], a[::5].size)
        wanted = np.unique(a.astype("f4"))
        for layout in (False, True):
            with plan_as(gpu_layout=layout):
                found = quern.unique(quern.asarray(np.append(a[:start], a).astype(dtype))[start:])
                assert found.dtype == dtype
                np.testing.assert_array_equal(found.get().astype("f4"), wanted)


def test_unique_shapes_and_forms(device):
    a = np.random.default_rng(2).integers(0, 9, (5, 7, 3))
    ours = quern.asarray(a)
    check(quern.unique(ours, return_inverse=True), np.unique(a, return_inverse=True))
    for name in ("unique_all", "unique_counts", "unique_inverse", "unique_values"):
        found, wanted = getattr(quern, name)(ours), getattr(np, name)(a)
        if name == "unique_values":
            check(found, np.sort(wanted))
            continue
        assert found._fields == wanted._fields
        check(tuple(found), tuple(wanted))
    check(
        quern.unique(quern.zeros((0, 3)), True, True, True),
        np.unique(np.zeros((0, 3)), True, True, True),
    )
    check(
        quern.unique(quern.asarray(5), return_inverse=True),
        np.unique(np.array(5), return_inverse=True),
    )


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("equal_nan", [True, False])
def test_unique_of_a_line_along_its_axis(device, axis, equal_nan):
    a = np.array([3, np.nan, 0, np.nan, 3, 0, 0])
    check(
        quern.unique(quern.asarray(a), True, True, True, axis, equal_nan=equal_nan),
        np.unique(a, True, True, True, axis, equal_nan=equal_nan),
    )
    for wrong, error in ((1, np.exceptions.AxisError), (0.0, TypeError)):
        with pytest.raises(error):
            quern.unique(quern.asarray(a), axis=wrong)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_unique_slices(device, axis):
    a = np.random.default_rng(3).integers(0, 2, (9, 8, 3))[:, :, :2]
    for code in "bdF":
        values = a.astype(code)
        for asked in ((), (True, True, True)):
            check(
                quern.unique(quern.asarray(values), *asked, axis=axis),
                np.unique(values, *asked, axis=axis),
            )


SETS = ["intersect1d", "setdiff1d", "setxor1d", "union1d", "isin"]


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(SETS),
    st.integers(0, 30),
    st.integers(0, 30),
    st.sampled_from(["bb", "iB", "fd", "dd", "FF", "?i"]),
    st.integers(0, 999),
)
def test_sets_of_any_size(name, first, second, codes, seed):
    random = np.random.default_rng(seed)
    a = random.integers(0, 12, first).astype(codes[0])
    b = random.integers(0, 12, second).astype(codes[1])
    if codes[0] in "fd":
        a[random.random(first) < 0.1] = np.nan
    check(getattr(quern, name)(quern.asarray(a), quern.asarray(b)), getattr(np, name)(a, b))


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from("efdFDq"),
    st.sampled_from([0, 1, 7, 300, 40_000]),
    st.sampled_from([0, 1, 9, 500, 150_000]),
    st.sampled_from(["alike", "before", "behind", "bunched"]),
    st.integers(0, 999),
)
def test_values_of_both_by_walks_in_parts(code, first, second, how, seed):
    random = np.random.default_rng(seed)
    a, b = random.integers(-(10**6), 10**6, first), random.integers(-(10**6), 10**6, second)
    if how == "bunched":  # parts of the one lie between neighbours of the other
        b = random.permutation(b**3 // 10**12)
    elif how != "alike":
        b = b + (19 * 10**5 if how == "behind" else -19 * 10**5)
    a, b = ((x if code == "q" else x / 64).astype(code) for x in (a, b))
    if code == "q":  # too far apart for a table
        a, b = a * 2**40, b * 2**40
    elif seed % 2:
        a[random.random(first) < 0.01] = np.nan
        b[random.random(second) < 0.01] = np.nan
    for one, two in ((a, b), (b, a)):
        check(quern.intersect1d(quern.asarray(one), quern.asarray(two)), np.intersect1d(one, two))


def test_options_of_sets(device):
    a, b = np.array([[7, 1, 5], [3, 9, 1]]), np.array([1, 4, 9, 9, 7])
    x, y = quern.asarray(a), quern.asarray(b)
    check(quern.intersect1d(x, y, return_indices=True), np.intersect1d(a, b, return_indices=True))
    check(quern.isin(x, y, invert=True), np.isin(a, b, invert=True))
    check(quern.isin(x, [3, 5]), np.isin(a, [3, 5]))
    check(quern.in1d(x, y), np.isin(a.ravel(), b))
    p, q = np.array([5, 2, 8]), np.array([8, 1, 5])
    r, s = quern.asarray(p), quern.asarray(q)
    for name in ("intersect1d", "setdiff1d", "setxor1d"):
        check(
            getattr(quern, name)(r, s, assume_unique=True),
            getattr(np, name)(p, q, assume_unique=True),
        )
    check(
        quern.intersect1d(r, s, assume_unique=True, return_indices=True),
        np.intersect1d(p, q, assume_unique=True, return_indices=True),
    )


def test_errors_are_numpys(device):
    a = quern.arange(6)
    with pytest.raises(np.exceptions.AxisError):
        quern.unique(a, axis=1)
    with pytest.raises(ValueError, match="kind"):
        quern.isin(a, a, kind="hash")
