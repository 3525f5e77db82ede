"""Streams and events: what is current where, waiting, recording, elapsed time."""

import threading

import numpy as np
import pytest

import quern
from quern import cuda


def test_null_stream_is_the_default(device):
    assert cuda.get_current_stream() == cuda.Stream.null
    assert cuda.Stream.null.ptr == 0
    assert cuda.Stream(null=True) == cuda.Stream.null
    assert cuda.Stream.null.device == device
    with pytest.raises(ValueError, match="ptds"):
        cuda.Stream(null=True, ptds=True)


def test_streams_are_distinct_and_hashable(device):
    a, b = cuda.Stream(), cuda.Stream(non_blocking=True)
    assert a != b
    assert a != 5
    assert len({a, b, cuda.ExternalStream(a.ptr)}) == 2
    assert a.__cuda_stream__() == (0, a.ptr)
    assert b.is_non_blocking
    assert not a.is_non_blocking
    assert str(a.ptr) in repr(a)
    assert isinstance(a.priority, int)


def test_with_restores(device):
    a, b = cuda.Stream(), cuda.Stream()
    with a as entered:
        assert entered is a
        assert cuda.get_current_stream() is a
        with b:
            assert cuda.get_current_stream() is b
            with cuda.Stream.null:
                assert cuda.get_current_stream() == cuda.Stream.null
            assert cuda.get_current_stream() is b
        assert cuda.get_current_stream() is a
    assert cuda.get_current_stream() == cuda.Stream.null


def test_use_is_forgotten_after_with(device):
    a, b = cuda.Stream(), cuda.Stream()
    try:
        assert a.use() is a
        assert cuda.get_current_stream() is a
        with b:
            pass
        assert cuda.get_current_stream() == cuda.Stream.null
        with a:
            b.use()
            with cuda.Stream():
                pass
            assert cuda.get_current_stream() is a
    finally:
        cuda.Stream.null.use()


def test_a_used_stream_stays_alive(device):
    try:
        pointer = cuda.Stream().use().ptr
        assert cuda.get_current_stream().ptr == pointer
        array = quern.asarray(np.arange(1000))
        cuda.get_current_stream().synchronize()
        assert array[-1].item() == 999
    finally:
        cuda.Stream.null.use()


def test_with_restores_after_an_error(device):
    with pytest.raises(RuntimeError, match="inside"), cuda.Stream():
        raise RuntimeError("inside")
    assert cuda.get_current_stream() == cuda.Stream.null


def test_current_stream_is_each_threads_own(device):
    seen = []

    def look():
        with device:
            seen.append(cuda.get_current_stream().ptr)

    with cuda.Stream():
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
    assert seen == [0]


def test_work_on_streams(device):
    host = np.arange(10_000, dtype=np.float32)
    a, b = cuda.Stream(non_blocking=True), cuda.Stream(non_blocking=True)
    with a:
        first = quern.asarray(host)
        event = a.record()
    b.wait_event(event)
    with b:
        second = first.copy()
    b.synchronize()
    assert b.done
    assert b.query()
    np.testing.assert_array_equal(second.get(stream=b), host)


def test_external_stream(device):
    made = cuda.Stream()
    external = cuda.ExternalStream(made.ptr)
    assert external == made
    with external:
        assert cuda.get_current_stream() == made
    external.synchronize()
    del external
    made.synchronize()  # still there


def test_stream_arguments(device):
    array = quern.zeros(3)
    stream = cuda.Stream()

    class Theirs:
        ptr = stream.ptr

    class Protocol:
        def __cuda_stream__(self):
            return (0, stream.ptr)

    for given in (None, stream, stream.ptr, Theirs(), Protocol(), cuda.Stream.null):
        assert array.get(stream=given).tolist() == [0, 0, 0]
    with pytest.raises(TypeError, match="stream"):
        array.get(stream="s")


def test_events(device):
    start, end = cuda.Event(), cuda.Event(block=True)
    start.record()
    quern.zeros(1000)
    end.record(cuda.Stream.null)
    end.synchronize()
    assert end.done
    assert start.query()
    assert cuda.get_elapsed_time(start, end) >= 0
    assert start.device == device
    assert start.ptr != 0
    stream = cuda.Stream()
    given = cuda.Event(disable_timing=True)
    assert stream.record(given) is given
    given.synchronize()


def test_elapsed_time_refuses(device):
    start, end = cuda.Event(disable_timing=True), cuda.Event()
    start.record()
    end.record()
    end.synchronize()
    with pytest.raises(quern.DriverError) as error:
        cuda.get_elapsed_time(start, end)
    assert error.value.name.startswith("CUDA_ERROR")
    assert error.value.code > 0
    with pytest.raises(NotImplementedError):
        cuda.Event(interprocess=True)


def test_stream_of_another_device():
    names = quern._core.device_names()
    if len(names) < 2:
        pytest.skip("one device alone")
    with quern.Device(names[0]):
        stream = cuda.Stream()
    with quern.Device(names[1]):
        with pytest.raises(RuntimeError, match=names[0]):
            stream.use()
        with pytest.raises(RuntimeError, match=names[0]), stream:
            pass
        with pytest.raises(ValueError, match=names[0]):
            quern.zeros(3).get(stream=stream)
