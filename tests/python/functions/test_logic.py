"""Questions about arrays and dtypes: against NumPy."""

import numpy as np
import pytest
from functions.compare import agree, to_quern

import quern


def test_equality(same, make):
    a = make((3, 4), "f")
    nan = np.array([1, np.nan, 2])
    for name in ("array_equal", "array_equiv", "allclose"):
        same(name, a, a.copy())
        same(name, a, a + 1)
        same(name, a, a.astype("d"))
    for name in ("array_equal", "array_equiv"):
        same(name, a, a[0])
        same(name, a, a[:2])
        same(name, make((0,), "f"), make((0,), "i"))
    same("array_equal", nan, nan)
    same("array_equal", nan, nan, equal_nan=True)
    same("array_equal", nan, np.array([1, np.nan, np.nan]), equal_nan=True)
    same("array_equal", np.arange(3), np.arange(3), equal_nan=True)
    same("array_equal", [1, 2], [1, 2])


@pytest.mark.parametrize("letter", "?bLefdFD")
def test_isclose(same, make, letter):
    a = make((5, 6), letter)
    same("isclose", a, a)
    same("isclose", a, a[0])
    same("isclose", a, 1)
    same("isclose", a, make((5, 6), "d"), 0.5, 2)
    if letter in "fdFD":
        near = (a * (1 + 3e-6 * (np.arange(6) - 2))).astype(letter)
        same("isclose", a, near)
        same("isclose", near, a, rtol=1e-6)
        near.flat[::3] = np.nan
        near.flat[1::5] = np.inf
        other = near.copy()
        other.flat[1] = -np.inf
        same("isclose", near, other)
        same("isclose", near, other, equal_nan=True)
        same("allclose", near, near, equal_nan=True)


def test_kinds_of_numbers(same, make, device):
    for letter in "?bfD":
        for name in ("iscomplex", "isreal"):
            same(name, make((3, 4), letter))
        for name in ("iscomplexobj", "isrealobj"):
            assert getattr(quern, name)(to_quern(make((3,), letter))) == getattr(np, name)(
                make((3,), letter)
            )
    for thing in (None, "text", "", [1, 2j], [[1], [2]], 3, 1j, np.complex64(1), (2.0, 1j)):
        assert quern.iscomplexobj(thing) == np.iscomplexobj(thing)
        assert quern.isrealobj(thing) == np.isrealobj(thing)
    z = make((3,), "D")
    z[1] = 2
    same("iscomplex", z)
    same("isreal", z)
    assert quern.isscalar(3)
    assert quern.isscalar(np.float32(3))
    assert not quern.isscalar(quern.asarray(3))
    assert quern.isfortran(quern.zeros((3, 4), order="F"))
    assert not quern.isfortran(quern.zeros(3))


def test_shared_memory(device):
    a = quern.zeros((6, 8), "i")
    theirs = np.zeros((6, 8), "i")
    views = [
        np.s_[::2],
        np.s_[1::2],
        np.s_[:, ::3],
        np.s_[:, 1::3],
        np.s_[2:4, 2:4],
        np.s_[0:0],
        np.s_[5:, 7:],
        np.s_[::-1],
    ]
    for x in views:
        for y in views:
            assert quern.shares_memory(a[x], a[y]) == np.shares_memory(theirs[x], theirs[y])
            assert quern.may_share_memory(a[x], a[y]) == np.may_share_memory(theirs[x], theirs[y])
    assert not quern.shares_memory(a, a.copy())
    for one, other in ((a, [1]), (theirs, a), (a, None)):
        assert not quern.shares_memory(one, other, max_work=1)
        assert not quern.may_share_memory(one, other, max_work=1)


def test_dtypes(device):
    a, b = quern.zeros(3, "b"), quern.zeros(3, "H")
    assert quern.result_type(a, b) == np.int32
    assert quern.result_type(a, 1) == np.int8
    assert quern.result_type(a, 1.0, "f") == np.float32
    assert quern.can_cast(a, "h")
    assert not quern.can_cast(a, "B")
    assert quern.can_cast("d", "f", "same_kind")
    assert quern.min_scalar_type(300) == np.uint16
    assert quern.min_scalar_type(a) == np.int8
    for nested in ([a, a], [a, [1, 2, 3]], ([2.5], [1]), [2**63], []):
        host = [x.get() if isinstance(x, quern.ndarray) else x for x in nested]
        assert quern.min_scalar_type(nested) == np.min_scalar_type(host)
    giver = type("Giver", (), {"__cupy_get_ndarray__": lambda self: a})()
    assert quern.min_scalar_type(giver) == np.int8
    assert quern.common_type(a, b) is np.float64
    assert quern.common_type(quern.zeros(3, "e")) is np.float16
    assert quern.promote_types("b", "H") == np.int32
    assert quern.finfo("f").eps == np.finfo("f").eps
    assert quern.iinfo("h").max == 32767


def test_array_module(device):
    assert quern.get_array_module(1, quern.zeros(2)) is quern
    assert quern.get_array_module(1, np.zeros(2)) is np


def test_text(device):
    a = np.array([[1.5, np.nan], [1e10, -3]])
    b = to_quern(a)
    assert repr(b) == repr(a)
    assert str(b) == str(a)
    assert quern.array2string(b, precision=2) == np.array2string(a, precision=2)
    assert quern.array_repr(b) == np.array_repr(a)
    assert quern.array_str(b, precision=1) == np.array_str(a, precision=1)
    assert quern.format_float_positional(b[0, 0]) == "1.5"
    assert quern.format_float_scientific(b[0, 0]) == "1.5e+00"
    assert quern.base_repr(5, 2) == "101"
    assert quern.binary_repr(-3, 4) == "1101"
    with quern.printoptions(precision=1):
        assert str(b) == str(a)
    agree(b, a)
