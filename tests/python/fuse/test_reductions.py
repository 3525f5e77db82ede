"""Fused functions with reductions: their results, how many kernels they take, and what is stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from fuse.compare import third_call

import quern

Function = Callable[..., Any]


def softmax(np: Any, x: Any) -> Any:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def layernorm(np: Any, x: Any, gain: Any) -> Any:
    mean, var = x.mean(axis=-1), x.var(axis=-1)
    return (x - mean[..., None]) / np.sqrt(var[..., None] + 1e-5) * gain


def log_sum_exp(np: Any, x: Any) -> Any:
    top = x.max(axis=-1)
    return np.log(np.exp(x - top[..., None]).sum(axis=-1)) + top


def l2_normalise(np: Any, x: Any) -> Any:
    return x / np.sqrt((x * x).sum(axis=-1, keepdims=True))


def cosine(np: Any, x: Any, y: Any) -> Any:
    return (x * y).sum(-1) / (np.sqrt((x * x).sum(-1)) * np.sqrt((y * y).sum(-1)))


def nearest(np: Any, x: Any, y: Any) -> Any:
    return ((x - y) ** 2).argmin(axis=-1)


def several(np: Any, x: Any) -> Any:
    y = np.maximum(x, 0)
    return {"y": y, "sum": y.sum(axis=-1), "any": (x > 2).any(axis=-1), "top": y.max(axis=-1)}


def standardise(np: Any, x: Any) -> Any:
    return (x - x.mean(0)) / (x.std(0) + 1)


def distance(np: Any, x: Any, y: Any) -> Any:
    return np.sqrt(((x - y) ** 2).sum())


def root_mean_square(np: Any, x: Any) -> Any:
    return np.sqrt((x * x).mean())


def over_all(np: Any, x: Any) -> Any:
    return (x - x.min()) / (x.max() - x.min())


def spread(np: Any, x: Any, y: Any) -> Any:
    return (x * y).sum() / np.sqrt((x * x).sum() * (y * y).sum()), (x - y).max() - (x - y).min()


def of_sums(np: Any, x: Any) -> Any:
    return (x * 2).sum(axis=-1).max()


def in_place(np: Any, x: Any) -> Any:
    x -= x.mean(axis=-1, keepdims=True)
    x /= 1 + np.abs(x).max(axis=-1, keepdims=True)
    return x


ONE = [softmax, log_sum_exp, l2_normalise, several, standardise, root_mean_square, over_all]
ONE += [of_sums, in_place]
TWO = [cosine, nearest, distance, spread]
SHAPES = [
    ((37, 130), "f4"),
    ((5, 64), "f8"),
    ((3, 1000), "f4"),
    ((4, 7), "f4"),
    ((200, 1500), "f8"),
]
SHAPES += [((2, 9001), "f4"), ((6, 5, 33), "f8"), ((1, 4), "f4"), ((9, 1), "f8")]


def check(function: Function, *drawn: Any) -> None:
    """Fused, beside NumPy in float64."""
    wide = [x.astype(np.result_type(x, np.float64)) for x in drawn]
    theirs = function(np, *[x.copy() for x in wide])
    ours = third_call(quern.fuse(lambda *args: function(quern, *args)), *map(quern.asarray, drawn))
    if isinstance(theirs, tuple):
        ours, theirs = dict(enumerate(ours)), dict(enumerate(theirs))
    elif not isinstance(theirs, dict):
        ours, theirs = {"": ours}, {"": theirs}
    for name, value in theirs.items():
        value = np.asarray(value)
        found = quern.asnumpy(ours[name])
        assert found.shape == value.shape, str(name)
        if value.dtype.kind != "f":
            np.testing.assert_array_equal(found, value, str(name))
            continue
        eps = 4 * np.finfo(found.dtype).eps * np.sqrt(drawn[0].size)
        np.testing.assert_allclose(found, value, rtol=eps, atol=eps, err_msg=str(name))


@pytest.mark.parametrize("gpu_layout", [False, True])
@pytest.mark.parametrize(("shape", "dtype"), SHAPES, ids=str)
@pytest.mark.parametrize("function", [*ONE, *TWO, layernorm], ids=lambda f: f.__name__)
def test_as_numpy(
    function: Function,
    shape: tuple[int, ...],
    dtype: str,
    gpu_layout: bool,
    device: quern.Device,
    plan_as: Any,
) -> None:
    rng = np.random.default_rng(len(shape) + shape[-1])
    drawn = [rng.standard_normal(shape).astype(dtype)]
    if function in TWO:
        drawn.append(rng.standard_normal(shape).astype(dtype))
    if function is layernorm:
        drawn.append(rng.standard_normal(shape[-1]).astype(dtype))
    with plan_as(gpu_layout=gpu_layout):
        check(function, *drawn)


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 2), -1], ids=str)
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_sums_of_exponentials(axis: Any, dtype: str, device: quern.Device, plan_as: Any) -> None:
    """One reading of what does not lie along rows; infinite ones and NaN give what two readings give."""

    def work(np: Any, x: Any) -> Any:
        top = x.max(axis=axis, keepdims=True)
        total = np.exp(x - top).sum(axis=axis, keepdims=True)
        return {"total": total, "log": np.log(total) + top, "top": top}

    x = (np.random.default_rng(7).standard_normal((9, 70, 40)) * 30).astype(dtype)
    odd = x.copy()
    for k, value in enumerate((-np.inf, np.inf, np.nan)):
        odd[k, k + 1, k + 2] = value
        odd[k + 4], odd[:, k + 10], odd[..., k + 10] = value, value, value
    for drawn in x, odd, np.full_like(x, -np.inf):
        fused = quern.fuse(lambda a: work(quern, a))
        with plan_as(gpu_layout=True):
            found = third_call(fused, quern.asarray(drawn))
            if axis in (0, None) and dtype != "f2":
                assert len(fused.explain(quern.asarray(drawn)).kernels) == 1
        with np.errstate(all="ignore"):
            exact = work(np, drawn.astype("f8"))
        eps = 1e-2 if dtype == "f2" else 40 * np.finfo(dtype).eps
        for name, value in exact.items():
            np.testing.assert_allclose(found[name].get(), value, rtol=eps, atol=eps, err_msg=name)


@pytest.mark.parametrize("gpu_layout", [False, True])
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "bool", "float16"])
def test_other_dtypes(dtype: str, gpu_layout: bool, device: quern.Device, plan_as: Any) -> None:
    def sums(np: Any, x: Any) -> Any:
        y = x.astype(np.float32) * 2
        return {
            "total": x.sum(axis=1),
            "top": x.max(axis=1),
            "where": x.argmax(axis=1),
            "count": np.count_nonzero(x, axis=1),
            "rest": y - y.mean(axis=1, keepdims=True),
        }

    x = np.random.default_rng(1).integers(0, 2 if dtype == "bool" else 9, (70, 300)).astype(dtype)
    with plan_as(gpu_layout=gpu_layout):
        given = quern.asarray(x)
        ours = third_call(quern.fuse(lambda a: sums(quern, a)), given)
    for name, value in sums(np, x).items():
        found = quern.asnumpy(ours[name])
        if name == "total" and dtype == "float16":
            np.testing.assert_allclose(found, x.astype("f8").sum(axis=1), rtol=1e-3)
        else:
            assert found.dtype == value.dtype, name
            np.testing.assert_allclose(found, value, rtol=1e-5, atol=1e-4, err_msg=str(name))


@pytest.mark.parametrize("order", ["F", "reversed", "every other", "broadcast"])
@pytest.mark.parametrize("gpu_layout", [False, True])
def test_layouts(order: str, gpu_layout: bool, device: quern.Device, plan_as: Any) -> None:
    x = np.random.default_rng(2).standard_normal((40, 60)).astype("f4")
    views = {
        "F": lambda np, a: np.asarray(a, order="F"),
        "reversed": lambda np, a: a[::-1, ::-1],
        "every other": lambda np, a: a[:, ::2],
        "broadcast": lambda np, a: np.broadcast_to(a[:1], (40, 60)),
    }
    view = views[order]
    with plan_as(gpu_layout=gpu_layout):
        ours = third_call(quern.fuse(lambda a: softmax(quern, view(quern, a))), quern.asarray(x))
    np.testing.assert_allclose(quern.asnumpy(ours), softmax(np, view(np, x)), rtol=2e-6)


@pytest.mark.parametrize(
    "dtype", ["bool", "uint8", "int64", "uint64", "float16", "float32", "complex64", "complex128"]
)
@pytest.mark.parametrize("length", [3, 33, 100, 300])
def test_elements_that_lie_apart(
    dtype: str, length: int, device: quern.Device, plan_as: Any
) -> None:
    """Threads that have more room than their row needs."""
    x = np.random.default_rng(8).integers(0, 9, (20, 2 * length)).astype(dtype)

    def work(np: Any, x: Any) -> Any:
        top = x.max(axis=1, keepdims=True)
        return top, x == top, (x != 0).sum(axis=1)

    with plan_as(gpu_layout=True):
        found = third_call(quern.fuse(lambda a: work(quern, a[:, ::2])), quern.asarray(x))
    for ours, theirs in zip(found, work(np, x[:, ::2]), strict=True):
        np.testing.assert_array_equal(ours.get(), theirs)


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64"])
@pytest.mark.parametrize("first", [0, 1, 5])
def test_rows_that_begin_anywhere(
    dtype: str, first: int, device: quern.Device, plan_as: Any
) -> None:
    """Rows whose beginnings are no whole addresses, in arrays that begin inside one; neighbours are no part."""

    def work(np: Any, x: Any) -> Any:
        wide = x.astype(np.float32)
        return {
            "top": x.max(axis=1),
            "place": x.argmax(axis=1),
            "sum": x.sum(axis=1, dtype=np.float32),
            "rest": x - x.min(axis=1, keepdims=True),
            "scaled": wide / np.sqrt((wide * wide).sum(axis=1, keepdims=True)),
        }

    rng = np.random.default_rng(5)
    for rows, length in ((7, 17), (64, 33), (40, 67), (33, 333), (5, 1003), (3, 9001), (2, 70001)):
        flat = (rng.standard_normal(rows * length + first + 40) * 9 + 50).astype(dtype)
        flat[:first] = flat[first + rows * length :] = 127
        x = flat[first : first + rows * length].reshape(rows, length)
        with plan_as(gpu_layout=True):
            ours = third_call(
                quern.fuse(
                    lambda a, end=first + rows * length, shape=x.shape: work(
                        quern, a[first:end].reshape(shape)
                    )
                ),
                quern.asarray(flat),
            )
        for name, value in work(np, x).items():
            found = quern.asnumpy(ours[name])
            if name in ("top", "place", "rest"):
                np.testing.assert_array_equal(found, value, err_msg=f"{name} {rows}x{length}")
            else:
                exact = x.astype("f8")
                exact = (
                    exact.sum(axis=1)
                    if name == "sum"
                    else exact / np.sqrt((exact * exact).sum(axis=1, keepdims=True))
                )
                np.testing.assert_allclose(
                    found, exact, rtol=2e-6, err_msg=f"{name} {rows}x{length}"
                )


KERNELS = [
    (softmax, 1, 4),
    (layernorm, 1, 3),
    (log_sum_exp, 1, 3),
    (cosine, 1, 4),
    (distance, 1, 1),
    (root_mean_square, 1, 1),
    (nearest, 1, 1),
    (spread, 1, 6),
    (in_place, 3, 4),
]


@pytest.mark.parametrize(
    ("function", "gpu", "cpu"), KERNELS, ids=lambda v: getattr(v, "__name__", v)
)
def test_how_many_kernels(
    function: Function, gpu: int, cpu: int, device: quern.Device, plan_as: Any
) -> None:
    rng = np.random.default_rng(3)
    drawn = [rng.standard_normal((64, 256)).astype("f4")]
    if function in TWO:
        drawn.append(rng.standard_normal((64, 256)).astype("f4"))
    if function is layernorm:
        drawn.append(rng.standard_normal(256).astype("f4"))
    fused = quern.fuse(lambda *args: function(quern, *args))
    with plan_as(gpu_layout=True):
        assert len(fused.explain(*map(quern.asarray, drawn)).kernels) == gpu
    if device.is_cpu:
        assert len(fused.explain(*map(quern.asarray, drawn)).kernels) == cpu


def test_a_users_reduction_is_fused(device: quern.Device) -> None:
    norm = quern.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm")
    fused = quern.fuse(lambda x: norm(x + 1, axis=1) * 2)
    x = quern.arange(12, dtype="f4").reshape(3, 4)
    assert len(fused.explain(x).kernels) == 1
    wanted = np.sqrt(((np.arange(12).reshape(3, 4) + 1.0) ** 2).sum(axis=1)) * 2
    np.testing.assert_allclose(quern.asnumpy(fused(x)), wanted, rtol=1e-6)


def test_a_reduction_into_its_own_input_is_not_moved(device: quern.Device) -> None:
    def sum_to_row(x: Any) -> Any:
        x.sum(axis=0, out=x[0])
        return x * 2

    ours, theirs = quern.ones((3, 4)), np.ones((3, 4))
    np.testing.assert_array_equal(
        quern.asnumpy(quern.fuse(sum_to_row)(ours)), sum_to_row(theirs.copy())
    )


def test_written_twice(device: quern.Device) -> None:
    def twice(x: Any) -> Any:
        y = x * 2
        first = y.sum(axis=1)
        y += 1
        return first, y.sum(axis=1), y

    x = np.random.default_rng(4).standard_normal((5, 6))
    for ours, theirs in zip(quern.fuse(twice)(quern.asarray(x)), twice(x.copy()), strict=True):
        np.testing.assert_allclose(quern.asnumpy(ours), theirs, rtol=1e-12)


def test_what_is_made_again_is_made_of_what_was_there(device: quern.Device) -> None:
    def overwritten(x: Any) -> Any:
        y = x * 2
        x += 1
        return y + x.sum(axis=1, keepdims=True)

    x = np.random.default_rng(5).integers(0, 9, (5, 6))
    ours = quern.fuse(overwritten)(quern.asarray(x))
    np.testing.assert_array_equal(quern.asnumpy(ours), overwritten(x.copy()))


CHAINED = [(4096, 1024), (700, 1000), (64, 20_000), (3000, 48), (600, 8192), (400, 8190)]


@pytest.mark.parametrize("shape", CHAINED, ids=str)
def test_each_kernel_sees_what_the_one_before_it_stored(device, shape):
    """Row kernels may be launched while the last blocks of the stream's kernel before are at work."""
    random = np.random.default_rng(5)
    host = random.standard_normal(shape).astype("f")
    turn = quern.fuse(lambda x, by: (x - x.mean(axis=1, keepdims=True)) * by + x)
    back = quern.fuse(lambda x: x / quern.sqrt((x * x).mean(axis=1, keepdims=True)))
    x, y = quern.asarray(host), quern.empty(shape, "f")
    expected = host.astype("d")
    for k in range(12):
        x[...] = turn(x, 0.25)
        if k % 3 == 1:
            x += 1
        if k % 3 == 2:
            y[...] = x
            x[...] = 0
            x, y = y, x
        x[...] = back(x)
        expected = (expected - expected.mean(axis=1, keepdims=True)) * 0.25 + expected
        if k % 3 == 1:
            expected += 1
        expected /= np.sqrt((expected * expected).mean(axis=1, keepdims=True))
    np.testing.assert_allclose(x.get(), expected, rtol=2e-5, atol=2e-5)


def test_large_blocks_let_the_next_kernel_come_and_ask_for_their_row(device, plan_as):
    """Small ones are too many for it; a row whose beginning or end is not a pack's is not asked for in one piece, nor
    is one where no row is written."""
    x = quern.ones((300, 8192), "f4")
    fused = quern.fuse(lambda x: x / quern.sqrt((x * x).sum(axis=1, keepdims=True)))
    means = quern.fuse(lambda x: quern.exp(x - x.max(axis=1, keepdims=True)).mean(axis=1))
    with plan_as(gpu_layout=True):
        whole, odd, short = (fused.source(a) for a in (x, x[:, :8191].copy(), x[:, :512].copy()))
        read = means.source(x)
    for source, comes, asks in (
        (whole, True, True),
        (odd, True, False),
        (short, False, False),
        (read, True, False),
    ):
        assert "rows held" in source
        assert "wait_for_earlier()" in source
        assert ("let_next_come()" in source) == comes
        assert ("ask_for(" in source) == asks


@pytest.mark.parametrize("length", [40, 1000, 1024, 3000, 8192, 20_000])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_mean_and_spread_wherever_a_row_begins(
    length: int, dtype: str, device: quern.Device, plan_as: Any
) -> None:
    """Threads meet about what the first of them found, also where that says little about the rest."""

    def work(np: Any, x: Any) -> Any:
        mean, var = x.mean(axis=1, keepdims=True), x.var(axis=1, keepdims=True)
        return {"mean": mean, "var": var, "off": x - mean}

    random = np.random.default_rng(length)
    x = random.standard_normal((24, length))
    x[0, 0] = 200  # alone
    x[1, : length // 8] += 200
    x[2, length // 2 :] -= 90
    x[3] += 1000
    x[4] *= 1e-3
    x[5] = 0.1
    x[6] = np.linspace(0, 100, length)
    x[7, :-1] = 0
    x[8, : length // 2] = 3
    for k in range(32):  # each first value of a warp
        x[9, k * 128 : k * 128 + 4] = 300
        x[10, k * 64 : k * 64 + 16] = -300
    x[11] = x[12, -1] = np.inf
    x[13, 5] = np.nan
    x[14, 0] = -np.inf
    for k in range(0, length, 2048):  # all that the first thread has of 8192
        x[18, k : k + 4] = 1000
    if dtype != "f2":
        x[15], x[16, 0], x[17] = x[15] * 1e17, 1e18, x[17] * 1e-17
    drawn = x.astype(dtype)
    fused = quern.fuse(lambda a: work(quern, a))
    with plan_as(gpu_layout=True):
        found = third_call(fused, quern.asarray(drawn))
    with np.errstate(all="ignore"):
        exact = work(np, drawn.astype("g"))
        scale = np.abs(drawn.astype("d")).max(axis=1, keepdims=True)
        rounded = {name: value.astype(dtype).astype("d") for name, value in exact.items()}
    eps = np.finfo(dtype).eps
    for name, value in rounded.items():
        ours = found[name].get().astype("d")
        same = (ours == value) | (np.isnan(ours) & np.isnan(value))
        with np.errstate(all="ignore"):
            most = 128 * np.abs(value) if name == "var" else 16 * scale
            good = same | (np.abs(ours - value) <= eps * most)
        assert good.all(), (name, np.flatnonzero(~good.all(axis=1)))


@pytest.mark.parametrize("order", [1, -1])
def test_rows_of_any_length_by_one_function(order: int, device: quern.Device, plan_as: Any) -> None:
    """Kernels of one function for rows of a block, of a part of it, and of several blocks."""
    fused = quern.fuse(lambda x: softmax(quern, x))
    random = np.random.default_rng(3)
    lengths = [2, 5, 16, 64, 96, 128, 256, 512, 800, 1000, 1024, 2048, 4096, 8192, 12_000, 40_000]
    with plan_as(gpu_layout=True):
        for length in lengths[::order]:
            x = random.standard_normal((70, length)).astype("f")
            found = third_call(fused, quern.asarray(x)).get()
            np.testing.assert_allclose(found, softmax(np, x.astype("d")), rtol=2e-5, atol=1e-7)
