"""argmax and argmin of bytes in a GPU's layout, whose threads take a pack of neighbours in one step."""

from __future__ import annotations

import numpy as np
import pytest

import quern
from quern import _core

SHAPES = [(16,), (100,), (4096,), (70_003,), (300, 64), (7, 5000), (40, 16, 48)]


@pytest.fixture(autouse=True)
def as_gpus_do(plan_as):
    with plan_as(gpu_layout=True):
        yield


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("span", [1, 4, 256])
def test_the_first_of_the_best(device, shape, dtype, span):
    random = np.random.default_rng(span)
    low = -(span // 2) if dtype == "int8" else 0
    x = random.integers(low, low + span, shape).astype(dtype)
    ours = quern.asarray(x)
    for name in ("argmax", "argmin"):
        for axis in (None, *range(x.ndim)):
            wanted = getattr(np, name)(x, axis)
            np.testing.assert_array_equal(getattr(quern, name)(ours, axis).get(), wanted)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_one_best_anywhere(device, dtype):
    for extreme, name in ((127, "argmax"), (0, "argmin")):
        x = np.full(4096, 64, dtype)
        for at in (0, 1, 2, 3, 15, 16, 17, 2047, 4094, 4095):
            x[at] = extreme
            assert int(getattr(quern, name)(quern.asarray(x))) == at
            x[at] = 64


def test_views_that_are_no_packs(device):
    x = np.random.default_rng(0).integers(-128, 128, (64, 260)).astype(np.int8)
    ours = quern.asarray(x)
    for view in (np.s_[:, 1:], np.s_[:, ::2], np.s_[::-1], np.s_[1:, 3:100]):
        assert int(ours[view].argmax()) == x[view].argmax()
        np.testing.assert_array_equal(ours[view].argmin(1).get(), x[view].argmin(1))
    assert int(ours.T.argmax()) == x.T.argmax()


def test_the_plan_is_of_packs(device):
    text = _core.explain_reduce("argmax", quern.zeros(1 << 16, "int8"), None)
    assert "rows x16" in text, text
