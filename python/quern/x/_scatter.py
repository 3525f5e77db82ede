"""Updates of elements that an index may name several times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quern import _core
from quern._ufuncs import at

if TYPE_CHECKING:
    from quern._core import ndarray

__all__ = ["scatter_add", "scatter_max", "scatter_min"]

# Dtypes of which a GPU can update an element that others update too.
_ADDED = frozenset("iIlLqQefdFD")
_COMPARED = frozenset("iIlLqQ")


def _scatter(
    a: ndarray, slices: Any, value: Any, act: str, ufunc: str, at_once: frozenset[str]
) -> None:
    if a.dtype.char in at_once:
        _core.scatter(a, slices, value, act)
    else:
        values = (
            value if isinstance(value, (_core.ndarray, int, float, complex)) else _core.array(value)
        )
        if isinstance(values, _core.ndarray) and values.dtype != a.dtype:
            values = values.astype(a.dtype)
        at(_core.ufuncs[ufunc], a, slices, values)


def scatter_add(a: ndarray, slices: Any, value: Any) -> None:
    """`a[slices] += value`, where an element that is named several times gathers every value.

    Values are cast to the dtype of `a` first. On a GPU sums of floats are made in any order, so their last bits may
    differ from call to call; `quern.add.at` makes them in order.
    Raises: IndexError, on a GPU as `quern.config.index_check` says; ValueError for shapes or a read-only `a`.
    Source: CuPy, `cupyx.scatter_add`.
    """
    _scatter(a, slices, value, "add", "add", _ADDED)


def scatter_max(a: ndarray, slices: Any, value: Any) -> None:
    """`a[slices] = maximum(a[slices], value)`, where an element that is named several times sees every value.

    Errors as `scatter_add`; NaN wins. Source: CuPy, `cupyx.scatter_max`.
    """
    _scatter(a, slices, value, "max", "maximum", _COMPARED)


def scatter_min(a: ndarray, slices: Any, value: Any) -> None:
    """`a[slices] = minimum(a[slices], value)`, where an element that is named several times sees every value.

    Errors as `scatter_add`; NaN wins. Source: CuPy, `cupyx.scatter_min`.
    """
    _scatter(a, slices, value, "min", "minimum", _COMPARED)
