"""Sorts, orders and searches in sorted arrays, under NumPy's names: all sorts are stable, NaN last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from quern import _core
from quern._core import ndarray
from quern._creation import asarray, ascontiguousarray
from quern._joining import stack
from quern._manipulation import moveaxis
from quern._operands import as_array, host_array, operands
from quern._rearranging import atleast_1d

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "argpartition",
    "argsort",
    "digitize",
    "lexsort",
    "msort",
    "partition",
    "searchsorted",
    "sort",
    "sort_complex",
]

_KINDS = ("quicksort", "heapsort", "mergesort", "stable", "quick", "heap", "merge")


def sort(
    a: Any,
    axis: int | None = -1,
    kind: str | None = None,
    order: None = None,
    *,
    stable: bool | None = None,
) -> ndarray:
    """A sorted copy of `a` along an axis; of all elements in C order with `axis=None`.

    Every `kind` is the same stable sort. NaN stand last, -0.0 and 0.0 are equal, complex numbers go by their real parts
    and then their imaginary ones.
    Raises: numpy.exceptions.AxisError, also for a 0-d array; ValueError for an unknown `kind`. Source: numpy.sort.
    """
    check_kind(kind, order, stable)
    return _core._sort(as_array(a), axis)


def argsort(
    a: Any,
    axis: int | None = -1,
    kind: str | None = None,
    order: None = None,
    *,
    stable: bool | None = None,
) -> ndarray:
    """The int64 places that would sort `a` along an axis; equal elements keep their order.

    Shapes: that of `a`; one axis with `axis=None` and for a 0-d array. Errors: as `sort`. Source: numpy.argsort.
    """
    check_kind(kind, order, stable)
    return _core._argsort(atleast_1d(a), axis)


def msort(a: Any) -> ndarray:
    """`sort` along the first axis. Source: CuPy, `cupy.msort`."""
    return sort(a, 0)


def sort_complex(a: Any) -> ndarray:
    """A copy sorted along the last axis, as complex numbers: complex64 for 8- and 16-bit integers, else complex128.

    Source: numpy.sort_complex.
    """
    made = sort(a)
    if made.dtype.kind == "c":
        return made
    return made.astype("F" if made.dtype.char in "bhBH" else "D")


def partition(
    a: Any,
    kth: int | Sequence[int],
    axis: int | None = -1,
    kind: str = "introselect",
    order: None = None,
) -> ndarray:
    """A copy in which the elements `kth` stand where a sort would put them, none greater before and none less behind.

    It is sorted on a GPU, and for elements of a byte, rows below 257 elements or more than 32 places.

    Raises: ValueError for a `kth` out of bounds or an unknown `kind`; TypeError for one that is no integer;
    otherwise as `sort`. Source: numpy.partition.
    """
    a = as_array(a)
    return _core._partition(a, places_of_partition(a, kth, axis, kind, order), axis)


def argpartition(
    a: Any,
    kth: int | Sequence[int],
    axis: int | None = -1,
    kind: str = "introselect",
    order: None = None,
) -> ndarray:
    """The places that would partition `a`. Errors: as `partition`.

    Source: numpy.argpartition.
    """
    a = atleast_1d(a)
    return _core._argpartition(a, places_of_partition(a, kth, axis, kind, order), axis)


def lexsort(keys: ndarray | Sequence[ndarray], axis: int = -1) -> ndarray:
    """The int64 places that sort by several keys, the last of them first; a sort for each key.

    A CPU waits to see which of the first keys stand in order already, where they are long and it may.
    Shapes: keys of one shape, or an array whose first axis counts them; the result has that shape.
    Raises: TypeError for no key; ValueError for keys of different shapes; numpy.exceptions.AxisError.
    Source: numpy.lexsort.
    """
    if not isinstance(keys, (ndarray, list, tuple)) or not len(keys):
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    given = operands(*keys)
    shape = given[0].shape
    if any(key.shape != shape for key in given):
        raise ValueError("all keys need to be the same shape")
    if not shape:
        return asarray(np.zeros((), "i8"), device=given[0].device)
    turned = [moveaxis(key, axis, -1) for key in given]
    length = turned[0].shape[-1]
    rows = (turned[0].size // max(length, 1), length)
    places = _core._lexsort([ascontiguousarray(key).reshape(rows) for key in turned])
    found: ndarray = moveaxis(places.reshape(turned[0].shape), -1, axis)
    return found


def searchsorted(a: Any, v: Any, side: str = "left", sorter: ndarray | None = None) -> ndarray:
    """Where `v` would go in the sorted 1-D `a`, as int64: before equal elements, or behind them with side='right'.

    `sorter` (integers) puts `a` in order; it is checked, which waits for the device.
    Shapes: that of `v`. Raises: ValueError for another `side`, an `a` of more axes, a `sorter` of another size or with
    indices out of range; TypeError for a `sorter` that holds no integers. Source: numpy.searchsorted.
    """
    if side not in ("left", "right"):
        raise ValueError(f"search side must be 'left' or 'right' (got '{side}')")
    a = as_array(a)
    if a.ndim != 1:
        raise ValueError(
            "object too deep for desired array"
            if a.ndim
            else "object of too small depth for desired array"
        )
    wanted = as_array(v, a.device)
    if sorter is not None:
        if sorter.dtype.kind not in "iu":
            raise TypeError("sorter must only contain integers")
        if sorter.ndim != 1 or sorter.size != a.size:
            raise ValueError("sorter.size must equal a.size")
        if bool(((sorter < 0) | (sorter >= a.size)).any()):
            raise ValueError("Sorter index out of range.")
        sorter = ascontiguousarray(sorter, "i8")
    common = np.result_type(a.dtype, wanted.dtype)
    found = _core._search_sorted(
        ascontiguousarray(a, common), asarray(wanted, common, order="C"), side == "right", sorter
    )
    return found


def digitize(x: Any, bins: Any, right: bool = False) -> ndarray:
    """In which of the bins between `bins`, which rise or fall, each of `x` lies, as int64: 0 before the first.

    A bin holds its lower edge, or its upper one with `right`. One synchronisation, to see that `bins` is monotonic.
    Shapes: that of `x`. Raises: ValueError for `bins` of more axes or not monotonic; TypeError for complex numbers.
    Source: numpy.digitize.
    """
    x, bins = operands(x, bins)
    if x.dtype.kind == "c" or bins.dtype.kind == "c":
        raise TypeError("x and bins may not be complex")
    if bins.ndim != 1:
        raise ValueError("object too deep for desired array")
    side = "left" if right else "right"
    if bins.size == 0 or _rises(bins):
        return searchsorted(bins, x, side)
    fallen: ndarray = bins.size - searchsorted(bins[::-1], x, side)
    return fallen


def _rises(bins: ndarray) -> bool:
    """Whether bins rise (as those do that are all alike) or fall, which waits; ValueError for both.

    NumPy decides by the first two that differ, and what cannot be compared does not rise.
    """
    before, after = bins[:-1], bins[1:]
    differ = before != after
    first = bins[differ.argmax() + 1 if bins.size > 1 else 0]
    signs = (differ.any(), bins[0] < first, (before < after).any(), (before > after).any())
    some, rising, up, down = stack(signs).get()
    if some and (down if rising else up):
        raise ValueError("bins must be monotonically increasing or decreasing")
    return bool(rising or not some)


def check_kind(kind: str | None, order: object, stable: bool | None) -> None:
    """Refuses what no sort takes."""
    if order is not None:
        raise ValueError("Cannot specify order when the array has no fields.")
    if kind is not None and stable is not None:
        raise ValueError(
            "`kind` and `stable` parameters can't be provided at the same time. Use only one of them."
        )
    if kind is not None and kind not in _KINDS:
        raise ValueError(f"sort kind must be one of 'quick', 'heap', or 'stable' (got '{kind}')")


def places_of_partition(
    a: ndarray, kth: Any, axis: int | None, kind: str, order: object
) -> list[int]:
    """The places `kth` counted from the first; refuses what no partition takes."""
    if order is not None:
        raise ValueError("Cannot specify order when the array has no fields.")
    if kind != "introselect":
        raise ValueError(f"select kind must be 'introselect' (got '{kind}')")
    if axis is None:
        length = a.size
    elif -a.ndim <= axis < a.ndim:
        length = a.shape[axis]
    else:
        raise np.exceptions.AxisError(axis, a.ndim)
    places = []
    given = host_array(kth)
    if given.dtype.kind == "b":
        raise ValueError("Booleans unacceptable as partition index")
    if given.dtype.kind not in "iu":
        raise TypeError("Partition index must be integer")
    if a.size == 0:
        return []
    for at in given.ravel().tolist():
        if not -length <= at < length:
            raise ValueError(f"kth(={at if at >= 0 else at + length}) out of bounds ({length})")
        places.append(at if at >= 0 else at + length)
    return places
