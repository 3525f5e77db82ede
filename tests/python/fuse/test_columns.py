"""Fused reductions over axes that lie across memory: columns of some threads, panels that blocks take by turns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fuse.compare import third_call

import quern

COLUMNS = [((300, 100), 0), ((64, 33), 0), ((7, 32), 0), ((5, 300, 40), 1), ((4000, 64), 0)]
COLUMNS += [((2, 3, 129, 65), 2), ((20, 70, 50), (0, 1)), ((30000, 32), 0)]


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i1"])
@pytest.mark.parametrize(("shape", "axis"), COLUMNS, ids=str)
def test_columns(shape: Any, axis: Any, dtype: str, device: quern.Device, plan_as: Any) -> None:
    """Threads of a GPU that have neighbouring columns: as NumPy; one kernel unless too long, few or narrow."""

    def soft(np: Any, x: Any) -> Any:
        e = np.exp(x - x.max(axis=axis, keepdims=True))
        return e / e.sum(axis=axis, keepdims=True)

    def standard(np: Any, x: Any) -> Any:
        y = x.astype(np.float32) if dtype == "i1" else x
        mean = y.mean(axis=axis)
        rest = y - np.expand_dims(mean, axis)
        return {"mean": mean, "rest": rest / (np.abs(rest).max(axis=axis, keepdims=True) + 1)}

    x = (np.random.default_rng(2).standard_normal(shape) * 3).astype(dtype)
    given = quern.asarray(x)
    narrow = {"f2": "f2", "i1": "f2", "f4": "f4", "f8": "f8"}[dtype]
    eps = 8 * np.finfo(narrow).eps
    with plan_as(gpu_layout=True):
        for function in soft, standard:
            fused = quern.fuse(lambda a, function=function: function(quern, a))
            wanted = function(np, x.astype("f8"))
            found = third_call(fused, given)
            if function is soft:
                found, wanted = {"": found}, {"": wanted}
            for name, value in wanted.items():
                assert found[name].shape == value.shape
                np.testing.assert_allclose(
                    found[name].get(), value, rtol=eps, atol=4 * eps, err_msg=name
                )
            if dtype in ("f4", "f8") and shape[0] < 4000 and axis != (0, 1):
                assert len(fused.explain(given).kernels) == 1, function.__name__


# Long columns: of a block's own on the CPU, which has no clusters; of up to eight blocks' on GPUs. Rounds that are
# whole and not, columns that end inside a warp's, rows that end between packs.
PANELS = [((700, 10244), 0), ((1024, 8512), 0), ((400, 9000), 0), ((3, 500, 4096), 1)]
PANELS += [((4100, 2312), 0), ((7998, 1288), 0), ((2, 2000, 1024), 1)]


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2"])
@pytest.mark.parametrize(("shape", "axis"), PANELS, ids=str)
def test_panels(shape: Any, axis: int, dtype: str, device: quern.Device, plan_as: Any) -> None:
    """Columns that blocks hold and take by turns, the next ones on their way meanwhile."""
    if device.is_cpu and shape[axis] > 1400:
        pytest.skip("clusters are a GPU's")

    def soft(np: Any, x: Any, y: Any, w: Any) -> Any:
        e = np.exp(x - x.max(axis=axis, keepdims=True))
        return e / e.sum(axis=axis, keepdims=True)

    def several(np: Any, x: Any, y: Any, w: Any) -> Any:
        mean, var = x.mean(axis=axis, keepdims=True), x.var(axis=axis, keepdims=True)
        scaled = (x - mean) / np.sqrt(var + 1) * w
        return {"scaled": scaled, "mean": mean, "first": x.argmax(axis=axis), "more": scaled + y}

    def twice(np: Any, x: Any, y: Any, w: Any) -> Any:
        near = x - x.mean(axis=axis, keepdims=True)
        return near / (np.abs(near * y).max(axis=axis, keepdims=True) + 1)

    rng = np.random.default_rng(11)
    x = rng.standard_normal(shape).astype(dtype)
    y = rng.standard_normal(shape).astype(dtype)
    w = rng.standard_normal(shape[axis + 1 :]).astype(dtype)
    given = [quern.asarray(a) for a in (x, y, w)]
    eps = 64 * np.finfo(dtype).eps
    with plan_as(gpu_layout=True):
        for function in soft, several, twice:
            fused = quern.fuse(lambda x, y, w, function=function: function(quern, x, y, w))
            found = third_call(fused, *given)
            wanted = function(np, *(a.astype("f8") for a in (x, y, w)))
            if function is not several:
                found, wanted = {"": found}, {"": wanted}
            for name, value in wanted.items():
                np.testing.assert_allclose(
                    found[name].get(), value, rtol=eps, atol=eps, err_msg=f"{function} {name}"
                )
            if function is soft and shape[axis] < 1100 and dtype == "f4" and shape[-1] >= 64 * 132:
                assert "panels of" in fused.source(*given), function.__name__


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_infinite_ones_in_panels(dtype: str, device: quern.Device, plan_as: Any) -> None:
    """Softmax of columns with NaN and infinite elements, small quotients, and none at all."""

    def soft(np: Any, x: Any) -> Any:
        top = x.max(axis=0)
        e = np.exp(x - top)
        return {"soft": e / e.sum(axis=0), "top": top}

    x = (np.random.default_rng(12).standard_normal((500, 8512)) * 40).astype(dtype)
    for k, value in enumerate((np.nan, np.inf, -np.inf)):
        x[7 * k, 100 * k : 100 * k + 70] = value
        x[:, 1000 + k] = value
        x[: 300 + k, 2000 + 64 * k : 2070 + 64 * k] = value
    fused = quern.fuse(lambda a: soft(quern, a))
    with plan_as(gpu_layout=True):
        found = third_call(fused, quern.asarray(x))
    with np.errstate(all="ignore"):
        wanted = soft(np, x.astype("f8"))
    tiny = float(np.finfo(dtype).tiny)
    for name, value in wanted.items():
        eps = 40 * np.finfo(dtype).eps
        np.testing.assert_allclose(found[name].get(), value, rtol=eps, atol=tiny, err_msg=name)


@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_moments_in_panels(dtype: str, ddof: int, device: quern.Device, plan_as: Any) -> None:
    """Mean and variance or deviation in one: of large means, equal values (exactly), infinite and large ones, NaN."""

    def work(np: Any, x: Any) -> Any:
        mean, var = x.mean(axis=0), x.var(axis=0, ddof=ddof)
        return {"rest": (x - mean) / (1 + var), "mean": mean, "var": var}

    def standard(np: Any, x: Any) -> Any:
        mean = x.mean(axis=0)
        return {"rest": (x - mean) / (1 + x.std(axis=0, ddof=ddof))}

    x = np.random.default_rng(13).standard_normal((500, 8512)).astype(dtype)
    far, equal, large = slice(0, 700), slice(1000, 1064), slice(1100, 1200)
    x[:, far] += 2.0 ** (np.finfo(dtype).nmant / 2)
    x[:, equal] = x[0, equal]
    if dtype != "f2":  # half of each sign, so that no partial sum is larger
        x[:, large] = np.finfo(dtype).max / 512 * np.where(np.arange(500) % 2, 1, -1)[:, None]
    for k, value in enumerate((np.nan, np.inf, -np.inf)):
        x[7 * k, 2000 + 100 * k : 2070 + 100 * k] = value
        x[:, 3000 + k] = value
        x[: 300 + k, 4000 + 64 * k : 4070 + 64 * k] = value
    x[9, 5000:5010], x[400, 5005:5010] = np.inf, -np.inf
    given = quern.asarray(x)
    eps = 16 * np.finfo(dtype).eps
    for function in work, standard:
        fused = quern.fuse(lambda a, function=function: function(quern, a))
        with plan_as(gpu_layout=True):
            found = third_call(fused, given)
            if dtype != "f2":
                assert "panels of" in fused.source(given), function.__name__
        with np.errstate(all="ignore"):
            wanted = function(np, x.astype(np.longdouble if dtype == "f8" else "f8"))
            wanted = {name: value.astype(dtype) for name, value in wanted.items()}
            for name, value in function(np, x[:, large]).items():  # whose squares end the range
                wanted[name][..., large] = value
        for name, value in wanted.items():
            got = found[name].get()
            assert got.dtype == dtype
            near = eps if name != "rest" else eps * float(np.abs(x[:, far]).max())
            np.testing.assert_allclose(got, value, rtol=eps, atol=near, err_msg=name)
            if name != "mean":
                assert not got[..., equal].any(), name
