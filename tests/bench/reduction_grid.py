"""The grid of reductions: operations, dtypes, shapes, views, data, and the bytes that must move. Knows no library.

A cell is run as `getattr(library, cell.op)(cell.view(array), axis=cell.axis)`, where `array` holds `cell.values()`, or
anything of shape `cell.base` and `cell.dtype`, in C order. The scales are those of a GPU's memory, of a CPU's, and one
for tests of values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

OPS = (
    "sum", "prod", "max", "argmax", "mean", "std", "any", "nansum", "count_nonzero", "cumsum",
)  # fmt: skip
DTYPES = ("int8", "float16", "bfloat16", "float32", "float64", "complex64")
SCALES = ("gpu", "cpu", "tiny")

Axis = int | tuple[int, ...] | None
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Layout:
    """An array's shape at each scale, the part of it that is looked at, and the axes that are reduced."""

    name: str
    shapes: tuple[Shape, Shape, Shape]  # in the order of SCALES
    axis: Axis
    view: Callable[[Any], Any] = lambda array: array
    order: tuple[int, ...] | None = None  # of the view's axes, where they are transposed
    step: int = 1  # of the view along the only axis
    small: bool = False  # held against peers by time


def _square(name: str, axis: Axis) -> Layout:
    return Layout(name, ((1 << 14, 1 << 14), (1 << 12, 1 << 12), (96, 80)), axis)


LAYOUTS = (
    Layout("(n) all", ((1 << 28,), (1 << 24,), (10007,)), None),
    Layout("256^3 all", ((256, 256, 256), (256, 256, 256), (16, 20, 24)), None),
    _square("(n, n) axis 0", 0),
    _square("(n, n) axis 1", 1),
    Layout("(n, 16) axis 0", ((1 << 24, 16), (1 << 20, 16), (997, 16)), 0),
    Layout("(n, 16) axis 1", ((1 << 24, 16), (1 << 20, 16), (997, 16)), 1),
    Layout("(16, n) axis 0", ((16, 1 << 24), (16, 1 << 20), (16, 997)), 0),
    Layout("(16, n) axis 1", ((16, 1 << 24), (16, 1 << 20), (16, 997)), 1),
    Layout("(l, m, n) axis 1", ((256, 1024, 1024), (256, 256, 256), (12, 30, 40)), 1),
    Layout("(l, m, n) axes 0, 2", ((1024, 512, 512), (256, 512, 128), (12, 30, 40)), (0, 2)),
    Layout("(3, n, 64) axes 0, 1", ((3, 1 << 20, 64), (3, 1 << 17, 64), (3, 200, 64)), (0, 1)),
    Layout(
        "transposed all",
        ((1 << 14, 1 << 14), (1 << 12, 1 << 12), (96, 80)),
        None,
        lambda array: array.T,
        order=(1, 0),
    ),
    Layout(
        "stride 2 all",
        ((1 << 29,), (1 << 25,), (20014,)),
        None,
        lambda array: array[::2],
        step=2,
    ),
    Layout("(2^20) all", ((1 << 20,), (1 << 20,), (1009,)), None, small=True),
    Layout("(1000, 1000) axis 0", ((1000, 1000), (1000, 1000), (100, 100)), 0, small=True),
)


@dataclass(frozen=True)
class Cell:
    """One operation on one dtype in one layout at one scale."""

    op: str
    dtype: str
    layout: Layout
    scale: str

    @property
    def name(self) -> str:
        return f"{self.op} {self.dtype} {self.layout.name}"

    @property
    def base(self) -> Shape:
        """Shape of the array behind the view."""
        return self.layout.shapes[SCALES.index(self.scale)]

    @property
    def shape(self) -> Shape:
        """Shape of what is reduced."""
        if self.layout.order is not None:
            return tuple(self.base[d] for d in self.layout.order)
        return tuple(-(-extent // self.layout.step) for extent in self.base)

    @property
    def axis(self) -> Axis:
        return self.layout.axis

    @property
    def view(self) -> Callable[[Any], Any]:
        return self.layout.view

    @property
    def result_shape(self) -> Shape:
        if self.axis is None:
            return (self.count,) if self.op == "cumsum" else ()
        if self.op == "cumsum":
            return self.shape
        axes = (self.axis,) if isinstance(self.axis, int) else self.axis
        return tuple(extent for d, extent in enumerate(self.shape) if d not in axes)

    @property
    def count(self) -> int:
        """Elements that are read."""
        return math.prod(self.shape)

    @property
    def terms(self) -> int:
        """Elements behind a result; behind the last one of a scan."""
        if self.axis is None:
            return self.count
        axes = (self.axis,) if isinstance(self.axis, int) else self.axis
        return math.prod(self.shape[d] for d in axes)

    @property
    def result_dtype(self) -> np.dtype[Any]:
        """NumPy's."""
        if self.op == "any":
            return np.dtype(bool)
        if self.op in ("argmax", "count_nonzero"):
            return np.dtype("i8")
        if self.dtype == "int8" and self.op != "max":
            return np.dtype("f8" if self.op in ("mean", "std") else "i8")
        return np.dtype("f4") if (self.op, self.dtype) == ("std", "complex64") else as_dtype(self)

    @property
    def data(self) -> str:
        """Which data `values` makes: cells of one base, dtype and name of data can share an array."""
        return self.op if self.op in ("any", "prod", "nansum") else "normal"

    @property
    def bytes_moved(self) -> int:
        """What must be read and written, each element once."""
        written = math.prod(self.result_shape) * self.result_dtype.itemsize
        return self.count * as_dtype(self).itemsize + written

    def values(self, seed: int = 0) -> npt.NDArray[Any]:
        """The array behind the view. One block of random numbers repeated: large arrays are made in little time."""
        return np.resize(self.block(seed), math.prod(self.base)).reshape(self.base)

    def block(self, seed: int = 0) -> npt.NDArray[Any]:
        """The numbers that `values` repeats."""
        count = min(math.prod(self.base), (1 << 20) + 7)
        return _block(self.data, as_dtype(self), np.random.default_rng(seed), count)


def as_dtype(cell: Cell) -> np.dtype[Any]:
    """The dtype of a cell's input."""
    return np.dtype(ml_dtypes.bfloat16 if cell.dtype == "bfloat16" else cell.dtype)


def agrees(cell: Cell, found: npt.NDArray[Any], values: npt.NDArray[Any]) -> bool:
    """Is `found` what NumPy makes of `values` (what is reduced): equal for exact results, and for floats as near to the
    sum in twice the width as the dtype's digits allow, or nearer than NumPy's own?
    """
    if found.shape != cell.result_shape or found.dtype != cell.result_dtype:
        return False
    kind = np.dtype(cell.dtype).kind if cell.dtype != "bfloat16" else "f"
    reduce = getattr(np, cell.op)
    if found.dtype.kind in "bi" or cell.op == "max":
        return bool((found == reduce(values, axis=cell.axis)).all())
    exact = reduce(values.astype("c16" if kind == "c" else "f8"), axis=cell.axis)
    digits = {"float16": 1e-3, "bfloat16": 1e-2, "float64": 1e-13, "int8": 1e-13}.get(
        cell.dtype, 1e-6
    )
    digits *= 16 if cell.op == "cumsum" else 1  # what came before is added one after another
    digits *= 4 if cell.op == "std" else 1  # a difference of sums
    room = digits * np.abs(exact)
    if cell.op != "prod":  # errors grow with what was added, not with what is left of it
        divisor = cell.terms if cell.op in ("mean", "std") else 1
        room = room + digits * math.sqrt(cell.terms) / divisor
    if bool((np.abs(found.astype(exact.dtype) - exact) <= room).all()):
        return True
    # NumPy may add one after another: then no more is asked than that it is no nearer itself
    theirs = reduce(values, axis=cell.axis)
    exact = reduce(values.astype("G" if kind == "c" else "g"), axis=cell.axis)
    missed = [
        float(np.square(np.abs(of.astype(exact.dtype) - exact)).mean()) for of in (found, theirs)
    ]
    return missed[0] <= missed[1]


def _block(
    data: str, dtype: np.dtype[Any], random: np.random.Generator, count: int
) -> npt.NDArray[Any]:
    if data == "any":  # nothing may end the search
        return np.zeros(count, dtype)
    complex_ = dtype.kind == "c"
    if data == "prod":  # no product grows or vanishes
        return random.choice([1, -1, 1j, -1j] if complex_ else [1, -1], count).astype(dtype)
    if dtype.kind == "i":
        return random.integers(-100, 100, count).astype(dtype)
    values = random.standard_normal(count)
    if complex_:
        values = values + 1j * random.standard_normal(count)
    values[random.random(count) < 0.2] = 0
    if data == "nansum":
        values[random.random(count) < 0.1] = np.nan
    return values.astype(dtype)


def cells(scale: str) -> Iterator[Cell]:
    """Every cell that is defined, arrays of one layout behind one another."""
    for layout in LAYOUTS:
        for dtype in DTYPES:
            for op in OPS:
                # one axis at most, and complex numbers have no order that all libraries know
                if op in ("argmax", "cumsum") and isinstance(layout.axis, tuple):
                    continue
                if op in ("max", "argmax") and dtype == "complex64":
                    continue
                yield Cell(op, dtype, layout, scale)
