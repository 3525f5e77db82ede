"""One over the square root, which NumPy has not."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from quern import _core
from quern._elementwise import written
from quern._operands import as_array

if TYPE_CHECKING:
    from quern._core import ElementwiseKernel, ndarray

__all__ = ["rsqrt"]


@functools.cache
def _kernel(narrow: bool) -> ElementwiseKernel:
    one_over_root = (
        "quern::convert<T>(1.0f / sqrtf(quern::convert<float>(x)))" if narrow else "T(1) / sqrt(x)"
    )
    return _core.ElementwiseKernel("T x", "T y", f"y = {one_over_root}", "quern_rsqrt")


def rsqrt(x: Any, out: ndarray | None = None) -> ndarray:
    """One over the square root of each element, in the dtype that `quern.sqrt` computes in.

    Raises: TypeError and ValueError for an `out` that does not fit. Source: CuPy, `cupyx.rsqrt`.
    """
    values = as_array(x)
    dtype = _core.ufuncs["sqrt"].resolve_dtypes((values.dtype, None))[1]
    values = values.astype(dtype, copy=False)
    if out is None or out.dtype == dtype:
        arguments = (values,) if out is None else (values, out)
        made: ndarray = _kernel(dtype.itemsize == 2)(*arguments)
        return made
    return written(_kernel(dtype.itemsize == 2)(values), out)
