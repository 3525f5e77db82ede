"""quern.x beside pinned memory, scatters and benchmark: rsqrt, error states, forbidden waits, named ranges."""

from __future__ import annotations

import threading
from unittest import mock

import ml_dtypes
import numpy as np
import pytest

import quern
from quern.x import DeviceSynchronized, allow_synchronize, profiler


@pytest.mark.parametrize("letter", ["e", "f", "d", "F", "D"])
def test_rsqrt(device, letter):
    random = np.random.default_rng(3)
    x = np.exp(random.uniform(-9, 9, 1000)).astype(letter)
    if letter in "FD":
        x = x * np.exp(1j * random.uniform(-3, 3, 1000)).astype(letter)
    got = quern.x.rsqrt(quern.asarray(x))
    assert got.dtype == x.dtype
    exact = 1 / np.sqrt(x.astype("D" if letter in "FD" else "d"))
    assert np.max(np.abs(got.get() - exact) / np.abs(exact)) < 4 * np.finfo(letter).eps
    if letter in "efd":
        ends = quern.x.rsqrt(quern.asarray(np.array([0, -0.0, np.inf, -1, np.nan], letter))).get()
        np.testing.assert_array_equal(ends, [np.inf, -np.inf, 0, np.nan, np.nan])


def test_rsqrt_of_other_types(device):
    for values in (np.arange(1, 9), np.arange(1, 9, dtype="u1"), np.array([True, True])):
        got = quern.x.rsqrt(quern.asarray(values))
        theirs = 1 / np.sqrt(values)
        assert got.dtype == theirs.dtype
        np.testing.assert_allclose(got.get(), theirs, rtol=2e-3)
    assert quern.x.rsqrt(quern.ones(2, ml_dtypes.bfloat16)).dtype == ml_dtypes.bfloat16
    out = quern.empty(2, "f8")
    assert quern.x.rsqrt(quern.ones(2, "f4"), out) is out
    assert quern.x.rsqrt(quern.ones(2), out=out).tolist() == [1, 1]
    assert not hasattr(quern, "rsqrt")  # NumPy has none


def test_error_states():
    assert quern.x.geterr()["linalg"] == "ignore"
    with quern.x.errstate(linalg="raise"):
        assert quern.x.geterr()["linalg"] == "raise"
        with quern.x.errstate():
            assert quern.x.geterr()["linalg"] == "raise"
        elsewhere = []
        other = threading.Thread(target=lambda: elsewhere.append(quern.x.geterr()["linalg"]))
        other.start()
        other.join()
        assert elsewhere == ["ignore"]
    assert quern.x.geterr()["linalg"] == "ignore"
    before = quern.x.seterr(linalg="raise")
    assert before["linalg"] == "ignore"
    assert quern.x.seterr(**before)["linalg"] == "raise"
    for wrong in ({"divide": "raise"}, {"invalid": "warn"}, {"linalg": "print"}):
        with pytest.raises(NotImplementedError):
            quern.x.seterr(**wrong)


WAITS = {
    "get": lambda a: a.get(),
    "item": lambda a: a[0].item(),
    "float": lambda a: float(a[0]),
    "bool": lambda a: bool(a[0] > 0),
    "int": lambda a: int(a[0]),
    "repr": repr,
    "tolist": lambda a: a.tolist(),
    "nonzero": quern.nonzero,
    "mask": lambda a: a[a > 0],
    "unique": quern.unique,
    "device": lambda a: a.device.synchronize(),
    "isin": lambda a: quern.isin(a.astype(int), quern.arange(3)) if a.device.is_cpu else a.get(),
}


@pytest.mark.parametrize("name", WAITS)
def test_forbidden_waits(device, name):
    a = quern.arange(5.0)
    with allow_synchronize(False), pytest.raises(DeviceSynchronized, match="allow_synchronize"):
        WAITS[name](a)
    WAITS[name](a)


def test_what_does_not_wait_is_allowed(device):
    a = quern.asarray(np.linspace(0, 1, 12).reshape(3, 4))
    with allow_synchronize(False):
        b = quern.array([1.0, 2, 3, 4])
        made = quern.sort(quern.median((a + b) @ a.T, axis=0))
        a[quern.asarray([0, 2])] = 5
        a[a > 4] = 7
        with allow_synchronize(True):
            assert made.get().shape == (3,)
        with pytest.raises(DeviceSynchronized):
            made.get()
    assert made.get().shape == (3,)
    assert issubclass(DeviceSynchronized, RuntimeError)


def test_waits_are_forbidden_to_one_thread(device):
    a, got = quern.arange(3), []
    with allow_synchronize(False):
        other = threading.Thread(target=lambda: got.append(a.tolist()))
        other.start()
        other.join()
    assert got == [[0, 1, 2]]


def test_ranges(device):
    with (
        mock.patch("quern.cuda.nvtx.RangePush") as push,
        mock.patch("quern.cuda.nvtx.RangePop") as pop,
    ):
        with profiler.time_range("load"):
            push.assert_called_once_with("load", -1)
            pop.assert_not_called()
        pop.assert_called_once_with()

        @profiler.time_range(sync=True)
        def work(x):
            """What it does."""
            return x + 1

        assert work(1) == 2
        assert work.__name__ == "work"
        assert work.__doc__ == "What it does."
        push.assert_called_with("work", -1)
        assert pop.call_count == 2

        @profiler.time_range("named", color_id=3)
        def fails():
            raise KeyError

        with pytest.raises(KeyError):
            fails()
        push.assert_called_with("named", 3)
        assert pop.call_count == 3
    with (
        mock.patch("quern.cuda.nvtx.RangePushC") as push,
        profiler.time_range("c", argb_color=0xFF00FF00),
    ):
        push.assert_called_once_with("c", 0xFF00FF00)
    with pytest.raises(ValueError, match="not both"):
        profiler.time_range("c", 1, 2)
    with pytest.raises(ValueError, match="message"), profiler.time_range():
        pass


def test_marks_with_nobody_listening():
    from quern.cuda import nvtx

    assert nvtx.available
    nvtx.RangePush("outer")
    nvtx.RangePush("inner", 2)
    nvtx.RangePushC("green", 0xFF00FF00)
    nvtx.Mark("here", 100)
    nvtx.MarkC("there", 1)
    for _ in range(3):
        nvtx.RangePop()
