"""Values with ties, zeros of both signs and NaN, and NumPy's stable order of them."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

ALL = [np.dtype(c) for c in "?bhilBHILefdFD"] + [np.dtype(ml_dtypes.bfloat16)]


def sample(shape: Any, dtype: np.dtype[Any], seed: int) -> npt.NDArray[Any]:
    random = np.random.default_rng(seed)
    if dtype.kind == "b":
        return random.random(shape) < 0.4
    if dtype.kind in "iu":
        bounds = np.iinfo(dtype)
        values = random.integers(bounds.min, bounds.max, shape, dtype=dtype, endpoint=True)
        return np.where(random.random(shape) < 0.5, values, values & 15).astype(dtype)
    values = np.round(random.standard_normal(shape) * 5, 1).astype(dtype)
    if dtype.kind == "c":
        values.real[random.random(shape) < 0.05] = np.nan
        values.imag[...] = np.round(random.standard_normal(shape), 1)
        values.imag[random.random(shape) < 0.05] = np.nan
    values[random.random(shape) < 0.05] = np.nan
    values[random.random(shape) < 0.1] = 0.0
    values[random.random(shape) < 0.1] = -0.0
    values[random.random(shape) < 0.02] = np.inf
    return values


def order(a: npt.NDArray[Any], axis: int | None = -1) -> npt.NDArray[Any]:
    """NumPy's stable order; bfloat16 goes by way of float32, which NumPy can sort."""
    return np.argsort(a.astype("f4") if a.dtype.kind == "V" else a, axis=axis, kind="stable")


def in_order(a: npt.NDArray[Any], axis: int | None = -1) -> npt.NDArray[Any]:
    if axis is None:
        a, axis = a.ravel(), 0
    return np.take_along_axis(a, order(a, axis), axis)
