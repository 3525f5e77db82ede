"""Rows that need a GPU. Run by __main__ with QUERN_DEVICE=cuda; prints a line of JSON for each row."""

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from tests.bench.array_calls import array_call_rows
from tests.bench.cold import cold_rows, cupy_cold
from tests.bench.cold_script import script_rows
from tests.bench.device_raw import launch_rows
from tests.bench.floor import Floor
from tests.bench.measure import Row, Sample, alternate, call_us, have

SECTION = "device"
GIB = 1 << 30


def call_rows(floor: Floor | None, why: str) -> list[Row]:
    """What a call costs over a bare cuLaunchKernel loop."""
    import quern

    x = quern.asarray(np.ones(1000, np.float32))
    y, z = quern.asarray(np.ones(1000, np.float32)), quern.empty(1000, dtype=np.float32)
    add = quern.ElementwiseKernel("T x, T y", "T z", "z = x + y", "bench_add")
    calls: dict[str, Callable[[], Sample]] = {
        "given": lambda: call_us(lambda: add(x, y, z), quern.synchronize),
        "made": lambda: call_us(lambda: add(x, y), quern.synchronize),
    }
    if floor:
        calls["floor"] = floor.launch_us
    if have("cupy"):
        import cupy

        wait = cupy.cuda.Device().synchronize
        a, b, c = (cupy.ones(1000, cupy.float32) for _ in range(3))
        theirs = cupy.ElementwiseKernel("T x, T y", "T z", "z = x + y", "bench_add")
        calls["cupy given"] = lambda: call_us(lambda: theirs(a, b, c), wait)
        calls["cupy made"] = lambda: call_us(lambda: theirs(a, b), wait)
    if have("torch"):
        import torch

        s, t, u = (torch.ones(1000, device="cuda") for _ in range(3))
        calls["torch given"] = lambda: call_us(
            lambda: torch.add(s, t, out=u), torch.cuda.synchronize
        )
        calls["torch made"] = lambda: call_us(lambda: s + t, torch.cuda.synchronize)
    samples = alternate(calls)
    rows = []
    for kind, limit in (("given", 1.35), ("made", 1.6)):
        row = Row(
            SECTION,
            f"call, 1000 float32, output {kind}",
            "us",
            samples[kind],
            samples.get("floor"),
            "cuLaunchKernel",
            f"<= {limit}x a bare launch",
            limit,
            note=why,
        )
        for peer, name in (("cupy", "CuPy"), ("torch", "PyTorch")):
            if f"{peer} {kind}" in samples:
                row.peers[name] = samples[f"{peer} {kind}"]
        rows.append(row)
    return rows


def array_rows(floor: Floor | None, why: str) -> list[Row]:
    """What calls of the array library cost, beside CuPy's and PyTorch's."""
    peers: dict[str, Any] = {}
    if have("cupy"):
        import cupy

        peers["CuPy"] = (cupy, cupy.asarray, cupy.cuda.Device().synchronize)
    if have("torch"):
        import torch

        theirs = SimpleNamespace(
            empty=partial(torch.empty, device="cuda"),
            zeros=partial(torch.zeros, device="cuda"),
            maximum=torch.clamp_min,
            where=torch.where,
        )
        peers["PyTorch"] = (
            theirs,
            lambda array: torch.from_numpy(array).cuda(),
            torch.cuda.synchronize,
        )
    return array_call_rows(SECTION, peers, 1.6, floor.launch_us if floor else None, why)


def reduction_rows(floor: Floor | None, why: str) -> list[Row]:
    """What a reduction's call costs, and a number in the hands of Python."""
    import quern

    text = ("T x", "T y", "x", "a + b", "y = a", "0", "bench_sum")
    x = quern.asarray(np.ones(1000, np.float32))
    kernel = quern.ReductionKernel(*text)
    calls: dict[str, Callable[[], Sample]] = {
        "kernel": lambda: call_us(lambda: kernel(x), quern.synchronize),
        "method": lambda: call_us(x.sum, quern.synchronize),
        "float": lambda: call_us(lambda: float(x.sum())),
    }
    if floor:
        calls["floor"] = floor.launch_us
    if have("cupy"):
        import cupy

        wait = cupy.cuda.Device().synchronize
        a = cupy.ones(1000, cupy.float32)
        theirs = cupy.ReductionKernel(*text)
        calls["CuPy kernel"] = lambda: call_us(lambda: theirs(a), wait)
        calls["CuPy method"] = lambda: call_us(a.sum, wait)
        calls["CuPy float"] = lambda: call_us(lambda: float(a.sum()))
    if have("torch"):
        import torch

        s = torch.ones(1000, device="cuda")
        calls["PyTorch method"] = lambda: call_us(s.sum, torch.cuda.synchronize)
        calls["PyTorch float"] = lambda: call_us(lambda: float(s.sum()))
    samples = alternate(calls)
    rows = []
    for kind, what, limit in (
        ("kernel", "ReductionKernel call, 1000 float32", 1.8),
        ("method", "x.sum(), 1000 float32", None),
        ("float", "float(x.sum()), 1000 float32", 15.0),
    ):
        row = Row(SECTION, what, "us", samples[kind], note=why)
        if kind == "kernel":
            row.reference, row.reference_name = samples.get("floor"), "cuLaunchKernel"
            row.demand = f"<= {limit}x a bare launch"
        elif limit:
            row.demand = f"<= {limit:g} us"
        row.limit = limit
        row.peers = {
            name: samples[f"{name} {kind}"]
            for name in ("CuPy", "PyTorch")
            if f"{name} {kind}" in samples
        }
        rows.append(row)
    return rows


def rate(
    call: Callable[[], object],
    wait: Callable[[], object],
    moved: int,
    calls: int = 20,
    repeats: int = 7,
) -> Sample:
    """GB/s by the bytes that the operation must move."""
    return call_us(call, wait, calls, repeats).map(lambda us: moved / us / 1e3)


def stream_rows(copy: Sample | None) -> list[Row]:
    """z = x + y with 1 GiB operands, then broadcast and transposed operands, beside the device copy."""
    rows = []
    for dtype in ("int8", "float16", "float32", "float64", "complex64"):
        count = GIB // np.dtype(dtype).itemsize
        what = f"z = x + y, 1 GiB, {dtype}"
        row = Row(
            SECTION, what, "GB/s", our_add(count, dtype), copy, "device copy", higher_is_better=True
        )
        row.demand, row.limit = ">= 0.93 of the copy", 0.93
        free()
        if have("cupy"):
            row.peers["CuPy"] = cupy_add(count, dtype)
        if have("torch"):
            row.peers["PyTorch"] = torch_add(count, dtype)
        rows.append(row)

    side = 16384
    ours = our_shapes(side)
    free()
    theirs = cupy_shapes(side) if have("cupy") else []
    for k, (what, limit) in enumerate(
        (("row broadcast", 0.9), ("column broadcast", 0.9), ("transposed operand", 0.7))
    ):
        what = f"{what}, {side}^2 float32"
        row = Row(SECTION, what, "GB/s", ours[k], copy, "device copy", higher_is_better=True)
        row.demand, row.limit = f">= {limit:g} of the copy", limit
        if theirs:
            row.peers["CuPy"] = theirs[k]
        rows.append(row)
    return rows


def free() -> None:
    """Gives memory back to the driver, so that the peers find room."""
    import quern

    quern.get_default_memory_pool().free_all_blocks()


def varied(module: Any, shape: Any, dtype: Any) -> Any:
    """An array of quern's or CuPy's that is not all alike: memory moves zeros more easily than numbers."""
    fill = module.ElementwiseKernel("", "T y", "y = T(int(i % 97))", "bench_fill")
    return fill(module.empty(shape, dtype=dtype))


def our_add(count: int, dtype: str) -> Sample:
    """z = x + y, output given."""
    import quern

    add = quern.ElementwiseKernel("T x, T y", "T z", "z = x + y", "bench_add")
    x, y, z = (varied(quern, count, dtype) for _ in range(3))
    return rate(lambda: add(x, y, z), quern.synchronize, 3 * GIB)


def cupy_add(count: int, dtype: str) -> Sample:
    """The same by CuPy's ufunc."""
    import cupy

    def run() -> Sample:
        a, b, c = (varied(cupy, count, dtype) for _ in range(3))
        return rate(lambda: cupy.add(a, b, out=c), cupy.cuda.Device().synchronize, 3 * GIB)

    sample = run()
    cupy.get_default_memory_pool().free_all_blocks()
    return sample


def torch_add(count: int, dtype: str) -> Sample:
    """The same by PyTorch."""
    import torch

    def run() -> Sample:
        s, t, u = (
            (torch.arange(count, dtype=torch.int32, device="cuda") % 97).to(getattr(torch, dtype))
            for _ in range(3)
        )
        return rate(lambda: torch.add(s, t, out=u), torch.cuda.synchronize, 3 * GIB)

    sample = run()
    torch.cuda.empty_cache()
    return sample


def shapes(module: Any, wait: Callable[[], object], side: int) -> list[Sample]:
    """A row, a column and a transposed operand, by the ElementwiseKernel of quern or CuPy."""
    add = module.ElementwiseKernel("T x, T y", "T z", "z = x + y", "bench_add")
    x, y, z = (varied(module, (side, side), np.float32) for _ in range(3))
    line, column = (varied(module, s, np.float32) for s in ((1, side), (side, 1)))
    whole = side * side * 4
    return [
        rate(partial(add, x, other, z), wait, moved)
        for other, moved in (
            (line, 2 * whole + 4 * side),
            (column, 2 * whole + 4 * side),
            (y.T, 3 * whole),
        )
    ]


def our_shapes(side: int) -> list[Sample]:
    """By quern."""
    import quern

    return shapes(quern, quern.synchronize, side)


def cupy_shapes(side: int) -> list[Sample]:
    """By CuPy."""
    import cupy

    sample = shapes(cupy, cupy.cuda.Device().synchronize, side)
    cupy.get_default_memory_pool().free_all_blocks()
    return sample


def start_rows() -> list[Row]:
    """Cold starts, CuPy's beside them."""
    rows = cold_rows(SECTION, "cuda", (75, 12, 3))
    if have("cupy"):
        compiled, loaded = cupy_cold()
        theirs: tuple[Any, ...] = (
            compiled["first_ms"],
            compiled["further_ms"],
            loaded["first_ms"],
            loaded["further_ms"],
            compiled["above_ms"],
        )
        for row, sample in zip(rows[:5], theirs, strict=True):
            row.peers["CuPy"] = sample
    return rows + script_rows(SECTION, "cuda", (600, 150))


def main() -> None:
    floor, copy, why = None, None, ""
    try:
        floor = Floor()
        copy = floor.copy_gbs()
    except RuntimeError as error:
        why = str(error)
    for rows in (
        lambda: call_rows(floor, why),
        lambda: array_rows(floor, why),
        lambda: launch_rows(SECTION, floor, why),
        lambda: reduction_rows(floor, why),
        lambda: stream_rows(copy),
        start_rows,
    ):
        for row in rows():
            print(row.as_json(), flush=True)


if __name__ == "__main__":
    main()
