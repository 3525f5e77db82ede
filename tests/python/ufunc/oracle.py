"""Values that ask every rule of a ufunc at once, NumPy's answer to them, and the distance between two answers."""

from __future__ import annotations

import warnings
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

import quern

LETTERS = "?bhilBHILeXfdFD"
UFUNCS = sorted({u.__name__ for u in quern._core.ufuncs.values()})


def dtype_of(letter: str) -> np.dtype[Any]:
    return np.dtype(ml_dtypes.bfloat16 if letter == "X" else letter)


def loops(name: str) -> list[str]:
    """Input letters of the ufunc's loops."""
    return [text.split("->")[0] for text in getattr(quern, name).types]


def values(letter: str, seed: int = 0) -> npt.NDArray[Any]:
    """Ends of the range, small numbers of both signs, what is special, and random ones."""
    random = np.random.default_rng(seed)
    dtype = dtype_of(letter)
    if letter == "?":
        return np.array([False, True, True, False])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        ends = [info.min, info.min + 1, info.max, info.max - 1, info.max // 2]
        small = [
            n for n in (0, 1, -1, 2, -2, 3, -3, 7, -8, 15, 31, 32, 63, 64, 65, 100) if info.min <= n
        ]
        return np.array([*ends, *small, *random.integers(info.min, info.max, 6, dtype)], dtype)
    if letter in "FD":
        real = values("f" if letter == "F" else "d", seed)[2:]
        z = real[:, None] + 1j * 0
        z = np.empty((real.size, real.size), dtype)
        z.real, z.imag = real[:, None], real[None, :]
        return z.ravel()[random.permutation(z.size)[:60]]
    info = ml_dtypes.finfo(dtype)
    special = [
        np.nan,
        np.inf,
        -np.inf,
        0.0,
        -0.0,
        float(info.tiny),
        -float(info.tiny) / 4,
        float(info.max),
    ]
    small = [1.0, -1.0, 0.5, -0.5, 2.0, -3.0, 1.5, 2.5, -2.5, 3.25, 10.0, 0.001, -0.75, 1e-4]
    return np.array([*special, *small, *random.normal(0, 3, 8), *random.normal(0, 100, 4)]).astype(
        dtype
    )


def finite(letter: str, count: int = 4000, seed: int = 1) -> npt.NDArray[Any]:
    """Random numbers of all magnitudes."""
    random = np.random.default_rng(seed)
    found = random.normal(0, 1, count) * 10.0 ** random.uniform(-3, 2, count)
    if letter in "FD":
        return (found + 1j * random.permutation(found)).astype(letter)
    return found.astype(dtype_of(letter))


def numpy_answer_of(function: Any, *inputs: Any, **options: Any) -> Any:
    """Without its warnings."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return function(*inputs, **options)


def numpy_answer(name: str, *inputs: Any, **options: Any) -> Any:
    return numpy_answer_of(getattr(np, name), *inputs, **options)


def wide(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same numbers in the widest type there is."""
    return values.astype("G" if values.dtype.kind == "c" else "g")


def units(found: npt.NDArray[Any], exact: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """How many units in the last place of its dtype each number is away; 0 where both are the same special value."""
    if found.dtype.kind == "c":
        # Of the whole number: a part that cancels has no more.
        size = np.maximum(np.abs(exact.real), np.abs(exact.imag))
        part = [
            units_of_size(f, e, size)
            for f, e in ((found.real, exact.real), (found.imag, exact.imag))
        ]
        return np.maximum(*part)
    return units_of_size(found, exact, np.abs(exact))


def units_of_size(found: Any, exact: Any, size: Any) -> npt.NDArray[Any]:
    info = ml_dtypes.finfo(found.dtype)
    with np.errstate(all="ignore"):
        rounded = exact.astype(found.dtype)
        ulp = np.exp2(
            np.floor(np.log2(np.maximum(size, np.longdouble(info.tiny))))
        ) * np.longdouble(info.eps)
        away = np.abs(found.astype("g") - exact) / ulp
        f, r = found.astype("g"), rounded.astype("g")
        same = (f == r) | (np.isnan(f) & np.isnan(r))
    return np.where(same, 0, np.where(np.isfinite(away), away, np.inf))
