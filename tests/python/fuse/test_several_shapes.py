"""Work over several shapes in turn: a kernel for each, not for each turn; and elements that are counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from fuse.test_replay import is_replayed

import quern

Function = Callable[..., Any]


def interleaved(np: Any, x: Any, v: Any) -> Any:
    y, w = x * 2, v + 1
    y, w = y - 1, w * w
    y, w = np.abs(y), np.sqrt(w)
    return y, w


def then_together(np: Any, x: Any, v: Any) -> Any:
    y, w = x * 2, v + 1
    y, w = np.abs(y), w * w
    return y * w


def five_shapes(np: Any, x: Any, v: Any) -> Any:
    parts = [x[: k + 1] + 1 for k in range(5)]
    parts = [part * 2 for part in parts]
    return tuple(parts)


def written_between(np: Any, x: Any, v: Any) -> Any:
    y = x + 1
    w = v * 2
    v += y[0]
    return y * 2, w, v


def first_row_of_made(np: Any, x: Any, v: Any) -> Any:
    y = x + 1
    w = v * 2
    row = y[0] + w
    return y * 2, row


def ramp(np: Any, x: Any, v: Any) -> Any:
    y = np.abs(x)
    return y * np.arange(v.shape[0])


def grid(np: Any, x: Any, v: Any) -> Any:
    t = np.linspace(0.0, 1.0, v.shape[0])
    return np.sin(t * v) + t


def numbered(np: Any, x: Any, v: Any) -> Any:
    return v * np.arange(v.shape[0], dtype=v.dtype) + np.arange(v.shape[0])[::-1]


def expectation(np: Any, x: Any, v: Any) -> Any:
    p = np.abs(v)
    k = np.arange(v.shape[0])
    return (p * k).sum() / p.sum()


def causal(np: Any, x: Any, v: Any) -> Any:
    n, m = x.shape
    seen = np.arange(m)[None, :] <= np.arange(n)[:, None]
    e = np.where(seen, np.exp(x), 0)
    return e / e.sum(axis=1, keepdims=True)


# On a GPU's layout.
KERNELS = {interleaved: 2, then_together: 2, five_shapes: 5, ramp: 2, numbered: 2}
KERNELS |= {first_row_of_made: 3, causal: 3}
FUNCTIONS = [*KERNELS, written_between, grid, expectation]


@pytest.fixture
def drawn() -> list[Any]:
    rng = np.random.default_rng(8)
    return [rng.standard_normal((30, 44)), np.abs(rng.standard_normal(44))]


@pytest.mark.parametrize("gpu_layout", [False, True])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_numpy(
    function: Function, drawn: list[Any], gpu_layout: bool, device: quern.Device, plan_as: Any
) -> None:
    theirs = function(np, *[x.copy() for x in drawn])
    with plan_as(gpu_layout=gpu_layout):
        fused = quern.fuse(lambda *args: function(quern, *args))
        for _ in range(4):  # as recorded, as noted, and as launched again
            given = [quern.asarray(x) for x in drawn]
            ours = fused(*given)
            for found, wanted in zip(
                ours if isinstance(ours, tuple) else [ours],
                theirs if isinstance(theirs, tuple) else [theirs],
                strict=True,
            ):
                assert found.dtype == wanted.dtype
                np.testing.assert_allclose(quern.asnumpy(found), wanted, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("function", KERNELS, ids=lambda f: f.__name__)
def test_how_many_kernels(
    function: Function, drawn: list[Any], device: quern.Device, plan_as: Any
) -> None:
    with plan_as(gpu_layout=True):
        explained = quern.fuse(lambda *args: function(quern, *args)).explain(
            *map(quern.asarray, drawn)
        )
    assert len(explained.kernels) == KERNELS[function]


@pytest.mark.parametrize("name", ["arange", "linspace", "eye"])
def test_functions_that_count_are_launched_again(name: str, device: quern.Device) -> None:
    makers = {
        "arange": lambda x: x * quern.arange(x.shape[1]),
        "linspace": lambda x: x + quern.linspace(0, 1, x.shape[1]),
        "eye": lambda x: x - quern.eye(x.shape[0], x.shape[1]),
    }
    fused = quern.fuse(makers[name])
    x = quern.asarray(np.random.default_rng(0).standard_normal((300, 44)))
    assert is_replayed(fused, x)
    np.testing.assert_array_equal(fused(x).get(), makers[name](x).get())


def test_a_failing_kernel_does_not_lose_the_others(device: quern.Device) -> None:
    """What is kept back over other shapes runs even if one of the kernels cannot be compiled."""
    broken = quern.ElementwiseKernel("T x", "T y", "y = no_such_function(x)", "broken")
    a, b = quern.ones((4, 5)), quern.ones(7)

    @quern.fuse(strict=True)
    def both(a: Any, b: Any) -> Any:
        b += 1
        return broken(a), b

    with pytest.raises(quern.CompileError):
        both(a, b)
    np.testing.assert_array_equal(b.get(), np.full(7, 2.0))
    np.testing.assert_array_equal((a * 2).get(), np.full((4, 5), 2.0))


def test_what_a_failing_kernel_makes_is_not_used(device: quern.Device) -> None:
    """A call that reads it fails as a whole: what it would have written in place stays."""
    broken = quern.ElementwiseKernel("T x", "T y", "y = no_such_function(x)", "broken")
    a, b = quern.ones((4, 5)), quern.ones(5)

    @quern.fuse(strict=True)
    def both(a: Any, b: Any) -> Any:
        a += 1
        worse = broken(b)
        try:
            a += worse
        except quern.CompileError:
            a += 10
        return a

    np.testing.assert_array_equal(both(a, b).get(), np.full((4, 5), 12.0))
