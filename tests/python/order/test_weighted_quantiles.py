"""Quantiles with weights against NumPy: its shapes, ties, zeros, NaN and errors."""

from __future__ import annotations

import warnings

import ml_dtypes
import numpy as np
import pytest

import quern


def drawn(shape, dtype, seed):
    random = np.random.default_rng(seed)
    values = np.round(random.standard_normal(shape) * 20)  # with ties
    return (np.abs(values) if np.dtype(dtype).kind in "bu" else values).astype(dtype)


def both(name, values, q, weights, **options):
    """NumPy's and ours. Sums of whole weights are exact in any order."""
    wanted = getattr(np, name)(values, q, method="inverted_cdf", weights=weights, **options)
    found = getattr(quern, name)(
        quern.asarray(values), q, method="inverted_cdf", weights=quern.asarray(weights), **options
    )
    assert found.dtype == np.asarray(wanted).dtype
    np.testing.assert_array_equal(found.get(), wanted)


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint16", "int64", "float16", "float32", "float64"]
)
def test_values(device, dtype):
    random = np.random.default_rng(1)
    for shape, axis in (
        ((101,), None),
        ((7, 30), 1),
        ((30, 7), 0),
        ((4, 9, 5), (0, 2)),
        ((4, 9, 5), (2, 0)),
    ):
        values, weights = drawn(shape, dtype, 2), random.integers(0, 5, shape).astype("f8")
        for q in (0.0, 0.5, 1, [0.0, 0.1, 0.25, 0.9, 1.0], np.array([0.4, 0.2], "f4")):
            both("quantile", values, q, weights, axis=axis, keepdims=isinstance(q, float))
    both("percentile", values, [0, 30.5, 100], weights, axis=1)


def test_bfloat16(device):
    values, weights = drawn((50,), "f4", 3), np.arange(50)
    found = quern.quantile(
        quern.asarray(values.astype(ml_dtypes.bfloat16)),
        0.3,
        method="inverted_cdf",
        weights=weights,
    )
    assert float(found) == np.quantile(values, 0.3, method="inverted_cdf", weights=weights)


def test_weights_along_axes(device):
    values = drawn((4, 9, 5), "f8", 4)
    both("quantile", values, [0.3, 0.8], np.arange(9), axis=1)
    both("quantile", values, 0.3, np.arange(20).reshape(5, 4), axis=(2, 0))
    zero_first = np.array([0, 0, 3, 0, 1.0])
    both("quantile", drawn((5,), "i4", 5), [0, 0.5, 1], zero_first)


def test_nan(device):
    values = drawn((6, 40), "f4", 6)
    values[1, 3] = values[1, 7] = values[4, 0] = np.nan
    values[5] = np.nan
    weights = np.random.default_rng(7).integers(1, 9, values.shape).astype("f8")
    both("quantile", values, [0.2, 0.7], weights, axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy's, for a row of NaN
        both("nanquantile", values, [0.2, 0.7], weights, axis=1)
        both("nanpercentile", values, 55, weights, axis=0)


def test_out(device):
    values = drawn((6, 40), "f4", 8)
    out = quern.empty((6,), dtype="f8")
    ones = np.ones(values.shape)
    array = quern.asarray(values)
    assert quern.quantile(array, 0.5, 1, out, method="inverted_cdf", weights=ones) is out
    np.testing.assert_array_equal(
        out.get(), np.quantile(values, 0.5, axis=1, method="inverted_cdf")
    )
    with pytest.raises(ValueError, match="shape"):
        quern.quantile(array, 0.5, 0, out, method="inverted_cdf", weights=ones)
    with pytest.raises(TypeError, match="same_kind"):
        quern.quantile(
            array, 0.5, 1, quern.empty((6,), dtype="i4"), method="inverted_cdf", weights=ones
        )


@pytest.mark.parametrize(
    ("weights", "options"),
    [
        (np.ones((6, 4)), {"method": "linear"}),
        (-np.ones((6, 4)), {}),
        (np.zeros((6, 4)), {}),
        (np.full((6, 4), np.nan), {}),
        (np.full((6, 4), np.inf), {}),
        (np.ones(4), {}),
        (np.ones(3), {"axis": 1}),
        (np.ones(4), {"axis": 2}),
    ],
    ids=["linear", "negative", "zero", "nan", "inf", "no axis", "other shape", "bad axis"],
)
def test_errors(device, weights, options):
    values = drawn((6, 4), "f8", 9)
    options = {"method": "inverted_cdf"} | options
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises((ValueError, TypeError, IndexError)) as of_numpy:
            np.quantile(values, 0.5, weights=weights, **options)
    with pytest.raises(of_numpy.type):
        quern.quantile(quern.asarray(values), 0.5, weights=quern.asarray(weights), **options)
