"""Functions that make arrays of indices and of positions, under NumPy's names."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from quern import _core
from quern._core import ElementwiseKernel, ndarray
from quern._creation import arange, asarray, empty, full
from quern._operands import safe_index

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

__all__ = [
    "diag_indices",
    "diag_indices_from",
    "indices",
    "ix_",
    "mask_indices",
    "ravel_multi_index",
    "tril_indices",
    "tril_indices_from",
    "triu_indices",
    "triu_indices_from",
    "unravel_index",
]


def diag_indices(n: int, ndim: int = 2) -> tuple[ndarray, ...]:
    """The indices of the main diagonal of an array of `ndim` axes of length `n`.

    Source: NumPy, `numpy.diag_indices`.
    """
    return (arange(n),) * safe_index(ndim)


def diag_indices_from(arr: ndarray) -> tuple[ndarray, ...]:
    """`diag_indices` of an array. Raises: ValueError for less than two axes, or axes of different lengths.

    Source: NumPy, `numpy.diag_indices_from`.
    """
    if arr.ndim < 2:
        raise ValueError("input array must be at least 2-d")
    if any(extent != arr.shape[0] for extent in arr.shape):
        raise ValueError("All dimensions of input must be of equal length")
    return diag_indices(arr.shape[0], arr.ndim)


# The `place`-th element on or below a diagonal: the first `tip` of them lie in rows of `start`, `start` + 1, ...
# elements, the others in whole rows. Guesses are one off at most. All in doubles, which hold such numbers whole and
# whose divisions and roots have vectors on every CPU; the last bits of a sum with 2**52 are the number itself.
_PLACE_IN_TRIANGLE = """
    const double whole_bits = 4503599627370496.0, at = __longlong_as_double(place | 0x4330000000000000) - whole_bits;
    const double twice = 2 * start - 1, across = width, rest = at - tip;
    double row = floor((sqrt(twice * twice + 8 * at) - twice) * 0.5);
    row -= row * (row + twice) > 2 * at;
    row += (row + 1) * (row + 1 + twice) <= 2 * at;
    double whole = floor(rest / across);
    whole -= whole * across > rest;
    whole += (whole + 1) * across <= rest;
    const bool in_tip = rest < 0;
    const double row_at = in_tip ? row : rows + whole;
    const double column_at = in_tip ? at - row * (row + twice) * 0.5 : rest - whole * across;
    const long long row_there = first + (__double_as_longlong(row_at + whole_bits) & 0xfffffffffffffll);
    const long long column_there = __double_as_longlong(column_at + whole_bits) & 0xfffffffffffffll;
"""


@functools.cache
def _triangle_kernel(upper: bool) -> ElementwiseKernel:
    place, row, column = (
        ("last - i", "height - 1 - row_there", "width - 1 - column_there")
        if upper
        else ("i", "row_there", "column_there")
    )
    return _core.ElementwiseKernel(
        "int64 height, int64 width, int64 first, int64 start, int64 rows, int64 tip, int64 last",
        "int64 row_index, int64 column_index",
        f"const long long place = {place};{_PLACE_IN_TRIANGLE}row_index = {row}; column_index = {column};",
        f"quern_tri{'u' if upper else 'l'}_indices",
    )


def _triangle(n: int, m: int, k: int, *, upper: bool) -> tuple[ndarray, ...]:
    """Indices of what lies on and below the `k`-th diagonal; with `upper`, of that turned by half a turn."""
    n, m = max(n, 0), max(m, 0)
    first = max(0, -k)  # row with an element
    start = min(m, first + k + 1)
    rows = max(0, min(n - first, m - start + 1)) if start > 0 else 0
    tip = rows * start + rows * (rows - 1) // 2
    size = tip + max(0, n - first - rows) * m
    found = empty(size, np.int64), empty(size, np.int64)
    if size:
        _triangle_kernel(upper)(n, m, first, start, rows, tip, size - 1, *found)
    return found


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[ndarray, ...]:
    """The indices of an (n, m) array's elements on and below its `k`-th diagonal.

    Source: NumPy, `numpy.tril_indices`.
    """
    return _triangle(n, n if m is None else m, k, upper=False)


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[ndarray, ...]:
    """The indices of an (n, m) array's elements on and above its `k`-th diagonal.

    Source: NumPy, `numpy.triu_indices`.
    """
    m = n if m is None else m
    return _triangle(n, m, m - n - k, upper=True)


def tril_indices_from(arr: ndarray, k: int = 0) -> tuple[ndarray, ...]:
    """`tril_indices` of a matrix. Raises: ValueError unless it has two axes.

    Source: NumPy, `numpy.tril_indices_from`.
    """
    if arr.ndim != 2:
        raise ValueError("input array must be 2-d")
    return tril_indices(arr.shape[-2], k, arr.shape[-1])


def triu_indices_from(arr: ndarray, k: int = 0) -> tuple[ndarray, ...]:
    """`triu_indices` of a matrix. Raises: ValueError unless it has two axes.

    Source: NumPy, `numpy.triu_indices_from`.
    """
    if arr.ndim != 2:
        raise ValueError("input array must be 2-d")
    return triu_indices(arr.shape[-2], k, arr.shape[-1])


def mask_indices(n: int, mask_func: Any, k: Any = 0) -> tuple[ndarray, ...]:
    """The indices at which `mask_func(a, k)`, of an (n, n) array of ones, is not 0.

    Source: NumPy, `numpy.mask_indices`.
    """
    mask: ndarray = mask_func(full((n, n), 1, np.int64), k)
    return mask.nonzero()


def ix_(*args: Any) -> tuple[ndarray, ...]:
    """Indices that take every combination: each one-axis argument along an axis of its own. Bools stand for positions.

    Raises: ValueError for an argument of more axes.
    Source: NumPy, `numpy.ix_`.
    """
    result = []
    for axis, given in enumerate(args):
        part = asarray(given)
        if part.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        if part.size == 0 and not isinstance(given, ndarray):
            part = part.astype(np.int64)
        if part.dtype.kind == "b":
            part = _core.flatnonzero(part)
        shape = [1] * len(args)
        shape[axis] = part.size
        result.append(part.reshape(tuple(shape)))
    return tuple(result)


def indices(dimensions: Sequence[int], dtype: npt.DTypeLike = int, sparse: bool = False) -> Any:
    """The indices of a grid: of one array, the first axis telling which; with `sparse` an array for each axis.

    Shapes: (len(dimensions), *dimensions); sparse ones have all but one axis of length 1.
    Source: NumPy, `numpy.indices`.
    """
    shape = tuple(int(n) for n in dimensions)
    lines = [
        arange(n, dtype=dtype).reshape((1,) * k + (-1,) + (1,) * (len(shape) - k - 1))
        for k, n in enumerate(shape)
    ]
    if sparse:
        return tuple(lines)
    result = empty((len(shape), *shape), dtype)
    for k, line in enumerate(lines):
        result[k] = line
    return result


def _plain_order(order: Literal["C", "F"] | None) -> Literal["C", "F"]:
    if order not in ("C", "F", None):
        raise ValueError("only 'C' or 'F' order is permitted")
    return order or "C"


def _extents(shape: Any) -> tuple[int, ...]:
    return tuple(map(safe_index, shape)) if np.iterable(shape) else (safe_index(shape),)


def unravel_index(
    indices: Any, shape: Any, order: Literal["C", "F"] | None = "C"
) -> tuple[ndarray, ...]:
    """Positions in an array of `shape` as an index for each axis. Waits, to check them.

    Raises: ValueError for a position outside or 2^63 elements and more; TypeError for positions that are no integers.
    Source: NumPy, `numpy.unravel_index`.
    """
    order = _plain_order(order)
    extents = _extents(shape)
    places = asarray(indices)
    if places.dtype.kind not in "biu":
        raise TypeError(
            f"indices must be integers, not {places.dtype}: give an empty one a dtype, as in "
            "quern.array([], dtype=int)"
        )
    if not extents and places.ndim:
        raise ValueError("multiple indices are not supported for 0d arrays")
    places = places.astype(np.int64, copy=False)
    size = math.prod(extents)
    if size >= 2**63:
        raise ValueError("dimensions are too large: so many elements have no int64 positions")
    if places.size and bool(((places < 0) | (places >= size)).any()):
        raise ValueError(f"an index is out of bounds for array with size {size}")
    found: tuple[ndarray, ...] = _core.unravel(places, extents if order == "C" else extents[::-1])
    return found if order == "C" else found[::-1]


def ravel_multi_index(
    multi_index: Any, dims: Any, mode: Any = "raise", order: Literal["C", "F"] | None = "C"
) -> ndarray:
    """The positions in an array of shape `dims` of elements that are given by an index for each axis.

    `mode`, for all axes or one for each: "raise" (which waits, to check), "wrap" or "clip".
    Raises: ValueError for an index outside, another number of indices than axes, or dims of 2^63 elements and more.
    Source: NumPy, `numpy.ravel_multi_index`.
    """
    order = _plain_order(order)
    extents = _extents(dims)
    parts = [asarray(part) for part in multi_index]
    if len(parts) != len(extents):
        raise ValueError(f"parameter multi_index must be a sequence of length {len(extents)}")
    if math.prod(extents) >= 2**63:
        raise ValueError("invalid dims: so many elements have no int64 positions")
    modes = (mode,) * len(extents) if isinstance(mode, str) else tuple(mode)
    for axis, (part, kind) in enumerate(zip(parts, modes, strict=True)):
        if part.dtype.kind not in "biu":
            raise TypeError("only int indices permitted")
        if kind not in _AXIS_PLACE:
            raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {kind!r})")
        parts[axis] = part.astype(np.int64, copy=False)
    axes = list(range(len(extents)))
    if order == "F":
        axes.reverse()
    if 0 in extents and any(part.size for part in parts):
        raise ValueError("cannot unravel if shape has zero entries (is empty).")
    places: Any = 0
    for first in range(0, len(axes), _AXES_AT_ONCE):
        some = axes[first : first + _AXES_AT_ONCE]
        kernel = _ravel_kernel(tuple(modes[axis] for axis in some))
        places = kernel(places, *(x for axis in some for x in (parts[axis], extents[axis])))
    result: ndarray = places
    if "raise" in modes and result.size and int(result.min()) < 0:
        raise ValueError("invalid entry in coordinates array")
    return result


# What an index counts along its axis; outside, where that is refused, places become negative and stay so.
_AXIS_PLACE = {
    "raise": "bad |= static_cast<unsigned long long>(index{0}) >= static_cast<unsigned long long>(extent{0});"
    "const long long at{0} = index{0};",
    "wrap": "const long long rest{0} = index{0} % extent{0}, at{0} = rest{0} < 0 ? rest{0} + extent{0} : rest{0};",
    "clip": "const long long at{0} = index{0} < 0 ? 0 : index{0} < extent{0} ? index{0} : extent{0} - 1;",
}
_AXES_AT_ONCE = 16


@functools.cache
def _ravel_kernel(modes: tuple[str, ...]) -> ElementwiseKernel:
    axes = range(len(modes))
    steps = "".join(
        _AXIS_PLACE[modes[k]].format(k) + f"there = there * extent{k} + at{k};" for k in axes
    )
    return _core.ElementwiseKernel(
        "int64 before" + "".join(f", int64 index{k}, int64 extent{k}" for k in axes),
        "int64 place",
        f"bool bad = before < 0; long long there = before; {steps} place = bad ? -1 : there;",
        "quern_ravel_multi_index",
    )
