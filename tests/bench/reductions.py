"""The grid of reductions on a GPU beside the device copy, CuPy and PyTorch, all on the same memory. Prints a line of
JSON for each cell. That results are right is for the tests; here only time counts.

`python -m tests.bench.reductions "sum float32" "any"` runs the cells whose names have one of these parts.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from tests.bench.floor import Floor
from tests.bench.measure import Row, Sample, have
from tests.bench.reduction_grid import Cell, as_dtype, cells

SECTION = "reductions"
WORST, MEAN, BESIDE_PEERS = 0.4, 0.75, 0.9
Call = Callable[[], Any]


def seconds(call: Call, wait: Call) -> Sample:
    """Time of a call: batches that fill the device's queue, one wait behind each. A slow call is not repeated often."""
    call()
    wait()
    began = time.perf_counter()
    call()
    wait()
    took = max(time.perf_counter() - began, 1e-6)
    calls = max(1, min(200, int(0.006 / took)))
    found = []
    for _ in range(5 if took < 0.02 else 1):
        began = time.perf_counter()
        for _ in range(calls):
            call()
        wait()
        found.append((time.perf_counter() - began) / calls)
    return Sample.of(found)


def made(cell: Cell) -> Any:
    """The array behind the view, on the device: one block of numbers, repeated."""
    import quern

    block = quern.asarray(cell.block())
    repeat = quern.ElementwiseKernel(
        "raw T block, int64 length", "T y", "y = block[i % length]", "bench_repeat"
    )
    return repeat(block, block.size, quern.empty(cell.base, dtype=as_dtype(cell)))


def by_cupy(cell: Cell, array: Any) -> Call:
    """CuPy's call on the same memory."""
    import cupy

    view = cell.view(cupy.asarray(array))
    return partial(getattr(cupy, cell.op), view, axis=cell.axis)


def by_torch(cell: Cell, array: Any) -> Call:
    """PyTorch's nearest call on the same memory: the mean of integers in float64, as NumPy has it."""
    import torch

    whole = torch.from_dlpack(array)
    # no negative steps and no `.T` of other than two axes in PyTorch: the grid has neither
    view = cell.view(whole)
    axis = cell.axis
    if cell.op == "cumsum":
        return lambda: torch.cumsum(
            view if axis is not None else view.reshape(-1),
            axis if axis is not None else 0,  # type: ignore[arg-type]
        )
    function = getattr(torch, "amax" if cell.op == "max" else cell.op)
    options: dict[str, Any] = {} if axis is None else {"dim": axis}
    if cell.op == "std":
        options["correction"] = 0
    if cell.op == "mean" and cell.dtype == "int8":
        options["dtype"] = torch.float64
    return lambda: function(view, **options)


def peers() -> dict[str, tuple[Callable[[Cell, Any], Call], Call]]:
    """Those that are here: how they call a cell, how they wait."""
    found: dict[str, tuple[Callable[[Cell, Any], Call], Call]] = {}
    if have("cupy"):
        import cupy

        found["CuPy"] = (by_cupy, cupy.cuda.Device().synchronize)
    if have("torch"):
        import torch

        found["PyTorch"] = (by_torch, torch.cuda.synchronize)
    return found


def rows(parts: list[str], copy: Sample | None) -> Iterator[Row]:
    """A row for each cell with one of `parts` in its name; all of them where there is none."""
    import quern

    others, array, key = peers(), None, None
    for cell in cells("gpu"):
        if parts and not any(part in cell.name for part in parts):
            continue
        if key != (key := (cell.layout.name, cell.dtype, cell.data)):
            array = None
            quern.get_default_memory_pool().free_all_blocks()
            array = made(cell)
        yield measure(cell, array, others, copy)


def measure(cell: Cell, array: Any, others: Any, copy: Sample | None) -> Row:
    """A cell's row: our rate, the copy's, the peers'."""
    import quern

    row = Row(SECTION, cell.name, "GB/s", higher_is_better=True)
    moved = cell.bytes_moved / 1e9

    def rate(sample: Sample) -> Sample:
        return sample.map(lambda s: moved / s)

    view = cell.view(array)
    row.ours = rate(
        seconds(partial(getattr(quern, cell.op), view, axis=cell.axis), quern.synchronize)
    )
    for name, (calls, wait) in others.items():
        try:
            row.peers[name] = rate(seconds(calls(cell, array), wait))
        except Exception as error:  # a peer without this dtype or these axes
            row.note = f"{row.note}; {name}: {type(error).__name__}".lstrip("; ")
    if cell.layout.small:
        best = max(row.peers.values(), key=lambda s: s.median, default=None)
        row.reference, row.reference_name = best, "the better peer"
        row.demand, row.limit = ">= the better peer", 1.0
    else:
        row.reference, row.reference_name = copy, "device copy"
        row.demand, row.limit = f">= {WORST:g} of the copy", WORST
    return row


def summary(found: list[Row]) -> str:
    """The demands on the whole grid, in words."""
    large = [row for row in found if row.reference_name == "device copy" and row.ratio]
    if not large:
        return "no large cell was run"
    ratios = [row.ratio for row in large if row.ratio]
    beside = [
        row
        for row in large
        if row.peers
        and row.ours
        and row.ours.median < BESIDE_PEERS * max(s.median for s in row.peers.values())
    ]
    small = [row for row in found if row.reference_name == "the better peer" and row.ratio]
    return (
        f"{len(large)} large cells: worst {min(ratios):.2f} of the copy (>= {WORST:g}), geometric mean "
        f"{statistics.geometric_mean(ratios):.2f} (>= {MEAN:g}), {sum(r < WORST for r in ratios)} below {WORST:g}; "
        f"{len(beside)} below {BESIDE_PEERS:g}x the better peer"
        + (
            f"; {len(small)} small cells, {sum(r.verdict == 'MISSED' for r in small)} slower than it"
            if small
            else ""
        )
    )


def main() -> None:
    copy = None
    try:
        copy = Floor().copy_gbs()
    except RuntimeError as error:
        print(f"no copy rate: {error}", file=sys.stderr)
    found = []
    for row in rows(sys.argv[1:], copy):
        found.append(row)
        print(row.as_json(), flush=True)
    print(summary(found), file=sys.stderr)


if __name__ == "__main__":
    main()
