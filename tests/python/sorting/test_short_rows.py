"""Rows of up to 256, many at once: equal values in their order, zeros of both signs, NaN last, rows left over."""

from __future__ import annotations

import numpy as np
import pytest

import quern

DTYPES = [
    "bool",
    "int8",
    "uint16",
    "int32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]


def rows_of(dtype: str, rows: int, length: int) -> np.ndarray:
    random = np.random.default_rng(length)
    x = random.integers(0, 2 if dtype == "bool" else 30, (rows, length)).astype(dtype)
    if np.dtype(dtype).kind in "fc":
        x[random.random(x.shape) < 0.05] = np.nan
        x[random.random(x.shape) < 0.05] = -0.0
        x[random.random(x.shape) < 0.05] = 0.0
        x[random.random(x.shape) < 0.05] = -np.inf
    return x


@pytest.mark.parametrize("length", [2, 3, 7, 16, 33, 64, 100, 255, 256])
@pytest.mark.parametrize("dtype", DTYPES)
def test_like_numpys_stable_sort(device: quern.Device, dtype: str, length: int) -> None:
    for rows in (1, 7, 8, 9, 67):
        x = rows_of(dtype, rows, length)
        ours = quern.asarray(x)
        places = np.argsort(x, axis=1, kind="stable")
        np.testing.assert_array_equal(quern.argsort(ours, axis=1).get(), places)
        np.testing.assert_array_equal(quern.sort(ours, axis=1).get(), np.sort(x, axis=1))
        np.testing.assert_array_equal(quern.argsort(ours.T, axis=0).get(), places.T)
        ours.sort(axis=1)
        np.testing.assert_array_equal(ours.get(), np.sort(x, axis=1))


@pytest.mark.parametrize("dtype", ["int8", "float32", "float64"])
def test_by_several_keys(device: quern.Device, dtype: str) -> None:
    first, second = rows_of(dtype, 40, 50), rows_of("int32", 40, 50)
    found = quern.lexsort((quern.asarray(second), quern.asarray(first)), axis=-1)
    np.testing.assert_array_equal(found.get(), np.lexsort((second, first), axis=-1))
