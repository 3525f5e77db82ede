"""How a function of the corpus names its arguments, and how they are drawn: shapes, dtypes, layouts, values."""

from __future__ import annotations

import dataclasses
import itertools
import os
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

EXTENTS = {"n": 33, "m": 65, "k": 6, "h": 18, "w": 14, "b": 4, "c": 3}
# With another QUERN_EXPLORE other values are drawn, and more layouts.
SEED = zlib.crc32(os.environ.get("QUERN_EXPLORE", "").encode())
ANY_SHAPES: list[tuple[int, ...]] = [(33, 65), (), (1,), (7,), (4, 5, 6), (0, 3)]


@dataclasses.dataclass(frozen=True)
class Array:
    """An argument that is an array.

    `shape` holds letters of EXTENTS and numbers, "n m 3", or is "*": any shape, the same for all such arrays of the
    call. `dtype` is T, U or V, which the case's `dtypes` say, or a dtype's name. Values lie between `low` and `high`,
    numbers or letters of extents ("-m"), with NaN and infinities among them where there are `specials`. `written` says
    that the function writes to the array, `distinct` that rows which are all equal would have it divide by zero:
    neither gets a stride of 0.
    """

    shape: str
    dtype: str = "T"
    low: float | str | None = None
    high: float | str | None = None
    written: bool = False
    distinct: bool = False
    specials: bool = False


@dataclasses.dataclass(frozen=True)
class Scalar:
    """A NumPy scalar of a dtype of the case."""

    value: complex
    dtype: str = "T"


@dataclasses.dataclass(frozen=True)
class Part:
    """A view of another argument: `args[of][at]`."""

    of: int
    at: Any


@dataclasses.dataclass(frozen=True)
class Case:
    """One way in which a function is called.

    `dtypes` are words of one letter each for T, U and V. `sizes` are "main", "ones" (every extent 1), "empty" (the
    first letter's extent 0) or extents of letters. Results may be `tolerance` times the dtype's epsilon away from the
    oracle, of their own size and of `near_zero`, besides what NumPy itself is away. Functions that see dtypes or jump
    where values change little have no wider `oracle` than NumPy in the same dtypes ("same"). Where a result has a
    wider dtype than what it was computed in, `epsilon_of` names the narrower, as arrays do. A function that is `made`
    is what the function returns.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    dtypes: str = "f d"
    sizes: tuple[str | dict[str, int], ...] = ("main", "ones", "empty")
    tolerance: float = 16
    near_zero: float = 0
    oracle: str = "wide"
    epsilon_of: str = ""
    made: bool = False


def case(*args: Any, **kwargs: Any) -> Callable[[Any], Any]:
    """Add the function to the corpus, called with these arguments; keywords that are fields of Case are the case's."""
    fields = {f.name for f in dataclasses.fields(Case)} - {"args", "kwargs"}
    own = {k: kwargs.pop(k) for k in fields & kwargs.keys()}
    if isinstance(own.get("sizes"), str):
        own["sizes"] = tuple(own["sizes"].split())

    def add(function: Any) -> Any:
        function.cases = [Case(args, kwargs, **own), *getattr(function, "cases", [])]
        return function

    return add


# Of the array that a layout is a view of: its shape, and the view.
Layout = tuple[Callable[[tuple[int, ...]], tuple[int, ...]], Callable[[Any], Any]]
LAYOUTS: dict[str, Layout] = {
    "c": (lambda s: s, lambda a: a),
    "f": (lambda s: s[::-1], lambda a: a.T),
    "strided": (lambda s: tuple(2 * n for n in s), lambda a: a[(slice(None, None, 2),) * a.ndim]),
    "turned": (
        lambda s: (*s[1:], *s[:1]),
        lambda a: a.transpose(a.ndim - 1, *range(a.ndim - 1)),
    ),
    "reversed": (lambda s: s, lambda a: a[(slice(None, None, -1),) * a.ndim]),
    "broadcast": (lambda s: (1, *s[1:]), lambda a: a),  # grows in `laid`
    "offset": (lambda s: tuple(n + 3 for n in s), lambda a: a[(slice(1, -2),) * a.ndim]),
}


@dataclasses.dataclass(frozen=True)
class Drawn:
    """Values of an array and the layout in which functions get them."""

    values: npt.NDArray[Any]
    layout: str

    def laid(self, module: Any, widen: Callable[[Any], Any]) -> tuple[Any, Any]:
        """The array, as NumPy or quern has it, and the whole that it is a view of."""
        shape_of, view_of = LAYOUTS[self.layout]
        whole = np.full(shape_of(self.values.shape), 1, self.values.dtype)
        view_of(whole)[...] = self.values[:1] if self.layout == "broadcast" else self.values
        whole = module.asarray(widen(whole))
        if self.layout == "broadcast":
            return module.broadcast_to(whole, self.values.shape), whole
        return view_of(whole), whole


@dataclasses.dataclass(frozen=True)
class Run:
    """One call of a function of the corpus: a case with dtypes, extents and layouts."""

    name: str
    case: Case
    number: int
    dtypes: str
    extents: dict[str, int]
    any_shape: tuple[int, ...]
    turn: int | None  # of the layouts; None: all in C order

    def __str__(self) -> str:
        shape = self.any_shape if "*" in self.extents else tuple(self.extents.values())
        layout = "c" if self.turn is None else f"layouts{self.turn % 6}"
        extents = "x".join(map(str, shape)) or "scalar"
        return f"{self.name}-{self.number}-{self.dtypes}-{extents}-{layout}"

    def draw(self) -> tuple[Any, ...]:
        """The arguments, arrays as Drawn: `(args, kwargs)`."""
        random = np.random.default_rng([SEED, zlib.crc32(self.name.encode()), self.number])
        count = itertools.count()

        def drawn(value: Any) -> Any:
            if isinstance(value, Array):
                return self._array(value, random, next(count))
            if isinstance(value, Scalar):
                return self.dtype_of(value.dtype).type(value.value)
            return value

        return walk(drawn, self.case.args), walk(drawn, self.case.kwargs)

    def dtype_of(self, name: str) -> np.dtype[Any]:
        letter = self.dtypes["TUV".index(name)] if name in ("T", "U", "V") else name
        return np.dtype(ml_dtypes.bfloat16 if letter == "X" else letter)

    def _bound(self, bound: float | str | None, usual: float) -> float:
        if isinstance(bound, str):
            return -self.extents[bound[1:]] if bound[0] == "-" else self.extents[bound] - 1
        return usual if bound is None else bound

    def _array(self, array: Array, random: np.random.Generator, place: int) -> Drawn:
        shape = self.any_shape
        if array.shape != "*":
            shape = tuple(
                self.extents[e] if e in self.extents else int(e) for e in array.shape.split()
            )
        dtype = self.dtype_of(array.dtype)
        span = 50 if dtype.kind in "iu" else 2
        low, high = self._bound(array.low, -span), self._bound(array.high, span)
        if dtype.kind == "b":
            values = random.integers(0, 2, shape).astype(dtype)
        elif dtype.kind in "iu":
            low = max(low, np.iinfo(dtype).min)
            values = random.integers(int(low), int(high), shape, endpoint=True).astype(dtype)
        else:
            values = random.uniform(low, high, shape)
            if dtype.kind == "c":
                values = values + 1j * random.uniform(low, high, shape)
            values = np.asarray(values).astype(dtype)
        if array.specials and dtype.kind in "fc":
            some = random.integers(0, 8, shape)
            for which, special in enumerate((np.nan, np.inf, -np.inf)):
                values[some == which] = special
        return self._in_layout(values, array, place)

    def _in_layout(self, values: npt.NDArray[Any], array: Array, place: int) -> Drawn:
        if self.turn is None or values.ndim == 0:
            return Drawn(values, "c")
        names = [n for n in LAYOUTS if n != "c"]
        if values.ndim == 1:
            names = ["strided", "reversed", "broadcast", "offset"]
        name = names[(self.turn + 2 * place) % len(names)]
        if name == "broadcast":
            if array.written or array.distinct:
                return Drawn(values, "reversed")
            values = np.broadcast_to(values[:1], values.shape)
        return Drawn(values, name)


def walk(change: Callable[[Any], Any], value: Any) -> Any:
    """`value` with `change` made to every leaf of its tuples, lists and dicts."""
    if isinstance(value, dict):
        return {k: walk(change, v) for k, v in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(walk(change, v) for v in value))
    if isinstance(value, (tuple, list)):
        return type(value)(walk(change, v) for v in value)
    return change(value)


def runs_of(name: str, cases: list[Case]) -> Iterator[Run]:
    """Every call of a function: each dtype with each size, and the main size in other layouts too, one a case."""
    for number, each in enumerate(cases):
        arrays: list[Array] = []
        walk(lambda v, a=arrays: a.append(v) if isinstance(v, Array) else None, each.args)
        walk(lambda v, a=arrays: a.append(v) if isinstance(v, Array) else None, each.kwargs)
        letters = {e: 0 for a in arrays for e in a.shape.split() if not e.isdigit()}
        sizes: list[tuple[dict[str, int], tuple[int, ...]]] = []
        for size in each.sizes:
            main = {e: EXTENTS.get(e, 0) for e in letters}
            if isinstance(size, dict):
                sizes.append((main | size, ()))
            elif "*" in letters:
                sizes += [(main, s) for s in ANY_SHAPES if size == _kind_of(s)]
            elif size == "ones":
                sizes.append((dict.fromkeys(letters, 1), ()))
            elif size == "empty":
                sizes += [(main | {e: 0}, ()) for e in list(letters)[:1]]
            else:
                sizes.append((main, ()))
        turn = zlib.crc32(name.encode()) + number + SEED
        for first, dtypes in enumerate(each.dtypes.split()):
            for extents, shape in sizes:
                yield Run(name, each, number, dtypes, extents, shape, None)
            if SEED or not first:
                yield Run(name, each, number, dtypes, *sizes[0], turn + first)


def _kind_of(shape: tuple[int, ...]) -> str:
    if 0 in shape:
        return "empty"
    return "ones" if all(n == 1 for n in shape) else "main"
