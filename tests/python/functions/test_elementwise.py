"""Choices, limits, rounding and parts of numbers: against NumPy."""

import ml_dtypes
import numpy as np
import pytest
from functions.compare import agree, to_quern

import quern

NUMBERS = "?bhilBHILefdFD"


def test_where(same, make):
    c = make((3, 4), "?")
    for a in NUMBERS:
        for b in "?bLefD":
            same("where", c, make((3, 4), a), make((4,), b, seed=2))
        same("where", c, make((3, 4), a), 1)
        same("where", c, 1.5, make((3, 1), a))
    same("where", c, 1, 2.0)
    same("where", c, 1, 2)
    same("where", True, make((3,), "f"), 0)
    same("where", make((3, 4), "d"), 1, 0)
    same("where", [True, False], [1, 2], [3, 4])
    same("where", c, make((8, 6), "f").T[::2, ::-2], 0.0)
    same("where", c, make((2,), "b"), 0)
    same("where", c, 1)
    same("where", c)
    same("where", [0, 3, 0, 1])


def test_where_keeps_bfloat16(device):
    x = quern.asarray(np.array([1, 2, 3], ml_dtypes.bfloat16))
    found = quern.where(x > 1, x, 0)
    assert found.dtype == x.dtype
    assert found.get().tolist() == [0, 2, 3]


def test_clip(same, make, device):
    for letter in "?bhLefdF":
        a = make((4, 5), letter)
        same("clip", a, 1, 3)
        same("clip", a, None, 3)
        same("clip", a, 1, None)
        same("clip", a, 3, 1)
        same("clip", a, make((5,), letter), make((4, 1), letter, seed=4))
        same("clip", a, min=1)
        same("clip", a, max=1)
        if letter != "?":
            same("clip", a, None, None)
            same("clip", a, 1.5, 3)
    same("clip", make((4,), "b"), -1000, 1000)
    same("clip", make((4,), "B"), -5, 20)
    same("clip", np.array([np.nan, 1, 5]), 2, 3)
    same("clip", np.array([1.0, 5]), np.nan, 3)
    same("clip", make((4,), "f"), 1)
    same("clip", make((4,), "f"), 1, 2, min=2)
    a = quern.asarray(make((4, 5), "f"))
    out = quern.empty((4, 5), "d")
    assert quern.clip(a, -1, 1, out=out) is out
    np.testing.assert_array_equal(out.get(), np.clip(a.get(), -1, 1))
    agree(a.clip(0, 3), a.get().clip(0, 3))
    agree(a.clip(max=3), a.get().clip(max=3))


@pytest.mark.parametrize("letter", "bHlefdFD")
def test_round(same, make, letter):
    values = make((50,), letter)
    if letter in "efdFD":
        values = (values / 7).astype(letter)
    for decimals in (-3, -1, 0, 1, 3):
        same("round", values, decimals)
        same("around", values.reshape(5, 10).T[::2], decimals)
    agree(to_quern(values).round(1), values.round(1))
    for decimals in (-1, 0, 1):
        same("round", make((5,), "?"), decimals)


def test_fix(same, make):
    for letter in "bfd":
        same("fix", make((9,), letter))
    same("fix", np.array([-1.5, -0.5, 0.5, 1.5, np.inf, np.nan]))
    for name in ("isposinf", "isneginf"):
        same(name, np.array([np.inf, -np.inf, np.nan, 1]))
        same(name, make((3,), "D"))


def test_complex_parts(same, make, device):
    for letter in "?hfdFD":
        for a in (
            make((3, 4), letter),
            make((4, 3), letter).T,
            make((6, 8), letter)[::2, ::-2],
            make((), letter),
        ):
            same("real", a)
            same("imag", a)
            if letter != "?":
                same("angle", a, rtol=1e-6 if letter in "fF" else 1e-15)
                same("angle", a, deg=True, rtol=1e-6 if letter in "fF" else 1e-15)
    a = to_quern(make((3, 4), "F"))
    theirs = a.get()
    a.real, theirs.real = 5, 5
    a.imag[1:], theirs.imag[1:] = quern.arange(4), np.arange(4)
    agree(a, theirs)
    agree(a.conj(), theirs.conj())
    b = quern.arange(3)
    assert b.real is b
    assert not b.imag.flags.writeable
    with pytest.raises(TypeError):
        b.imag = 3
    with pytest.raises(ValueError, match="read-only"):
        quern.broadcast_to(a, (2, 3, 4)).real = 1


def test_real_if_close(same):
    same("real_if_close", np.array([1 + 1e-15j, 2]))
    same("real_if_close", np.array([1 + 1e-10j, 2]))
    same("real_if_close", np.array([1 + 1e-10j, 2]), 1e-5)
    same("real_if_close", np.array([1 + 0.1j, 2]), 0.5)
    same("real_if_close", np.arange(3.0))


@pytest.mark.parametrize("letter", "bLefdFD")
def test_nan_to_num(same, make, letter):
    a = make((4, 5), letter)
    if letter in "efdFD":
        a.flat[::3] = np.nan
        a.flat[1::6] = np.inf
        a.flat[2::6] = -np.inf
    if letter in "FD":
        a.imag.flat[::4] = np.inf
    same("nan_to_num", a)
    same("nan_to_num", a, nan=3, posinf=5, neginf=-7)
    same("nan_to_num", a.T[::2, ::-1], posinf=5)
    ours, theirs = to_quern(a), a.copy()
    assert quern.nan_to_num(ours, copy=False, nan=1.0) is ours
    agree(ours, np.nan_to_num(theirs, copy=False, nan=1.0))


def test_copyto(device, make):
    for source, where, casting in (
        (3, True, "same_kind"), (2.5, True, "same_kind"), (2.5, True, "unsafe"), (make((4,), "f"), True, "same_kind"),
        (make((4,), "d"), True, "no"), (make((3, 1), "h"), make((3, 4), "?"), "same_kind"),
        (7, make((4,), "?"), "same_kind"),
        (make((5,), "f"), True, "same_kind"), (make((2, 3, 4), "f"), make((4,), "?"), "same_kind"),
        (1, make((4,), "i"), "same_kind"), (1, 0, "same_kind"), (1, 2.5, "same_kind"), (1, [1, 0, 0, 1], "same_kind"),
        (1, np.int8(1), "same_kind"), (make((1, 1, 4), "b"), make((3, 1), "?"), "same_kind"),
        (make((1, 3, 1), "b"), True, "same_kind"), (2, make((1, 3, 4), "?"), "same_kind"),
    ):  # fmt: skip
        for letter in "bfD":
            theirs = make((3, 4), letter)
            ours = to_quern(theirs)
            try:
                np.copyto(theirs, source, casting=casting, where=where)
            except (TypeError, ValueError) as error:
                with pytest.raises(type(error)):
                    quern.copyto(ours, to_quern(source), casting=casting, where=to_quern(where))
                continue
            quern.copyto(ours, to_quern(source), casting=casting, where=to_quern(where))
            agree(ours, theirs)
    with pytest.raises(TypeError):
        quern.copyto(np.zeros(3), 1)


@pytest.mark.parametrize("shape", [(4, 5), (70, 33)], ids=str)
def test_copyto_from_what_it_writes(device, shape):
    values = np.arange(np.prod(shape), dtype="f4").reshape(shape)
    mask = np.random.default_rng(3).random((shape[0] - 1, shape[1])) < 0.7
    for target, source in ((slice(1, None), slice(-1)), (slice(-1), slice(1, None))):
        wanted, found = values.copy(), quern.asarray(values)
        np.copyto(wanted[target], values[source], where=mask)  # from elsewhere
        quern.copyto(found[target], found[source], where=quern.asarray(mask))
        np.testing.assert_array_equal(found.get(), wanted)


def test_special_functions(same, make):
    x = np.linspace(-20, 20, 101)
    same("i0", x, rtol=1e-14)
    same("i0", x.astype("f"), rtol=1e-6)
    same("i0", np.arange(5), rtol=1e-14)
    same("i0", make((3,), "F"))
    for letter in "fdD":
        same("sinc", (x / 3).astype(letter), rtol=1e-6 if letter == "f" else 1e-14)
    same("sinc", np.arange(4), rtol=1e-14)


def test_byteswap(device, make, dtype):
    if dtype.kind == "V":
        pytest.skip("ml_dtypes has no byteswap")
    a = make((3, 4), dtype)
    assert to_quern(a).byteswap().tobytes() == a.byteswap().tobytes()
    ours = to_quern(a)
    assert ours.byteswap(inplace=True) is ours
    assert ours.tobytes() == a.byteswap().tobytes()


@pytest.mark.parametrize("order", ["big", "little", "odd"])
def test_bits(same, make, order):
    for shape in ((), (17,), (3, 9), (2, 3, 4), (0,), (0, 3)):
        for axis in (None, 0, -1, 4):
            for letter in "?Bi":
                same("packbits", make(shape, letter), axis, order)
            same("unpackbits", make(shape, "B"), axis, bitorder=order)
            # NumPy leaves what a count adds to nothing at all as the memory was.
            for count in (0, 3, 20, -2, -99) if 0 not in shape else ():
                same("unpackbits", make(shape, "B"), axis, count, order)
    same("packbits", make((4,), "B"), bitorder=10)
    same("packbits", make((4,), "f"))
    same("unpackbits", make((4,), "i"))
