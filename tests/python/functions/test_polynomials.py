"""Polynomials, highest power first and lowest power first, against NumPy; the solvers against known roots."""

import operator
import pickle

import numpy as np
import numpy.polynomial.polynomial as series
import numpy.polynomial.polyutils as utils
import pytest
from functions.compare import agree

import quern

LETTERS = "bHlefdFD"


def agree_poly(ours, theirs, rtol=0):
    assert isinstance(theirs, np.poly1d) == isinstance(ours, quern.poly1d)
    if isinstance(theirs, np.poly1d):
        agree(ours.coeffs, theirs.coeffs, rtol)
        assert ours.variable == theirs.variable
    else:
        agree(ours, theirs, rtol)


@pytest.fixture
def few(make):
    """Coefficients small enough that products of integers do not wrap where NumPy's dtypes are wider."""

    def made(n, letter, seed=0):
        values = np.random.default_rng(seed).integers(1, 5, n)
        return values.astype(letter) * (1 - 2j if letter in "FD" else 1)

    return made


@pytest.mark.parametrize("letter", LETTERS)
def test_sums_and_products(device, few, letter):
    for m, n, other in ((5, 3, letter), (1, 4, "f"), (4, 4, "b"), (0, 2, "d")):
        a, b = few(m, letter), few(n, other, 1)
        p, q = quern.asarray(a), quern.asarray(b)
        rtol = 1e-2 if letter == "e" else 1e-5
        for name in ("polyadd", "polysub", "polymul"):
            ours, theirs = getattr(quern, name), getattr(np, name)
            agree(ours(p, q), theirs(a, b), rtol)
            agree_poly(ours(quern.poly1d(p), q), theirs(np.poly1d(a), b), rtol)
            agree_poly(ours(p, quern.poly1d(q)), theirs(a, np.poly1d(b)), rtol)
        for act in (operator.add, operator.sub, operator.mul):
            agree_poly(act(quern.poly1d(p), quern.poly1d(q)), act(np.poly1d(a), np.poly1d(b)), rtol)
            agree_poly(act(quern.poly1d(p), 2), act(np.poly1d(a), 2), rtol)
            agree_poly(act(2, quern.poly1d(p)), act(2, np.poly1d(a)), rtol)


@pytest.mark.parametrize("letter", LETTERS)
def test_values(device, few, make, letter):
    rtol = 1e-2 if letter == "e" else 1e-5
    for m, x in ((5, few((), "d")), (3, few((2, 3), letter)), (0, few(3, "b")), (1, few(0, "d"))):
        a = few(m, letter)
        agree(quern.polyval(quern.asarray(a), quern.asarray(x)), np.polyval(a, x), rtol)
        agree(quern.poly1d(quern.asarray(a))(quern.asarray(x)), np.poly1d(a)(x), rtol)
    rows = few((3, 4), letter)
    x = few(4, "f")
    agree(quern.polyval(quern.asarray(rows), quern.asarray(x)), np.polyval(rows, x), rtol)
    agree(quern.polyval([1, 2], 3), np.polyval([1, 2], 3))
    agree_poly(
        quern.poly1d([1, 2])(quern.poly1d([1, 0, 3])), np.poly1d([1, 2])(np.poly1d([1, 0, 3]))
    )
    with pytest.raises(TypeError):
        quern.polyval(2, 3)


def test_a_polynomial_is_its_coefficients(device):
    p = quern.poly1d(quern.array([0, 0, 3, 0, 1]), variable="z")
    theirs = np.poly1d([0, 0, 3, 0, 1], variable="z")
    agree(p[2], 3)  # before anything is trimmed
    agree(p[7], 0)
    agree_poly(p, theirs)
    assert (p.order, p.o, len(p), p.variable) == (2, 2, 2, "z")
    assert (repr(p), str(p)) == (repr(theirs), str(theirs))
    assert [int(c) for c in p] == [3, 0, 1]
    for name in ("c", "coef", "coefficients", "coeffs"):
        agree(getattr(p, name), theirs.coeffs)
    with pytest.raises(AttributeError):
        p.coeffs = quern.ones(2)
    p.coeffs *= 2
    theirs.coeffs *= 2
    agree_poly(p, theirs)
    p[4], theirs[4] = 5, 5
    p[0], theirs[0] = 7, 7
    agree_poly(p, theirs)
    with pytest.raises(ValueError, match="negative powers"):
        p[-1] = 1
    with pytest.raises(TypeError):
        hash(p)
    assert p.get() == theirs
    q = quern.poly1d(theirs)
    assert q.variable == "z"
    agree(p == q, True)
    agree(p != q, False)
    agree(p == quern.poly1d([1]), False)
    assert p != 3
    q.set(np.poly1d([1.5, 2], variable="t"))
    agree_poly(q, np.poly1d([1.5, 2], variable="t"))
    agree(quern.asarray(p), theirs.coeffs)
    agree(quern.add(p, p.coeffs), theirs.coeffs * 2)
    agree(p.coeffs + p, theirs.coeffs * 2)
    if device.is_cpu:
        np.testing.assert_array_equal(np.asarray(p), theirs.coeffs)
    else:
        with pytest.raises(TypeError):
            np.asarray(p)


def test_makings_and_refusals(device):
    agree_poly(quern.poly1d([]), np.poly1d([]))
    agree_poly(quern.poly1d([0.0, 0.0]), np.poly1d([0.0, 0.0]))
    agree_poly(quern.poly1d(4), np.poly1d(4))
    agree_poly(quern.poly1d([1.0, 2, 3], True), np.poly1d([1.0, 2, 3], True))
    with pytest.raises(ValueError, match="1d only"):
        quern.poly1d(quern.ones((2, 2)))
    with pytest.raises(TypeError):
        quern.poly1d([1]).set([1])
    assert pickle.loads(pickle.dumps(quern.poly1d([1, 2]))).get() == np.poly1d([1, 2])


@pytest.mark.parametrize("letter", "?bHfD")
def test_powers(device, few, letter):
    a = few(3, letter)
    for n in (0, 1, 2, 5, np.int32(4)):
        agree_poly(quern.poly1d(quern.asarray(a)) ** n, np.poly1d(a) ** n, 1e-5)
    for n in (-1, 2.5, [1]):
        with pytest.raises(ValueError, match="non-negative integers"):
            quern.poly1d([1, 2]) ** n
    with pytest.raises(TypeError):
        quern.poly1d([1, 2]) ** 2.0


def test_slopes_and_areas(device, few):
    for letter in "lfD":
        a = few(5, letter)
        p = quern.asarray(a)
        for m in (0, 1, 3, 7):
            agree(quern.polyder(p, m), np.polyder(a, m), 1e-6)
            agree(quern.polyint(p, m), np.polyint(a, m), 1e-6)
        agree(quern.polyint(p, 2, 3.0), np.polyint(a, 2, 3.0), 1e-6)
        agree(quern.polyint(p, 2, [3.0, 4.0]), np.polyint(a, 2, [3.0, 4.0]), 1e-6)
        agree_poly(quern.poly1d(p).deriv(2), np.poly1d(a).deriv(2), 1e-6)
        agree_poly(quern.poly1d(p).integ(k=2), np.poly1d(a).integ(k=2), 1e-6)
    for name in ("polyder", "polyint"):
        with pytest.raises(ValueError, match="must be positive"):
            getattr(quern, name)([1, 2], -1)
    with pytest.raises(ValueError, match="length"):
        quern.polyint([1, 2], 3, [1, 2])


def test_division(device, few):
    u, v = few(6, "d"), few(3, "d", 1)
    quotient, rest = quern.polydiv(quern.asarray(u), quern.asarray(v))
    agree(quern.polyadd(quern.polymul(quotient, quern.asarray(v)), rest), u, 1e-12)
    p, q = quern.poly1d(quern.asarray(u)) / quern.poly1d(quern.asarray(v))
    agree(p.coeffs, quotient.get())
    agree(q.coeffs, rest.get())
    agree_poly(quern.poly1d([2, 4]) / 2, np.poly1d([2, 4]) / 2)


def test_roots_and_fits(device):
    wanted = np.array([-2.0, 0.5, 1, 3])
    p = quern.poly(quern.asarray(wanted))
    agree(p, np.array([1.0, -2.5, -4.0, 8.5, -3.0]), 1e-12)
    agree(quern.sort(quern.roots(p)), wanted, 1e-9)
    agree(quern.sort(quern.poly1d(p).r), wanted, 1e-9)
    agree(quern.sort(quern.polynomial.polynomial.polyroots(p[::-1])), wanted, 1e-9)
    agree(quern.poly(quern.diag(quern.asarray(wanted))), p.get(), 1e-9)
    assert quern.roots(quern.zeros(3)).shape == (0,)
    with pytest.raises(ValueError, match="2d"):
        quern.poly(quern.ones((2, 3)))
    x = np.linspace(-2, 2, 30)
    y = np.polyval(p.get(), x)
    agree(quern.polyfit(quern.asarray(x), quern.asarray(y), 4), p.get(), 1e-9)
    fit = quern.polyfit(quern.asarray(x), quern.asarray(y), 4, full=True, w=quern.asarray(x + 3))
    agree(fit[0], p.get(), 1e-9)
    assert fit[2] == 5
    c, covariance = quern.polyfit(
        quern.asarray(x), quern.asarray(np.stack([y, -y], 1)), 4, cov=True
    )
    agree(c[:, 1], -p.get(), 1e-9)
    assert covariance.shape == (5, 5, 2)
    with pytest.raises(TypeError):
        quern.polyfit(quern.ones((2, 2)), quern.ones(2), 1)


@pytest.mark.parametrize("letter", LETTERS)
def test_series(device, few, letter):
    ours = quern.polynomial.polynomial
    rtol = 1e-2 if letter == "e" else 1e-5
    c, x = few(4, letter), few((2, 3), letter, 1)
    p, y = quern.asarray(c), quern.asarray(x)
    for degree in (0, 1, 5):
        agree(ours.polyvander(y, degree), series.polyvander(x, degree), rtol)
    agree(ours.polyval(y, p), series.polyval(x, c), rtol)
    agree(ours.polyval(2.0, p), series.polyval(2.0, c), rtol)
    rows = few((3, 2), letter)
    for tensor in (True, False):
        agree(
            ours.polyval(y[0, :2], quern.asarray(rows), tensor),
            series.polyval(x[0, :2], rows, tensor),
            rtol,
        )
        agree(
            ours.polyvalfromroots(y[0, :2], quern.asarray(rows), tensor),
            series.polyvalfromroots(x[0, :2], rows, tensor),
            rtol,
        )
    agree(ours.polycompanion(p), series.polycompanion(c), rtol)
    agree(ours.polycompanion(p[:2]), series.polycompanion(c[:2]), rtol)
    for degree, kind in ((-1, ValueError), (1.5, TypeError)):
        with pytest.raises(kind):
            ours.polyvander(y, degree)
    with pytest.raises(ValueError, match="degree"):
        ours.polycompanion([3])
    with pytest.raises(ValueError, match="tensor"):
        ours.polyvalfromroots(y, p, tensor=False)


def test_trimming(device):
    ours = quern.polynomial.polyutils
    for values in ([1, 2, 0, 3, 0, 1e-4], [0.0, 0.0], [5.0], [0.0, 1.0]):
        a = np.array(values)
        p = quern.asarray(a)
        agree(ours.trimseq(p), utils.trimseq(a))
        for tol in (0, 1e-3, 10):
            agree(ours.trimcoef(p, tol), utils.trimcoef(a, tol))
        agree(ours.as_series([p, [1, 2, 0]]), utils.as_series([a, [1, 2, 0]]))
    zeros = quern.zeros(4)
    assert quern.shares_memory(ours.trimseq(zeros), zeros)
    agree(
        ours.as_series(quern.ones((2, 3)), trim=False), utils.as_series(np.ones((2, 3)), trim=False)
    )
    for bad in ([[]], [quern.ones((2, 2))], [quern.ones(2, bool)]):
        with pytest.raises(ValueError, match="Coefficient"):
            ours.as_series(bad)
    with pytest.raises(ValueError, match="non-negative"):
        ours.trimcoef([1], -1)
    for module in (quern.polynomial, quern.polynomial.polynomial, ours):
        with pytest.raises(AttributeError, match=r"has no attribute 'no_such_thing'$"):
            _ = module.no_such_thing
    with pytest.raises(AttributeError, match="comes later"):
        _ = quern.polynomial.Chebyshev
