"""The array functions of `array_gpu` in more dtypes, sizes and axes, on a GPU beside CuPy and PyTorch. Prints a line of
JSON for each.

`python -m tests.bench.cells_gpu int32 "2^20 uint8"` runs the cells whose names begin so or have that dtype.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.bench.array_gpu import compared, names_of
from tests.bench.measure import Row

DTYPES = ("float32", "float64", "float16", "int32", "int64", "uint8")
SIZES = {"2^16": 1 << 16, "2^20": 1 << 20, "2^25": 1 << 25}
ROUNDS = 3
SHAPE, PICKED = (4096, 3000), 3000

# Over `a`, `b`, the same backwards, `S`, sorted, `m`, a mask half true, `p`, random positions.
LINE = """
cumsum | np.cumsum(a) | torch.cumsum(a, 0)
sort | np.sort(a) | torch.sort(a)
argsort | np.argsort(a) | torch.argsort(a)
take | a[p] | a[p]
mask | a[m] | a[m]
where | np.where(m, a, b) | torch.where(m, a, b)
nonzero | np.nonzero(m) | torch.nonzero(m)
unique | np.unique(a) | torch.unique(a)
searchsorted | np.searchsorted(S, b) | torch.searchsorted(S, b)
concatenate | np.concatenate((a, b)) | torch.cat((a, b))
repeat | np.repeat(a, 3) | torch.repeat_interleave(a, 3)
pad | np.pad(a, 7) | torch.nn.functional.pad(a, (7, 7))
"""
OF_INTEGERS = "bincount | np.bincount(a) | torch.bincount(a)"
OF_FLOATS = """
histogram, range given | np.histogram(a, 50, range=(0.0, 1.0)) | torch.histc(a, 50, 0.0, 1.0)
histogram | np.histogram(a, 50) | torch.histc(a, 50)
"""
# Over `M` of SHAPE and `q`, PICKED positions.
SQUARE = """
cumsum, axis 0 | np.cumsum(M, 0) | torch.cumsum(M, 0)
cumsum, axis 1 | np.cumsum(M, 1) | torch.cumsum(M, 1)
sort, axis 0 | np.sort(M, 0) | torch.sort(M, 0)
sort, axis 1 | np.sort(M, 1) | torch.sort(M, 1)
argsort, axis 1 | np.argsort(M, 1) | torch.argsort(M, 1)
take, axis 0 | np.take(M, q, 0) | torch.index_select(M, 0, q)
take, axis 1 | np.take(M, q, 1) | torch.index_select(M, 1, q)
rows | M[q] | M[q]
columns | M[:, q] | M[:, q]
mask | M[M > 50] | M[M > 50]
concatenate, axis 1 | np.concatenate((M, M), 1) | torch.cat((M, M), 1)
repeat, axis 0 | np.repeat(M, 2, 0) | torch.repeat_interleave(M, 2, 0)
repeat, axis 1 | np.repeat(M, 2, 1) | torch.repeat_interleave(M, 2, 1)
pad | np.pad(M, 3) | torch.nn.functional.pad(M, (3, 3, 3, 3))
where | np.where(M > 50, M, 0) | torch.where(M > 50, M, 0)
"""


def drawn(dtype: str, shape: int | tuple[int, int]) -> np.ndarray[Any, Any]:
    random = np.random.default_rng(0)
    if np.dtype(dtype).kind == "f":
        return random.random(shape, np.float32).astype(dtype)
    return random.integers(0, 120 if dtype == "uint8" else 30_000, shape).astype(dtype)


def on_a_line(dtype: str, size: int) -> dict[str, Any]:
    random, a = np.random.default_rng(1), drawn(dtype, size)
    mask, positions = random.random(size) < 0.5, random.integers(0, size, size)
    return {"a": a, "b": a[::-1].copy(), "S": np.sort(a), "m": mask, "p": positions}


def rows(parts: list[str]) -> Iterator[Row]:
    for dtype in DTYPES:
        more = OF_FLOATS if dtype in ("float32", "float64") else ""
        more = OF_INTEGERS if np.dtype(dtype).kind in "iu" else more
        for size, count in SIZES.items():
            name = f"{size} {dtype}"
            if asked(name, dtype, parts):
                yield from of_a_cell(name, on_a_line(dtype, count), LINE + more)
        if asked(name := f"{SHAPE} {dtype}", dtype, parts):
            picked = np.random.default_rng(2).integers(0, PICKED, PICKED)
            yield from of_a_cell(name, {"M": drawn(dtype, SHAPE), "q": picked}, SQUARE)


def asked(name: str, dtype: str, parts: list[str]) -> bool:
    return not parts or dtype in parts or any(name.startswith(part) for part in parts)


def of_a_cell(name: str, host: dict[str, Any], texts: str) -> Iterator[Row]:
    ours, peers = names_of(host)
    for line in filter(None, texts.splitlines()):
        yield compared(line, ours, peers, ROUNDS, f"{name}: ")


def main(parts: list[str]) -> None:
    for row in rows(parts):
        print(row.as_json(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
