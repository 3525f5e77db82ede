"""What functions of arrays take: quern arrays, and lists and scalars that become arrays; axes by NumPy's rules."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from quern import _core
from quern._core import host_array
from quern._creation import asarray, full

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from quern._core import DeviceLike, ndarray

ufuncs: dict[str, Callable[..., ndarray]] = {**_core.ufuncs, **_core.wrapped_ufuncs}
"""The ufuncs by name, `clip` and `where` of three inputs among them, for functions that have one array as result."""

__all__ = [
    "as_array",
    "as_arrays",
    "host_array",
    "normalize_axis_index",
    "normalize_axis_tuple",
    "operands",
    "safe_index",
    "ufuncs",
]


def as_array(value: object, device: DeviceLike = None) -> ndarray:
    """`value` if it is a quern array; lists, tuples and scalars as one, on `device`. NumPy's arrays are refused."""
    if isinstance(value, _core.ndarray):
        return value
    if isinstance(value, np.ndarray):
        raise TypeError(f"Unsupported type {type(value)}: make an array with quern.asarray()")
    if isinstance(value, (bool, int, float, complex, np.generic)):
        return full((), value, device=device)  # a fill, where an upload would wait
    return asarray(value, device=device)


def operands(*values: object, device: DeviceLike = None) -> list[ndarray]:
    """Arrays of the values as `as_array` makes them, on the device of the first that is one already, else `device`."""
    for x in values:
        if not isinstance(x, _core.ndarray):
            break
    else:
        return list(values)  # type: ignore[arg-type]
    device = next((x.device for x in values if isinstance(x, _core.ndarray)), device)
    return [as_array(x, device) for x in values]


def as_arrays(values: Iterable[object]) -> list[ndarray]:
    """Each of a sequence, or of an array's first axis, as `as_array` takes it."""
    if not hasattr(values, "__getitem__"):
        raise TypeError(
            'arrays to stack must be passed as a "sequence" type such as list or tuple.'
        )
    return [as_array(value) for value in values]


def safe_index(value: object) -> int:
    """An integer of Python or NumPy, or a 0-d array of one."""
    return operator.index(value)  # type: ignore[arg-type]
