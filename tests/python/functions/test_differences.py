"""Differences, slopes, areas, folds, and functions over functions: against NumPy."""

import numpy as np
import pytest
from functions.compare import agree, to_quern

import quern


@pytest.mark.parametrize("letter", "?bLfD")
def test_diff(same, make, letter):
    a = make((4, 6), letter)
    for axis in (0, 1, -1, 2):
        for n in (0, 1, 2, 7, -1):
            same("diff", a, n, axis)
        same("diff", a, axis=axis, prepend=make((), letter), append=make((), letter, seed=1))
    same("diff", a, prepend=a[:, :2], append=a)
    same("diff", a.T[::2, ::-1])
    same("diff", make((), letter))
    if letter != "?":
        same("ediff1d", a)
        same("ediff1d", a, to_begin=make((2,), letter), to_end=make((), letter))
        same("ediff1d", a[0, :1])
    else:
        same("ediff1d", a[0, :1])
    if letter == "b":
        same("ediff1d", a, to_end=1.5)


def test_gradient(same, make):
    a = make((5, 6), "d")
    same("gradient", a, rtol=1e-13)
    same("gradient", a.astype("i"), rtol=1e-13)
    same("gradient", a.astype("f"), rtol=1e-5)
    same("gradient", a, 2.0, rtol=1e-13)
    same("gradient", a, 2, 3, rtol=1e-13)
    same("gradient", a, 2, axis=0, rtol=1e-13)
    same("gradient", a, axis=(1, 0), edge_order=2, rtol=1e-13)
    places = [np.cumsum(1 + np.arange(n) % 3.0) for n in a.shape]
    for order in (1, 2):
        same("gradient", a, *places, edge_order=order, rtol=1e-11)
        same("gradient", a, places[0], 2, edge_order=order, rtol=1e-11)
        same("gradient", a[:, 0], places[0], edge_order=order, rtol=1e-11)
    same("gradient", a, 1, 2, 3)
    same("gradient", a, places[1], places[0])
    same("gradient", a[:1])
    same("gradient", a[:2], edge_order=2)
    same("gradient", a, edge_order=3)
    same("gradient", a > 0)


def test_trapezoid(same, make):
    a = make((4, 6), "d")
    for axis in (0, 1):
        same("trapezoid", a, axis=axis, rtol=1e-13)
        same("trapezoid", a, dx=0.5, axis=axis, rtol=1e-13)
        same("trapezoid", a, np.arange(a.shape[axis]) ** 2.0, axis=axis, rtol=1e-13)
        same("trapezoid", a, np.sort(a, axis), axis=axis, rtol=1e-12)
    same("trapezoid", [1, 2, 3], rtol=1e-13)


def test_cross(same, make):
    for letters in ("dd", "fi", "Db"):
        a, b = make((4, 3), letters[0]), make((4, 3), letters[1], seed=1)
        same("cross", a, b)
        same("cross", a, b[0])
        same("cross", a.T, b, axisa=0)
        same("cross", a.T, b.T, axis=0)
        same("cross", a, b, axisc=0)
    same("cross", make((2,), "d"), make((4,), "d"))
    same("cross", make((), "d"), make((3,), "d"))


def test_unwrap(same):
    phase = np.cumsum(np.random.default_rng(0).uniform(-4, 4, (3, 40)), 1)
    same("unwrap", phase % (2 * np.pi), rtol=1e-12)
    same("unwrap", phase.T % (2 * np.pi), axis=0, rtol=1e-12)
    same("unwrap", phase % 4, period=4, discont=3, rtol=1e-12)
    same("unwrap", (np.arange(20) * 3 % 8), period=8)
    same("unwrap", (np.arange(20) * 3 % 7), period=7)


@pytest.mark.parametrize("mode", ["full", "same", "valid", "odd"])
def test_folds(same, make, mode):
    for m, n in ((7, 3), (3, 7), (6, 4), (4, 4), (1, 5), (8, 2), (101, 9), (64, 50)):
        for letters in ("ff", "dD", "bi", "Fd", "ee", "??"):
            a, v = make((m,), letters[0]), make((n,), letters[1], seed=1)
            same("convolve", a, v, mode, rtol=1e-5)
            same("correlate", a, v, mode, rtol=1e-5)
    same("convolve", [1, 2, 3], 2, mode)
    same("convolve", [], [1], mode)
    same("convolve", make((2, 2), "f"), [1.0], mode)


def test_interp(same, make):
    xp = np.sort(np.random.default_rng(0).uniform(-10, 10, 20))
    x = np.concatenate([np.linspace(-12, 12, 50), xp, [np.nan, np.inf, -np.inf]])
    same("interp", x, xp, make((20,), "d"), rtol=1e-13)
    same("interp", x, xp, make((20,), "D"), rtol=1e-13)
    same(
        "interp", x.reshape(1, -1).astype("f"), xp, make((20,), "i"), left=-1, right=7.5, rtol=1e-13
    )
    same("interp", 0.5, [0, 1], [1, 3])
    values = make((20,), "D")
    finite = x[:-2]
    for period in (5, -2.5, 360.0):
        same("interp", finite, xp[::-1].copy(), values, period=period, left=1, right=2, rtol=1e-12)
    same("interp", finite, xp, make((20,), "i"), period=7, rtol=1e-12)
    same("interp", x, xp, values, period=0)
    ends = np.array([-np.inf, -np.inf, 1, np.inf, np.inf, np.nan, 2])
    steps = np.arange(7.0)
    between = np.linspace(-1, 7, 33)
    same("interp", between, steps, ends)
    turned = np.empty(7, "D")
    turned.real, turned.imag = ends, ends[::-1]
    same("interp", between, steps, turned)
    same("interp", between, [-np.inf, -np.inf, 0, 3], [1.0, 2, 3, 4])
    same("interp", ends, steps, steps)
    same("interp", x, [1.0], [2.0])
    same("interp", x, [], [])
    same("interp", x, [1.0, 2.0], [2.0])
    same("interp", x, np.ones((2, 2)), np.ones((2, 2)))
    same("interp", x.astype("D"), [0.0, 1.0], [1.0, 2.0])
    same("interp", x, np.array([0.0, 1j]), [1.0, 2.0])


def test_functions_along_axes(device, make):
    a = make((3, 4, 5), "d")
    b = to_quern(a)
    for axis in (0, 1, -1):
        agree(
            quern.apply_along_axis(lambda r: r.sum(), axis, b),
            np.apply_along_axis(np.sum, axis, a),
            1e-13,
        )
        agree(
            quern.apply_along_axis(lambda r: r[:2] * 2, axis, b),
            np.apply_along_axis(lambda r: r[:2] * 2, axis, a),
        )
        agree(
            quern.apply_along_axis(lambda r: r[:2, None] * r[:3], axis, b),
            np.apply_along_axis(lambda r: r[:2, None] * r[:3], axis, a),
        )
    agree(quern.apply_over_axes(quern.sum, b, (0, 2)), np.apply_over_axes(np.sum, a, (0, 2)), 1e-13)
    with pytest.raises(ValueError, match="iteration dimensions"):
        quern.apply_along_axis(lambda r: r, 0, quern.zeros((3, 0)))


def test_piecewise_of_scalars(device, make):
    a = make((3, 4), "d")
    b = to_quern(a)
    agree(
        quern.piecewise(b, [b < -20, b > 20], [-1, 2, 7]),
        np.piecewise(a, [a < -20, a > 20], [-1, 2, 7]),
    )
    agree(quern.piecewise(b, [b < 0], [5]), np.piecewise(a, [a < 0], [5]))
    agree(quern.piecewise(b[0], b[0] < 0, [5, 6]), np.piecewise(a[0], a[0] < 0, [5, 6]))
    with pytest.raises(ValueError, match="are expected"):
        quern.piecewise(b, [b < 0], [1, 2, 3])


def test_vectorize(device):
    def describe(x, y):
        return x + y if x > y else x - y

    x = quern.arange(5)
    agree(quern.vectorize(describe)(x, 2), np.vectorize(describe)(np.arange(5), 2))
    both = quern.vectorize(divmod)(x, quern.asarray(2))
    agree(both, np.vectorize(divmod)(np.arange(5), 2))
    assert quern.vectorize(describe).__name__ == "describe"

    @quern.vectorize(otypes="d", excluded={"by"})
    def scaled(x, by=2):
        """Times `by`."""
        return x * by

    agree(scaled(x, by=3), np.arange(5) * 3.0)
    assert scaled.__doc__ == "Times `by`."
    agree(scaled(quern.zeros((0, 2))), np.zeros((0, 2)))
    with pytest.raises(ValueError, match="otypes"):
        quern.vectorize(describe)(quern.zeros(0), 1)


def test_vectorize_of_arrays(device):
    values, weights = np.random.default_rng(3).random((2, 3, 4)), np.arange(4.0)

    def of(module, a, w):
        def parts(x, y, power):
            assert isinstance(x, type(a))
            return module.sum(x * y) ** power, module.sort(x)[::-1]

        return module.vectorize(parts, signature="(n),(n),()->(),(n)")(a, w, 2)

    agree(of(quern, quern.asarray(values), quern.asarray(weights)), of(np, values, weights), 1e-13)
    joined = [m.vectorize(m.convolve, signature="(n),(m)->(k)") for m in (quern, np)]
    agree(joined[0](quern.eye(4), [1, 2, 1]), joined[1](np.eye(4), [1, 2, 1]))


def test_piecewise_of_functions(device, make):
    a = make((3, 4), "d")
    b = to_quern(a)
    pieces = [lambda x: x - x.mean(), lambda x, by=1: x * by]
    agree(
        quern.piecewise(b, [b < 0, b > 20], [*pieces, 7]),
        np.piecewise(a, [a < 0, a > 20], [*pieces, 7]),
        1e-13,
    )
    agree(
        quern.piecewise(b, [b > 1000], [pieces[0], 3]), np.piecewise(a, [a > 1000], [pieces[0], 3])
    )
