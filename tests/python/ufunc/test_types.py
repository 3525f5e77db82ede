"""Which types a ufunc computes in and returns: NumPy's, for every pair of dtypes and Python scalars."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from ufunc import oracle

import quern

SCALARS = {"2": 1, "3": 1.0, "4": 1j}
WEAK = {"2": int, "3": float, "4": complex}


def of_numpy(name, letters):
    inputs = [SCALARS[c] if c in SCALARS else np.ones(2, oracle.dtype_of(c)) for c in letters]
    try:
        results = oracle.numpy_answer(name, *inputs)
    except TypeError:
        return None
    return [r.dtype for r in (results if isinstance(results, tuple) else (results,))]


@pytest.mark.parametrize("name", oracle.UFUNCS)
def test_every_pair_of_types(name):
    ufunc = getattr(quern, name)
    for letters in itertools.product(oracle.LETTERS + "234", repeat=ufunc.nin):
        if all(c in SCALARS for c in letters):
            continue
        wanted = of_numpy(name, letters)
        given = tuple(WEAK[c] if c in WEAK else oracle.dtype_of(c) for c in letters)
        if wanted is None:
            with pytest.raises(TypeError):
                ufunc.resolve_dtypes((*given, *[None] * ufunc.nout))
        else:
            found = ufunc.resolve_dtypes((*given, *[None] * ufunc.nout))
            assert list(found[ufunc.nin :]) == wanted, letters


@pytest.mark.parametrize("name", oracle.UFUNCS)
def test_attributes(name):
    ours, theirs = getattr(quern, name), getattr(np, name)
    assert isinstance(ours, quern.ufunc)
    for attribute in ("nin", "nout", "nargs", "identity", "signature", "__name__"):
        assert getattr(ours, attribute) == getattr(theirs, attribute), attribute
    assert ours.ntypes == len(ours.types)
    known = set(theirs.types)
    extra = {"lL->?", "Ll->?"} | ({"ll->d", "LL->d"} if name == "divide" else set())
    for loop in ours.types:
        assert loop in known or "X" in loop or loop in extra, loop
    assert ours.__doc__.startswith(name + "(")
    assert repr(ours) == f"<ufunc '{name}'>"


def test_aliases():
    for name, ufunc in quern._core.ufuncs.items():
        assert getattr(quern, name) is ufunc
        assert getattr(np, name).__name__ == ufunc.__name__


def test_dtype_signature_and_casting(device):
    f4, f8, i8 = (quern.ones(3, t) for t in ("f4", "f8", "i8"))
    assert quern.add(f8, f8, dtype="f4").dtype == "f4"
    assert quern.add(f8, f8, sig="ff->f").dtype == "f4"
    assert quern.add(f8, f8, signature=(None, None, "f4")).dtype == "f4"
    assert quern.sqrt(i8, dtype="f4").dtype == "f4"
    assert quern.divide(i8, i8, dtype="f4").dtype == "f4"
    assert quern.less(f8, f8, dtype=bool).dtype == bool
    assert quern.less(f8, f8, out=f8.copy()).dtype == "f8"
    for call in (
        lambda m, x, y: m.add(x, x, dtype="i8"),
        lambda m, x, y: m.add(x, x, out=m.ones(3, "i8")),
        lambda m, x, y: m.less(x, x, dtype="f4"),
        lambda m, x, y: m.frexp(x, dtype="f4"),
        lambda m, x, y: m.add(x, y, casting="no"),
        lambda m, x, y: m.add(x, x, where=m.ones(3, "i8")),
        lambda m, x, y: m.add(x, x, foo=1),
        lambda m, x, y: m.add(x),
        lambda m, x, y: m.add(x, x, x, x),
        lambda m, x, y: m.add(x, x, x, out=x),
        lambda m, x, y: m.add(x, x, out=(x, x)),
        lambda m, x, y: m.modf(x, out=x),
        lambda m, x, y: m.add(x, x, casting="foo"),
        lambda m, x, y: m.add(x, x, out=m.ones(4)),
        lambda m, x, y: m.add(x, m.ones(4)),
        lambda m, x, y: m.add(m.ones(3, "u1"), 300),
        lambda m, x, y: m.power(m.ones(3, "i8"), -1),
        lambda m, x, y: m.subtract(x > 0, x > 0),
        lambda m, x, y: m.negative(x > 0),
        lambda m, x, y: m.bitwise_and(x, x),
        lambda m, x, y: m.add(x, x, out=3),
        lambda m, x, y: m.add(x, x, sig="ff->f", dtype="f4"),
    ):
        with pytest.raises(Exception) as theirs:  # noqa: PT011
            call(np, np.ones(3), np.ones(3, "f4"))
        with pytest.raises((TypeError, ValueError, OverflowError)) as ours:
            call(quern, f8, f4)
        kinds = (TypeError, ValueError, OverflowError)
        assert [isinstance(ours.value, k) for k in kinds] == [
            isinstance(theirs.value, k) for k in kinds
        ]


@pytest.mark.parametrize("letter", "bBhHiIlL")
def test_ints_that_are_no_element(device, letter):
    """Divided they are floats, compared the numbers that they are; of logic's their truth counts."""
    host = np.array([0, 1, 3, 100], letter)
    x = quern.asarray(host)
    for name in ("divide", "less", "equal", "logical_and", "logical_or", "logical_xor"):
        for value in (-2, 300, 70000, -(2**40), 2**63 + 5):
            if value > 2**63 and name.startswith("logical"):
                continue  # NumPy counts no further there
            for order in (1, -1):
                with np.errstate(divide="ignore"):
                    wanted = getattr(np, name)(*(host, value)[::order])
                found = getattr(quern, name)(*(x, value)[::order])
                assert found.dtype == wanted.dtype, (name, value, order)
                np.testing.assert_allclose(found.get(), wanted, rtol=1e-15)


def test_refuses_what_lives_on_the_host(device):
    x = quern.ones(3)
    for other in (np.ones(3), [1, 2, 3], (1, 2, 3), None, "text"):
        with pytest.raises(TypeError, match="Unsupported type"):
            quern.add(x, other)
    for other in (np.ones(3), [1, 2, 3]):
        with pytest.raises(TypeError, match=r"quern\.asarray"):
            x + other
        with pytest.raises(TypeError, match=r"quern\.asarray"):
            other + x
    with pytest.raises(TypeError):
        x + "text"
