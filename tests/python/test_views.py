"""Views against NumPy's: what they share, what they copy, what assignment does, and the same errors."""

import numpy as np
import pytest

import quern


def numbers(shape):
    return np.arange(int(np.prod(shape)), dtype=np.int32).reshape(shape)


def test_views_share_memory(device):
    array = quern.zeros((4, 6), "i")
    part = array[1:3, ::2]
    part[...] = np.arange(6, dtype="i").reshape(2, 3)
    expected = np.zeros((4, 6), "i")
    expected[1:3, ::2] = np.arange(6).reshape(2, 3)
    np.testing.assert_array_equal(array.get(), expected)
    assert part.base is array
    assert part[0].base is array
    assert array.base is None
    assert array.flags.owndata
    assert not part.flags.owndata
    assert quern.may_share_memory(array, part)
    assert not quern.may_share_memory(array, array.copy())


def test_view_outlives_array(device):
    part = quern.asarray(np.arange(10))[3:6]
    quern.full(10, -1)
    np.testing.assert_array_equal(part.get(), [3, 4, 5])


def test_view_dtype(device):
    host = np.arange(8, dtype=np.int64).reshape(2, 4)
    array = quern.asarray(host)
    for dtype in ("int64", "float64", "int32", "uint8", "complex128"):
        np.testing.assert_array_equal(array.view(dtype).get(), host.view(dtype))
    assert array.view().base is array
    with pytest.raises(ValueError, match="contiguous"):
        array.T.view("int32")


def test_reshape_that_must_copy(device):
    host = numbers((3, 4)).T
    array = quern.asarray(numbers((3, 4))).T
    copy = array.reshape(12)
    np.testing.assert_array_equal(copy.get(), host.reshape(12))
    assert copy.base is None or copy.base is not array.base
    with pytest.raises(ValueError, match="copy"):
        array.reshape(12, copy=False)
    np.testing.assert_array_equal(array.ravel("K").get(), host.ravel("K"))
    np.testing.assert_array_equal(array.flatten("F").get(), host.flatten("F"))
    forced = array.reshape(4, 3, copy=True)
    forced[...] = 0
    np.testing.assert_array_equal(array.get(), host)


@pytest.mark.parametrize("order", "CFAK")
def test_ravel_is_one_run(device, order):
    for host, view in (
        (np.arange(10), lambda a: a[::2]),
        (np.arange(10), lambda a: a[::-2]),
        (numbers((2, 3, 4)), lambda a: a.transpose(2, 0, 1)),
        (numbers((2, 3, 4)), lambda a: a.transpose(2, 0, 1)[:, ::-1]),
        (numbers((2, 3, 4)), lambda a: a.transpose(0, 2, 1)[:, ::-2]),
        (numbers((2, 3)), lambda a: a[::-1, ::-1]),
        (numbers((3, 2)), lambda a: a.T),
        (numbers((3, 0)), lambda a: a.T),
        (numbers(()), lambda a: a),
    ):
        array = quern.asarray(host)
        one, theirs = view(array).ravel(order), view(host).ravel(order)
        np.testing.assert_array_equal(one.get(), theirs)
        assert one.flags.c_contiguous
        assert quern.may_share_memory(one, array) == np.may_share_memory(theirs, host)
        copy = view(array).flatten(order)
        np.testing.assert_array_equal(copy.get(), view(host).flatten(order))
        assert not quern.may_share_memory(copy, array)
    for shape, wide in (((1,), (4,)), ((2, 1), (3, 2, 4)), ((2, 1, 3), (2, 4, 3))):
        one = quern.broadcast_to(quern.asarray(numbers(shape)), wide).ravel(order)
        assert one.flags.c_contiguous
        np.testing.assert_array_equal(one.get(), np.broadcast_to(numbers(shape), wide).ravel(order))


def test_squeeze_of_no_axes(device):
    for axis in (0, -1, None, ()):
        assert quern.array(3).squeeze(axis).shape == np.array(3).squeeze(axis).shape == ()
    for axis in (1, (0,)):
        with pytest.raises(np.exceptions.AxisError):
            np.array(3).squeeze(axis)
        with pytest.raises(np.exceptions.AxisError):
            quern.array(3).squeeze(axis)


def test_shape_can_be_set(device):
    array = quern.asarray(numbers((3, 4)))
    array.shape = (2, -1)
    assert array.shape == (2, 6)
    array.shape = 12
    assert array.shape == (12,)
    with pytest.raises(ValueError, match="cannot reshape array of size 12 into shape"):
        array.shape = (5, 2)
    view = quern.asarray(numbers((3, 4))).T
    with pytest.raises(AttributeError, match="incompatible shape for in-place modification"):
        view.shape = 12
    with pytest.raises(TypeError):
        del array.shape


@pytest.mark.parametrize(
    "index",
    [(5,), (-4,), (0, 9), (0, 0, 0), ("a",), (1.5,), (..., ...), slice(None, None, 0), slice("a")],
    ids=str,
)
def test_index_errors(device, index):
    host = numbers((3, 4))
    with pytest.raises((IndexError, ValueError, TypeError)) as theirs:
        host[index]
    with pytest.raises(theirs.type):
        quern.asarray(host)[index]


def test_integers_of_any_kind_index(device):
    array = quern.asarray(numbers((3, 4)))
    assert int(array[np.int64(1), np.uint8(2)]) == 6
    assert int(array[quern.asarray(1)][2]) == 6
    assert array[np.int8(0) : np.int16(2)].shape == (2, 4)


def test_axis_errors(device):
    array = quern.asarray(numbers((3, 4)))
    for call in (
        lambda: array.swapaxes(0, 2),
        lambda: quern.moveaxis(array, 3, 0),
        lambda: array.squeeze(2),
    ):
        with pytest.raises(np.exceptions.AxisError, match="out of bounds for array of dimension 2"):
            call()
    with pytest.raises(ValueError, match="axes"):
        array.transpose(0)
    with pytest.raises(ValueError, match="repeated"):
        array.transpose(0, 0)
    with pytest.raises(ValueError, match="not equal to one"):
        array.squeeze(0)


def test_iteration_and_length(device):
    array = quern.asarray(numbers((3, 4)))
    assert len(array) == 3
    assert [row.get().tolist() for row in array] == numbers((3, 4)).tolist()
    with pytest.raises(TypeError, match="unsized"):
        len(quern.asarray(1))
    with pytest.raises(TypeError, match="0-d"):
        iter(quern.asarray(1))


def test_assignment_broadcasts_and_casts(device, dtype, make):
    host, array = np.zeros((3, 4), dtype), quern.zeros((3, 4), dtype)
    for value in (make((4,), dtype), make((1, 3, 1), dtype), make((), "i"), make((3, 4), "f")):
        host[...] = value
        array[...] = value
        assert array.get().tobytes() == host.tobytes()
    for value in ([1, 0, 1, 0], True, 1, np.int8(1)):
        host[1:] = value
        array[1:] = value
        assert array.get().tobytes() == host.tobytes()


def test_assignment_of_arrays(device):
    host, array = numbers((4, 4)), quern.asarray(numbers((4, 4)))
    host[1:], array[1:] = host[:-1].copy(), array[:-1]  # overlapping
    np.testing.assert_array_equal(array.get(), host)
    host[...], array[...] = host.T.copy(), array.T
    np.testing.assert_array_equal(array.get(), host)
    host[:, 0], array[:, 0] = host[0].copy(), array[0]
    np.testing.assert_array_equal(array.get(), host)
    array[...] = quern.asarray([0.5, 1.5, 2.5, 3.5])
    np.testing.assert_array_equal(array.get(), np.tile(np.arange(4), (4, 1)))


def test_assignment_errors(device):
    array = quern.zeros((3, 4), "u1")
    with pytest.raises(ValueError, match="could not broadcast"):
        array[...] = np.zeros(3)
    with pytest.raises(ValueError, match="could not broadcast"):
        array[...] = quern.zeros(3)
    with pytest.raises(OverflowError):
        array[...] = -1
    with pytest.raises(TypeError):
        array[...] = 1j
    with pytest.raises(ValueError, match="read-only"):
        quern.broadcast_to(array, (2, 3, 4))[...] = 1
    with pytest.raises(ValueError, match="delete"):
        del array[0]


def test_any_byte_is_a_bool(device):
    """Bytes that are looked at as bools, say a mask of 0 and 255: true where they are not 0."""
    if not device.is_cpu:
        pytest.skip("a GPU's kernels take the bytes of bools for numbers")
    random = np.random.default_rng(9)
    for shape in ((11,), (5, 300), (40_000,)):
        octets = random.choice(np.array([0, 0, 1, 51, 128, 254, 255], "u1"), shape)
        mask, host = octets != 0, random.random(shape)
        ours, values = quern.asarray(octets).view(bool), quern.asarray(host)
        for kind in ("u1", "i8", "f2", "f8", "D"):
            np.testing.assert_array_equal(ours.astype(kind).get(), mask.astype(kind))
        np.testing.assert_array_equal(values[ours].get(), host[mask])
        np.testing.assert_array_equal(ours.nonzero()[-1].get(), mask.nonzero()[-1])
        np.testing.assert_array_equal(quern.where(ours, values, 2).get(), np.where(mask, host, 2))
        for name in ("sum", "prod", "cumsum", "argmax", "argmin", "mean", "any", "all"):
            found = quern.asnumpy(getattr(ours, name)())
            np.testing.assert_array_equal(found, getattr(mask, name)())
        for name in ("logical_not", "invert", "sort", "argsort", "count_nonzero", "packbits"):
            found = quern.asnumpy(getattr(quern, name)(ours))
            how = {"kind": "stable"} if name == "argsort" else {}
            np.testing.assert_array_equal(found, getattr(np, name)(mask, **how))
        np.testing.assert_array_equal((ours == quern.asarray(mask)).get(), True)
        np.testing.assert_array_equal((ours + 1).get(), mask + 1)


@pytest.mark.parametrize("order", ["K", "A"])
def test_ravel_of_broadcasts(device, order):
    """Axes of one element repeated stay where NumPy's iterator leaves them."""
    random = np.random.default_rng(3)
    for _ in range(60):
        shape = tuple(int(n) for n in random.integers(1, 4, random.integers(1, 5)))
        axes = random.permutation(len(shape))
        wide = tuple(int(random.integers(1, 4)) if n == 1 else n for n in np.take(shape, axes))
        host = np.arange(np.prod(shape)).reshape(shape)
        ours = quern.broadcast_to(quern.asarray(host).transpose(axes), wide)
        wanted = np.broadcast_to(host.transpose(axes), wide)
        np.testing.assert_array_equal(ours.ravel(order).get(), wanted.ravel(order))
        np.testing.assert_array_equal(ours.flatten(order).get(), wanted.flatten(order))


def test_copy_is_no_text(device):
    with pytest.raises(ValueError, match="strings are not allowed"):
        quern.ones(4).reshape(2, 2, copy="never")
    with pytest.raises(ValueError, match="strings are not allowed"):
        quern.array([1], copy="never")


def test_a_range_is_an_index(device):
    host = np.arange(12).reshape(3, 4)
    ours = quern.asarray(host)
    np.testing.assert_array_equal(ours[range(0, 3, 2), 1].get(), host[range(0, 3, 2), 1])
    np.testing.assert_array_equal(ours[:, range(0)].get(), host[:, range(0)])


def test_byte_bounds(device):
    a = quern.zeros((4, 5))
    start = a.data.ptr
    for view in (a, a[1:, ::2], a[::-1, 1:], a.T[::-2], a[:0]):
        low, high = quern.lib.array_utils.byte_bounds(view)
        offsets = [
            view.data.ptr - start + sum(i * s for i, s in zip(index, view.strides, strict=True))
            for index in np.ndindex(*view.shape)
        ]
        if offsets:
            assert (low - start, high - start) == (min(offsets), max(offsets) + 8)
        else:
            assert low == high


def test_reduced_view_joins_the_axes_that_it_can(device):
    a = quern.arange(120, device=device).reshape(2, 3, 4, 5)
    for view, shape in (
        (a, (120,)),
        (a[:, :, ::2], (12, 5)),
        (a[:, ::2], (2, 2, 20)),
        (a.transpose(3, 0, 1, 2), (5, 24)),
        (a[:1, :1, :1, :1], ()),
        (a[0, 0, 0, ::2], (3,)),
        (a[:0], (0,)),
    ):
        reduced = view.reduced_view()
        assert reduced.shape == shape
        if view.size:
            assert reduced.data.ptr == view.data.ptr
        np.testing.assert_array_equal(reduced.get().ravel(), view.get().ravel())


def test_setflags(device):
    a = quern.zeros(3, device=device)
    a.setflags(write=False)
    with pytest.raises(ValueError, match="read-only"):
        a[0] = 1
    a.setflags(write=True)
    a[0] = 1
    a.setflags()
    with pytest.raises(ValueError, match="align"):
        a.setflags(align=False)
    with pytest.raises(ValueError, match="WRITEBACKIFCOPY"):
        a.setflags(uic=True)
