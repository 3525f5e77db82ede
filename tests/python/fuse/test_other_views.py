"""What was made is seen transposed, reversed or reshaped: the same elements, so the same kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import quern

Function = Callable[..., Any]
N, G, C, H, W = 3, 2, 4, 5, 6


def transposed(np: Any, x: Any, y: Any) -> Any:
    return (x * 2).T + y.T


def reversed_rows(np: Any, x: Any, y: Any) -> Any:
    return np.abs(x)[::-1] + y


def turned_twice(np: Any, x: Any, y: Any) -> Any:
    return np.rot90(np.flip(x + y, 1)) * 3


def flat(np: Any, x: Any, y: Any) -> Any:
    return (x - y).ravel() * 2


def blocks(np: Any, x: Any, y: Any) -> Any:
    return np.minimum((x * y).reshape(4, 2, 3, 2).swapaxes(1, 2), 1)


def flat_then_square(np: Any, x: Any, y: Any) -> Any:
    return (x.reshape(-1) + y.reshape(-1)).reshape(x.shape) * 2


def group_norm(np: Any, image: Any, gain: Any) -> Any:
    groups = image.reshape(N, G, -1)
    mean, std = groups.mean(axis=-1, keepdims=True), groups.std(axis=-1, keepdims=True)
    return ((groups - mean) / (std + 1e-5)).reshape(image.shape) * gain[:, None, None] + 1


def heads(np: Any, image: Any, gain: Any) -> Any:
    apart = (image * gain[:, None, None]).reshape(N, C, H * W).transpose(0, 2, 1)
    return (apart - apart.max(axis=1, keepdims=True)) * 2


def columns_of_transposed(np: Any, x: Any, y: Any) -> Any:
    return np.exp(x).T.sum(axis=0) * 2


def row_as_matrix(np: Any, x: Any, y: Any) -> Any:
    means = (x * y).mean(axis=1)
    return means.reshape(2, -1) + 1


def in_place_reversed(np: Any, x: Any, y: Any) -> Any:
    z = x + 1
    z[::-1] *= y
    z.T[...] -= 3
    return z


def in_place_flat(np: Any, x: Any, y: Any) -> Any:
    z = x + y
    z.reshape(-1)[...] *= 2
    return z, z.reshape(2, -1)


SQUARE = [transposed, reversed_rows, turned_twice, flat, blocks, flat_then_square]
SQUARE += [columns_of_transposed, row_as_matrix, in_place_reversed, in_place_flat]
IMAGES = [group_norm, heads]
TWO = [group_norm]  # its gain is not one axis along a row


def palindrome(np: Any, x: Any, y: Any) -> Any:
    z = x * 2
    return z + z[::-1]


def own_transpose(np: Any, x: Any, y: Any) -> Any:
    z = x * 2
    z += z.T
    return z


def first_of_equals(np: Any, x: Any, y: Any) -> Any:
    z = np.sign(x)
    return z.T.argmax(), z.argmax(), z[::-1].argmax(axis=0), z.reshape(-1).argmin()


def shifted(np: Any, x: Any, y: Any) -> Any:
    z = x + y
    return z[1:] - z[:-1]


SEVERAL = [palindrome, own_transpose, first_of_equals, shifted]


def drawn_for(function: Function, dtype: str) -> list[Any]:
    rng = np.random.default_rng(5)
    shapes = ((N, C, H, W), (C,)) if function in IMAGES else ((8, 6), (8, 6))
    if function in SEVERAL:
        shapes = ((7, 7), (7, 7))
    return [(rng.standard_normal(shape) * 4).astype(dtype) for shape in shapes]


@pytest.mark.parametrize("gpu_layout", [False, True])
@pytest.mark.parametrize("order", ["C", "F", "reversed"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("function", [*SQUARE, *IMAGES, *SEVERAL], ids=lambda f: f.__name__)
def test_as_numpy(
    function: Function, dtype: str, order: str, gpu_layout: bool, device: quern.Device, plan_as: Any
) -> None:
    drawn = drawn_for(function, dtype)
    if order == "F":
        drawn = [np.asarray(x, order="F") for x in drawn]
    given = [quern.asarray(x, order="K") for x in drawn]
    if order == "reversed":
        drawn, given = ([x[::-1] for x in arrays] for arrays in (drawn, given))
    with plan_as(gpu_layout=gpu_layout):
        ours = quern.fuse(lambda *args: function(quern, *args))(*given)
    theirs = function(np, *[x.astype("f8") for x in drawn])
    eps = 60 * np.finfo(dtype).eps
    for found, value in zip(
        ours if isinstance(ours, tuple) else [ours],
        theirs if isinstance(theirs, tuple) else [theirs],
        strict=True,
    ):
        assert found.shape == value.shape
        np.testing.assert_allclose(quern.asnumpy(found), value, rtol=eps, atol=10 * eps)


@pytest.mark.parametrize("function", [*SQUARE, *IMAGES], ids=lambda f: f.__name__)
def test_few_kernels(function: Function, device: quern.Device, plan_as: Any) -> None:
    with plan_as(gpu_layout=True):
        explained = quern.fuse(lambda *args: function(quern, *args)).explain(
            *map(quern.asarray, drawn_for(function, "f4"))
        )
    assert len(explained.kernels) == 1 + (function in TWO)
    assert len(explained.cuts) == (function in TWO)


def test_both_directions_are_two_kernels(device: quern.Device) -> None:
    x, y = map(quern.asarray, drawn_for(palindrome, "f4"))
    explained = quern.fuse(lambda x, y: palindrome(quern, x, y)).explain(x, y)
    assert len(explained.kernels) == 2
    assert "other elements of memory that is written" in explained.cuts[0][1]
