"""Distinct values and sets, under NumPy's names, by sorting; one synchronisation where values decide a size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from quern import _core
from quern._creation import arange, asarray, ascontiguousarray, full, zeros
from quern._joining import concatenate
from quern._manipulation import moveaxis
from quern._operands import normalize_axis_index
from quern._sorting import lexsort, sort

if TYPE_CHECKING:
    from quern._core import ndarray

__all__ = [
    "in1d",
    "intersect1d",
    "isin",
    "setdiff1d",
    "setxor1d",
    "union1d",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]


class UniqueAllResult(NamedTuple):
    """What `unique_all` returns."""

    values: ndarray
    indices: ndarray
    inverse_indices: ndarray
    counts: ndarray


class UniqueCountsResult(NamedTuple):
    """What `unique_counts` returns."""

    values: ndarray
    counts: ndarray


class UniqueInverseResult(NamedTuple):
    """What `unique_inverse` returns."""

    values: ndarray
    inverse_indices: ndarray


def unique(
    ar: ndarray,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """The distinct values of `ar` in order, or the distinct slices along an axis.

    Asked for, also int64: the place of each value's first element, for each element the place of its value, and how
    many there are of each. With `equal_nan` all NaN are one value, also complex numbers with a NaN in either part.
    Shapes: 1-D; the inverse has that of `ar`, or one axis with `axis`. Raises: numpy.exceptions.AxisError.
    Source: numpy.unique.
    """
    asked = (return_index, return_inverse, return_counts)
    ar = asarray(ar)
    if axis is not None:
        axis = normalize_axis_index(axis, ar.ndim)
    if axis is None or ar.ndim == 1:
        values, firsts, inverse, counts = _core._distinct(_row(ar), *asked, equal_nan)
        if inverse is not None:
            inverse = inverse.reshape(ar.shape)
    else:
        values, firsts, inverse, counts = _unique_slices(ar, axis, *asked)
    found = (values, *(a for a in (firsts, inverse, counts) if a is not None))
    return found if len(found) > 1 else values


def unique_all(x: ndarray) -> UniqueAllResult:
    """Distinct values with first places, inverse and counts; each NaN is one of its own. Source: numpy.unique_all."""
    return UniqueAllResult(*unique(x, True, True, True, equal_nan=False))


def unique_counts(x: ndarray) -> UniqueCountsResult:
    """Distinct values and how many there are of each, as `unique_all`. Source: numpy.unique_counts."""
    return UniqueCountsResult(*unique(x, return_counts=True, equal_nan=False))


def unique_inverse(x: ndarray) -> UniqueInverseResult:
    """Distinct values and which of them each element is, as `unique_all`. Source: numpy.unique_inverse."""
    return UniqueInverseResult(*unique(x, return_inverse=True, equal_nan=False))


def unique_values(x: ndarray) -> ndarray:
    """Distinct values, in order, as `unique_all`. Source: numpy.unique_values."""
    found: ndarray = unique(x, equal_nan=False)
    return found


def isin(
    element: ndarray,
    test_elements: Any,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: str | None = None,
) -> ndarray:
    """Whether each element is one of `test_elements`, or with `invert` none of them; NaN is none.

    Every `kind` is the same: a search in the sorted `test_elements`, or on a CPU, where they are integers near each
    other, a table, for whose range it waits. Shapes: that of `element`.
    Raises: ValueError for an unknown `kind`. Source: numpy.isin.
    """
    if kind not in (None, "sort", "table"):
        raise ValueError(f"Invalid kind: '{kind}'. Please use None, 'sort' or 'table'.")
    element = asarray(element)
    tests = asarray(test_elements, device=element.device)
    common = np.result_type(element.dtype, tests.dtype)
    wanted = asarray(element, common, order="C")
    return _core._is_in(_row(tests, common), wanted, invert, are_sorted=False)


def in1d(ar1: ndarray, ar2: Any, assume_unique: bool = False, invert: bool = False) -> ndarray:
    """`isin` of a flattened array. Source: CuPy, `cupy.in1d`."""
    return isin(asarray(ar1).ravel(), ar2, assume_unique, invert)


def intersect1d(
    ar1: ndarray, ar2: ndarray, assume_unique: bool = False, return_indices: bool = False
) -> Any:
    """The distinct values that are in both, in order; with `return_indices` also where each stands first.

    `assume_unique` is believed. Two synchronisations and more, for sizes. Source: numpy.intersect1d.
    """
    one, two = _two(ar1, ar2)
    if not return_indices:
        a, b = (sort(x) if assume_unique else unique(x) for x in (one, two))
        return a[_core._is_in(b, a, False, are_sorted=True)]
    a, a_places = _places(one, assume_unique)
    b, b_places = _places(two, assume_unique)
    mask = _core._is_in(b, a, False, are_sorted=True)
    found = a[mask]
    at = _core._search_sorted(b, found, False)
    return found, a_places[mask], b_places[at]


def setdiff1d(ar1: ndarray, ar2: ndarray, assume_unique: bool = False) -> ndarray:
    """The distinct values of `ar1` that are not in `ar2`, in order; as they come with `assume_unique`.

    Source: numpy.setdiff1d.
    """
    ar1 = asarray(ar1)
    values = _row(ar1) if assume_unique else unique(ar1)
    return values[isin(values, ar2, invert=True)]


def setxor1d(ar1: ndarray, ar2: ndarray, assume_unique: bool = False) -> ndarray:
    """The distinct values that are in one of both only, in order. Source: numpy.setxor1d."""
    one, two = _two(ar1, ar2)
    if not assume_unique:
        one, two = unique(one), unique(two)
    both = sort(concatenate([one, two]))
    return both[_core._lonely(both)]


def union1d(ar1: ndarray, ar2: ndarray) -> ndarray:
    """The distinct values of both, in order. Source: numpy.union1d."""
    one, two = _two(ar1, ar2)
    found: ndarray = unique(concatenate([one, two]))
    return found


def _row(a: ndarray, dtype: Any = None) -> ndarray:
    return ascontiguousarray(a.ravel(), dtype)


def _two(ar1: ndarray, ar2: ndarray) -> tuple[ndarray, ndarray]:
    one = asarray(ar1)
    two = asarray(ar2, device=one.device)
    common = np.result_type(one.dtype, two.dtype)
    return _row(one, common), _row(two, common)


def _places(a: ndarray, assume_unique: bool) -> tuple[ndarray, ndarray]:
    """Distinct values in order and where each stood first."""
    if assume_unique:
        return _core._sort_with_places(a)
    values, places, _, _ = _core._distinct(a, True, False, False, True)
    assert places is not None
    return values, places


def _unique_slices(
    ar: ndarray, axis: int, return_index: bool, return_inverse: bool, return_counts: bool
) -> tuple[ndarray, ndarray | None, ndarray | None, ndarray | None]:
    moved = moveaxis(ar, axis, 0)
    count = moved.shape[0]
    rows = ascontiguousarray(moved).reshape(count, moved.size // count if count else 0)
    # Slices of nothing are all alike.
    order = lexsort(rows.T[::-1]) if rows.size else arange(count, device=ar.device)
    ordered = rows[order] if rows.size else rows
    heads = full(count, True, dtype=bool, device=ar.device)
    heads[1:] = (ordered[1:] != ordered[:-1]).any(axis=1) if rows.size else False
    begins = arange(count, device=ar.device)[heads]
    firsts = order[begins]
    values = moved[firsts]
    inverse = counts = None
    if return_inverse:
        inverse = (heads.cumsum() - 1)[_core._argsort(order, -1)]
    if return_counts:
        ends = zeros(begins.size, "i8", device=ar.device)
        ends[:-1] = begins[1:]
        ends[-1:] = count
        counts = ends - begins
    found = ascontiguousarray(moveaxis(values, 0, axis))
    return found, firsts if return_index else None, inverse, counts
