"""Errors of sums and variances on the CPU: no larger than NumPy's own, whatever the length, the layout and the data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import quern

Values = npt.NDArray[Any]

# shape, axis, view
LAYOUTS: dict[str, tuple[tuple[int, ...], Any, Callable[[Any], Any]]] = {
    "long rows": ((30, 4096), 1, lambda a: a),
    "longer rows": ((12, 33_333), 1, lambda a: a),
    "middling rows": ((150, 100), 1, lambda a: a),
    "short rows": ((600, 16), 1, lambda a: a),
    "tiny rows": ((600, 5), 1, lambda a: a),
    "gaps of one": ((30, 8192), 1, lambda a: a[:, ::2]),
    "gaps of four": ((30, 10_240), 1, lambda a: a[:, ::5]),
    "backwards": ((30, 3000), 1, lambda a: a[:, ::-1]),
    "columns": ((128, 300), 0, lambda a: a),
    "long columns": ((3000, 60), 0, lambda a: a),
    "short columns": ((20, 300), 0, lambda a: a),
    "between": ((20, 60, 50), 1, lambda a: a),
    "around": ((60, 40, 30), (0, 2), lambda a: a),
}


def _data(kind: str, shape: tuple[int, ...], random: np.random.Generator) -> Values:
    """Doubles. An outlier may come first, where a sum begins to measure; steps and ramps wander from there."""
    values = random.standard_normal(shape)
    if kind == "uniform":
        return random.random(shape)
    if kind == "far":
        values += 1e6
    if kind == "outlier":
        values[:1] = 1e4
        values[..., :1] = 1e4
    if kind == "ramp":
        values = np.linspace(0, 1e3, values.size).reshape(shape)
    if kind == "step":
        values.reshape(-1)[values.size // 8 :] += 1e3
    return values


def _wide(values: Values) -> Values:
    return values.astype(np.clongdouble if values.dtype.kind == "c" else np.longdouble)


def _exact(name: str, values: Values, axis: Any) -> tuple[Values, Values]:
    """The result, and what an error is measured by: for sums the sum of magnitudes."""
    wide = _wide(values)
    if name in ("sum", "mean"):
        return getattr(wide, name)(axis=axis), getattr(np.abs(wide), name)(axis=axis)
    square = (np.abs(wide - wide.mean(axis=axis, keepdims=True)) ** 2).mean(axis=axis)
    found = np.sqrt(square) if name == "std" else square
    return found, found


def _error(found: Values, exact: Values, scale: Values, digits: float) -> float:
    """Root of the mean square, in units of the last place."""
    relative = np.abs(_wide(found) - exact) / np.where(scale == 0, 1, scale)
    return float(np.sqrt(np.mean(relative**2))) / digits


@pytest.mark.parametrize("name", ["sum", "mean", "var", "std"])
@pytest.mark.parametrize("dtype", ["f4", "f8", "F", "D"])
@pytest.mark.usefixtures("cpu_kernels")
def test_errors_are_no_larger_than_numpys(name, dtype):
    random = np.random.default_rng(11)
    digits = float(np.finfo(dtype).eps) / 2
    with quern.Device("cpu"):
        for layout, (shape, axis, view) in LAYOUTS.items():
            for kind in ("normal", "uniform", "far", "outlier", "ramp", "step"):
                values = _data(kind, shape, random)
                if dtype in "FD":
                    values = values + 1j * _data(kind, shape, random)
                values = values.astype(dtype)
                found = getattr(quern, name)(view(quern.asarray(values)), axis=axis).get()
                x = view(values)
                exact, scale = _exact(name, x, axis)
                ours = _error(found, exact, scale, digits)
                theirs = _error(getattr(np, name)(x, axis=axis), exact, scale, digits)
                wanders = kind in ("outlier", "ramp", "step")  # the order of the sum decides
                limit = max(2.5 * theirs, 3) if wanders else max(1.5 * theirs, 1.25)
                assert ours <= limit, (layout, kind, ours, theirs)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "?"])
@pytest.mark.usefixtures("cpu_kernels")
def test_variances_of_small_integers_are_exact_to_rounding(dtype):
    random = np.random.default_rng(12)
    with quern.Device("cpu"):
        for shape, axis in (
            ((500, 16), 1),
            ((500, 16), 0),
            ((3, 70_000), 1),
            ((9, 40, 50), (0, 2)),
        ):
            values = random.integers(0, 100, shape).astype(dtype)
            exact, scale = _exact("std", values, axis)
            found = quern.std(quern.asarray(values), axis=axis).get()
            assert np.abs(found - exact).max() <= 2**-52 * scale.max()


@pytest.mark.usefixtures("cpu_kernels")
def test_variances_without_nan_measure_from_what_is_there():
    """NaN first, NaN between, nothing but NaN; means far from zero."""
    random = np.random.default_rng(13)
    with quern.Device("cpu"):
        for shape in ((300, 70), (40, 3000), (200, 7)):
            values = random.standard_normal(shape) + 1e6
            values[random.random(shape) < 0.4] = np.nan
            values[: shape[0] // 2, :3] = np.nan
            values[-1], values[:, -1] = 1e6, 1e6  # something everywhere
            for axis in (0, 1):
                wide = values.astype(np.longdouble)
                off = wide - np.nanmean(wide, axis=axis, keepdims=True)
                exact = np.nanmean(off**2, axis=axis)
                found = quern.nanvar(quern.asarray(values), axis=axis).get()
                np.testing.assert_allclose(found, exact.astype("f8"), rtol=2e-15, atol=1e-30)
