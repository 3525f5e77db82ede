"""Random programs of elementwise calls, views, reductions and writes in place: fused, they do what NumPy does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import quern

pytest.importorskip("hypothesis")
from hypothesis import given, settings
from hypothesis import strategies as st

Step = tuple[str, int, int, int]

UNARY: dict[str, Callable[[Any, Any], Any]] = {
    "negative": lambda np, a: -a,
    "absolute": lambda np, a: np.abs(a),
    "sign": lambda np, a: np.sign(a),
    "square": lambda np, a: a * a,
    "plus": lambda np, a: a + 3,
    "cast": lambda np, a: a.astype("int32").astype("int64"),
    "reversed": lambda np, a: a[::-1] if a.ndim else a,
    "columns reversed": lambda np, a: a[:, ::-1] if a.ndim >= 2 else a,
    "transposed": lambda np, a: a.T,
    "first row": lambda np, a: a[:1] if a.ndim == 2 else a,
    "new axis": lambda np, a: a[:, None] if a.ndim == 1 else a,
    "flat": lambda np, a: a.reshape(-1) if a.ndim else a,
    "in pairs": lambda np, a: (
        a.reshape(*a.shape[:-1], -1, 2) if a.ndim and a.shape[-1] % 2 == 0 else a
    ),
    "pairs of rows": lambda np, a: (
        a.reshape(2, -1, *a.shape[1:]) if a.ndim and len(a) % 2 == 0 else a
    ),
    "joined": lambda np, a: a.reshape(-1, *a.shape[2:]) if a.ndim > 1 else a,
    "turned": lambda np, a: np.moveaxis(a, -1, 0) if a.ndim else a,
    "numbered": lambda np, a: a * np.arange(a.shape[-1]) if a.ndim else a,
    "numbers": lambda np, a: np.arange(a.size).reshape(a.shape),
    "ones": lambda np, a: np.eye(*a.shape, dtype="int64") if a.ndim == 2 else a,
    "copied": lambda np, a: a.copy(),
    "sum": lambda np, a: a.sum(axis=-1) if a.ndim else a,
    "sum kept": lambda np, a: a.sum(axis=-1, keepdims=True) if a.ndim else a,
    "sum of columns": lambda np, a: a.sum(axis=0) if a.ndim else a,
    "largest": lambda np, a: a.max(axis=-1, keepdims=True) if a.ndim else a,
    "least of all": lambda np, a: a.min(),
    "place": lambda np, a: a.argmax(axis=0) if a.ndim else a,
}
BINARY: dict[str, Callable[[Any, Any, Any], Any]] = {
    "add": lambda np, a, b: a + b,
    "subtract": lambda np, a, b: a - b,
    "multiply": lambda np, a, b: a * b,
    "maximum": lambda np, a, b: np.maximum(a, b),
    "where": lambda np, a, b: np.where(a > b, a, 2 * b),
}
WRITES = ("add to", "assign", "assign shifted", "assign reversed", "fill", "fill the first")


def meets(a: Any, b: Any) -> tuple[int, ...] | None:
    """The shape that two arrays broadcast to, if they do."""
    try:
        return np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        return None


def write(name: str, a: Any, b: Any) -> None:
    if not a.ndim or meets(a, b) != a.shape:
        return
    if name == "fill":
        a[::2] = 7
    elif name == "fill the first":
        a[0] = -2
    elif name == "add to":
        a += b
    elif name == "assign":
        a[...] = b
    elif name == "assign shifted" and a.ndim and a.shape == b.shape:
        a[1:] = b[:-1]
    elif name == "assign reversed" and a.ndim and a.shape == b.shape:
        a[:] = b[::-1]


def run(np: Any, program: list[Step], arrays: list[Any]) -> list[Any]:
    pool = list(arrays)
    for name, i, j, _ in program:
        a, b = pool[i % len(pool)], pool[j % len(pool)]
        if name in UNARY:
            pool.append(UNARY[name](np, a))
        elif name in BINARY:
            if meets(a, b) is not None:
                pool.append(BINARY[name](np, a, b))
        else:
            write(name, a, b)
    return [pool[k % len(pool)] for *_, k in program[-3:]]


@settings(max_examples=200, deadline=None)
@given(
    program=st.lists(
        st.tuples(
            st.sampled_from([*UNARY, *BINARY, *BINARY, *WRITES]),
            st.integers(0, 30),
            st.integers(0, 30),
            st.integers(0, 30),
        ),
        min_size=3,
        max_size=14,
    ),
    rows=st.integers(1, 5),
    columns=st.integers(1, 6),
    seed=st.integers(0, 100),
    gpu_layout=st.booleans(),
)
def test_as_numpy(
    program: list[Step], rows: int, columns: int, seed: int, gpu_layout: bool
) -> None:
    rng = np.random.default_rng(seed)
    shapes = ((rows, columns), (rows, columns), (columns,), (rows, 1))
    drawn = [rng.integers(-9, 9, shape) for shape in shapes]
    theirs = run(np, program, copies := [x.copy() for x in drawn])
    given_arrays = [quern.asarray(x) for x in drawn]
    quern._core._plan_as(gpu_layout)
    try:
        ours = quern.fuse(run)(quern, program, given_arrays)
    finally:
        quern._core._plan_as()
    for found, wanted in zip([*ours, *given_arrays], [*theirs, *copies], strict=True):
        np.testing.assert_array_equal(quern.asnumpy(found), wanted)
