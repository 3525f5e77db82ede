"""Calls like an earlier one are launched without Python, and only where the function would do the same again."""

import gc
import sys
import warnings
import weakref

import numpy as np
import pytest

import quern

GAIN = 2.0
WEIGHTS: list[quern.ndarray] = []
SEEN: list[int] = []


def entered(fused, *args, **kwargs):
    """The result of a call, and whether Python ran the function."""
    code, entries = fused.__wrapped__.__code__, []
    sys.setprofile(lambda frame, event, _: entries.append(event) if frame.f_code is code else None)
    try:
        result = fused(*args, **kwargs)
    finally:
        sys.setprofile(None)
    return result, bool(entries)


def is_replayed(fused, *args, **kwargs):
    """Is the function left out, once it has been called twice?"""
    for _ in range(2):
        fused(*args, **kwargs)
    return not entered(fused, *args, **kwargs)[1]


@pytest.fixture
def x(device):
    return quern.asarray(np.random.default_rng(1).uniform(-2, 2, (6, 50)).astype(np.float32))


def test_calls_that_are_alike(device, x):
    @quern.fuse
    def normal(a, b, shift=0.5):
        return {"z": (a - a.mean(axis=1, keepdims=True)) / quern.sqrt(b) + shift, "a": a}

    wanted = {}
    for turn in range(5):
        a, b = x * (turn + 1), quern.abs(x) + turn + 1
        result, ran = entered(normal, a, b)
        assert ran == (turn < 2)
        wanted = normal.__wrapped__(a, b)
        np.testing.assert_allclose(result["z"].get(), wanted["z"].get(), rtol=1e-5, atol=1e-6)
        assert result["a"] is a
    assert entered(normal, x, x, 0.25)[1]  # another number
    assert entered(normal, x[:3], x[:3])[1]  # another shape
    assert entered(normal, x.T, x.T)[1]  # other strides
    assert entered(normal, x.astype(np.float64), x)[1]


def test_results_of_every_kind(x):
    @quern.fuse
    def several(a):
        b = a * 2
        return [b, (b[1:], b), None, 3, "word", a[::2], a]

    for _ in range(4):
        b, (part, again), none, three, word, view, given = several(x)
        assert again is b
        assert given is x
        assert view.base is x
        assert (none, three, word) == (None, 3, "word")
        assert quern.may_share_memory(view, x)
        assert quern.may_share_memory(part, b)
        np.testing.assert_array_equal(part.get(), (x * 2)[1:].get())
    assert is_replayed(several, x)


@pytest.mark.parametrize("number", [2.5, np.float64(2.5), np.int8(3), np.bool_(True), 1j], ids=repr)
def test_numbers_that_come_back(x, number):
    """As they were given, or as the function knows them."""

    @quern.fuse
    def scaled(a, s):
        return s, a * s, np.float32(0.5)

    assert is_replayed(scaled, x, number)
    same, product, half = scaled(x, number)
    assert (type(same), same) == (type(number), number)
    assert (type(half), half) == (np.float32, 0.5)
    np.testing.assert_array_equal(product.get(), (x * number).get())
    assert entered(scaled, x, type(number)(0))[1]


def test_what_it_reads_may_change(x):
    namespace = {"np": quern, "GAIN": 2.0}
    exec("def scaled(a):\n    return np.negative(a) * GAIN", namespace)
    scaled = quern.fuse(namespace["scaled"])
    assert is_replayed(scaled, x)
    namespace["GAIN"] = 3.0
    np.testing.assert_array_equal(scaled(x).get(), (-x * 3.0).get())
    assert is_replayed(scaled, x)
    namespace["np"] = np
    np.testing.assert_array_equal(scaled(x).get(), (-x * 3.0).get())

    bias = quern.ones((50,), np.float32)

    def rebind(to):
        nonlocal bias
        bias = to

    shifted = quern.fuse(lambda a: a + bias)
    assert is_replayed(shifted, x)
    bias += 1
    np.testing.assert_array_equal(shifted(x).get(), (x + 2).get())
    assert not entered(shifted, x)[1]
    rebind(quern.full((50,), 7, np.float32))
    np.testing.assert_array_equal(shifted(x).get(), (x + 7).get())


def test_what_outlives_the_call_is_done_each_time(x, capsys):
    class Model:
        calls = 0

        @quern.fuse
        def run(self, a):
            self.calls += 1
            return a * self.calls

    def noted(a):
        SEEN.append(len(SEEN))
        return a + len(SEEN)

    def printed(a):
        print("here")
        return a + 1

    def filled(a, into):
        into.append(a + 1)
        return a

    model, into = Model(), []
    for turn in range(1, 5):
        np.testing.assert_array_equal(model.run(x).get(), (x * turn).get())
    SEEN.clear()
    fused = quern.fuse(noted)
    for turn in range(1, 5):
        np.testing.assert_array_equal(fused(x).get(), (x + turn).get())
    for fused in (quern.fuse(printed), quern.fuse(lambda a: filled(a, into))):
        for _ in range(4):
            fused(x)
    assert capsys.readouterr().out == "here\n" * 4
    assert len(into) == 4
    appended = quern.fuse(filled)
    for _ in range(4):
        appended(x, into)
    assert len(into) == 8


def test_memory_that_arguments_share(device):
    @quern.fuse
    def step(a, b):
        a += b
        return a * 2

    def apart():
        return quern.arange(60.0), quern.arange(60.0) * 3

    def same():
        a = quern.arange(60.0)
        return a, a

    def beside():
        a = quern.arange(120.0)
        return a[:60], a[60:]

    def across():
        a = quern.arange(61.0)
        return a[:60], a[1:]

    def backwards():
        a = quern.arange(60.0)
        return a, a[::-1]

    for make in (apart, same, beside, across, backwards, across, apart, backwards, same):
        for _ in range(3):
            a, b = make()
            wanted_a, wanted_b = make()
            wanted = step.__wrapped__(wanted_a, wanted_b)
            result = step(a, b)
            np.testing.assert_array_equal(result.get(), wanted.get())
            np.testing.assert_array_equal(a.get(), wanted_a.get())
            np.testing.assert_array_equal(b.get(), wanted_b.get())


def test_what_runs_on_its_own_is_not_left_out(x):
    @quern.fuse
    def made_of_others(a):
        table = quern.asarray([1.0, 2.0, 4.0])
        part = quern.zeros(50, np.float32)
        part[:3] = table
        return a + part, quern.cumsum(a, axis=1) * 2

    for turn in range(4):
        a = x + turn
        for ours, wanted in zip(made_of_others(a), made_of_others.__wrapped__(a), strict=True):
            np.testing.assert_array_equal(ours.get(), wanted.get())


def test_values_are_read_each_time(x):
    @quern.fuse
    def sided(a):
        return a + 1 if float(a.sum()) > 0 else a - 1

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for sign in (1, 1, 1, -1):
            a = quern.abs(x) * sign
            np.testing.assert_array_equal(sided(a).get(), (a + sign).get())
    assert len(caught) == 1
    strict = quern.fuse(sided.__wrapped__, strict=True)
    for _ in range(4):
        with pytest.raises(quern.FusionError, match=r"test_replay\.py"):
            strict(x)


def test_nothing_is_kept(device):
    @quern.fuse
    def double(a, b):
        return a * 2 + b["c"]

    pool = quern.get_default_memory_pool()
    a, b = quern.ones(1000), {"c": quern.ones(1000)}
    assert is_replayed(double, a, b)
    gone = weakref.ref(a)
    gc.collect()
    before = pool.used_bytes()
    results = [double(a, b) for _ in range(8)]
    assert pool.used_bytes() >= before + 8 * 8000
    del results
    assert pool.used_bytes() == before
    del a, b
    assert gone() is None


def test_functions_within_functions(x):
    def helper(a, power=2):
        return a**power

    @quern.fuse
    def inner(a):
        return helper(a) + GAIN

    @quern.fuse
    def outer(a, *, pair):
        return inner(a) * pair[0] + [b * 2 for b in pair][1]

    assert is_replayed(outer, x, pair=(x, x + 1))
    np.testing.assert_allclose(
        outer(x, pair=(x, x + 1)).get(), ((x**2 + GAIN) * x + (x + 1) * 2).get(), rtol=1e-6
    )
