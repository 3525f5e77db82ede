"""NumPy's assertions for arrays of any device: the host reads them (and waits), and NumPy compares."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.testing import (
    assert_no_warnings,
    assert_raises,
    assert_raises_regex,
    assert_string_equal,
)

from quern._core import ndarray
from quern._creation import asnumpy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "assert_allclose",
    "assert_almost_equal",
    "assert_approx_equal",
    "assert_array_almost_equal",
    "assert_array_almost_equal_nulp",
    "assert_array_equal",
    "assert_array_less",
    "assert_array_list_equal",
    "assert_array_max_ulp",
    "assert_equal",
    "assert_no_warnings",
    "assert_raises",
    "assert_raises_regex",
    "assert_string_equal",
]

Check = TypeVar("Check", bound="Callable[..., Any]")


def _read(value: Any) -> Any:
    """The value with the host's copies of all arrays in it."""
    if isinstance(value, ndarray):
        return asnumpy(value)
    if type(value) in (list, tuple):
        return type(value)(map(_read, value))
    if type(value) is dict:
        return {key: _read(item) for key, item in value.items()}
    return value


def _of_any_device(check: Check) -> Check:
    @functools.wraps(check)
    def checked(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        return check(*map(_read, args), **{key: _read(value) for key, value in kwargs.items()})

    return checked  # type: ignore[return-value]


assert_allclose = _of_any_device(np.testing.assert_allclose)
assert_almost_equal = _of_any_device(np.testing.assert_almost_equal)
assert_approx_equal = _of_any_device(np.testing.assert_approx_equal)
assert_array_almost_equal = _of_any_device(np.testing.assert_array_almost_equal)
assert_array_almost_equal_nulp = _of_any_device(np.testing.assert_array_almost_equal_nulp)
assert_array_equal = _of_any_device(np.testing.assert_array_equal)
assert_array_less = _of_any_device(np.testing.assert_array_less)
assert_array_max_ulp = _of_any_device(np.testing.assert_array_max_ulp)
assert_equal = _of_any_device(np.testing.assert_equal)


def assert_array_list_equal(
    xlist: Sequence[Any], ylist: Sequence[Any], err_msg: str = "", verbose: bool = True
) -> None:
    """Lists of arrays are equal, pair by pair.

    Raises: AssertionError where they are not; TypeError unless both are lists or tuples.
    Source: CuPy, `cupy.testing.assert_array_list_equal`.
    """
    for given in (xlist, ylist):
        if not isinstance(given, (list, tuple)):
            raise TypeError(f"a list of arrays is wanted, not {type(given).__name__}")
    assert len(xlist) == len(ylist), f"{len(xlist)} arrays beside {len(ylist)}: {err_msg}"
    for x, y in zip(xlist, ylist, strict=True):
        assert_array_equal(x, y, err_msg, verbose)
