"""Arrays and numbers as text, by NumPy's own functions: the values come from the device first."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import base_repr, binary_repr, get_printoptions, printoptions, set_printoptions

from quern._creation import asnumpy

__all__ = [
    "array2string",
    "array_repr",
    "array_str",
    "base_repr",
    "binary_repr",
    "format_float_positional",
    "format_float_scientific",
    "get_printoptions",
    "printoptions",
    "set_printoptions",
]


def array2string(a: object, *args: Any, **kwargs: Any) -> str:
    """The values as text. Arguments: `numpy.array2string`'s."""
    return np.array2string(asnumpy(a), *args, **kwargs)


def array_repr(
    arr: object,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """The values as `repr` shows them. Source: NumPy, `numpy.array_repr`."""
    return np.array_repr(asnumpy(arr), max_line_width, precision, suppress_small)


def array_str(
    arr: object,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """The values as `str` shows them. Source: NumPy, `numpy.array_str`."""
    return np.array_str(asnumpy(arr), max_line_width, precision, suppress_small)


def format_float_positional(x: object, *args: Any, **kwargs: Any) -> str:
    """A number as digits. Arguments: `numpy.format_float_positional`'s."""
    number: Any = asnumpy(x)[()]
    return np.format_float_positional(number, *args, **kwargs)


def format_float_scientific(x: object, *args: Any, **kwargs: Any) -> str:
    """A number as digits and an exponent. Arguments: `numpy.format_float_scientific`'s."""
    number: Any = asnumpy(x)[()]
    return np.format_float_scientific(number, *args, **kwargs)
