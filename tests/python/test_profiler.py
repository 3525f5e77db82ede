"""quern.x.profiler.benchmark: what it calls, how often, and that its times are those of the calls."""

import time

import numpy as np
import pytest

import quern
from quern.x.profiler import benchmark


def test_times_of_calls(device):
    x, calls = quern.ones(1000, device=device), []

    def slow(a, *, by):
        calls.append(1)
        time.sleep(0.002)
        return a + by

    found = benchmark(slow, (x,), {"by": 2}, n_repeat=5, n_warmup=2)
    assert len(calls) == 7
    assert found.cpu_times.shape == (5,)
    assert found.gpu_times.shape == (1, 5)
    assert np.all(found.cpu_times >= 0.002)
    assert np.all(found.gpu_times >= 0)
    assert found.name == "slow"
    assert str(found).startswith("slow")
    assert "CPU:" in str(found)
    assert "GPU:" in str(found)
    assert "GPU:" not in found.to_str()


def test_the_longest_time(device):
    found = benchmark(time.sleep, (0.01,), n_repeat=1000, n_warmup=0, max_duration=0.05, name="nap")
    assert 1 <= found.cpu_times.size <= 5
    assert found.name == "nap"


def test_arguments():
    for wrong in (
        lambda: benchmark(3),
        lambda: benchmark(len, [1]),
        lambda: benchmark(len, ([],), ()),
        lambda: benchmark(len, ([],), n_repeat=0),
        lambda: benchmark(len, ([],), n_repeat=1.5),
        lambda: benchmark(len, ([],), n_warmup=-1),
    ):
        with pytest.raises(ValueError, match="should be"):
            wrong()
