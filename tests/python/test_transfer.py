"""Values from NumPy to a device and back: every dtype, every layout, every option of get and set."""

import numpy as np
import pytest

import quern


def test_round_trip(device, dtype, layout, make, equal):
    host = layout(make((5, 7), dtype))
    equal(quern.asarray(host), host)


def test_round_trip_of_shapes(device, dtype, make, equal):
    for shape in [(), (0,), (1,), (3, 0, 2), (2, 3, 4), (1, 1, 1, 1, 1, 1, 1, 1)]:
        host = make(shape, dtype)
        equal(quern.asarray(host), host)


def test_layout_is_kept(device):
    host = np.asfortranarray(np.arange(12.0).reshape(3, 4))
    array = quern.array(host)
    assert array.flags.f_contiguous
    assert not array.flags.c_contiguous
    assert array.strides == host.strides
    assert quern.array(host, order="C").strides == (32, 8)
    assert quern.array(host.copy("C"), order="F").strides == (8, 24)


def test_get_order(device):
    array = quern.asarray(np.arange(12.0).reshape(3, 4))
    assert array.get(order="C").flags.c_contiguous
    assert array.get(order="F").flags.f_contiguous
    assert array.T.get(order="A").flags.f_contiguous
    assert array.T.get().flags.c_contiguous
    np.testing.assert_array_equal(array.T.get(order="F"), np.arange(12.0).reshape(3, 4).T)
    with pytest.raises(ValueError, match="order"):
        array.get(order="X")


def test_get_out(device):
    host = np.arange(12, dtype=np.float32).reshape(3, 4)
    array = quern.asarray(host)
    for out in (
        np.empty((3, 4), "f"),
        np.empty((3, 4), "f", order="F"),
        np.empty((6, 8), "f")[::2, ::2],
    ):
        assert array.get(out=out) is out
        np.testing.assert_array_equal(out, host)
    with pytest.raises(TypeError, match="dtype"):
        array.get(out=np.empty((3, 4)))
    with pytest.raises(ValueError, match="Shape mismatch"):
        array.get(out=np.empty((4, 3), "f"))
    read_only = np.empty((3, 4), "f")
    read_only.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        array.get(out=read_only)
    with pytest.raises(TypeError, match=r"numpy\.ndarray"):
        array.get(out=[0])


def test_get_on_a_stream(device):
    host = np.arange(1000, dtype=np.int32)
    stream = quern.cuda.Stream(non_blocking=True)
    array = quern.asarray(host)
    device.synchronize()
    values = array.get(stream=stream, blocking=False)
    stream.synchronize()
    np.testing.assert_array_equal(values, host)


def test_set(device, dtype, layout, make, equal):
    array = quern.zeros((5, 7), dtype)
    host = layout(make((5, 7), dtype))
    array.set(host)
    equal(array, host)


def test_set_refuses(device):
    array = quern.zeros((2, 3), "f")
    with pytest.raises(TypeError, match=r"numpy\.ndarray"):
        array.set([[1, 2, 3], [4, 5, 6]])
    with pytest.raises(TypeError, match="float64 array cannot be set to float32 array"):
        array.set(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="Shape mismatch"):
        array.set(np.zeros((3, 2), "f"))


def test_source_may_change_at_once(device):
    host = np.arange(100_000)
    array = quern.asarray(host)
    host[...] = -1
    np.testing.assert_array_equal(array.get(), np.arange(100_000))


def test_asnumpy(device):
    array = quern.asarray([1.0, 2.0])
    np.testing.assert_array_equal(quern.asnumpy(array), [1.0, 2.0])
    out = np.empty(2)
    assert quern.asnumpy(array, out=out) is out
    np.testing.assert_array_equal(quern.asnumpy([3, 4]), [3, 4])


def test_to_another_device(make, equal, cpu_kernels):
    names = quern._core.device_names()
    host = np.asfortranarray(make((4, 5), "f"))
    for source in names:
        for target in names:
            array = quern.asarray(host, device=source)
            moved = quern.asarray(array, device=target)
            assert moved.device == quern.Device(target)
            assert (moved is array) == (source == target)
            equal(moved, host)
