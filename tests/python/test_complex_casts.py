"""Casts of complex numbers to real ones: NumPy's values and NumPy's warning, wherever a cast can happen."""

import warnings

import numpy as np
import pytest

import quern

VALUES = [[1.5 + 2j, -3 + 0j, 0.25 - 1j], [4 + 1j, 5 - 5j, -6j]]


def _assigned(index, value):
    def run(xp):
        target = xp.zeros((2, 3))
        target[index(xp)] = value(xp)
        return target

    return run


def _copied(xp, dtype="f"):
    target = xp.zeros((2, 3), dtype)
    xp.copyto(target, xp.array(VALUES), casting="unsafe")
    return target


CASTS = {
    "astype": lambda xp: xp.array(VALUES).astype("f"),
    "astype of a view": lambda xp: xp.array(VALUES).T[::2].astype("i4"),
    "astype of nothing": lambda xp: xp.array(VALUES)[:0].astype("d"),
    "asarray": lambda xp: xp.asarray(xp.array(VALUES, "F"), dtype="d"),
    "copyto": _copied,
    "slice": _assigned(lambda xp: slice(1, None), lambda xp: xp.array([1j, 2, 3 + 1j])),
    "indices": _assigned(lambda xp: xp.array([0, 1]), lambda xp: xp.array(VALUES)),
    "mask": _assigned(lambda xp: xp.array([True, False]), lambda xp: xp.array([1j, 2, 3 + 1j])),
    "scalar": _assigned(lambda xp: (0, 1), lambda xp: np.complex64(1 + 2j)),
    "ufunc's dtype": lambda xp: xp.add(xp.array(VALUES), 1, dtype="f", casting="unsafe"),
    "ufunc's out": lambda xp: xp.multiply(
        xp.array(VALUES), xp.array(VALUES), out=xp.zeros((2, 3), "f"), casting="unsafe"
    ),
    "sum's dtype": lambda xp: xp.sum(xp.array(VALUES), axis=0, dtype="d"),
    "sum's out": lambda xp: xp.sum(xp.array(VALUES), axis=1, out=xp.zeros(2, "f")),
    "mean's dtype": lambda xp: xp.mean(xp.array(VALUES), axis=0, dtype="d"),
    "cumsum's dtype": lambda xp: xp.cumsum(xp.array(VALUES), axis=1, dtype="d"),
    "accumulate's out": lambda xp: xp.add.accumulate(xp.array(VALUES), out=xp.zeros((2, 3))),
}
QUIET = {
    "to bool": lambda xp: xp.array(VALUES).astype("?"),
    "to complex": lambda xp: xp.array(VALUES).astype("F"),
    "abs": lambda xp: xp.abs(xp.array(VALUES)),
    "comparison": lambda xp: xp.array(VALUES) == 4 + 1j,
    "var": lambda xp: xp.var(xp.array(VALUES), axis=0),
    "any": lambda xp: xp.any(xp.array(VALUES), axis=0, out=xp.zeros(3, "?")),
    "parts": lambda xp: xp.array(VALUES).real + xp.array(VALUES).imag,
}


def _told(run, xp):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        result = np.asarray(run(xp).get() if xp is quern else run(xp))
    return result, {warning.category for warning in told}


@pytest.mark.parametrize("name", [*CASTS, *QUIET])
def test_numpys_warning(device, name):
    run = CASTS.get(name) or QUIET[name]
    expected, wanted = _told(run, np)
    made, told = _told(run, quern)
    assert wanted == ({np.exceptions.ComplexWarning} if name in CASTS else set())
    assert told == wanted
    assert made.dtype == expected.dtype
    np.testing.assert_allclose(made, expected, rtol=1e-6)


def test_a_warning_that_is_an_error_leaves_the_target_as_it_was(device):
    target = quern.zeros(3, device=device)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(np.exceptions.ComplexWarning, match="discards the imaginary part"):
            target[...] = quern.array([1 + 1j, 2, 3], device=device)
        np.testing.assert_array_equal(target.get(), np.zeros(3))
    target += 1
    np.testing.assert_array_equal(target.get(), np.ones(3))
