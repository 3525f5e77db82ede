"""What cannot be fused: each construct's message and line, as an error with `strict` and as one warning without."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quern

Function = Callable[[Any], Any]
HERE = "# here"


def branch(x: Any) -> Any:
    y = x * 2
    if y.sum() > 0:  # here
        return y + 1
    return y


def conditional_expression(x: Any) -> Any:
    y = x - 1
    return y if y.max() > 0 else -y  # here


def loop_until(x: Any) -> Any:
    y = x * 1
    while abs(y).max() > 1e-3:  # here
        y = y / 8
    return y


def float_of(x: Any) -> Any:
    y = x * 2
    return y / float(y.max())  # here


def int_of(x: Any) -> Any:
    y = x * 2
    return y + int(y.max())  # here


def complex_of(x: Any) -> Any:
    y = x * 2
    return y + complex(y.max()).real  # here


def item(x: Any) -> Any:
    y = x * 2
    return y - y[0, 0].item()  # here


def to_list(x: Any) -> Any:
    y = x + 1
    return y * sum(y[0].tolist())  # here


def as_index(x: Any) -> Any:
    y = x * 2
    place = y[0].argmin()
    return y[:, : place.__index__() + 1]  # here


def length_of_kinds(x: Any) -> Any:
    y = quern.floor(x * 3)
    return y * len(quern.unique(y))  # here


def mask(x: Any) -> Any:
    y = x * 2
    return y[y > 0] + 1  # here


def places(x: Any) -> Any:
    y = x * 2
    return quern.nonzero(y > 0)[0] * 3  # here


def to_numpy(x: Any) -> Any:
    y = x * 2
    return y * quern.asnumpy(y).size  # here


def all_and_any(x: Any) -> Any:
    y = x * 2
    return bool((y > 0).all() or (y < 0).any())  # here


def contains(x: Any) -> Any:
    y = x * 0
    return y + (0 in y)  # here


def equal_arrays(x: Any) -> Any:
    y = x * 2
    return y * (1 if quern.array_equal(y, x) else 2)  # here


def text_of(x: Any) -> Any:
    y = x * 2
    return y * len(f"{y.sum():.3f}")  # here


def round_of(x: Any) -> Any:
    y = x * 2
    return y * round(float(y[1, 1]), 2)  # here


def counted_repeats(x: Any) -> Any:
    y = x * 2
    return quern.repeat(y, abs(y[:, 0]).astype("i8"), axis=0)  # here


CONSTRUCTS = [
    branch,
    conditional_expression,
    loop_until,
    float_of,
    int_of,
    complex_of,
    item,
    to_list,
]
CONSTRUCTS += [
    as_index,
    length_of_kinds,
    mask,
    places,
    to_numpy,
    all_and_any,
    contains,
    equal_arrays,
]
CONSTRUCTS += [text_of, round_of, counted_repeats]


def line_of(function: Function) -> int:
    lines, first = inspect.getsourcelines(function)
    (line,) = (first + k for k, text in enumerate(lines) if text.rstrip().endswith(HERE))
    return line


@pytest.fixture
def x(device: quern.Device) -> Any:
    return quern.asarray(np.random.default_rng(0).standard_normal((40, 300)))


@pytest.mark.parametrize("function", CONSTRUCTS, ids=lambda f: f.__name__)
def test_strict_names_the_line(function: Function, x: Any) -> None:
    fused = quern.fuse(strict=True)(function)
    before = x.get()
    for _ in range(2):
        with pytest.raises(quern.FusionError) as raised:
            fused(x)
        assert f"{Path(__file__).name}:{line_of(function)}: {function.__name__} needs" in str(
            raised.value
        )
        assert "where(), select() and masks" in str(raised.value)  # what to do
    np.testing.assert_array_equal(x.get(), before)
    np.testing.assert_array_equal((x + 1).get(), before + 1)


@pytest.mark.parametrize("function", CONSTRUCTS, ids=lambda f: f.__name__)
def test_otherwise_it_warns_once_and_runs(function: Function, x: Any) -> None:
    fused = quern.fuse(function)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = [quern.asnumpy(fused(copy.copy(x))) for _ in range(3)]
    told = [str(w.message) for w in caught if issubclass(w.category, RuntimeWarning)]
    assert len(told) == 1
    assert f"{Path(__file__).name}:{line_of(function)}: {function.__name__} needs" in told[0]
    for one in found:
        np.testing.assert_array_equal(one, quern.asnumpy(function(x)))


async def awaited(x: Any) -> Any:
    return x


async def yielding_later(x: Any) -> Any:
    yield x


def yielding(x: Any) -> Any:
    yield x


@pytest.mark.parametrize("function", [awaited, yielding_later, yielding], ids=lambda f: f.__name__)
def test_what_computes_later(function: Any) -> None:
    with pytest.raises(TypeError, match=f"{function.__name__} does not compute when it is called"):
        quern.fuse(function)


@pytest.mark.parametrize("given", [3, "a name", np.float32(2), [len]], ids=repr)
def test_what_is_no_function(given: Any) -> None:
    with pytest.raises(TypeError, match="fuse takes a function, not"):
        quern.fuse(given)


@pytest.mark.parametrize("kind", [staticmethod, classmethod, property])
def test_decorators_that_go_above(kind: Any) -> None:
    with pytest.raises(TypeError, match=f"not a {kind.__name__}: put it below"):
        quern.fuse(kind(lambda x: x))


def test_below_those_decorators_it_works(x: Any) -> None:
    class Model:
        gain = 3

        @staticmethod
        @quern.fuse
        def doubled(a: Any) -> Any:
            return a * 2 + 1

        @classmethod
        @quern.fuse
        def scaled(cls, a: Any) -> Any:
            return a * cls.gain - 1

    np.testing.assert_array_equal(Model().doubled(x).get(), x.get() * 2 + 1)
    np.testing.assert_array_equal(Model.scaled(x).get(), x.get() * 3 - 1)
