"""Copies, conversions, numbers, text and pickles of arrays, by NumPy's rules."""

import copy
import pickle
import weakref

import numpy as np
import pytest

import quern


def test_attributes(device, dtype, make):
    for shape in [(), (0,), (3,), (2, 3, 4)]:
        host = make(shape, dtype)
        array = quern.asarray(host)
        if host.size:  # strides over no elements mean nothing, and NumPy's versions differ
            assert array.strides == host.strides
        for name in ("shape", "size", "ndim", "nbytes", "itemsize", "dtype"):
            assert getattr(array, name) == getattr(host, name), name
        assert array.device == device
        assert array.data.ptr == array.data.mem.ptr
        assert array.data.device == device
        assert array.data.mem.size >= array.nbytes
    with pytest.raises(AttributeError):
        array.size = 3


def test_flags(device):
    array = quern.zeros((2, 3))
    assert array.flags["C_CONTIGUOUS"]
    assert not array.flags["F"]
    assert array.flags["OWNDATA"]
    assert array.flags.writeable
    assert "C_CONTIGUOUS : True" in repr(array.flags)
    array.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        array.fill(1)
    view = array[0]
    with pytest.raises(ValueError, match="WRITEABLE"):
        view.flags.writeable = True
    array.flags["WRITEABLE"] = True
    array[0] = 1
    with pytest.raises(KeyError):
        array.flags["NONSENSE"]


def test_copy(device, dtype, layout, make, equal):
    host = layout(make((4, 5), dtype))
    array = quern.asarray(host)[:, ::-1]
    host = host[:, ::-1]
    for order in "CFAK":
        made = array.copy(order)
        equal(made, host)
        assert made.base is None
        assert made.flags.c_contiguous == array.copy(order).flags.c_contiguous
    assert array.copy().flags.c_contiguous
    assert array.copy("F").flags.f_contiguous
    equal(copy.copy(array), host)
    equal(copy.deepcopy([array])[0], host)
    changed = array.copy()
    changed[...] = 0
    equal(array, host)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("target", "?bhilBHILefdFD")
def test_astype(device, dtype, target, make, equal):
    host = (
        abs(make((3, 4), dtype)) if target in "BHIL" and dtype.kind != "b" else make((3, 4), dtype)
    )
    if host.dtype.kind == "c":
        host = host.real.astype(dtype)
    equal(quern.asarray(host).astype(target), host.astype(target))


def test_astype_options(device):
    array = quern.zeros((3, 4), "f")
    assert array.astype("f", copy=False) is array
    assert array.astype("f") is not array
    assert array.astype("f", order="F", copy=False).flags.f_contiguous
    assert array.T.astype("d").flags.f_contiguous
    assert array.T.astype("d", order="C").flags.c_contiguous
    with pytest.raises(TypeError, match="Cannot cast array data from dtype"):
        array.astype("i", casting="safe")
    assert array.astype("d", casting="safe").dtype == np.float64
    assert array.astype(None).dtype == np.float64
    double = array.astype(None, copy=False)
    assert double.astype(None, copy=False) is double


def test_fill(device, dtype, equal):
    array, host = quern.zeros((3, 4), dtype), np.zeros((3, 4), dtype)
    for value in (1, True, np.int8(1), quern.asarray(1, dtype)):
        array.fill(value)
        host.fill(1)
        equal(array, host)
    array[:, 1:3].fill(0)
    host[:, 1:3] = 0
    equal(array, host)
    with pytest.raises(ValueError, match="scalar"):
        array.fill(quern.zeros(2))


def test_item_and_tolist(device, dtype, make):
    host = make((3, 4), dtype)
    array = quern.asarray(host)
    assert array.tolist() == host.tolist()
    assert array.T.tobytes() == host.T.tobytes()
    assert array.tobytes("F") == host.tobytes("F")
    for index in [(0,), (5,), (-1,), (1, 2), ((2, -3),)]:
        value, expected = array.item(*index), host.item(*index)
        assert value == expected
        assert type(value) is type(expected)
    assert array[1, 1].item() == host[1, 1].item()
    for index in [(), (12,), (0, 0, 0), (3, 0), (1.5,)]:
        with pytest.raises((ValueError, IndexError, TypeError)) as theirs:
            host.item(*index)
        with pytest.raises(theirs.type):
            array.item(*index)


@pytest.mark.parametrize("convert", [bool, int, float, complex])
@pytest.mark.parametrize(
    "value", [3, 2.5, True, 0, [1], [[2]], [], [1, 2], 1j, np.float16(2)], ids=repr
)
@pytest.mark.filterwarnings("ignore")
def test_numbers(device, convert, value):
    host = np.asarray(value)
    array = quern.asarray(value)
    try:
        expected = convert(host)
    except Exception as error:
        with pytest.raises(type(error)):
            convert(array)
    else:
        assert convert(array) == expected


def test_index_protocol(device):
    assert list(range(10))[quern.asarray(3)] == 3
    for value in (1.0, [1], [1, 2]):
        with pytest.raises(TypeError):
            list(range(10))[quern.asarray(value)]


def test_text_is_numpys(device, dtype, make):
    for shape in [(), (0,), (3,), (2, 3), (40, 40)]:
        host = make(shape, dtype)
        array = quern.asarray(host)
        assert repr(array) == repr(host)
        assert str(array) == str(host)
    assert f"{quern.asarray(1.5):.3f}" == "1.500"


def test_comparison_is_never_identity(device):
    array = quern.zeros(3)
    for compare in (lambda: array == array, lambda: array != 0, lambda: array < 1):
        assert compare().shape == (3,)
    with pytest.raises(TypeError, match="unhashable"):
        hash(array)


def test_arithmetic_takes_nothing_from_the_host_by_itself(device):
    array = quern.zeros(3)
    for compute in (
        lambda: np.ones(3) + array,
        lambda: array - np.ones(3),
        lambda: array * [1, 2, 3],
    ):
        with pytest.raises(TypeError, match=r"quern\.asarray"):
            compute()


def test_pickle(device, dtype, layout, make, equal):
    host = layout(make((3, 4), dtype))
    array = quern.asarray(host)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        back = pickle.loads(pickle.dumps(array, protocol))
        equal(back, host)
        assert back.device == device
        assert back.flags.f_contiguous == array.flags.f_contiguous
    equal(pickle.loads(pickle.dumps(array[1:, ::2])), host[1:, ::2])


def test_pickle_from_a_device_that_is_not_here(device, equal):
    equal(quern._core._rebuild_array(np.arange(3), "cuda:63"), np.arange(3))


def test_weak_references(device):
    array = quern.zeros(3)
    reference = weakref.ref(array)
    assert reference() is array
    del array
    assert reference() is None


def test_subclass(device):
    class Named(quern.ndarray):
        pass

    array = Named((2, 3), "f")
    array.label = "mine"
    array[...] = 1
    assert array.label == "mine"
    assert isinstance(array, quern.ndarray)
    np.testing.assert_array_equal(array.get(), np.ones((2, 3)))
    assert type(array[0]) is Named
    assert array[0].base is array


def test_methods_check_self():
    with pytest.raises(TypeError):
        quern.ndarray.get(np.zeros(3))
    with pytest.raises(TypeError):
        quern.ndarray.shape.__get__(1)
