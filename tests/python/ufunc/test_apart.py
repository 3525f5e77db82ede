"""Elements that stand apart: views by steps, of every width, of lengths around those that loops are cut by."""

from __future__ import annotations

import numpy as np
import pytest

import quern

STEPS = [2, 3, 4, 7, -1, -2]
LENGTHS = [1, 2, 3, 17, 511, 512, 513, 1025]
DTYPES = ["bool", "int8", "uint16", "int32", "float16", "float32", "float64", "complex64"]


def view_of(base, step, length, offset):
    return base[offset:][::step][:length]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_like_side_by_side(device: quern.Device, dtype: str, step: int) -> None:
    random = np.random.default_rng(step + 10)
    base = random.integers(0, 2 if dtype == "bool" else 100, 1030 * abs(step)).astype(dtype)
    ours = quern.asarray(base)
    for length in LENGTHS:
        x, y = view_of(base, step, length, 1), view_of(ours, step, length, 1)
        near = quern.asarray(x.copy())
        pairs = [
            (y.copy(), near),
            (y + y[::-1], near + near[::-1]),
            (y == near, near == near),
            (y.astype("complex128"), near.astype("complex128")),
            (quern.exp(y), quern.exp(near)),
            (quern.where(y != 0, y, near), near),
        ]
        for found, wanted in pairs:
            np.testing.assert_array_equal(found.get(), wanted.get())
        np.testing.assert_array_equal(y.get(), x)


@pytest.mark.parametrize("step", [2, 4, -1, 5])
@pytest.mark.parametrize("dtype", ["uint8", "float32", "float64"])
def test_written_in_place(device: quern.Device, dtype: str, step: int) -> None:
    """An output may be its input: what is read first is what stood there."""
    random = np.random.default_rng(2)
    base = random.integers(1, 9, 1025 * abs(step)).astype(dtype)
    ours = quern.asarray(base)
    x, y = base[::step], ours[::step]
    y *= 3
    x *= 3
    quern.sqrt(y, out=y, casting="unsafe")
    np.sqrt(x, out=x, casting="unsafe")
    np.testing.assert_array_equal(ours.get(), base)


def test_rows_and_columns(device: quern.Device) -> None:
    image = np.random.default_rng(4).integers(0, 256, (67, 45, 3)).astype(np.uint8)
    ours = quern.asarray(image)
    for index in (
        np.s_[..., 0],
        np.s_[:, ::2, 1],
        np.s_[::-1, :, 2],
        np.s_[:, ::-1],
        np.s_[::2, ::4],
    ):
        x, y = image[index], ours[index]
        np.testing.assert_array_equal((y // 3 + y).get(), x // 3 + x)
        np.testing.assert_array_equal(y.astype("float32").get(), x.astype("float32"))


def test_kernels_that_write_their_inputs(device: quern.Device) -> None:
    """`_non_const` inputs and raw arrays are met where they are, one element after the other."""
    kernel = quern.ElementwiseKernel(
        "_non_const T x, raw T far", "T y", "x += 1; y = x + far[i]", "writes_its_input"
    )
    base = np.arange(4000, dtype="float32")
    ours = quern.asarray(base)
    y = kernel(ours[::4], ours)
    np.testing.assert_array_equal(ours.get()[1::4], base[1::4])
    np.testing.assert_array_equal(ours.get()[::4], base[::4] + 1)
    assert y.shape == (1000,)
