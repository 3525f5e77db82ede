"""Shapes that no grid lists, on one CPU thread beside NumPy, in CPU time: short rows, few rows, middle axes, steps.
Prints the cells below a limit, the worst first, and how many there were.

`python -m tests.bench.shapes_cpu [--limit 0.8] [--dtypes float32 int8] [reduce axis view]`
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from tests.bench.reductions_cpu import seconds

DTYPES = ("float32", "float64", "int32", "uint8", "complex64")
Function = Callable[[ModuleType, Any], object]
Cell = tuple[str, Function, Any, Any]  # its name, what is timed, NumPy's array, ours

REDUCTIONS = [
    "sum",
    "prod",
    "max",
    "argmax",
    "mean",
    "std",
    "any",
    "count_nonzero",
    "nansum",
    "ptp",
    "cumsum",
]
ALONG_AXES: dict[str, Callable[[ModuleType, Any, int], object]] = {
    "sort": lambda m, a, axis: m.sort(a, axis=axis),
    "argsort": lambda m, a, axis: m.argsort(a, axis=axis),
    "partition": lambda m, a, axis: m.partition(a, a.shape[axis] // 2, axis=axis),
    "median": lambda m, a, axis: m.median(a, axis=axis),
    "flip": lambda m, a, axis: m.flip(a, axis=axis).copy(),
    "roll": lambda m, a, axis: m.roll(a, 3, axis=axis),
    "repeat": lambda m, a, axis: m.repeat(a, 2, axis=axis),
    "concatenate": lambda m, a, axis: m.concatenate((a, a), axis=axis),
    "stack": lambda m, a, axis: m.stack((a, a), axis=axis),
    "diff": lambda m, a, axis: m.diff(a, axis=axis),
    "delete": lambda m, a, axis: m.delete(a, 1, axis=axis),
    "insert": lambda m, a, axis: m.insert(a, 1, 3, axis=axis),
    "centred": lambda m, a, axis: a - a.mean(axis=axis, keepdims=True),
    "to the front": lambda m, a, axis: m.moveaxis(a, axis, 0).copy(),
}
ON_VIEWS: dict[str, Function] = {
    "copy": lambda m, a: a.copy(),
    "add": lambda m, a: a + a,
    "equal": lambda m, a: a == a,
    "sqrt": lambda m, a: m.sqrt(a),
    "log": lambda m, a: m.log(a),
    "to float64": lambda m, a: a.astype("float64"),
    "where": lambda m, a: m.where(a == 3, a, 0),
    "sum": lambda m, a: a.sum(),
    "argmax": lambda m, a: a.argmax(),
}


def reduced(op: str, axis: Any, m: ModuleType, a: Any) -> object:
    return getattr(m, op)(a, axis=axis)


def reductions(dtype: str) -> Iterator[Cell]:
    import quern

    flat = values(dtype, 1 << 20)
    shapes: list[tuple[tuple[int, ...], Any]] = []
    for row in (2, 3, 7, 16, 33, 100, 500, 3000, 40000):
        shapes += [((flat.size // row, row), 1), ((row, flat.size // row), 0)]
    for row, columns in ((5, 4), (16, 16), (100, 3), (1000, 2), (30, 100), (1000, 10)):
        rows = flat.size // (row * columns)
        shapes += [((rows, row, columns), 1), ((row, rows, columns), (0, 2))]
    for shape, axis in shapes:
        x = flat[: int(np.prod(shape))].reshape(shape)
        y = quern.asarray(x)
        for op in REDUCTIONS:
            if not isinstance(axis, tuple) or op not in ("argmax", "cumsum"):
                yield f"{op} {dtype} {shape} axis {axis}", partial(reduced, op, axis), x, y


def along_axes(dtype: str) -> Iterator[Cell]:
    import quern

    flat = values(dtype, 300_000)
    for shape in (
        (100_000, 3),
        (3, 100_000),
        (500, 600),
        (100, 50, 60),
        (18_750, 16),
        (10, 30_000),
    ):
        x = flat[: int(np.prod(shape))].reshape(shape)
        y = quern.asarray(x)
        for axis in range(len(shape)):
            chosen = np.random.default_rng(1).integers(0, shape[axis], max(1, shape[axis] // 2))
            places = {np: chosen, quern: quern.asarray(chosen)}
            calls = dict(ALONG_AXES, take=lambda m, a, axis, p=places: m.take(a, p[m], axis=axis))
            for name, along in calls.items():
                yield f"{name} {dtype} {shape} axis {axis}", partial(along, axis=axis), x, y


def views(dtype: str) -> Iterator[Cell]:
    import quern

    for step in (2, 3, 4, 7, -1, -2):
        base = values(dtype, 10**6 * abs(step))
        x, y = base[::step], quern.asarray(base)[::step]
        for name, call in ON_VIEWS.items():
            yield f"{name} {dtype} by {step}", call, x, y


def values(dtype: str, count: int) -> np.ndarray:
    return (np.random.default_rng(0).random(count) * 100 + 1).astype(dtype)


def main() -> None:
    import quern

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kinds", nargs="*", default=["reduce", "axis", "view"])
    parser.add_argument("--limit", type=float, default=0.8, help="of NumPy's rate")
    parser.add_argument("--dtypes", nargs="*", default=DTYPES)
    options = parser.parse_args()
    kinds = {"reduce": reductions, "axis": along_axes, "view": views}
    warnings.simplefilter("ignore")
    count, below = 0, []
    for kind in options.kinds:
        for dtype in options.dtypes:
            for name, call, x, y in kinds[kind](dtype):
                try:
                    call(np, x)
                except (TypeError, ValueError):
                    continue  # NumPy has it for another dtype
                timed = (partial(call, np, x), partial(call, quern, y))
                theirs, ours = map(min, seconds(timed, least=0.012, rounds=3))
                count += 1
                if theirs / ours < options.limit:
                    below.append((theirs / ours, name, theirs * 1e6, ours * 1e6))
    for ratio, name, theirs, ours in sorted(below):
        print(f"{ratio:.2f} {name}: NumPy {theirs:.0f} us, quern {ours:.0f} us")
    print(f"{count} cells, {len(below)} below {options.limit:g}x NumPy")


if __name__ == "__main__":
    main()
