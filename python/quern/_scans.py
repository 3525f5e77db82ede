"""Cumulative sums and products under NumPy's names: every element with all those before it along an axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quern import _core
from quern._operands import as_array

if TYPE_CHECKING:
    import numpy.typing as npt

    from quern._core import ndarray

__all__ = [
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "nancumprod",
    "nancumsum",
]


def cumsum(
    a: Any,
    axis: int | None = None,
    dtype: npt.DTypeLike | None = None,
    out: ndarray | None = None,
) -> ndarray:
    """The sum of the elements up to and with each, along `axis`; by default over all of them in C order.

    `dtype` is what is added and returned: by default that of `a`, with bools and small integers as 64 bits; with `out`
    the elements are added in what both promote to, then cast. float16 and bfloat16 add in float32 and round each
    result. The same call gives the same bits each time.
    Shapes: that of `a`; one axis of `a.size` with `axis=None`; a 0-d array counts as one of one element.
    Raises: numpy.exceptions.AxisError; ValueError if `out` has another shape or is read-only; TypeError if it is none.
    Source: NumPy, `numpy.cumsum`.
    """
    return _core.cumsum(as_array(a), axis, dtype, out)


def cumprod(
    a: Any,
    axis: int | None = None,
    dtype: npt.DTypeLike | None = None,
    out: ndarray | None = None,
) -> ndarray:
    """The product of the elements up to and with each, along `axis`; dtypes, shapes and errors as `cumsum`.

    Source: NumPy, `numpy.cumprod`.
    """
    return _core.cumprod(as_array(a), axis, dtype, out)


def nancumsum(
    a: Any,
    axis: int | None = None,
    dtype: npt.DTypeLike | None = None,
    out: ndarray | None = None,
) -> ndarray:
    """`cumsum` with NaN taken as 0.

    Source: NumPy, `numpy.nancumsum`.
    """
    return _core.nancumsum(as_array(a), axis, dtype, out)


def nancumprod(
    a: Any,
    axis: int | None = None,
    dtype: npt.DTypeLike | None = None,
    out: ndarray | None = None,
) -> ndarray:
    """`cumprod` with NaN taken as 1.

    Source: NumPy, `numpy.nancumprod`.
    """
    return _core.nancumprod(as_array(a), axis, dtype, out)


def cumulative_sum(
    x: Any,
    /,
    *,
    axis: int | None = None,
    dtype: npt.DTypeLike | None = None,
    out: ndarray | None = None,
    include_initial: bool = False,
) -> ndarray:
    """`cumsum` as the array API has it; `include_initial` puts a 0 before the first sum.

    Shapes: that of `x`, one longer along `axis` with `include_initial`.
    Raises: as `cumsum`; ValueError if `x` has more than one axis and `axis` is not given.
    Source: NumPy, `numpy.cumulative_sum`.
    """
    return _core.cumulative_sum(
        as_array(x), axis=axis, dtype=dtype, out=out, include_initial=include_initial
    )


def cumulative_prod(
    x: Any,
    /,
    *,
    axis: int | None = None,
    dtype: npt.DTypeLike | None = None,
    out: ndarray | None = None,
    include_initial: bool = False,
) -> ndarray:
    """`cumprod` as the array API has it; `include_initial` puts a 1 before the first product.

    Shapes and errors as `cumulative_sum`. Source: NumPy, `numpy.cumulative_prod`.
    """
    return _core.cumulative_prod(
        as_array(x), axis=axis, dtype=dtype, out=out, include_initial=include_initial
    )
