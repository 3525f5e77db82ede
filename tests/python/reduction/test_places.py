"""argmax and argmin where the best comes late, twice, at a type's end, among NaN, or in one block after another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import quern

DTYPES = [
    "int8",
    "uint8",
    "int16",
    "int32",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "complex64",
]
LENGTHS = [1, 63, 64, 65, 1000, 1023, 4096, 5001, 40_000]


def check(x: Any) -> None:
    ours = quern.asarray(x)
    views = [
        (x, ours),
        (x[..., ::-1], ours[..., ::-1]),
        (x[..., ::2], ours[..., ::2]),
        (x.T, ours.T),
    ]
    for name in ("argmax", "argmin"):
        for theirs, view in views:
            for axis in (None, -1, 0):
                wanted = getattr(np, name)(theirs, axis)
                np.testing.assert_array_equal(getattr(quern, name)(view, axis).get(), wanted)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_ever_better(device: quern.Device, dtype: str, length: int) -> None:
    """Each block beats the one before; then each is beaten by the first."""
    rising = (np.arange(length) * 100 // max(length, 1)).astype(dtype)
    check(np.stack([rising, rising[::-1]]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_ends_of_the_type(device: quern.Device, dtype: str) -> None:
    random = np.random.default_rng(3)
    kind = np.dtype(dtype).kind
    ends = [-np.inf, np.inf] if kind in "fc" else [np.iinfo(dtype).min, np.iinfo(dtype).max]
    for at in (0, 700, 4095, 4096, 9000, 9999):
        x = random.integers(10, 100, (3, 10_000)).astype(dtype)
        x[0, at] = ends[1]
        x[1, at:] = ends[0]
        x[2, [at, 9_999]] = ends[1]
        check(x)
        check(np.full((2, 5000), ends[0], dtype))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
def test_nan_wins_wherever_it_stands(device: quern.Device, dtype: str) -> None:
    random = np.random.default_rng(4)
    for at in (0, 5, 4097, 8000, 9999):
        x = random.standard_normal((3, 10_000)).astype(dtype)
        x[0, at] = np.nan
        x[1, at:] = np.nan
        x[2, :at] = np.inf
        check(x)
        for name in ("nanargmax", "nanargmin"):
            found = getattr(quern, name)(quern.asarray(x[[0, 2]]), axis=1)
            np.testing.assert_array_equal(found.get(), getattr(np, name)(x[[0, 2]], axis=1))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("length", [130, 511, 512, 700, 1300])
def test_one_nan_at_every_place(device: quern.Device, dtype: str, length: int) -> None:
    x = np.random.default_rng(5).standard_normal((length, length)).astype(dtype)
    np.fill_diagonal(x, np.nan)
    x[::2] = np.copysign(x[::2], -1)  # NaN of both signs
    x[:, -1] = np.where(np.isnan(x[:, -1]), x[:, -1], np.inf)
    check(x)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("length", [9, 40, 300, 5000])
def test_zeros_of_both_signs_are_equal(device: quern.Device, dtype: str, length: int) -> None:
    x = np.zeros((3, length), dtype)
    x[0, ::3] = x[1, 1::2] = x[2, -1] = -0.0
    check(x)
    check(x + np.arange(length) // 7 % 2)


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_of_all_short_lengths(device: quern.Device, dtype: str) -> None:
    random = np.random.default_rng(5)
    for length in [*range(1, 70), 127, 128, 129, 255, 257, 700]:
        check(random.integers(0, 40, (7, length)).astype(dtype))


@pytest.mark.parametrize("length", [1, 7, 8, 9, 31, 32, 33, 40, 71, 127, 161, 163, 300])
def test_the_only_bool_at_every_place(device: quern.Device, length: int) -> None:
    """Row after row, so that what stands behind a row's end is what is looked for."""
    x = np.eye(length, dtype=bool)
    for rows in (x, ~x, np.vstack((x[::-1], np.zeros((2, length), bool), x | x[::-1]))):
        check(rows)
        check(np.stack((rows, ~rows)))
