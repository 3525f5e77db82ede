"""Counts and histograms against NumPy: counts exactly, sums of weights closely and the same bits each time."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import quern

RULES = ["auto", "doane", "fd", "rice", "scott", "sqrt", "stone", "sturges"]


def check(found, wanted, rtol=1e-12):
    wanted = np.asarray(wanted)
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    if wanted.dtype.kind in "iu":
        assert (found.get() == wanted).all()
    else:
        np.testing.assert_allclose(found.get(), wanted, rtol=rtol, atol=1e-12)


@pytest.mark.parametrize("code", "?bhilBHIL")
def test_bincount(device, code):
    x = np.random.default_rng(1).integers(0, 2 if code == "?" else 100, 5000).astype(code)
    weights = np.random.default_rng(2).standard_normal(5000)
    check(quern.bincount(quern.asarray(x)), np.bincount(x))
    check(quern.bincount(quern.asarray(x), minlength=300), np.bincount(x, minlength=300))
    for w in (weights, weights.astype("f4"), (weights * 9).astype("i4")):
        check(quern.bincount(quern.asarray(x), quern.asarray(w)), np.bincount(x, w), 1e-9)


@pytest.mark.parametrize("bins", [1, 10, 5000, 200_000])
def test_bincount_of_many(device, bins):
    random = np.random.default_rng(3)
    x, w = random.integers(0, bins, 300_000), random.standard_normal(300_000)
    ours, weights = quern.asarray(x), quern.asarray(w)
    check(quern.bincount(ours), np.bincount(x))
    sums = quern.bincount(ours, weights)
    np.testing.assert_allclose(sums.get(), np.bincount(x, w), rtol=1e-9, atol=1e-9)
    assert sums.get().tobytes() == quern.bincount(ours, weights).get().tobytes()


def test_bincount_of_nothing(device):
    check(
        quern.bincount(quern.zeros(0, int), minlength=4), np.bincount(np.zeros(0, int), minlength=4)
    )
    empty = quern.zeros(0, int)
    check(quern.bincount(empty, quern.zeros(0)), np.bincount(np.zeros(0, int), np.zeros(0)))


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 300),
    st.one_of(st.integers(1, 40), st.lists(st.floats(-3, 3), min_size=2, max_size=9).map(sorted)),
    st.sampled_from("bHlefd"),
    st.one_of(st.none(), st.tuples(st.floats(-4, 0), st.floats(0.5, 4))),
    st.integers(0, 999),
)
def test_histogram_of_anything(count, bins, code, limits, seed):
    a = np.round(np.random.default_rng(seed).standard_normal(count) * 2, 1).astype(code)
    with np.errstate(all="ignore"):
        wanted, edges = np.histogram(a, bins, limits)
    found, ours = quern.histogram(quern.asarray(a), bins, limits)
    assert ours.get().tobytes() == np.asarray(edges).tobytes()
    check(found, wanted)


@pytest.mark.parametrize("code", "efdiB")
def test_edges_of_given_ranges(device, code):
    """NumPy's bits, and its error where bins are narrower than numbers are apart: near 0, by many, or far away."""
    random = np.random.default_rng(6)
    a = random.integers(0, 100, 50).astype(code)
    ours, refused = quern.asarray(a), 0
    for _ in range(60):
        low, high = np.sort(random.standard_normal(2) * 10.0 ** random.uniform(-9, 4)).tolist()
        limits = (int(low), int(high) + 1) if random.random() < 0.3 else (low, high)
        bins = int(random.integers(1, 10 ** random.integers(1, 5)))
        if random.random() < 0.2:
            limits = (limits[0] + 1000, limits[1] + 1000)
        try:
            wanted, edges = np.histogram(a, bins, limits)
        except ValueError as error:
            refused += 1
            with pytest.raises(ValueError, match=str(error).split(".")[0]):
                quern.histogram(ours, bins, limits)
            continue
        found, made = quern.histogram(ours, bins, limits)
        assert (made.dtype, made.get().tobytes()) == (edges.dtype, edges.tobytes())
        check(found, wanted)
    assert refused > 0 or code not in "ef"


@pytest.mark.parametrize("rule", RULES)
def test_rules(device, rule):
    random = np.random.default_rng(5)
    for a in (random.standard_normal(700), random.integers(0, 50, 300)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wanted = np.histogram_bin_edges(a, rule)
            ranged = np.histogram_bin_edges(a, rule, (-1, 20))
        check(quern.histogram_bin_edges(quern.asarray(a), rule), wanted)
        check(quern.histogram_bin_edges(quern.asarray(a), rule, (-1, 20)), ranged)


def test_weights_and_density(device):
    random = np.random.default_rng(6)
    a = random.standard_normal((40, 50))
    a[3, 4] = np.nan
    edges = np.array([-2.0, -1, 0, 0.5, 3])
    for w in (random.random((40, 50)), random.integers(0, 9, (40, 50)), a * 0 + 1j):
        w = np.nan_to_num(w)
        for bins, limits in ((edges, None), (12, (-2, 2))):
            ours = quern.histogram(quern.asarray(a), bins, limits, weights=quern.asarray(w))
            check(ours[0], np.histogram(a, bins, limits, weights=w)[0], 1e-10)
    for bins in (edges, 12):
        ours = quern.histogram(quern.asarray(a), bins, (-2, 2), density=True)
        check(ours[0], np.histogram(a, bins, (-2, 2), density=True)[0])


@pytest.mark.parametrize("code", "bBhiLefd")
def test_many_values_between_uneven_edges(device, code):
    random = np.random.default_rng(13)
    dtype = np.dtype(code)
    a = np.concatenate([random.integers(0, 101, 30_000), [0, 100, 120]]).astype(dtype)
    if dtype.kind == "f":
        parts = random.random(a.size).astype(dtype)
        a = np.concatenate([a + parts, [np.nan, np.inf, -np.inf]]).astype(dtype)
    weights = random.random(a.size)
    for edges in (
        np.linspace(0, 100, 51), np.sort(random.uniform(5, 95, 40)), np.array([1.0, 1, 1, 2, 2, 50]),
        np.array([7.0, 7]), np.array([-np.inf, 3, np.inf]), np.geomspace(1e-3, 100, 200),
        np.arange(0, 101), np.array([3, 3, 4, 90]), np.array([0, 10**6]), np.linspace(5, 95, 302),
        np.append(np.linspace(4.99, 5.01, 52), 90), np.append(np.linspace(0, 60, 300), 10**6),
    ):  # fmt: skip
        ours = quern.asarray(a), quern.asarray(edges)
        check(quern.histogram(*ours)[0], np.histogram(a, edges)[0])
        found = quern.histogram(*ours, weights=quern.asarray(weights))[0].get()
        np.testing.assert_allclose(found, np.histogram(a, edges, weights=weights)[0], rtol=1e-9)


@pytest.mark.parametrize("base", [0, 2**53, 2**55, 2**60, -(2**53), -(2**60)])
def test_large_integers_between_edges(device, base):
    """Where doubles no longer tell neighbours apart."""
    a = base + np.random.default_rng(14).integers(0, 6, 40_000)
    for steps in ([0, 1, 5], [0, 2, 3, 4], [0, 100, 700], [1, 3000]):
        edges = base + np.array(steps)
        found = quern.histogram(quern.asarray(a), quern.asarray(edges))[0]
        inside = [np.sum((a >= low) & (a < high)) for low, high in itertools.pairwise(edges)]
        inside[-1] += np.sum(a == edges[-1])
        check(found, np.array(inside))


def test_several_axes(device):
    random = np.random.default_rng(7)
    x, y, w = random.standard_normal((3, 400))
    a, b, v = (quern.asarray(k) for k in (x, y, w))
    edges = np.array([-1.0, 0, 0.3, 2])
    for bins in (5, [4, 6], [edges, 3], edges):
        for ours, theirs in zip(
            quern.histogram2d(a, b, bins), np.histogram2d(x, y, bins), strict=True
        ):
            check(ours, theirs)
    limits = [(-1, 1), (-2, 0.5)]
    check(
        quern.histogram2d(a, b, 6, limits, True, v)[0],
        np.histogram2d(x, y, 6, limits, True, w)[0],
        1e-9,
    )
    points = np.stack([x, y, w], 1)
    found, sides = quern.histogramdd(quern.asarray(points), (3, 4, 5))
    wanted, theirs = np.histogramdd(points, (3, 4, 5))
    check(found, wanted)
    for one, other in zip(sides, theirs, strict=True):
        check(one, other)


def test_points_on_the_host(device):
    points = np.random.default_rng(8).standard_normal((30, 3))
    for square in (points, points[:3]):
        found, sides = quern.histogramdd(square, (2, 3, 4))
        wanted, theirs = np.histogramdd(square, (2, 3, 4))
        check(found, wanted)
        for one, other in zip(sides, theirs, strict=True):
            check(one, other)


def test_bincount_of_an_empty_list(device):
    for least in (0, 3):
        check(quern.bincount([], minlength=least), np.bincount([], minlength=least))
    check(quern.bincount([], weights=[]), np.bincount([], weights=[]))


ERRORS = [
    lambda np, a: np.bincount(np.zeros(0)),
    lambda np, a: np.bincount(a - 1),
    lambda np, a: np.bincount(a * 1.0),
    lambda np, a: np.bincount(a.reshape(1, 3)),
    lambda np, a: np.bincount(a, a[:2]),
    lambda np, a: np.bincount(a, a * 1j),
    lambda np, a: np.bincount(a, minlength=-1),
    lambda np, a: np.bincount(a, minlength=None),
    lambda np, a: np.histogram(a, 0),
    lambda np, a: np.histogram(a, 1.5),
    lambda np, a: np.histogram(a, a[::-1]),
    lambda np, a: np.histogram(a, a.reshape(1, 3)),
    lambda np, a: np.histogram(a, 3, (2, 1)),
    lambda np, a: np.histogram(a, 3, (0, float("inf"))),
    lambda np, a: np.histogram(a / 0),
    lambda np, a: np.histogram(a, weights=a[:2]),
    lambda np, a: np.histogram(a, "nothing"),
    lambda np, a: np.histogram(a, "auto", weights=a),
    lambda np, a: np.histogram2d(a, a[:2]),
    lambda np, a: np.histogramdd([a, a], [2, 2, 2]),
    lambda np, a: np.histogramdd([a, a], [2, 0]),
    lambda np, a: np.histogramdd([a, a], [2, a[::-1]]),
]


@pytest.mark.parametrize("call", ERRORS, ids=range(len(ERRORS)))
def test_errors_are_numpys(device, call):
    three = np.arange(3)
    with np.errstate(all="ignore"), pytest.raises(Exception) as theirs:  # noqa: PT011
        call(np, three)
    with pytest.raises(type(theirs.value)):
        call(quern, quern.asarray(three))


def test_bools_become_small_integers(device):
    a = np.array([True, False, True])
    with pytest.warns(RuntimeWarning, match="Converting input from bool"):
        ours = quern.histogram(quern.asarray(a))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(ours[0], np.histogram(a)[0])
