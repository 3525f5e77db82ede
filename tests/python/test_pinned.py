"""NumPy arrays in page-locked memory."""

import gc

import numpy as np
import pytest

import quern


@pytest.mark.parametrize("dtype", ["f4", "D", "?", "i2"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(), 5, (3, 4), (2, 0, 3), [2, 3, 4]])
def test_makers(device, shape, dtype, order):
    made, wanted = quern.x.empty_pinned(shape, dtype, order), np.empty(shape, dtype, order)
    assert type(made) is np.ndarray
    assert (made.shape, made.dtype) == (wanted.shape, wanted.dtype)
    assert made.size == 0 or made.strides == wanted.strides
    assert made.flags.writeable
    zeros = quern.x.zeros_pinned(shape, dtype, order)
    np.testing.assert_array_equal(zeros, np.zeros(shape, dtype))


def test_likes_keep_the_order(device):
    for like in (np.ones((3, 4), "i4"), quern.ones((3, 4), "i4")):
        assert quern.x.empty_like_pinned(like).strides == (16, 4)
        assert quern.x.empty_like_pinned(like.T).strides == (4, 16)
        assert quern.x.zeros_like_pinned(like.T, order="C").strides == (12, 4)
        made = quern.x.zeros_like_pinned(like, "f8", shape=(2, 2))
        assert (made.dtype, made.tolist()) == (np.float64, [[0.0, 0.0], [0.0, 0.0]])


def test_values_go_to_the_device_and_back(device):
    values = np.random.default_rng(5).standard_normal((300, 70))
    made = quern.x.empty_like_pinned(values)
    made[...] = values
    array = quern.asarray(made) * 2
    into = quern.x.empty_pinned(values.shape)
    array.get(out=into)
    np.testing.assert_array_equal(into, values * 2)


def test_memory_returns_to_the_pool_with_the_last_view(device):
    pool = quern.get_default_pinned_memory_pool()
    before = pool.used_bytes()
    view = quern.x.empty_pinned(1 << 20, "u1")[5:7]
    assert pool.used_bytes() >= before + (1 << 20)
    del view
    gc.collect()
    assert pool.used_bytes() == before


def test_complaints(device):
    with pytest.raises(ValueError, match="negative dimensions"):
        quern.x.empty_pinned((2, -1))
    with pytest.raises(ValueError, match="order must be"):
        quern.x.empty_pinned(3, order="K")
    with pytest.raises(TypeError, match="subok"):
        quern.x.empty_like_pinned(np.ones(2), subok=True)
