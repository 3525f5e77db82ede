"""Copies move bytes, whatever they stand for: through tiles where they turn, by rows anywhere in their pages."""

from __future__ import annotations

import numpy as np
import pytest

import quern

DTYPES = ("?", "i1", "u2", "e", "f", "q", "d", "F", "D")


def values(shape, dtype):
    random = np.random.default_rng(7)
    bits = random.integers(0, 256, int(np.prod(shape)) * np.dtype(dtype).itemsize, np.uint8)
    if dtype == "?":
        bits &= 1
    return bits.view(dtype).reshape(shape)


def same_bytes(found, expected):
    assert found.dtype == expected.dtype
    assert quern.asnumpy(found).tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(70, 90), (129, 16), (15, 257), (5, 40, 70), (100, 3, 33)])
def test_turned(device, shape, dtype):
    x = values(shape, dtype)
    ours = quern.asarray(x)
    for turn in (
        lambda a: a.T,
        lambda a: a.T[::-1],
        lambda a: a[:, 1:].T,
        lambda a: a.swapaxes(0, 1),
        lambda a: a.T[..., ::2],
    ):
        same_bytes(turn(ours).copy("C"), turn(x).copy("C"))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("by", [1, 3, 64, 257, -5])
def test_rows_that_lie_a_little_apart(device, by, dtype):
    """Long rows are moved in one go where that is fast: a row a little behind its source in the page is not."""
    x = values((9, 1500), dtype)
    same_bytes(quern.roll(quern.asarray(x), by, 1), np.roll(x, by, 1))
    same_bytes(quern.tile(quern.asarray(x[0]), 7), np.tile(x[0], 7))
    ours = quern.asarray(x)
    ours[:, 5:] = ours[:, :-5]
    x[:, 5:] = x[:, :-5].copy()
    same_bytes(ours, x)


def test_numbers_that_are_no_usual_ones(device):
    """Signalling NaN and signed zeros come through as they are."""
    bits = np.array([0x7F800001, 0xFFA00000, 0x80000000, 1] * 500, np.uint32).reshape(40, 50)
    same_bytes(quern.asarray(bits.view("f")).T.copy(), bits.T.copy().view("f"))
    same_bytes(quern.asarray(bits.view("f"))[:, ::-1].copy(), bits[:, ::-1].copy().view("f"))


@pytest.mark.parametrize("dtype", ["i1", "e", "f", "d", "F", "D"])
def test_a_step_apart(device, dtype):
    """Casts and ufuncs of elements that are some steps apart."""
    x = np.random.default_rng(3).uniform(1, 90, (60, 301)).astype(dtype)
    ours = quern.asarray(x)
    for part in (np.s_[:, ::3], np.s_[:, ::-2], np.s_[::2, 7], np.s_[:, 5:5]):
        for to in ("i4", "f", "d"):
            same_bytes(ours[part].real.astype(to), x[part].real.astype(to))
        np.testing.assert_array_equal(
            quern.asnumpy(ours[part] + ours[part]), x[part] + x[part], strict=True
        )
