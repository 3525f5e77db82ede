"""Masks by tiles as GPUs walk them, and as the device does: whole tiles and parts, that begin anywhere, any layout."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

import quern

TILE = 8192  # elements
SIZES = (1, 15, 16, 17, 1000, TILE - 1, TILE, TILE + 1, 5 * TILE + 77)


@pytest.fixture(autouse=True, params=["tiles", "own"])
def layout(request, plan_as):
    with plan_as(gpu_layout=True) if request.param == "tiles" else nullcontext():
        yield


def drawn(size, density, seed=0):
    return np.random.default_rng(seed + size).random(size) < density


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("density", [0.0, 0.001, 0.01, 0.03, 0.5, 0.98, 0.999, 1.0])
def test_find_pick_and_fill(device, size, density):
    m = drawn(size, density)
    x = np.random.default_rng(size).integers(-99, 99, size).astype(np.int16)
    mask, ours = quern.asarray(m), quern.asarray(x)
    np.testing.assert_array_equal(mask.nonzero()[0].get(), m.nonzero()[0])
    np.testing.assert_array_equal(ours[mask].get(), x[m])
    values = np.arange(m.sum()).astype(np.int16)
    x[m], ours[mask] = values, quern.asarray(values)
    np.testing.assert_array_equal(ours.get(), x)
    for count in (1, 7, 40):
        values = np.arange(-count, 0).astype(np.int16)
        np.place(x, m, values)
        quern.place(ours, mask, quern.asarray(values))
        np.testing.assert_array_equal(ours.get(), x)


@pytest.mark.parametrize("start", [1, 3, 15, 16, 31])
def test_masks_that_begin_anywhere(device, start):
    m = drawn(2 * TILE, 0.4)
    x = np.arange(2 * TILE, dtype=np.float64)
    mask, ours = quern.asarray(m)[start:-3], quern.asarray(x)[start:-3]
    np.testing.assert_array_equal(ours[mask].get(), x[start:-3][m[start:-3]])
    np.testing.assert_array_equal(mask.nonzero()[0].get(), m[start:-3].nonzero()[0])


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float32", "complex64", "complex128"])
def test_dtypes_and_axes(device, dtype):
    x = np.random.default_rng(1).integers(0, 2, (37, 51, 11)).astype(dtype)
    m = drawn(x.size, 0.3).reshape(x.shape)
    mask, ours = quern.asarray(m), quern.asarray(x)
    np.testing.assert_array_equal(ours[mask].get(), x[m])
    for mine, theirs in zip(mask.nonzero(), m.nonzero(), strict=True):
        np.testing.assert_array_equal(mine.get(), theirs)


def test_arrays_and_masks_of_other_layouts(device):
    x, m = np.random.default_rng(2).random((300, 200)), drawn(60_000, 0.5).reshape(300, 200)
    ours, mask = quern.asarray(x), quern.asarray(m)
    np.testing.assert_array_equal(ours.T[mask.T].get(), x.T[m.T])
    np.testing.assert_array_equal(ours[::-1, ::2][mask[:, ::2]].get(), x[::-1, ::2][m[:, ::2]])
    values = np.random.default_rng(3).random(int(m[:, 1::2].sum()))
    x[:, 1::2][m[:, 1::2]] = values
    ours[:, 1::2][mask[:, 1::2]] = quern.asarray(values)
    np.testing.assert_array_equal(ours.get(), x)
    np.place(x, m, [1.0, 2.0, 3.0])
    quern.place(ours, mask, quern.asarray([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(ours.get(), x)


def test_refusals_leave_the_array_as_it_is(device):
    ours, mask = quern.arange(10), quern.asarray([True, False] * 5)
    with pytest.raises(ValueError, match="cannot assign 3 input values to the 5"):
        ours[mask] = quern.arange(3)
    np.testing.assert_array_equal(ours.get(), np.arange(10))
