"""Copies of rows of every length, to every place in a line of the caches and a page: nothing beside them is touched."""

import numpy as np
import pytest

import quern


def filled(random: np.random.Generator, count: int, dtype: str) -> np.ndarray:
    return random.integers(0, 100, count).astype(dtype)


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64", "complex128"])
def test_rows_of_every_length(dtype: str) -> None:
    random = np.random.default_rng(3)
    longest = 400 // np.dtype(dtype).itemsize
    for length in [*range(1, longest, 3), 1100, 5000]:
        start, pitch = random.integers(0, 70), length + random.integers(1, 70)
        source = filled(random, 5 * pitch, dtype).reshape(5, pitch)
        target = filled(random, start + 5 * pitch, dtype)
        wanted, found = target.copy(), quern.asarray(target)
        wanted[start:].reshape(5, pitch)[:, :length] = source[:, -length:]
        found[start:].reshape(5, pitch)[:, :length] = quern.asarray(source)[:, -length:]
        assert np.array_equal(found.get(), wanted), length
        wanted[start:].reshape(5, pitch)[:, :length] = source[0, :length]  # one row over and over
        found[start:].reshape(5, pitch)[:, :length] = quern.asarray(source)[0, :length]
        assert np.array_equal(found.get(), wanted), length


@pytest.mark.parametrize("behind", [*range(70), 100, 255, 256, 4095])
def test_places_in_a_page(behind: int) -> None:
    random = np.random.default_rng(behind)
    for count in (63, 700, 5000, 70_000):
        source, target = (filled(random, count + 5000, "int8") for _ in range(2))
        wanted, found = target.copy(), quern.asarray(target)
        wanted[behind : behind + count] = source[20 : 20 + count]
        found[behind : behind + count] = quern.asarray(source)[20 : 20 + count]
        assert np.array_equal(found.get(), wanted)


@pytest.mark.parametrize("dtype", ["int8", "int32", "float32", "float64", "complex64"])
@pytest.mark.parametrize("step", [-3, -1, 2, 5])
def test_elements_apart(dtype: str, step: int) -> None:
    random = np.random.default_rng(7)
    x = filled(random, 4001, dtype)
    y = quern.asarray(x)
    assert np.array_equal(y[::step].get(), x[::step])
    assert np.array_equal((y[::step] + y[::step]).get(), x[::step] + x[::step])
    assert np.array_equal((y[::step] * y[::step] - 3).get(), x[::step] * x[::step] - 3)
    wanted, found = x.copy(), y.copy()
    wanted[::step] = wanted[: len(wanted[::step])].copy()
    found[::step] = found[: len(wanted[::step])].copy()
    assert np.array_equal(found.get(), wanted)
