"""var and std about a mean that is given, beside NumPy in float64."""

from __future__ import annotations

import numpy as np
import pytest

import quern


@pytest.mark.parametrize("name", ["var", "std", "nanvar", "nanstd"])
@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("axis", [None, 0, (0, 2)])
def test_about_a_mean(device, name, dtype, axis):
    x = (10 * np.random.default_rng(5).standard_normal((5, 40, 7))).astype(dtype)
    skips = name.startswith("nan") and x.dtype.kind != "i"
    if skips:
        x[2, 3:9] = np.nan
    mean = getattr(np, "nanmean" if skips else "mean")(x, axis, keepdims=True)
    wide = np.complex128 if x.dtype.kind == "c" else np.float64
    for options in ({}, {"ddof": 1}, {"keepdims": True}):
        given = getattr(quern, name)(quern.asarray(x), axis, mean=quern.asarray(mean), **options)
        wanted = getattr(np, name)(x.astype(wide), axis, mean=mean.astype(wide), **options)
        assert given.dtype == getattr(np, name)(x, axis).dtype
        assert given.shape == wanted.shape
        np.testing.assert_allclose(given.get(), wanted, rtol=4 * np.finfo(given.dtype).eps)


def test_another_mean_than_its_own(device):
    random = np.random.default_rng(6)
    x = random.standard_normal((6, 50))
    ours, where = quern.asarray(x), random.random(x.shape) < 0.7
    np.testing.assert_allclose(ours.var(mean=2.5).get(), np.mean((x - 2.5) ** 2), rtol=1e-14)
    np.testing.assert_allclose(ours.std(1, mean=2.5).get(), np.mean((x - 2.5) ** 2, 1) ** 0.5)
    out = quern.empty(6)
    made = quern.var(ours, 1, out=out, mean=0.0, where=quern.asarray(where))
    assert made is out
    np.testing.assert_allclose(out.get(), np.mean(x**2, 1, where=where), rtol=1e-14)
    with pytest.raises(ValueError, match="out is"):
        quern.var(ours, 0, out=out, mean=0.0)
