"""Memory shared with other libraries, both ways: array interfaces, the buffer protocol, DLPack, __array__."""

import gc
import weakref

import numpy as np
import pytest

import quern


class Foreign:
    """An object that offers CPU memory through __array_interface__ alone."""

    def __init__(self, host: np.ndarray, **changes: object) -> None:
        self.host = host
        self.__array_interface__ = {**host.__array_interface__, **changes}


def on_cpu(device: quern.Device) -> None:
    if not device.is_cpu:
        pytest.skip("of arrays on the CPU")


def on_gpu(device: quern.Device) -> None:
    if device.is_cpu:
        pytest.skip("of arrays on a GPU")


def test_numpy_reads_cpu_arrays_in_place(device, dtype, make):
    on_cpu(device)
    host = make((3, 4), dtype)
    array = quern.asarray(host)
    for ours, theirs in ((array, host), (array.T, host.T), (array[::2, ::-1], host[::2, ::-1])):
        seen = np.asarray(ours)
        assert seen.dtype == dtype
        assert seen.tolist() == theirs.tolist()
        assert seen.strides == theirs.strides
    seen = np.asarray(array)
    seen[0, 0] = 0
    assert array[0, 0].item() == 0


def test_functions_of_numpys_modules(device):
    host = np.arange(12.0).reshape(3, 4)
    array = quern.asarray(host)
    windows = np.lib.stride_tricks.sliding_window_view(array, 2, axis=1)
    assert isinstance(windows, quern.ndarray)
    assert windows.get().tolist() == [[[r, r + 1] for r in row[:-1]] for row in host.tolist()]
    product = np.linalg.matmul(array, array.T)
    assert isinstance(product, quern.ndarray)
    np.testing.assert_allclose(product.get(), host @ host.T)
    for missing in (np.linalg.eigvals, np.fft.fft, np.linalg.norm):
        if (
            getattr(getattr(quern, missing.__module__.split(".")[1]), missing.__name__, None)
            is None
        ):
            with pytest.raises(TypeError, match=missing.__name__):
                missing(array)


def test_functions_of_other_packages(device):
    """Theirs of a name that is NumPy's too is not NumPy's."""

    def total(array):
        return array.sum()

    total.__name__, total.__module__ = "sum", "elsewhere"
    array = quern.ones(3)
    assert array.__array_function__(total, (quern.ndarray,), (array,), {}) is NotImplemented
    assert array.__array_function__(np.sum, (quern.ndarray,), (array,), {}).item() == 3


def test_buffer(device):
    on_cpu(device)
    array = quern.asarray(np.arange(6, dtype="i4").reshape(2, 3))
    view = memoryview(array)
    assert (view.shape, view.strides, view.format, view.readonly) == ((2, 3), (12, 4), "i", False)
    assert view.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert bytes(array) == array.tobytes()
    with pytest.raises((BufferError, ValueError, TypeError), match=r"contiguous|bytes-like"):
        np.frombuffer(array.T)
    reference = weakref.ref(array)
    del array
    assert reference() is not None  # the view holds it
    view.release()
    gc.collect()
    assert reference() is None
    empty = memoryview(quern.zeros((0, 3)))
    assert empty.nbytes == 0
    locked = quern.zeros(3)
    locked.flags.writeable = False
    assert memoryview(locked).readonly
    with pytest.raises(BufferError, match="bfloat16"):
        memoryview(quern.zeros(3, "bfloat16"))


def test_array_interface(device):
    on_cpu(device)
    array = quern.zeros((2, 3), "f")
    interface = array.__array_interface__
    assert interface["shape"] == (2, 3)
    assert interface["typestr"] == "<f4"
    assert interface["strides"] is None
    assert interface["data"] == (array.data.ptr, False)
    assert interface["version"] == 3
    assert array.T.__array_interface__["strides"] == (4, 12)
    assert not hasattr(array, "__cuda_array_interface__")


def test_gpu_arrays_are_never_converted_silently(device):
    on_gpu(device)
    array = quern.zeros((2, 3), "f")
    assert not hasattr(array, "__array_interface__")
    for convert in (
        np.asarray,
        np.array,
        lambda a: a.__array__(),
    ):
        with pytest.raises(
            TypeError, match=r"Implicit conversion to a NumPy array is not allowed.*\.get\(\)"
        ):
            convert(array)
    assert isinstance(np.concatenate([array, array]), quern.ndarray)
    with pytest.raises(BufferError, match="get"):
        memoryview(array)


def test_cuda_array_interface(device):
    on_gpu(device)
    array = quern.asarray(np.arange(6, dtype="f").reshape(2, 3))
    interface = array.__cuda_array_interface__
    assert interface["shape"] == (2, 3)
    assert interface["typestr"] == "<f4"
    assert interface["strides"] is None
    assert interface["data"] == (array.data.ptr, False)
    assert interface["version"] == 3
    assert interface["stream"] == 1
    assert array.T.__cuda_array_interface__["strides"] == (4, 12)
    assert quern.zeros(0).__cuda_array_interface__["data"][0] == 0

    class Other:
        __cuda_array_interface__ = array.T.__cuda_array_interface__

    other = Other()
    taken = quern.asarray(other)
    assert taken.data.ptr == array.data.ptr
    assert taken.base is other
    np.testing.assert_array_equal(taken.get(), array.T.get())
    stream = quern.cuda.Stream(non_blocking=True)
    with stream:
        assert array.__cuda_array_interface__["stream"] == stream.ptr
        np.testing.assert_array_equal(quern.asarray(Other()).get(), array.T.get())


def test_foreign_cpu_memory(device):
    host = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(quern.asarray(Foreign(host)).get(), host)
    array = quern.zeros((2, 3))
    array[...] = Foreign(host)
    np.testing.assert_array_equal(array.get(), host)


def test_foreign_cpu_memory_in_a_kernel(device):
    """Used where it is on the CPU; on a GPU it is memory of another device."""
    host = np.arange(6.0).reshape(2, 3)
    double = quern.ElementwiseKernel("T x", "T y", "y = 2 * x", "quern_test_double")
    if device.is_cpu:
        np.testing.assert_array_equal(double(Foreign(host)).get(), 2 * host)
        np.testing.assert_array_equal(double(Foreign(host.T)).get(), 2 * host.T)
        double(Foreign(host), Foreign(host))
        np.testing.assert_array_equal(host, 2 * np.arange(6.0).reshape(2, 3))
    for odd in (Foreign(host, mask=host), Foreign(host, strides=(8,)), Foreign(host.astype(">f8"))):
        with pytest.raises((ValueError, TypeError)):
            double(odd)
    misaligned = np.frombuffer(b"x" * 17, "u1")[1:].view("f8")
    with pytest.raises(ValueError, match="aligned"):
        double(Foreign(misaligned))
    for numpy_own in (host, np.array(1.0), host[0], [1.0], None, "x", np.longdouble(1)):
        with pytest.raises(TypeError, match=r"Unsupported type.*quern\.asarray"):
            double(numpy_own)


def test_dlpack_to_numpy(device, dtype, make):
    on_cpu(device)
    if dtype.name == "bfloat16":
        pytest.skip("NumPy has no DLPack type for it")
    host = make((3, 4), dtype)
    array = quern.asarray(host)
    assert array.__dlpack_device__() == (1, 0)
    for ours, theirs in ((array, host), (array.T, host.T), (array[1:, ::2], host[1:, ::2])):
        seen = np.from_dlpack(ours)
        assert seen.tolist() == theirs.tolist()
    assert np.from_dlpack(array).ctypes.data == array.data.ptr


def test_dlpack_from_numpy(device, dtype, make, equal):
    if dtype.name == "bfloat16":
        pytest.skip("NumPy has no DLPack type for it")
    host = make((3, 4), dtype)
    for other in (host, host.T, host[::2]):
        taken = quern.from_dlpack(other)
        assert taken.device.is_cpu
        assert taken.data.ptr == other.ctypes.data
        equal(taken, other)
    assert quern.from_dlpack(host, copy=True).data.ptr != host.ctypes.data
    equal(quern.from_dlpack(host, device=device), host)
    host.flags.writeable = False
    assert not quern.from_dlpack(host).flags.writeable


def test_dlpack_of_ours(device, dtype, make, equal):
    host = make((3, 4), dtype)
    array = quern.asarray(host)
    back = quern.from_dlpack(array.T)
    assert back.data.ptr == array.data.ptr
    assert back.device == device
    equal(back, host.T)
    equal(quern.from_dlpack(array.__dlpack__()), host)
    equal(quern.from_dlpack(array.__dlpack__(max_version=(1, 0), copy=True)), host)


def test_dlpack_lifetimes(device):
    owner = np.arange(5)
    reference = weakref.ref(owner)
    array = quern.from_dlpack(owner)[1:]
    del owner
    gc.collect()
    assert reference() is not None
    assert array.get().tolist() == [1, 2, 3, 4]
    del array
    gc.collect()
    assert reference() is None
    quern.zeros(3).__dlpack__()  # a capsule that nobody takes
    capsule = quern.asarray([1, 2]).__dlpack__()
    assert quern.from_dlpack(capsule).get().tolist() == [1, 2]
    with pytest.raises(ValueError, match="taken"):
        quern.from_dlpack(capsule)


def test_dlpack_refuses(device):
    array = quern.zeros(3)
    with pytest.raises(BufferError):
        array.__dlpack__(dl_device=(7, 0))
    with pytest.raises(TypeError, match="__dlpack__"):
        quern.from_dlpack([1, 2])
    if not device.is_cpu:
        with pytest.raises(ValueError, match="ambiguous"):
            array.__dlpack__(stream=0)
    array.flags.writeable = False
    with pytest.raises(BufferError, match="read-only"):
        array.__dlpack__()
    assert not quern.from_dlpack(array).flags.writeable


def test_dlpack_under_cupys_older_names(device):
    ours = quern.arange(6.0, device=device).reshape(2, 3)
    seen = quern.fromDlpack(ours.toDlpack())
    assert seen.data.ptr == ours.data.ptr
    np.testing.assert_array_equal(seen.get(), np.arange(6.0).reshape(2, 3))
    assert quern.fromDlpack(ours).data.ptr == ours.data.ptr
