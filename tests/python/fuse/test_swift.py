"""Divisions, roots and logarithms of fused kernels have a form without branches for values in the middle of their
range: every other value must give the same bits too, wherever it stands in a pack.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import quern

Function = Callable[..., Any]


def quotients(np: Any, x: Any, y: Any) -> Any:
    return x / y, y / (x / 3)


def inverses(np: Any, x: Any, y: Any) -> Any:
    return np.reciprocal(x) - np.reciprocal(y), 1 / x


def powers(np: Any, x: Any, y: Any) -> Any:
    return 1 / x, 0.25 / y, -(2.0**-126) / x


def numbers(np: Any, x: Any, y: Any) -> Any:
    return 1 / x, 3 / y, 2.0 / x, 1e-30 / y, 0.0 / x


def roots(np: Any, x: Any, y: Any) -> Any:
    return np.sqrt(np.abs(x)) / np.sqrt(np.abs(y)), np.sqrt(x)


def logarithms(np: Any, x: Any, y: Any) -> Any:
    return np.log(x / y) / np.sqrt(np.abs(y)), np.log(x), np.log(np.abs(x)) / y


def with_integers(np: Any, x: Any, y: Any) -> Any:
    return np.where(x > y, x / y, np.sqrt(y)) + (x > 0)


FUNCTIONS: list[Function] = [quotients, inverses, powers, numbers, roots, logarithms, with_integers]


def bits(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Of the elements; every NaN is one."""
    return np.where(np.isnan(values), np.float32(np.nan), values).view(np.int32)


def extremes() -> npt.NDArray[np.float32]:
    """Ends of the range, powers of two around where the short form ends, and their neighbours."""
    powers = np.ldexp(np.float32(1), np.arange(-149, 128)).astype(np.float32)
    some = [0, np.inf, np.nan, np.finfo("f4").max, np.finfo("f4").tiny, 1.5, 3, 0.1]
    values = np.concatenate([powers, np.nextafter(powers, np.float32(0)), np.float32(some)])
    return np.concatenate([values, -values]).astype(np.float32)


def same_as_unfused(function: Function, x: npt.NDArray[Any], y: npt.NDArray[Any]) -> None:
    a, b = quern.asarray(x), quern.asarray(y)
    fused = quern.fuse(lambda x, y: function(quern, x, y), strict=True)
    for _ in range(3):  # traced, noted, replayed
        ours, theirs = fused(a, b), function(quern, a, b)
        pairs = zip(*(r if isinstance(r, tuple) else (r,) for r in (ours, theirs)), strict=True)
        for one, other in pairs:
            np.testing.assert_array_equal(bits(quern.asnumpy(one)), bits(quern.asnumpy(other)))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_extremes_by_extremes(function: Function, device: quern.Device, plan_as: Any) -> None:
    values = extremes()
    x, y = (v.ravel().copy() for v in np.meshgrid(values, values))
    with plan_as(gpu_layout=True), np.errstate(all="ignore"):
        same_as_unfused(function, x, y)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("size", [1, 3, 4, 1021, 40000])
def test_random_values_with_seldom_extremes(
    function: Function, size: int, device: quern.Device, plan_as: Any
) -> None:
    random = np.random.default_rng(size)
    x, y = np.exp(random.uniform(-60, 60, (2, size))).astype(np.float32) * random.choice(
        np.float32([-1, 1]), (2, size)
    )
    seldom = random.random((2, size)) < 0.02
    x[seldom[0]], y[seldom[1]] = 0, np.inf
    with plan_as(gpu_layout=True), np.errstate(all="ignore"):
        same_as_unfused(function, x, y)
        same_as_unfused(function, x[1:], y[:-1])  # packs begin elsewhere
        same_as_unfused(function, x[::2], y[::2])  # no packs


def counted(np: Any, x: Any, y: Any) -> Any:
    return x / y / (np.arange(x.size, dtype="float32") + 1)


def in_place(np: Any, x: Any, y: Any) -> Any:
    z = x + y
    z /= y
    z /= x
    return z


@pytest.mark.parametrize("more", [0, 3, 513, 1535])
@pytest.mark.parametrize("function", [quotients, counted, in_place])
def test_pairs_of_packs(function: Function, more: int, device: quern.Device, plan_as: Any) -> None:
    """Arrays so long that a thread has two packs at a time, which end after both, after one and within one."""
    random = np.random.default_rng(more)
    x, y = random.standard_normal((2, (1 << 22) + more + 1)).astype(np.float32)
    x[random.integers(0, x.size, 99)], y[random.integers(0, x.size, 99)] = 0, np.inf
    x[-3:] = np.nan, 0, np.inf
    with plan_as(gpu_layout=True), np.errstate(all="ignore"):
        same_as_unfused(function, x[:-1].copy(), y[:-1].copy())
        same_as_unfused(function, x[1:], y[1:])  # packs begin elsewhere
        fused = quern.fuse(lambda x, y: function(quern, x, y))
        assert "swift, in pairs" in fused.source(quern.asarray(x), quern.asarray(y))


def test_pairs_in_place(device: quern.Device, plan_as: Any) -> None:
    """The first pack once more, where there is no second one, is read before it is written."""
    random = np.random.default_rng(1)
    x, y = random.standard_normal((2, (1 << 22) + 517)).astype(np.float32)
    given, by = quern.asarray(x), quern.asarray(y)

    @quern.fuse(strict=True)
    def divide_twice(x: Any, y: Any) -> None:
        x /= y
        x /= y

    with plan_as(gpu_layout=True):
        divide_twice(given, by)
    np.testing.assert_array_equal(bits(quern.asnumpy(given)), bits(x / y / y))


def test_quotients_are_rounded_rightly(device: quern.Device, plan_as: Any) -> None:
    """One step from a rounded inverse: every fraction of the divisor that is near 1 or 2, and random ones."""
    random = np.random.default_rng(2)
    ends = np.arange(1 << 9)
    below = np.concatenate([ends, (1 << 23) - 1 - ends, random.integers(0, 1 << 23, 1 << 9)])
    above = np.concatenate([ends[:64], (1 << 23) - 1 - ends[:64], random.integers(0, 1 << 23, 512)])
    x, y = (((v + (1 << 23)) / 2**23).astype(np.float32).ravel() for v in np.meshgrid(above, below))
    with plan_as(gpu_layout=True):
        fused = quern.fuse(lambda x, y: (x / y, (x + x) / y), strict=True)
        found = fused(quern.asarray(x), quern.asarray(y))
    np.testing.assert_array_equal(bits(quern.asnumpy(found[0])), bits(x / y))
    np.testing.assert_array_equal(bits(quern.asnumpy(found[1])), bits((x + x) / y))


def test_rows_and_columns(device: quern.Device, plan_as: Any) -> None:
    random = np.random.default_rng(0)
    x = random.standard_normal((37, 52)).astype(np.float32)
    x[5] = 0
    with plan_as(gpu_layout=True), np.errstate(all="ignore"):
        for y in (x[:1].copy(), x[:, :1].copy(), x[:, ::-1].copy()):
            same_as_unfused(quotients, x, y)


def test_a_new_number_compiles_nothing(device: quern.Device, plan_as: Any) -> None:
    x = np.random.default_rng(1).standard_normal(1000).astype(np.float32)
    given = quern.asarray(x)
    with plan_as(gpu_layout=True):
        fused = quern.fuse(lambda x, s: s / x + s / (x * x + 1), strict=True)
        before = None
        for s in (3.0, 1.0, 0.5, 1e-40, -0.125, 7):
            found = quern.asnumpy(fused(given, s))
            number = np.float32(s)
            np.testing.assert_array_equal(bits(found), bits(number / x + number / (x * x + 1)))
            compiles = quern.cache.stats()["compiles"]
            assert before in (None, compiles), s
            before = compiles


def test_the_source_has_the_short_form(device: quern.Device, plan_as: Any) -> None:
    x = quern.ones(4096, dtype=np.float32)
    with plan_as(gpu_layout=True):
        several = quern.fuse(lambda x: x / (quern.sqrt(x) + 1)).source(x)
        single = quern.fuse(lambda x: x / (x + 1) + quern.log(x) * quern.log(x + 1)).source(x)
    assert "quern::swift::divide" in several
    assert "quern::swift::sqrt" in several
    assert "== 1" not in several
    assert "swift" not in single
