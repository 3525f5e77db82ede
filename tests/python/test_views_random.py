"""Views against NumPy's at random: indices, axes and shapes; the same values, shapes and strides."""

import numpy as np
import pytest

import quern

pytest.importorskip("hypothesis")  # a bare GPU machine may not have it

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

relaxed = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
shapes = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5)


def numbers(shape):
    return np.arange(int(np.prod(shape)), dtype=np.int32).reshape(shape)


def same(ours, theirs):
    """A view like NumPy's, of the same values: strides are compared where NumPy defines them."""
    assert ours.shape == theirs.shape
    assert ours.get().tolist() == theirs.tolist()
    if theirs.size:
        for extent, mine, other in zip(theirs.shape, ours.strides, theirs.strides, strict=True):
            assert extent == 1 or mine == other
    assert ours.flags.c_contiguous == theirs.flags.c_contiguous
    assert ours.flags.f_contiguous == theirs.flags.f_contiguous


@given(data=st.data(), shape=shapes)
@relaxed
def test_basic_indexing(device, data, shape):
    host = numbers(shape)
    index = data.draw(hnp.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True, max_dims=7))
    array = quern.asarray(host)
    # NumPy gives a scalar where we give a 0-d array.
    same(array[index], np.asarray(host[index]))


@given(data=st.data(), shape=shapes)
@relaxed
def test_assignment(device, data, shape):
    host = numbers(shape)
    array = quern.asarray(host)
    index = data.draw(hnp.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True, max_dims=7))
    value = -numbers(np.asarray(host[index]).shape)
    host[index] = value
    array[index] = value
    assert array.get().tolist() == host.tolist()


@given(data=st.data(), shape=shapes)
@relaxed
def test_transpose(device, data, shape):
    host = numbers(shape)
    array = quern.asarray(host)
    axes = data.draw(st.permutations(range(len(shape))))
    same(array.transpose(axes), host.transpose(axes))
    same(array.T, host.T)
    same(quern.transpose(array, axes), host.transpose(axes))
    if len(shape) >= 2:
        same(array.swapaxes(0, -1), host.swapaxes(0, -1))
        same(array.mT, host.mT)
        same(array.diagonal(1), host.diagonal(1))
        same(quern.moveaxis(array, 0, -1), np.moveaxis(host, 0, -1))
    if len(shape) >= 1:
        same(array.transpose(*axes), host.transpose(*axes))


@given(shape=hnp.array_shapes(max_dims=4, max_side=4), data=st.data())
@relaxed
def test_reshape_views(device, shape, data):
    host = numbers(shape)
    array = quern.asarray(host)
    target = data.draw(st.permutations(shape))
    for order in ("C", "F", "A"):
        same(array.reshape(target, order=order), host.reshape(target, order=order))
    same(array.reshape(-1), host.reshape(-1))
    same(array.ravel(), host.ravel())
    same(array.squeeze(), host.squeeze())
    same(quern.expand_dims(array, (0, -1)), np.expand_dims(host, (0, -1)))


@given(shapes=hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=4, max_side=4))
@relaxed
def test_broadcast(device, shapes):
    first, _ = shapes.input_shapes
    host = numbers(first)
    view = quern.broadcast_to(quern.asarray(host), shapes.result_shape)
    same(view, np.broadcast_to(host, shapes.result_shape))
    assert not view.flags.writeable
    assert quern.broadcast_shapes(*shapes.input_shapes) == shapes.result_shape
