"""Functions of elements that NumPy offers beside its ufuncs: choices, limits, rounding, parts of complex numbers."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from quern import _core
from quern._creation import asarray, empty_like, full
from quern._manipulation import broadcast_shapes, may_share_memory
from quern._operands import (
    as_array,
    host_array,
    safe_index,
    ufuncs,
)

if TYPE_CHECKING:
    from quern._core import ElementwiseKernel, Number, ndarray

__all__ = [
    "angle",
    "around",
    "clip",
    "copyto",
    "fix",
    "i0",
    "imag",
    "isneginf",
    "isposinf",
    "nan_to_num",
    "real",
    "real_if_close",
    "round",
    "round_",
    "sinc",
    "where",
]

_UNSET = object()


def _operand(value: Any) -> Any:
    """Arrays and scalars as they are (a Python scalar does not decide dtypes); lists as arrays."""
    return asarray(value) if isinstance(value, (list, tuple)) else value


def where(condition: Any, x: Any = _UNSET, y: Any = _UNSET, /) -> Any:
    """Elements of `x` where `condition` is true, of `y` elsewhere, in one launch.

    Shapes: all three broadcast. The dtype is what `x` and `y` promote to.
    Raises: ValueError if only one of `x` and `y` is given.
    Source: NumPy, `numpy.where`.
    """
    if x is _UNSET and y is _UNSET:
        return as_array(condition).nonzero()
    if x is _UNSET or y is _UNSET:
        raise ValueError("either both or neither of x and y should be given")
    mask = as_array(condition)
    if mask.dtype != np.bool_:
        mask = mask.astype(np.bool_)
    return ufuncs["where"](mask, _operand(x), _operand(y))


def clip(
    a: Any,
    a_min: Any = _UNSET,
    a_max: Any = _UNSET,
    out: ndarray | None = None,
    *,
    min: Any = _UNSET,
    max: Any = _UNSET,
    **kwargs: Any,
) -> ndarray:
    """`a` with what lies below `a_min` or above `a_max` replaced by them, in one launch; None is no limit.

    Where the limits are the wrong way round the result is `a_max`. Options of a ufunc's call are taken too.
    Raises: TypeError without limits given at all; ValueError for shapes.
    Source: NumPy, `numpy.clip`.
    """
    if a_min is _UNSET and a_max is _UNSET:
        a_min = None if min is _UNSET else min
        a_max = None if max is _UNSET else max
    elif a_min is _UNSET or a_max is _UNSET:
        missing = "a_min" if a_min is _UNSET else "a_max"
        raise TypeError(f"clip() missing 1 required positional argument: '{missing}'")
    elif min is not _UNSET or max is not _UNSET:
        raise ValueError(
            "Passing `min` or `max` keyword argument when `a_min` and `a_max` are provided is forbidden."
        )
    values = as_array(a)
    low, high = _operand(a_min), _operand(a_max)
    if values.dtype.kind in "iu":  # an int that no element can pass is no limit
        limits = np.iinfo(values.dtype)
        if type(low) is int and low <= limits.min:
            low = None
        if type(high) is int and high >= limits.max:
            high = None
    if low is None and high is None:
        if values.dtype.kind == "b" or kwargs:
            return ufuncs["clip"](values, False, True, out=out, **kwargs)
        return ufuncs["positive"](values, out=out)
    if low is None:
        return ufuncs["minimum"](values, high, out=out, **kwargs)
    if high is None:
        return ufuncs["maximum"](values, low, out=out, **kwargs)
    return ufuncs["clip"](values, low, high, out=out, **kwargs)


@functools.cache
def _round_kernel(up: bool) -> ElementwiseKernel:
    there, back = ("*", "/") if up else ("/", "*")
    return _core.ElementwiseKernel(
        "T x, T scale",
        "T y",
        f"const T scaled = x {there} scale, whole = rint(scaled); y = whole {back} scale",
        "quern_round",
    )


def around(a: Any, decimals: int = 0, out: ndarray | None = None) -> ndarray:
    """`a` rounded to so many decimals, halves to even; negative ones round to tens, hundreds and so on.

    Source: NumPy, `numpy.round`.
    """
    values, decimals = as_array(a), safe_index(decimals)
    if values.dtype.kind == "c":
        target = empty_like(values) if out is None else out
        around(values.real, decimals, target.real)
        around(values.imag, decimals, target.imag)
        return target
    if values.dtype == np.bool_ and decimals != 0:
        raise TypeError("bools have no decimals to be rounded to: round() takes 0 of them")
    whole = values.dtype.kind in "iu"
    if decimals >= 0 and whole:
        if out is None:
            return values.copy("K")
        out[...] = values
        return out
    rint = ufuncs["rint"]
    if decimals == 0:
        return rint(values, out=out)
    scale = 10.0 ** abs(decimals)
    there, back = ("multiply", "divide") if decimals > 0 else ("divide", "multiply")
    if not whole and (out is None or out.dtype == values.dtype):
        target = empty_like(values) if out is None else out
        _round_kernel(decimals > 0)(values, values.dtype.type(scale), target)
        return target
    made: ndarray = ufuncs[there](values, scale)
    rint(made, out=made)
    if not whole:
        return ufuncs[back](made, scale, out=out)
    ufuncs[back](made, scale, out=made)
    if out is None:
        return made.astype(values.dtype)
    out[...] = made
    return out


round = around
round_ = around


def fix(x: Any, out: ndarray | None = None) -> ndarray:
    """The integer part: rounded towards zero. Source: NumPy, `numpy.fix`."""
    return ufuncs["trunc"](as_array(x), out=out)


def isposinf(x: Any, out: ndarray | None = None) -> ndarray:
    """Is the element positive infinity? Source: NumPy, `numpy.isposinf`."""
    return ufuncs["equal"](_real_only(x), np.inf, out=out)


def isneginf(x: Any, out: ndarray | None = None) -> ndarray:
    """Is the element negative infinity? Source: NumPy, `numpy.isneginf`."""
    return ufuncs["equal"](_real_only(x), -np.inf, out=out)


def _real_only(x: Any) -> ndarray:
    values = as_array(x)
    if values.dtype.kind == "c":
        raise TypeError(
            f"This operation is not supported for {values.dtype} values because it would be ambiguous."
        )
    return values


def real(val: Any) -> ndarray:
    """The real parts: a view; of real numbers the array itself. Source: NumPy, `numpy.real`."""
    return as_array(val).real


def imag(val: Any) -> ndarray:
    """The imaginary parts: a view; of real numbers zeros. Source: NumPy, `numpy.imag`."""
    return as_array(val).imag


def angle(z: Any, deg: bool = False) -> ndarray:
    """The angle of each complex number from the positive real axis, in radians or degrees.

    Source: NumPy, `numpy.angle`.
    """
    values = as_array(z)
    is_complex = values.dtype.kind == "c"
    found = ufuncs["arctan2"](values.imag if is_complex else 0, values.real)
    if deg:
        found *= 180 / np.pi
    return found


def real_if_close(a: Any, tol: float = 100) -> ndarray:
    """The real parts if all imaginary ones are within `tol` (times the dtype's epsilon if above 1), else `a`.

    It waits for the device: the dtype hangs on the values. Source: NumPy, `numpy.real_if_close`.
    """
    values = as_array(a)
    if values.dtype.kind != "c":
        return values
    if tol > 1:
        tol = float(np.finfo(values.dtype).eps) * tol
    close = ufuncs["less"](ufuncs["absolute"](values.imag), tol).all()
    return values.real if bool(close) else values


# Kernels of their own: what no row of the op table says.


@functools.cache
def _nan_to_num_kernel(wide: str) -> ElementwiseKernel:
    return _core.ElementwiseKernel(
        "T x, T nan, T high, T low",
        "T y",
        f"""
        const {wide} value = static_cast<{wide}>(x);
        y = value != value ? nan : isinf(value) ? (value > 0 ? high : low) : x
        """,
        "quern_nan_to_num",
    )


def nan_to_num(
    x: Any,
    copy: bool = True,
    nan: Number | ndarray = 0.0,
    posinf: Number | ndarray | None = None,
    neginf: Number | ndarray | None = None,
) -> ndarray:
    """`x` with NaN, infinity and minus infinity replaced: by 0 and the dtype's largest numbers unless told.

    `copy=False` writes into `x`. Source: NumPy, `numpy.nan_to_num`.
    """
    values = as_array(x)
    target = empty_like(values) if copy else values
    if values.dtype.kind not in "fcV":
        if copy:
            target[...] = values
        return target
    if values.dtype.kind == "c":
        for mine, theirs in ((target.real, values.real), (target.imag, values.imag)):
            _replace(theirs, nan, posinf, neginf, mine)
    else:
        _replace(values, nan, posinf, neginf, target)
    return target


def _replace(values: ndarray, nan: Any, high: Any, low: Any, target: ndarray) -> None:
    limits = _finfo(values.dtype)
    high = limits.max if high is None else high
    low = limits.min if low is None else low
    given = [
        v.astype(values.dtype, copy=False) if isinstance(v, _core.ndarray) else values.dtype.type(v)
        for v in (nan, high, low)
    ]
    _nan_to_num_kernel("double" if values.itemsize == 8 else "float")(values, *given, target)


def _finfo(dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "V":
        import ml_dtypes

        return ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    return np.finfo(dtype)


@functools.cache
def _masked_copy_kernel() -> ElementwiseKernel:
    return _core.ElementwiseKernel(
        "bool mask, S x", "T y", "if (mask) y = quern::convert<T>(x)", "quern_masked_copy"
    )


def copyto(dst: ndarray, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """Write `src`, broadcast, into `dst`, only where `where` is true.

    Raises: TypeError for casts that `casting` forbids; ValueError for shapes and a read-only `dst`.
    Source: NumPy, `numpy.copyto`.
    """
    if not isinstance(dst, _core.ndarray):
        raise TypeError(f"copyto() argument 1 must be quern.ndarray, not {type(dst).__name__}")
    source = _operand(src)
    _check_cast(source, dst.dtype, casting)
    if casting == "unsafe" and isinstance(source, (float, complex)):
        source = full((), source, dst.dtype, device=dst.device)  # a cast: assignment may refuse
    if where is True:
        dst[...] = source
        return
    if not isinstance(where, (_core.ndarray, np.ndarray)):
        where = host_array(where, np.bool_).tolist()
    mask = as_array(where, dst.device)
    if mask.dtype != np.bool_:
        raise TypeError(
            f"Cannot cast array data from {mask.dtype!r} to dtype('bool') according to the rule 'safe'"
        )
    if not dst.flags.writeable:
        raise ValueError("assignment destination is read-only")
    if not isinstance(source, _core.ndarray):
        source = full((), source, dst.dtype, device=dst.device)
    elif source.ndim > dst.ndim:
        extra = source.ndim - dst.ndim
        source = source.squeeze(tuple(k for k in range(extra) if source.shape[k] == 1))
    for x, name in ((source, "input array"), (mask, "where mask")):
        if not _fits_into(x, dst.shape):
            raise ValueError(
                f"could not broadcast {name} from shape {x.shape} into shape {dst.shape}"
            )
    source, mask = (x.copy() if may_share_memory(x, dst) else x for x in (source, mask))
    _masked_copy_kernel()(mask, source, dst)


def _fits_into(source: ndarray, shape: tuple[int, ...]) -> bool:
    try:
        return broadcast_shapes(shape, source.shape) == shape
    except ValueError:
        return False


def written(found: ndarray, out: ndarray) -> ndarray:
    """`found` cast into `out`, which must be of its shape."""
    if out.shape != found.shape:
        raise ValueError(
            f"out is {out.shape}, the result is {found.shape}: give an out of exactly that shape"
        )
    copyto(out, found)
    return out


def _check_cast(source: Any, to: np.dtype[Any], casting: str) -> None:
    if isinstance(source, _core.ndarray):
        allowed, given = np.can_cast(source.dtype, to, casting), source.dtype  # type: ignore[arg-type]
    else:
        given = np.result_type(source)
        ladder = "biufc"
        by_kind = to.kind == "V" or (
            type(source) in (bool, int, float, complex)
            and ladder.index(given.kind) <= ladder.index("u" if to.kind == "i" else to.kind)
        )
        allowed = by_kind or np.can_cast(given, to, casting)  # type: ignore[arg-type]
    if not allowed:
        raise TypeError(
            f"Cannot cast array data from {given!r} to {to!r} according to the rule '{casting}'"
        )


@functools.cache
def _i0_kernel() -> ElementwiseKernel:
    return _core.ElementwiseKernel(
        "T x", "T y", "y = static_cast<T>(quern::bessel::i0(static_cast<double>(x)))", "quern_i0"
    )


def i0(x: Any) -> ndarray:
    """The modified Bessel function of the first kind, order 0.

    Raises: TypeError for complex numbers. Source: NumPy, `numpy.i0`.
    """
    values = as_array(x)
    if values.dtype.kind == "c":
        raise TypeError("i0 not supported for complex values")
    if values.dtype.kind not in "fV":
        values = values.astype(np.float64)
    made: ndarray = _i0_kernel()(values)
    return made


def sinc(x: Any) -> ndarray:
    """sin(pi x) / (pi x), which is 1 at 0. Source: NumPy, `numpy.sinc`."""
    values = as_array(x)
    scaled = values * np.pi
    tiny = 1.0e-20 if np.finfo(scaled.dtype).bits > 16 else float(np.finfo(scaled.dtype).tiny)
    scaled = where(scaled, scaled, tiny)
    made: ndarray = ufuncs["sin"](scaled) / scaled
    return made
