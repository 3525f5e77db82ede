"""cov and corrcoef against NumPy."""

import numpy as np
import pytest
from functions.compare import agree, to_quern

import quern


@pytest.mark.parametrize("letter", "?bHfdFD")
def test_of_variables(same, make, letter):
    a, b = make((3, 8), letter), make((3, 8), letter, seed=1)
    for name in ("cov", "corrcoef"):
        same(name, a, rtol=1e-9)
        same(name, a, b, rtol=1e-9)
        same(name, a[:, ::2], rowvar=False, rtol=1e-9)
        same(name, a, b, False, rtol=1e-9)
        same(name, a[0], b[1], rtol=1e-9)
        same(name, a[0], rtol=1e-9)
        same(name, a, dtype="f4" if letter not in "FD" else "F", rtol=1e-3)
    same("cov", a, bias=True, rtol=1e-9)
    same("cov", a, ddof=3, rtol=1e-9)


def test_weights(same, make):
    a = make((3, 6), "d")
    counts, parts = np.array([1, 2, 0, 3, 1, 1]), np.array([0.5, 1, 2, 0, 1, 0.25])
    for bias in (False, True):
        same("cov", a, bias=bias, fweights=counts, rtol=1e-12)
        same("cov", a, bias=bias, aweights=parts, rtol=1e-12)
        same("cov", a, bias=bias, fweights=counts, aweights=parts, rtol=1e-12)
    same("cov", a, fweights=list(counts), rtol=1e-12)
    for name in ("fweights", "aweights"):
        same("cov", a, **{name: counts[:3]})
        same("cov", a, **{name: counts.reshape(2, 3)})
        same("cov", a, **{name: -counts})
        same("cov", a, **{name: 0 * counts})
    same("cov", a, fweights=counts + 0.5)


def test_refusals(same, make, device):
    same("cov", make((2, 3, 4), "d"))
    same("cov", make((2, 3), "d"), make((2, 3, 4), "d"))
    same("cov", make((2, 3), "d"), ddof=0.5)
    same("cov", make((0, 3), "d"))
    a = make((2, 3), "d")
    with np.errstate(all="ignore"), pytest.warns(RuntimeWarning, match="Degrees of freedom"):
        wanted = np.cov(a, ddof=3)
    with pytest.warns(RuntimeWarning, match="Degrees of freedom"):
        agree(quern.cov(to_quern(a), ddof=3), wanted, 1e-12)
