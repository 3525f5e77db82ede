"""Questions about arrays and dtypes, under NumPy's names. Answers that need values are 0-d arrays: nothing waits."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from quern import _core
from quern._creation import array, asarray, ones, zeros
from quern._operands import (
    as_array,
    ufuncs,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from quern._core import ElementwiseKernel, ndarray

__all__ = [
    "allclose",
    "array_equal",
    "array_equiv",
    "can_cast",
    "common_type",
    "get_array_module",
    "isclose",
    "iscomplex",
    "iscomplexobj",
    "isfortran",
    "isreal",
    "isrealobj",
    "isscalar",
    "min_scalar_type",
    "result_type",
    "shares_memory",
]


def _told(value: bool, like: ndarray) -> ndarray:
    return array(value, device=like.device)


def array_equal(a1: object, a2: object, equal_nan: bool = False) -> ndarray:
    """Have both the same shape and elements? A 0-d array of bool. Source: NumPy, `numpy.array_equal`."""
    x, y = as_array(a1), as_array(a2)
    if x.shape != y.shape:
        return _told(False, x)
    same = ufuncs["equal"](x, y)
    if equal_nan and x.dtype.kind in "fcV" and y.dtype.kind in "fcV":
        same |= ufuncs["isnan"](x) & ufuncs["isnan"](y)
    return same.all()


def array_equiv(a1: object, a2: object) -> ndarray:
    """Have both the same elements once they are broadcast? A 0-d array of bool. Source: NumPy, `numpy.array_equiv`."""
    x, y = as_array(a1), as_array(a2)
    try:
        _core.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        return _told(False, x)
    return ufuncs["equal"](x, y).all()


@functools.cache
def _close_kernel() -> ElementwiseKernel:
    return _core.ElementwiseKernel(
        "T a, T b, float64 rtol, float64 atol, bool equal_nan",
        "bool close",
        """
        using R = decltype(quern::ufunc::absolute(a));
        const bool nan_a = quern::ufunc::is_nan(a), nan_b = quern::ufunc::is_nan(b);
        const R limit = quern::convert<R>(atol) + quern::convert<R>(rtol) * quern::ufunc::absolute(b);
        const bool near = quern::ufunc::is_finite(b) && quern::ufunc::absolute(a - b) <= limit;
        close = near || quern::ufunc::equal(a, b) || (equal_nan && nan_a && nan_b)
        """,
        "quern_isclose",
    )


def isclose(
    a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False
) -> ndarray:
    """Is `|a - b| <= atol + rtol * |b|`, element by element, in one launch? Infinities are close to themselves.

    Source: NumPy, `numpy.isclose`.
    """
    scalars = (bool, int, float, complex)
    x, y = (v if isinstance(v, scalars) else as_array(v) for v in (a, b))
    wide = np.result_type(*map(_dtype_or_scalar, (x, y)), 1.0)
    # Halves are computed in float32: their own sums would round the limit.
    wide = np.dtype(np.float32) if wide.itemsize == 2 else wide
    first, second = (
        array(v, wide) if isinstance(v, scalars) else v.astype(wide, copy=False) for v in (x, y)
    )
    made: ndarray = _close_kernel()(first, second, rtol, atol, equal_nan)
    return made


def allclose(
    a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False
) -> ndarray:
    """Are all elements close, as `isclose` has it? A 0-d array of bool. Source: NumPy, `numpy.allclose`."""
    return isclose(a, b, rtol, atol, equal_nan).all()


def isscalar(element: object) -> bool:
    """Is it a scalar of Python or NumPy? A 0-d array is none. Source: NumPy, `numpy.isscalar`."""
    return np.isscalar(element)


def iscomplexobj(x: Any) -> bool:
    """Is the dtype complex, whatever the values? Of any object. Source: NumPy, `numpy.iscomplexobj`."""
    return x.dtype.kind == "c" if isinstance(x, _core.ndarray) else np.iscomplexobj(x)


def isrealobj(x: Any) -> bool:
    """Is the dtype not complex? Of any object. Source: NumPy, `numpy.isrealobj`."""
    return not iscomplexobj(x)


def iscomplex(x: object) -> ndarray:
    """Has the element an imaginary part that is not 0? Source: NumPy, `numpy.iscomplex`."""
    values = as_array(x)
    if values.dtype.kind != "c":
        return zeros(values.shape, np.bool_, device=values.device)
    return ufuncs["not_equal"](values.imag, 0)


def isreal(x: object) -> ndarray:
    """Is the element's imaginary part 0? Source: NumPy, `numpy.isreal`."""
    values = as_array(x)
    if values.dtype.kind != "c":
        return ones(values.shape, np.bool_, device=values.device)
    return ufuncs["equal"](values.imag, 0)


def isfortran(a: ndarray) -> bool:
    """Is the array in Fortran order and not also in C order? Source: NumPy, `numpy.isfortran`."""
    return a.flags.fnc


class _Layout:
    """An array's place in memory without the memory, for NumPy's arithmetic on addresses."""

    def __init__(self, a: ndarray) -> None:
        self.__array_interface__ = {
            "shape": a.shape,
            "strides": a.strides,
            "typestr": f"|V{a.itemsize}",
            "data": (a.data.ptr, True),
            "version": 3,
        }


def shares_memory(a: ndarray, b: ndarray, max_work: int | None = None) -> bool:
    """Do two arrays have an element's byte in common? Exact, which may take long for wild strides.

    Source: NumPy, `numpy.shares_memory`.
    """
    if not _core.may_share_memory(a, b):
        return False
    layouts = np.asarray(_Layout(a)), np.asarray(_Layout(b))
    return np.shares_memory(*layouts, max_work=-1 if max_work is None else max_work)  # type: ignore[arg-type]


# Dtypes: NumPy's own functions, told of quern's arrays by their dtypes.


def _dtype_or_scalar(value: Any) -> Any:
    return value.dtype if isinstance(value, _core.ndarray) else value


def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """The dtype that arrays, dtypes and Python scalars promote to. Source: NumPy, `numpy.result_type`."""
    return np.result_type(*map(_dtype_or_scalar, arrays_and_dtypes))


def can_cast(from_: Any, to: npt.DTypeLike, casting: Any = "safe") -> bool:
    """May a dtype, or that of an array, be cast to another by the rule? Source: NumPy, `numpy.can_cast`."""
    return np.can_cast(_dtype_or_scalar(from_), to, casting)


def _has_arrays(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_has_arrays, value))
    return isinstance(value, _core.ndarray) or hasattr(value, "__cupy_get_ndarray__")


def min_scalar_type(a: Any) -> np.dtype[Any]:
    """The smallest dtype that holds a scalar; of an array its own. Source: NumPy, `numpy.min_scalar_type`."""
    return asarray(a).dtype if _has_arrays(a) else np.min_scalar_type(a)


def common_type(*arrays: ndarray) -> type[Any]:
    """The inexact scalar type that holds all the arrays' values. Source: NumPy, `numpy.common_type`."""
    if not arrays:
        return np.float16
    return np.common_type(*(np.empty(0, a.dtype) for a in arrays))


def get_array_module(*args: object) -> Any:
    """Quern if an argument is one of its arrays, else NumPy: for code that takes both.

    Source: CuPy, `cupy.get_array_module`.
    """
    import quern

    return quern if any(isinstance(arg, _core.ndarray) for arg in args) else np
