"""Operators of ndarray, and NumPy's ufuncs on quern's arrays."""

from __future__ import annotations

import operator
import pickle

import numpy as np
import pytest
from ufunc import oracle

import quern

BINARY = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
    operator.lshift, operator.rshift, operator.and_, operator.or_, operator.xor, divmod,
    operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge,
]  # fmt: skip
IN_PLACE = [
    operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv, operator.imod, operator.ipow,
    operator.ilshift, operator.irshift, operator.iand, operator.ior, operator.ixor,
]  # fmt: skip


def same(found, wanted):
    if isinstance(wanted, tuple):
        for ours, theirs in zip(found, wanted, strict=True):
            same(ours, theirs)
        return
    wanted = np.asarray(wanted)
    assert isinstance(found, quern.ndarray)
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    wide = "c16" if wanted.dtype.kind == "c" else wanted.dtype
    np.testing.assert_allclose(found.get().astype(wide), wanted.astype(wide), rtol=1e-6)


def outcome(call):
    try:
        with np.errstate(all="ignore"):
            return call(), None
    except (TypeError, ValueError, OverflowError) as error:
        return None, type(error)


@pytest.mark.parametrize("op", BINARY, ids=lambda op: op.__name__)
def test_binary(device, op):
    a, b = np.array([[1, 2, 3], [4, 5, 6]]), np.array([3, 1, 2])
    pairs = [
        (a, b),
        (a.astype("f4"), b),
        (a > 2, b > 1),
        (a.astype("u1"), b.astype("i1")),
        (a.astype("F"), b.astype("f4")),
    ]
    for x, y in pairs:
        ours = quern.asarray(x), quern.asarray(y)
        for call, args in (
            (0, ours),
            (1, (ours[0], 2)),
            (2, (2, ours[1])),
            (3, (ours[0], 1.5)),
            (4, (True, ours[1])),
        ):
            hosts = tuple(z.get() if isinstance(z, quern.ndarray) else z for z in args)
            wanted, error = outcome(lambda hosts=hosts: op(*hosts))
            found, ours_error = outcome(lambda args=args: op(*args))
            assert (error is None) == (ours_error is None), (call, hosts, error, ours_error)
            if error is None:
                same(found, wanted)
            else:
                assert issubclass(ours_error, TypeError) == issubclass(error, TypeError)


@pytest.mark.parametrize("op", IN_PLACE, ids=lambda op: op.__name__)
def test_in_place(device, op):
    for x, y in (
        (np.arange(1, 7), 2),
        (np.arange(1.0, 7), 2),
        (np.arange(1, 7, dtype="f4"), 1.5),
        (np.arange(6) > 2, True),
    ):
        host, array = x.copy(), quern.asarray(x)
        wanted, error = outcome(lambda host=host, y=y: op(host, y))
        keep = array
        found, ours_error = outcome(lambda array=array, y=y: op(array, y))
        assert (error is None) == (ours_error is None)
        if error is None:
            assert found is keep
            same(keep, wanted)
        else:
            assert issubclass(ours_error, TypeError) == issubclass(error, TypeError)


def test_unary(device):
    for values in (
        np.array([-2, 0, 3]),
        np.array([-2.5, 0.0, 3]),
        np.array([True, False]),
        np.array([1 - 2j]),
    ):
        array = quern.asarray(values)
        for op in (operator.neg, operator.pos, operator.invert, abs):
            wanted, error = outcome(lambda op=op, values=values: op(values))
            found, ours_error = outcome(lambda op=op, array=array: op(array))
            if op is operator.pos and values.dtype == bool:
                assert error is ours_error is TypeError or issubclass(error, TypeError)
            assert (error is None) == (ours_error is None)
            if error is None:
                same(found, wanted)


def test_powers_with_functions_of_their_own(device):
    for values in (np.array([1.5, -2, 0]), np.array([1, -2, 3]), np.array([1 + 2j, -3j])):
        array = quern.asarray(values)
        for exponent in (2, 2.0, 0.5, -1.0, 3, 0):
            with np.errstate(all="ignore"):
                wanted = values**exponent
            same(array**exponent, wanted)
    with pytest.raises(ValueError, match="negative integer powers"):
        quern.asarray([1, 2]) ** -1
    with pytest.raises(TypeError):
        pow(quern.ones(2), 2, 3)


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i4", "u8", "f2", "f4", "f8", "c8", "c16"])
def test_power_by_two_is_a_square(device, dtype):
    random = np.random.default_rng(17)
    values = (random.standard_normal(50) * 9).astype(dtype)
    array = quern.asarray(values)
    for exponent in (2, 2.0, np.float64(2), True, 10**400):
        try:
            wanted = np.power(values, exponent)
        except (TypeError, OverflowError) as error:
            with pytest.raises(type(error)):
                quern.power(array, exponent)
            continue
        got = quern.power(array, exponent)
        assert got.dtype == wanted.dtype
        rtol = 2e-3 if dtype == "f2" else 1e-6
        np.testing.assert_allclose(got.get(), wanted, rtol=rtol)
    if values.dtype.kind == "f":
        out = quern.zeros(50, dtype)
        assert quern.power(array, 2, out=out) is out
        np.testing.assert_array_equal(out.get(), values * values)
        out = quern.zeros(50, dtype)
        quern.power(array, 2, out, where=array > 0)
        np.testing.assert_array_equal(out.get(), np.where(values > 0, values * values, 0))
        assert quern.power(array, 2, dtype="f8").dtype == "f8"
        with pytest.raises(TypeError, match="power"):
            quern.power(array, 2, unknown=1)


def test_other_operands(device):
    x = quern.ones(3)
    np.testing.assert_array_equal((x == "text").get(), np.ones(3) == "text")
    np.testing.assert_array_equal((x != None).get(), np.ones(3) != None)  # noqa: E711
    with pytest.raises(TypeError):
        x < "text"  # noqa: B015
    with pytest.raises(TypeError):
        hash(x)

    class Other:
        def __radd__(self, left):
            return "mine"

    assert x + Other() == "mine"
    same(x + np.float32(2), np.ones(3) + np.float32(2))
    same(np.float32(2) * x, np.float32(2) * np.ones(3))
    same(np.float64(2) - x.astype("f4"), np.float64(2) - np.ones(3, "f4"))
    assert bool((x == 1).all())


def test_membership(device):
    rng = np.random.default_rng(5)
    for shape in ((), (4,), (2, 3), (0, 3)):
        a = rng.integers(0, 4, shape)
        for value in (1, 3, 9, 2.5, 10**30, "a", None, np.int8(2), rng.integers(0, 4, 3)):
            if value.__class__ is np.ndarray and a.ndim < 2:
                continue
            ours = quern.asarray(value) if isinstance(value, np.ndarray) else value
            assert (ours in quern.asarray(a)) == (value in a)
    with pytest.raises(ValueError, match="broadcast"):
        _ = quern.ones(3) in quern.ones((2, 2))


def test_numpy_ufuncs_come_here(device):
    x, y = quern.asarray(np.arange(6.0)), quern.asarray(np.arange(6))
    host, other = np.arange(6.0), np.arange(6)
    same(np.add(x, y), host + other)
    same(np.sin(x), np.sin(host))
    same(np.divmod(x, 4), np.divmod(host, 4))
    out = quern.empty(6)
    assert np.multiply(x, 2, out=out) is out
    same(out, host * 2)
    same(np.add.reduce(x), np.add.reduce(host))
    same(np.maximum.accumulate(x[::-1]), np.maximum.accumulate(host[::-1]))
    same(np.subtract.outer(x, y), np.subtract.outer(host, other))
    np.add.at(out, [0, 0], 1)
    assert float(out[0]) == 2
    with pytest.raises(TypeError, match=r"quern\.asarray"):
        np.add(x, host)
    with pytest.raises(TypeError):
        np.add(x, y, out=host)
    with pytest.raises(TypeError):
        np.frompyfunc(max, 2, 1)(x, y)
    assert x.__array_priority__ > host.__array_priority__


def test_ufuncs_are_pickled_by_name():
    for name in ("add", "divide", "arcsin"):
        assert pickle.loads(pickle.dumps(getattr(quern, name))) is getattr(quern, name)
    assert oracle.UFUNCS


def filled_with(module, kind, value):
    a = module.zeros(3, kind)
    a[0] = value
    a[1:] = -value
    a.fill(value)
    return a


HUGE = [
    lambda n: n.ones(2) * 10**20,
    lambda n: 2**70 / n.ones(2, "i"),
    lambda n: 10**20 * n.ones(2, "f"),
    lambda n: n.ones(2, "F") - 10**20,
    lambda n: n.maximum(n.ones(2), -(10**20)),
    lambda n: n.clip(n.ones(2), 0, 10**20),
    lambda n: n.full(2, 10**20, "d"),
    lambda n: n.where(n.asarray([True, False]), n.ones(2), 10**20),
    lambda n: filled_with(n, "d", 10**20),
    lambda n: filled_with(n, "i", 10**20),
    lambda n: n.ones(2) == 10**20,
    lambda n: n.ones(2, "i") + 10**20,
    lambda n: n.ones(2) * 10**400,
    lambda n: n.ones(2, "B") ** -1,
    lambda n: n.ones(2, "b") ** -1,
]


@pytest.mark.parametrize("act", HUGE, ids=range(len(HUGE)))
def test_ints_past_64_bits(device, act):
    """Floats beside floats, an OverflowError beside integers, as in NumPy."""
    found, refused = outcome(lambda: act(quern))
    wanted, by_numpy = outcome(lambda: act(np))
    assert refused is by_numpy
    if by_numpy is None:
        np.testing.assert_array_equal(found.get(), wanted, strict=True)
