"""Fused functions on a GPU by the bytes that they must move, beside the copy rate, and in turns with CuPy, PyTorch and
JAX. Prints a line of JSON for each.

`python -m tests.bench.fuse_gpu "softmax"` runs the rows whose names begin so; with QUERN_BENCH_COMPILE=1 torch.compile
is a peer too, which takes some seconds a row.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from tests.bench.array_gpu import wanted
from tests.bench.beside_unfused import beside_unfused
from tests.bench.device import rate
from tests.bench.floor import Floor
from tests.bench.fuse_first import first_call_rows
from tests.bench.measure import Row, Sample, alternate, call_us, have

SECTION = "fuse-gpu"
N = 1 << 27
SHAPES = ((65536, 1024), (8192, 8192), (1024, 131072), (1 << 20, 64))

Function = Callable[..., Any]
Peer = tuple[Callable[[], object], Callable[[], object]]  # a call, and what waits for it


def black_scholes(np: Any, s: Any, k: Any, t: Any) -> Any:
    root = 0.3 * np.sqrt(t)
    d1 = (np.log(s / k) + 0.065 * t) / root
    d2 = d1 - root
    discounted = k * np.exp(-0.02 * t)

    def phi(d: Any) -> Any:
        w = 1.0 / (1.0 + 0.2316419 * np.abs(d))
        tail = (
            0.3989423
            * np.exp(-0.5 * d * d)
            * w
            * (0.3193815 + w * (-0.3565638 + w * (1.781478 + w * (-1.821256 + w * 1.330274))))
        )
        return np.where(d > 0, 1.0 - tail, tail)

    p1, p2 = phi(d1), phi(d2)
    call = s * p1 - discounted * p2
    return call, call - s + discounted


def polynomial(np: Any, x: Any, mask: Any, rows: Any, columns: Any, small: Any) -> Any:
    y = ((0.5 * x + 1.5) * x - 2.0) * x + rows * columns
    y = np.where(mask > 0, y, small)
    return np.clip(y, -3.0, 3.0).astype("float64")


def softmax(np: Any, x: Any, axis: int) -> Any:
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def layernorm(np: Any, x: Any, axis: int) -> Any:
    mean = np.mean(x, axis=axis, keepdims=True)
    return (x - mean) / np.sqrt(np.var(x, axis=axis, keepdims=True) + 1e-5)


def log_sum_exp(np: Any, x: Any, axis: int) -> Any:
    top = np.max(x, axis=axis, keepdims=True)
    return np.log(np.sum(np.exp(x - top), axis=axis, keepdims=True)) + top


def l2_normalise(np: Any, x: Any, axis: int) -> Any:
    return x / np.sqrt(np.sum(x * x, axis=axis, keepdims=True))


def standardise(np: Any, x: Any, axis: int) -> Any:
    return (x - np.mean(x, axis=axis, keepdims=True)) / np.std(x, axis=axis, keepdims=True)


ROWS: dict[str, tuple[Function, str]] = {
    "softmax": (softmax, "torch.softmax(x, axis)"),
    "layernorm": (
        layernorm,
        "torch.layer_norm(x, x.shape[axis:]) if axis == -1 else "
        "(x - x.mean(axis, True)) / torch.sqrt(x.var(axis, unbiased=False, keepdim=True) + 1e-5)",
    ),
    "log_sum_exp": (log_sum_exp, "torch.logsumexp(x, axis)"),
    "l2_normalise": (l2_normalise, "torch.nn.functional.normalize(x, dim=axis)"),
    "standardise": (standardise, "(x - x.mean(axis, True)) / x.std(axis, keepdim=True)"),
}


def torch_module() -> Any:
    """PyTorch, or None."""
    if not have("torch"):
        return None
    import torch

    return torch


def in_jax(function: Function, host: Iterable[Any]) -> Peer | None:
    """A call of jax.jit(function) and what waits for its last result; None without JAX, or if it does not take it."""
    if not have("jax"):
        return None
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # else it takes most memory
    import jax

    jax.config.update("jax_enable_x64", True)
    compiled = jax.jit(partial(function, jax.numpy))
    arrays = [jax.device_put(a) for a in host]
    last: list[Any] = []

    def call() -> None:
        last[:] = [compiled(*arrays)]

    try:
        call()
    except Exception as error:
        print(f"jax.jit: {error}", file=sys.stderr)
        return None
    return call, lambda: jax.block_until_ready(last)


def in_torch(text: str, axis: int) -> Function:
    """A function of x by its text."""
    found: Function = eval(f"lambda x: {text}", {"torch": torch_module(), "axis": axis})
    return found


def peers_of(
    function: Function, torch_function: Function | None, host: tuple[Any, ...], fuses: bool
) -> dict[str, Peer]:
    """Calls of other libraries on the same arrays, by their names."""
    calls: dict[str, Peer] = {}
    torch = torch_module()
    if torch is not None and torch_function is not None:
        tensors = [torch.from_numpy(a).cuda() for a in host]
        calls["PyTorch"] = (partial(torch_function, *tensors), torch.cuda.synchronize)
        if os.environ.get("QUERN_BENCH_COMPILE"):
            torch._dynamo.reset()  # else sizes that differ from another row's count as unknown ones
            compiled = torch.compile(torch_function, dynamic=False)
            calls["torch.compile"] = (partial(compiled, *tensors), torch.cuda.synchronize)
    if have("cupy"):
        import cupy

        arrays = [cupy.asarray(a) for a in host]
        eager = partial(function, cupy)
        wait = cupy.cuda.Device().synchronize
        calls["CuPy"] = (partial(eager, *arrays), wait)
        if fuses:
            calls["CuPy fuse"] = (
                partial(
                    cupy.fuse(kernel_name="fused")(lambda *args: function(cupy, *args)), *arrays
                ),
                wait,
            )
    jitted = in_jax(function, host)
    if jitted is not None:
        calls["jax.jit"] = jitted
    return calls


def rates_in_turns(calls: dict[str, Peer], moved: int) -> dict[str, Sample]:
    """GB/s by the bytes that each must move: batches of 15 ms, so that what the host does before the first kernel of
    one and after its last does not count, in turns, so that a warm moment meets all.
    """

    def measured(call: Callable[[], object], wait: Callable[[], object]) -> Callable[[], Sample]:
        call(), wait()
        one = call_us(call, wait, calls=5, repeats=3).median
        return partial(rate, call, wait, moved, calls=max(10, min(500, int(15e3 / one))), repeats=3)

    return alternate({name: measured(*peer) for name, peer in calls.items()})


def check_alike(found: Any, wanted: Any) -> None:
    """What is quick and wrong is no figure."""
    import quern

    for ours, theirs in zip(
        *(x if isinstance(x, tuple) else (x,) for x in (found, wanted)), strict=True
    ):
        assert quern.allclose(ours, theirs, rtol=1e-3, atol=1e-4), "fused is not what unfused gives"


def rate_row(
    name: str,
    function: Function,
    host: tuple[Any, ...],
    moved: int,
    copy: Sample | None,
    share: float,
    torch_function: Function | None = None,
    fuses: bool = False,
    beats_peers: bool = False,
) -> Row:
    """`fuses`: CuPy's `fuse` takes it too."""
    import quern

    given = [quern.asarray(a) for a in host]
    fused = quern.fuse(lambda *args: function(quern, *args))
    unfused = partial(function, quern, *given)
    check_alike(fused(*given), unfused())
    calls = {
        "ours": (partial(fused, *given), quern.synchronize),
        "unfused": (unfused, quern.synchronize),
    }
    rates = rates_in_turns({**calls, **peers_of(function, torch_function, host, fuses)}, moved)
    row = Row(
        SECTION,
        name,
        "GB/s",
        rates.pop("ours"),
        copy,
        "copy",
        f">= {share}x the copy rate" + (", >= 1.0x the best peer" if beats_peers else ""),
        share,
        higher_is_better=True,
        beats_peers=beats_peers,
    )
    row.note = f"unfused {rates.pop('unfused').median:.0f}"
    row.peers = rates
    return row


def elementwise_rows(parts: list[str], copy: Sample | None) -> Iterator[Row]:
    random = np.random.default_rng(0)
    if wanted("black_scholes", parts):
        s = random.random(N, np.float32) * 50 + 75
        host = (s, s[::-1].copy(), random.random(N, np.float32) + 0.1)
        yield rate_row(
            "black_scholes 2^27",
            black_scholes,
            host,
            5 * s.nbytes,
            copy,
            0.95,
            partial(black_scholes, torch_module()),
            True,
        )
    if wanted("polynomial", parts):
        x = random.standard_normal((8192, 8192), np.float32)
        mask = (x > 0).astype(np.int8)
        host = (x, mask, x[:, :1].copy(), x[:1].copy(), mask)
        yield rate_row(
            "polynomial, 5 inputs to float64",
            polynomial,
            host,
            (4 + 1 + 1 + 8) * x.size,
            copy,
            0.90,
        )


def row_rows(parts: list[str], copy: Sample | None) -> Iterator[Row]:
    random = np.random.default_rng(0)
    for shape, axis in [*((shape, -1) for shape in SHAPES), ((8192, 8192), 0)]:
        x = random.standard_normal(shape, np.float32)
        for name, (function, torch_text) in ROWS.items():
            what = f"{name} {shape[0]}x{shape[1]}" + (" axis 0" if axis == 0 else "")
            if not wanted(what, parts):
                continue
            stored = 0 if name == "log_sum_exp" else x.nbytes
            yield rate_row(
                what,
                lambda np, x, function=function, axis=axis: function(np, x, axis),
                (x,),
                x.nbytes + stored,
                copy,
                0.6 if shape[1] > 100_000 else 0.8,
                in_torch(torch_text, axis),
                beats_peers=True,
            )


def sum_rows(parts: list[str]) -> Iterator[Row]:
    """Reductions of a few inputs beside a plain sum of as many bytes."""
    import quern

    random = np.random.default_rng(0)
    x = random.standard_normal((8192, 8192), np.float32)
    y = x[::-1].copy()
    ours = quern.asarray(x)
    sums = rates_in_turns(
        {
            "all": (lambda: ours.sum(), quern.synchronize),
            "by row": (lambda: ours.sum(axis=1), quern.synchronize),
        },
        x.nbytes,
    )
    plain, by_row = sums["all"], sums["by row"]
    for name, function, host, beside in (
        ("sum of squared differences", lambda np, x, y: np.sum((x - y) ** 2), (x, y), plain),
        ("root mean square", lambda np, x: np.sqrt(np.mean(x * x)), (x,), plain),
        (
            "distances row by row",
            lambda np, x, y: np.sqrt(np.sum((x - y) ** 2, axis=1)),
            (x, y),
            by_row,
        ),
        (
            "cosine similarity row by row",
            lambda np, x, y: (
                np.sum(x * y, axis=1)
                / (np.sqrt(np.sum(x * x, axis=1)) * np.sqrt(np.sum(y * y, axis=1)))
            ),
            (x, y),
            by_row,
        ),
        (
            "cosine similarity of all",
            lambda np, x, y: np.sum(x * y) / (np.sqrt(np.sum(x * x)) * np.sqrt(np.sum(y * y))),
            (x, y),
            plain,
        ),
    ):
        if wanted(name, parts):
            row = rate_row(name, function, host, sum(a.nbytes for a in host), beside, 0.9)
            row.reference_name, row.demand = "sum", ">= 0.9x a plain sum"
            yield row


def call_rows(parts: list[str], floor: Floor) -> Iterator[Row]:
    """A cached call of three small arrays."""
    import quern

    if not wanted("call", parts):
        return

    def function(x: Any, y: Any, z: Any) -> Any:
        return (x + y) * z - 1

    host = [np.full(1000, k + 1, np.float32) for k in range(3)]
    given = [quern.asarray(a) for a in host]
    fused = quern.fuse(function)
    calls: dict[str, Callable[[], Sample]] = {
        "floor": floor.launch_us,
        "ours": lambda: call_us(fused, quern.synchronize, args=tuple(given)),
        "unfused": lambda: call_us(function, quern.synchronize, args=tuple(given)),
    }
    if have("cupy"):
        import cupy

        theirs, arrays = cupy.fuse(function), tuple(cupy.asarray(a) for a in host)
        calls["CuPy"] = lambda: call_us(theirs, cupy.cuda.Device().synchronize, args=arrays)
    torch = torch_module()
    if torch is not None and os.environ.get("QUERN_BENCH_COMPILE"):
        tensors = tuple(torch.from_numpy(a).cuda() for a in host)
        compiled = torch.compile(function, dynamic=False)
        calls["torch.compile"] = lambda: call_us(compiled, torch.cuda.synchronize, args=tensors)
    jitted = in_jax(lambda np, *args: function(*args), host)
    if jitted is not None:
        calls["jax.jit"] = partial(call_us, *jitted)
    samples = alternate(calls)
    row = Row(
        SECTION,
        "call, 3 arrays of 1000",
        "us",
        samples.pop("ours"),
        samples.pop("floor"),
        "cuLaunchKernel",
        "<= 1.8x a bare launch",
        1.8,
    )
    row.peers = samples
    yield row


def main(parts: list[str]) -> None:
    floor = Floor()
    copy = floor.copy_gbs()
    for rows in (
        elementwise_rows(parts, copy),
        sum_rows(parts),
        row_rows(parts, copy),
        call_rows(parts, floor),
        first_call_rows(SECTION, "cuda") if wanted("first call", parts) else [],
        beside_unfused(SECTION, parts),
    ):
        for row in rows:
            print(row.as_json(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
