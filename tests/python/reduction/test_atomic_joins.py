"""Reductions whose blocks join by atomics, in layouts of GPUs on whatever device: the same values."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import quern
from quern import _core

SHAPES = [((300_001,), None), ((40_000, 5), 0), ((3, 200_001), 1), ((9000, 64), 0)]


@pytest.fixture(autouse=True)
def layouts_of_gpus(plan_as):
    with plan_as(gpu_layout=True):
        yield


def values_of(shape, dtype):
    random = np.random.default_rng(len(shape))
    if np.dtype(dtype).kind in "iub":
        return random.integers(
            0 if dtype == "bool" else -100, 2 if dtype == "bool" else 100, shape
        ).astype(dtype)
    return random.standard_normal(shape).astype(dtype)


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "int64", "float16", ml_dtypes.bfloat16, "float32", "float64"]
)
def test_values(device, dtype):
    for shape, axis in SHAPES:
        values = values_of(shape, dtype)
        array = quern.asarray(values)
        wide = values.astype("f8") if values.dtype.kind not in "iub" else values
        for name in ("sum", "max", "min", "any", "all", "count_nonzero"):
            assert "split, joined" not in _core.explain_reduce(name, array, axis)
            wanted = getattr(np, name)(wide, axis=axis)
            with quern.atomic_reductions():
                assert "split, joined by atomics" in _core.explain_reduce(name, array, axis)
                for _ in range(2):  # the slots are as they were
                    found = getattr(quern, name)(array, axis=axis).get()
                    if name == "sum" and wide is not values:
                        tolerance = 4e-3 if np.dtype(dtype).itemsize == 2 else 1e-5
                        if np.dtype(dtype) == ml_dtypes.bfloat16:
                            tolerance = 3e-2
                        np.testing.assert_allclose(found.astype("f8"), wanted, tolerance, 1e-2)
                    else:
                        np.testing.assert_array_equal(
                            found.astype(np.asarray(wanted).dtype), wanted
                        )


def test_extremes_at_the_ends(device):
    """Every block's value is the worst or the best there is; one NaN makes the result NaN."""
    for dtype in ("int8", "uint8", "int64", "uint64"):
        info = np.iinfo(dtype)
        for fill, other in ((info.min, info.min + 1), (info.max, info.max - 1)):
            values = np.full(200_001, fill, dtype)
            with quern.atomic_reductions():
                assert (
                    int(quern.max(quern.asarray(values)))
                    == int(quern.min(quern.asarray(values)))
                    == fill
                )
                values[77_777] = other
                array = quern.asarray(values)
                assert (int(array.max()), int(array.min())) == (
                    int(values.max()),
                    int(values.min()),
                )
    for dtype in ("float32", "float64"):
        for fill in (-np.inf, np.inf, -0.0, 1.5):
            values = np.full(200_001, fill, dtype)
            with quern.atomic_reductions():
                assert (
                    float(quern.max(quern.asarray(values)))
                    == float(quern.min(quern.asarray(values)))
                    == fill
                )
                values[123_456] = np.nan
                array = quern.asarray(values)
                assert np.isnan([float(array.max()), float(array.min())]).all()


def test_truth_and_initial(device):
    values = np.zeros(300_000, "i4")
    with quern.atomic_reductions():
        assert not quern.any(quern.asarray(values))
        assert not quern.all(quern.asarray(values))
        assert quern.all(quern.asarray(values + 1))
        values[299_999] = 1
        assert quern.any(quern.asarray(values))
        assert int(quern.sum(quern.asarray(values), initial=41)) == 42
        assert int(quern.max(quern.asarray(values), initial=9)) == 9


def test_what_has_no_atomics_is_as_before(device):
    values = quern.asarray(values_of((300_001,), "float32"))
    with quern.atomic_reductions():
        for name in ("mean", "std", "argmax", "prod"):
            assert "split" in (plan := _core.explain_reduce(name, values))
            assert "atomics" not in plan
        with quern.atomic_reductions(False):
            assert "atomics" not in _core.explain_reduce("sum", values)
        assert "atomics" in _core.explain_reduce("sum", values)
    assert "atomics" not in _core.explain_reduce("sum", values)
