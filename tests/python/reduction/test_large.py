"""Arrays of more than 2^31 elements, and sums of 2^28: on GPUs, where there is room and time."""

import numpy as np
import pytest

import quern

MANY = (1 << 31) + 4099


pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def free_memory(device):
    yield
    quern.get_default_memory_pool().free_all_blocks()


def test_more_than_two_billion_elements():
    array = quern.zeros(MANY, "int8")
    array[MANY - 5] = 7
    array[3] = -2
    assert int(array.argmax()) == MANY - 5
    assert int(array.argmin()) == 3
    assert int(array.sum()) == 5
    assert int(quern.count_nonzero(array)) == 2
    assert bool(array.any())
    assert not bool(array.all())
    assert int(array[::-1].argmax()) == 4
    np.testing.assert_allclose(float(array.var()), 53 / MANY, rtol=1e-9)
    np.testing.assert_allclose(float(array.mean()), 5 / MANY, rtol=1e-12)


@pytest.mark.parametrize("shape", [(65543, 32771), (32771, 65543), (3, 1 << 20, 690)])
def test_many_rows_and_columns(shape):
    fill = quern.ElementwiseKernel("", "int8 y", "y = i % 101 - 50", "fill")
    array = fill(quern.empty(shape, "int8"))
    host = np.resize(np.arange(-50, 51, dtype="i1"), int(np.prod(shape))).reshape(shape)
    for axis in range(len(shape)):
        np.testing.assert_array_equal(array.sum(axis=axis).get(), host.sum(axis=axis))
        np.testing.assert_array_equal(array.max(axis=axis).get(), host.max(axis=axis))
        np.testing.assert_array_equal(array.argmax(axis=axis).get(), host.argmax(axis=axis))


def test_cumulative_sum_of_more_than_two_billion():
    array = quern.ones(MANY, "int8")
    sums = quern.cumsum(array, dtype="uint32")
    for place in (0, 1 << 20, (1 << 31) - 1, 1 << 31, MANY - 1):
        assert int(sums[place]) == place + 1


def test_sums_are_as_near_as_numpys():
    values = np.random.default_rng(5).random(1 << 28, np.float32)
    exact = values.sum(dtype="f8")
    array = quern.asarray(values)
    for name in ("sum", "mean"):
        truth = exact if name == "sum" else exact / values.size
        ours = abs(float(getattr(array, name)()) - truth)
        assert ours <= max(
            abs(float(getattr(values, name)()) - truth), np.spacing(np.float32(truth))
        )
    shifted = values + np.float32(1000)
    np.testing.assert_allclose(
        float(quern.asarray(shifted).var()), shifted.var(dtype="f8"), rtol=1e-4
    )
