"""Tiling, repeating, rolling, turning, cutting: against NumPy."""

import numpy as np
import pytest
from functions.compare import agree, to_quern

import quern


def test_atleast(same, make):
    for name in ("atleast_1d", "atleast_2d", "atleast_3d"):
        for shape in ((), (3,), (2, 3), (2, 3, 4), (0,)):
            same(name, make(shape, "f"))
        same(name, make((3,), "f"), 5, [1, 2])


def test_flips(same, make):
    for shape in ((), (3,), (2, 3), (2, 3, 4), (0, 2)):
        for name in ("flip", "fliplr", "flipud"):
            same(name, make(shape, "h"))
        for axis in (0, -1, (0, 1), (0, 0), 5, None, ()):
            same("flip", make(shape, "h"), axis)
        for k in range(-3, 5):
            same("rot90", make(shape, "h"), k)
        same("rot90", make(shape, "h"), 1, (1, 2))
        same("rot90", make(shape, "h"), 1, (1, 1))
        same("rot90", make(shape, "h"), 1, (1, 0))
        same("rot90", make(shape, "h"), 1, (0, 3))


def test_axes(same, make):
    a = make((2, 3, 4), "f")
    for axis in (-3, 0, 1, 2, 3):
        for start in (-3, 0, 1, 3, 4):
            same("rollaxis", a, axis, start)
    same("permute_dims", a, (2, 0, 1))
    same("permute_dims", a)
    same("matrix_transpose", a)
    same("matrix_transpose", make((3,), "f"))
    same("broadcast_arrays", make((3, 1), "f"), make((4,), "i"), 2)
    same("broadcast_arrays", make((3, 1), "f"), make((2, 2), "i"))


@pytest.mark.parametrize("dtype", ["?", "b", "e", "f", "D"])
def test_roll(same, make, dtype):
    for shape in ((), (5,), (3, 4), (2, 3, 4), (0, 3)):
        for shift in (0, 1, -2, 17, np.int32(3)):
            same("roll", make(shape, dtype), shift)
            for axis in (0, -1, 1, 5):
                same("roll", make(shape, dtype), shift, axis)
    a = make((5, 6), dtype)
    for shift, axis in (
        ((1, 2), (0, 1)),
        ((1, 2), (0, 0)),
        (3, (0, 1)),
        ((1, 2), 1),
        ((1, 2, 3), (0, 1)),
        ([-1], [-1]),
    ):
        same("roll", a, shift, axis)
        same("roll", a.T[::2, ::-1], shift, axis)


def test_tile(same, make):
    for shape in ((), (3,), (2, 3), (2, 1, 3), (0, 2)):
        for reps in (0, 1, 3, (2,), (2, 3), (1, 2, 3), (2, 1, 1, 2), [2, 2], np.array([1, 2]), ()):
            same("tile", make(shape, "h"), reps)
    same("tile", make((4, 6), "d").T[::2, ::-1], (2, 3))
    same("tile", [1, 2], 2)
    same("tile", make((2,), "h"), 1.5)


def test_repeat(same, make, dtype):
    a = make((3, 4), dtype)
    for repeats in (
        0,
        1,
        3,
        [2],
        [1, 0, 2],
        [1, 2, 3, 4],
        np.array([3, 0, 1]),
        (1, 2),
        -1,
        [1, -1, 0],
        1.5,
        [1.5, 0, 2],
        [[1, 2, 3]],
        *(np.array([3, 0, 1], wrong) for wrong in "dLF?B"),
        np.array(2.0),
        1j,
    ):
        for axis in (0, 1, -1, None, 2):
            same("repeat", a, repeats, axis)
    same("repeat", a.T[::2, ::-1], [2, 3], 0)
    same("repeat", a.T[::2, ::-1], 2)
    same("repeat", make((), dtype), 3)
    same("repeat", make((), dtype), [3], -1)


def test_repeat_takes_counts_of_a_device(device):
    found = quern.repeat(quern.arange(3), quern.asarray([1, 0, 2]))
    np.testing.assert_array_equal(found.get(), [0, 2, 2])
    np.testing.assert_array_equal(quern.arange(3).repeat(2).get(), [0, 0, 1, 1, 2, 2])


def test_resize(same, make):
    for shape in (0, 1, 5, 6, 7, 20, (4, 5), (2, 0), (), -1, (2, -2)):
        for source in ((2, 3), (), (0,)):
            same("resize", make(source, "f"), shape)


def test_trim_zeros(same, make):
    lines = [[0, 0, 1, 2, 0, 3, 0], [0, 0, 0], [1, 2], [], [0, 5]]
    for line in lines:
        for trim in ("fb", "f", "b", "B", "x"):
            same("trim_zeros", np.array(line, "d"), trim)
    a = np.zeros((5, 6))
    a[1, 2] = a[3, 3] = 2
    for axis in (None, 0, 1, -1, (0, 1)):
        for trim in ("fb", "f", "b"):
            same("trim_zeros", a, trim, axis)
            same("trim_zeros", a * 0, trim, axis)
            same("trim_zeros", a[:, :0], trim, axis)


def test_require(same, make, device):
    for requirements in (None, "C", "F", ["F", "W"], ["C", "A", "O"], "X", ["C", "F"], "EF"):
        same("require", make((3, 4), "f"), None, requirements)
        same("require", make((3, 4), "f"), "d", requirements)
    assert quern.require(quern.zeros((3, 4)), None, "F").flags.f_contiguous
    assert quern.require(quern.broadcast_to(quern.zeros(1), (3,)), None, "W").flags.writeable
    a = quern.zeros((3, 4))
    assert quern.require(a, None, ["C", "W"]) is a


def test_broadcast(device, make):
    ours = quern.broadcast(quern.zeros((3, 1)), quern.arange(4), 2)
    theirs = np.broadcast(np.zeros((3, 1)), np.arange(4), 2)
    for name in ("shape", "size", "nd", "ndim", "numiter"):
        assert getattr(ours, name) == getattr(theirs, name)
    assert [value.shape for value in ours.values] == [(3, 4)] * 3
    with pytest.raises(ValueError, match="broadcast"):
        quern.broadcast(quern.zeros(3), quern.zeros(4))


def test_strided_views(device, make):
    tricks = quern.lib.stride_tricks
    a = make((4, 6), "f")
    b = to_quern(a)
    for shape, strides in (((3, 3), (4, 8)), ((2, 5), (0, 4)), (None, None), ((), ())):
        view = tricks.as_strided(b, shape, strides)
        agree(view, np.lib.stride_tricks.as_strided(a, shape, strides))
        assert quern.shares_memory(view, b)
    assert tricks.as_strided(b, (2,), (4,)).flags.writeable
    for window, axis in ((3, 1), ((2, 2), None), ((2, 3), (1, 1)), ((4, 1), (0, -1)), (0, 0)):
        for x in (a, a[:, ::-2]):
            y = to_quern(x) if x is a else b[:, ::-2]
            windows = np.lib.stride_tricks.sliding_window_view
            if window == (2, 3) and x is not a:
                continue
            agree(tricks.sliding_window_view(y, window, axis), windows(x, window, axis))
    agree(
        tricks.sliding_window_view([1, 2, 3], 2),
        np.lib.stride_tricks.sliding_window_view([1, 2, 3], 2),
    )
    assert not tricks.sliding_window_view(b, 2, 0).flags.writeable
    assert tricks.sliding_window_view(b, 2, 0, writeable=True).flags.writeable
    for window, axis in ((7, 1), (-1, 0), ((1, 1), 0), (1, None)):
        with pytest.raises(ValueError, match="window"):
            tricks.sliding_window_view(b, window, axis)
    with pytest.raises(ValueError, match="Since axis is `None`"):
        tricks.sliding_window_view(b, 1)


def test_methods_of_devices(device):
    a = quern.zeros(4)
    a.scatter_add(quern.array([1, 1, 3]), 2.0)
    agree(a, np.array([0, 4.0, 0, 2]))
    a.scatter_max(quern.array([0, 1]), quern.array([5.0, 1.0]))
    a.scatter_min(slice(2, None), 1.0)
    agree(a, np.array([5, 4.0, 0, 1]))
    assert a.to_device(a.device) is a
    there = a.to_device("cpu", stream=None)
    assert there.device == quern.Device("cpu")
    agree(there, a.get())
    agree(a.to_device(device, stream=quern.cuda.Stream()), a.get())


def test_functions_of_numpy_come_here(device):
    a = quern.arange(6.0).reshape(2, 3)
    for found in (
        np.concatenate([a, a]),
        np.mean(a),
        np.where(a > 2, a, 0),
        np.roll(a, 1),
        np.linspace(a, 3, 2),
    ):
        assert isinstance(found, quern.ndarray)
    assert np.shape(a) == (2, 3)
    assert bytes(a) == a.tobytes()
    with pytest.raises(TypeError):
        np.linalg.eigh(a)


def test_arrays_of_floats(same, device):
    same("asarray_chkfinite", [1.0, 2.0])
    same("asarray_chkfinite", [1.0, np.inf])
    same("astype", np.arange(4), "f")
    assert quern.asfarray([1, 2]).dtype == np.float64
    assert quern.asfarray([1, 2], "i").dtype == np.float64
    assert quern.asfarray([1, 2], "f").dtype == np.float32
    with pytest.raises(TypeError):
        quern.astype([1], "f")
