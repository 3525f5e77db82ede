"""The grid of reductions on one CPU thread beside NumPy, in CPU time. Prints a line of JSON for each cell; every cell's
result is checked against NumPy's first.

`python -m tests.bench.reductions_cpu "sum float32" "any"` runs the cells whose names have one of these parts.
"""

from __future__ import annotations

import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from tests.bench.measure import Row, Sample
from tests.bench.reduction_grid import Cell, agrees, cells

SECTION = "reductions-cpu"
LIMIT, WORST = 1.0, 0.8


def seconds(
    calls: tuple[Callable[[], object], ...],
    least: float = 0.03,
    rounds: int = 5,
    clock: Callable[[], float] = time.process_time,
    pause: float = 0,
) -> list[list[float]]:
    """CPU time of each call, or what `clock` tells: rounds in turns, so that a noisy moment meets all, `least` seconds
    for the slowest, and a `pause` before each turn.

    Each is called as often as the others: the caches take several calls to settle, so that fewer would be slower ones.
    For the same reason the first round is not counted. A round ends when its work has: a call may return before its
    kernel is compiled.
    """
    import quern

    found: list[list[float]] = [[] for _ in calls]
    slowest = 1e-7
    for call in calls:
        call()
        quern.synchronize()
        began = clock()
        call()
        quern.synchronize()
        slowest = max(slowest, clock() - began)
    count = max(1, int(least / rounds / slowest))
    for _ in range(rounds + 1):
        for k, call in enumerate(calls):
            time.sleep(pause)
            began = clock()
            for _ in range(count):
                call()
            quern.synchronize()
            found[k].append((clock() - began) / count)
    return [each[1:] for each in found]


def two_times(
    ours: Callable[[], object], theirs: Callable[[], object], limit: float, **how: Any
) -> list[list[float]]:
    """`seconds` of both; for longer where ours are near `limit` times theirs or above, as noise goes."""
    found = seconds((ours, theirs), **how)
    us, them = map(statistics.median, found)
    if 1.05 * us > limit * them:
        found = seconds((ours, theirs), **(how | {"least": 1, "rounds": 41}))
    return found


def rows(parts: list[str]) -> Iterator[Row]:
    """A row for each cell with one of `parts` in its name; all of them where there is none."""
    import quern

    base, array, key = None, None, None
    for cell in cells("cpu"):
        if parts and not any(part in cell.name for part in parts):
            continue
        if key != (key := (cell.layout.name, cell.dtype, cell.data)):
            base = cell.values()
            array = quern.asarray(base)
        assert base is not None
        assert array is not None
        x, y = cell.view(base), cell.view(array)
        ours = partial(getattr(quern, cell.op), y, axis=cell.axis)
        yield measure(cell, x, ours, partial(getattr(np, cell.op), x, axis=cell.axis))


def measure(
    cell: Cell, x: np.ndarray, ours: Callable[[], object], theirs: Callable[[], object]
) -> Row:
    """A cell's row: our rate against NumPy's."""
    import quern

    row = Row(SECTION, cell.name, "GB/s", higher_is_better=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = quern.asnumpy(ours())
        if not agrees(cell, found, x):
            row.skipped = "WRONG: the result is not NumPy's"
            return row
        by_us, by_numpy = two_times(ours, theirs, 1 / LIMIT)
    rate = cell.bytes_moved / 1e9
    row.ours = Sample.of(by_us).map(lambda s: rate / s)
    row.reference = Sample.of(by_numpy).map(lambda s: rate / s)
    row.reference_name = "NumPy"
    row.demand, row.limit = f">= {LIMIT:g}x NumPy", LIMIT
    return row


def main() -> None:
    ratios = []
    for row in rows(sys.argv[1:]):
        print(row.as_json(), flush=True)
        if row.ratio is not None:
            ratios.append(row.ratio)
    print(
        f"{len(ratios)} cells: worst {min(ratios):.2f}x NumPy, geometric mean "
        f"{statistics.geometric_mean(ratios):.2f}x, {sum(r < LIMIT for r in ratios)} below {LIMIT:g}x, "
        f"{sum(r < WORST for r in ratios)} below {WORST:g}x",
        file=sys.stderr,
    )


if __name__ == "__main__":
    main()
