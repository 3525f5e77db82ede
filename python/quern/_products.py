"""Products summed over axes, under NumPy's names: each is a contraction, by a BLAS or as a reduction."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from quern import _core
from quern._core import _contract, _dot, _matmul, _tensordot, _vdot
from quern._creation import empty
from quern._manipulation import moveaxis
from quern._operands import operands, ufuncs

if TYPE_CHECKING:
    import numpy.typing as npt

    from quern._core import ElementwiseKernel, ndarray

__all__ = [
    "cross",
    "dot",
    "inner",
    "kron",
    "matmul",
    "matvec",
    "outer",
    "tensordot",
    "vdot",
    "vecdot",
    "vecmat",
]


def _moved(
    a: ndarray, b: ndarray, axes: Sequence[Any], core: tuple[int, int, int]
) -> tuple[ndarray, ndarray, tuple[int, ...]]:
    """The operands with the axes that `axes=` names last, and where the result's go."""
    if len(axes) not in (2, 3) or (len(axes) == 2 and core[2]):
        raise ValueError("axes should be a list with an entry for each operand and for the result")
    entries = [
        tuple(entry) if isinstance(entry, (tuple, list)) else (operator.index(entry),)
        for entry in axes
    ] + [()] * (3 - len(axes))
    for entry, count in zip(entries, core, strict=True):
        if len(entry) != count:
            raise ValueError(f"axes: {entry} names {len(entry)} axes where {count} are meant")
    last = [tuple(range(-count, 0)) for count in core]
    return moveaxis(a, entries[0], last[0]), moveaxis(b, entries[1], last[1]), entries[2]


def _check_casting(a: ndarray, b: ndarray, dtype: Any, casting: str) -> None:
    if dtype is None:
        return
    for k, x in enumerate((a, b)):
        if not np.can_cast(x.dtype, np.dtype(dtype), casting):  # type: ignore[arg-type]
            raise TypeError(
                f"Cannot cast ufunc 'matmul' input {k} from {x.dtype!r} to {np.dtype(dtype)!r} with casting rule "
                f"{casting!r}"
            )


def matmul(
    x1: ndarray,
    x2: ndarray,
    /,
    out: ndarray | tuple[ndarray] | None = None,
    *,
    casting: str = "same_kind",
    order: str = "K",
    dtype: npt.DTypeLike | None = None,
    subok: bool = True,
    axes: Sequence[Any] | None = None,
) -> ndarray:
    """The matrix product of `x1` (..., m, k) and `x2` (..., k, n), with broadcast leading axes: (..., m, n).

    An array of one axis is a row before and a column behind, and that axis is not in the result. The dtype is what both
    promote to, or `dtype`; float16 and bfloat16 are summed in float32. float32 is never rounded to fewer bits.
    Raises: ValueError where the shapes do not fit, or `out` is not of the result's; TypeError for an `out` that cannot
    hold it.
    Source: numpy.matmul.
    """
    a, b = operands(x1, x2)
    given = out[0] if isinstance(out, tuple) else out
    _check_casting(a, b, dtype, casting)
    if axes is None and given is not None and casting == "unsafe":
        return _cast_into(given, _matmul(a, b, None, dtype))
    if axes is None:
        return _matmul(a, b, given, dtype)
    core = (min(a.ndim, 2), min(b.ndim, 2), max(min(a.ndim, 2) + min(b.ndim, 2) - 2, 0))
    a, b, into = _moved(a, b, axes, core)
    return _placed(_matmul(a, b, None, dtype), into, given)


def _cast_into(out: ndarray, result: ndarray) -> ndarray:
    """`out` with the result, cast to anything."""
    if out.shape != result.shape:
        raise ValueError(f"out has shape {out.shape}, the product {result.shape}")
    out[...] = result
    return out


def _placed(result: ndarray, axes: tuple[int, ...], out: ndarray | None) -> ndarray:
    result = moveaxis(result, tuple(range(-len(axes), 0)), axes) if axes else result
    if out is None:
        return result
    out[...] = result
    return out


def dot(a: Any, b: Any, out: ndarray | None = None) -> ndarray:
    """The sum of products over the last axis of `a` and the second to last of `b` (its only one, if it has one).

    Shapes (..., k) and (..., k, n): the axes of `a` that are left, then those of `b`. With a scalar it multiplies.
    Raises: ValueError where the extents differ, or `out` is not C-contiguous, of the result's shape and dtype.
    Source: numpy.dot.
    """
    a, b = operands(a, b)
    if out is not None and (
        not out.flags.c_contiguous or out.dtype != np.result_type(a.dtype, b.dtype)
    ):
        raise ValueError(
            "output array is not acceptable: it must be C-contiguous, of the result's dtype"
        )
    return _dot(a, b, out)


def vdot(a: Any, b: Any) -> ndarray:
    """The sum of products of all elements, those of `a` conjugated: a 0-d array.

    Raises: ValueError where the sizes differ. Source: numpy.vdot.
    """
    a, b = operands(a, b)
    if a.shape != b.shape:
        if a.size != b.size:
            raise ValueError(f"cannot multiply {a.size} elements with {b.size}")
        a, b = a.ravel(), b.ravel()
    return _vdot(a, b)


def inner(a: Any, b: Any) -> ndarray:
    """The sum of products over the last axis of both: shape a.shape[:-1] + b.shape[:-1].

    Raises: ValueError where the last extents differ. Source: numpy.inner.
    """
    a, b = operands(a, b)
    return _tensordot(a, [-1], b, [-1]) if a.ndim and b.ndim else _dot(a, b, None)


def outer(a: Any, b: Any, out: ndarray | None = None) -> ndarray:
    """The products of all pairs of elements: shape (a.size, b.size). Source: numpy.outer."""
    a, b = (x if x.ndim == 1 else x.ravel() for x in operands(a, b))
    return _contract(a, [0], b, [1], [0, 1], out=out)


def tensordot(a: Any, b: Any, axes: Any = 2) -> ndarray:
    """Sums products over `axes`: that many last axes of `a` with as many first of `b`, or a pair of lists of axes.

    What is left of `a` comes before what is left of `b`.
    Raises: ValueError where extents differ or an axis comes twice; AxisError. Source: numpy.tensordot.
    """
    a, b = operands(a, b)
    try:
        axes_a, axes_b = axes
    except TypeError:
        count = operator.index(axes)
        if count > min(a.ndim, b.ndim):
            raise ValueError(
                f"tensordot over {count} axes of arrays of {a.ndim} and {b.ndim}"
            ) from None
        axes_a, axes_b = range(a.ndim - count, a.ndim), range(count)
    lists = [
        [operator.index(entry)]
        if hasattr(entry, "__index__")
        else [operator.index(x) for x in entry]
        for entry in (axes_a, axes_b)
    ]
    return _tensordot(a, lists[0], b, lists[1])


def _rows(x1: Any, x2: Any, axis: int, out: ndarray | None) -> ndarray:
    a, b = operands(x1, x2)
    if not a.ndim or not b.ndim:
        raise ValueError("vecdot: an operand has no axis to sum over")
    a, b = moveaxis(a, axis, -1), moveaxis(b, axis, -1)
    if a.shape[-1] != b.shape[-1]:
        raise ValueError(f"vecdot: {a.shape[-1]} elements with {b.shape[-1]}")
    lead = max(a.ndim, b.ndim) - 1
    labels = [[*range(lead - x.ndim + 1, lead), lead] for x in (a, b)]
    return _contract(a, labels[0], b, labels[1], list(range(lead)), out=out, conjugate=True)


def vecdot(x1: Any, x2: Any, /, out: ndarray | None = None, *, axis: int = -1) -> ndarray:
    """The sum of products over one axis of broadcast arrays, `x1` conjugated: shape (...,).

    Raises: ValueError where the extents differ. Source: numpy.vecdot.
    """
    return _rows(x1, x2, axis, out)


def matvec(x1: Any, x2: Any, /, out: ndarray | None = None) -> ndarray:
    """Matrices (..., m, n) times vectors (..., n): (..., m). Source: numpy.matvec."""
    a, b = operands(x1, x2)
    if a.ndim < 2 or not b.ndim or a.shape[-1] != b.shape[-1]:
        raise ValueError(f"matvec: shapes {a.shape} and {b.shape} are not (..., m, n) and (..., n)")
    lead = max(a.ndim - 2, b.ndim - 1)
    labels_a = [*range(lead - a.ndim + 2, lead), lead, lead + 1]
    labels_b = [*range(lead - b.ndim + 1, lead), lead + 1]
    return _contract(a, labels_a, b, labels_b, list(range(lead + 1)), out=out)


def vecmat(x1: Any, x2: Any, /, out: ndarray | None = None) -> ndarray:
    """Vectors (..., n), conjugated, times matrices (..., n, m): (..., m). Source: numpy.vecmat."""
    a, b = operands(x1, x2)
    if not a.ndim or b.ndim < 2 or a.shape[-1] != b.shape[-2]:
        raise ValueError(f"vecmat: shapes {a.shape} and {b.shape} are not (..., n) and (..., n, m)")
    lead = max(a.ndim - 1, b.ndim - 2)
    labels_a = [*range(lead - a.ndim + 1, lead), lead]
    labels_b = [*range(lead - b.ndim + 2, lead), lead, lead + 1]
    return _contract(a, labels_a, b, labels_b, [*range(lead), lead + 1], out=out, conjugate=True)


def kron(a: Any, b: Any) -> ndarray:
    """The Kronecker product: each element of `a` times all of `b`; extents multiply axis by axis.

    Source: numpy.kron.
    """
    a, b = operands(a, b)
    ndim = max(a.ndim, b.ndim)
    a, b = (x.reshape((1,) * (ndim - x.ndim) + x.shape) for x in (a, b))
    pairs: ndarray = ufuncs["multiply"](
        a.reshape(tuple(n for m in a.shape for n in (m, 1))),
        b.reshape(tuple(n for m in b.shape for n in (1, m))),
    )
    return pairs.reshape(tuple(m * n for m, n in zip(a.shape, b.shape, strict=True)))


@functools.cache
def _cross_kernel(flat: str) -> ElementwiseKernel:
    """With vectors of two elements for `flat`, "a" or "b": nothing is multiplied by a third one of theirs."""
    names = [f"T {x}{k}" for x in "ab" for k in range(2 if x == flat else 3)]
    first = {"": "a1 * b2 - a2 * b1", "a": "a1 * b2", "b": "-(a2 * b1)"}[flat]
    second = {"": "a2 * b0 - a0 * b2", "a": "-(a0 * b2)", "b": "a2 * b0"}[flat]
    body = f"c0 = {first}; c1 = {second}; c2 = a0 * b1 - a1 * b0"
    name = f"quern_cross_{flat}" if flat else "quern_cross"
    return _core.ElementwiseKernel(", ".join(names), "T c0, T c1, T c2", body, name)


@functools.cache
def _cross_plane_kernel() -> ElementwiseKernel:
    return _core.ElementwiseKernel(
        "T a0, T a1, T b0, T b1", "T c", "c = a0 * b1 - a1 * b0", "quern_cross_plane"
    )


def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> ndarray:
    """The cross product of vectors of three elements (two: the third is 0) along an axis of broadcast arrays.

    Two vectors of two elements give the third element alone, without the axis.
    Raises: ValueError for other extents, TypeError for bools. Source: numpy.cross.
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = operands(a, b)
    if not a.ndim or not b.ndim:
        raise ValueError("At least one array has zero dimension")
    a, b = moveaxis(a, axisa, -1), moveaxis(b, axisb, -1)
    if a.shape[-1] not in (2, 3) or b.shape[-1] not in (2, 3):
        raise ValueError(
            f"incompatible dimensions for cross product (dimension must be 2 or 3): {a.shape}, {b.shape}"
        )
    dtype = np.result_type(a.dtype, b.dtype)
    if dtype == np.bool_:
        raise TypeError("numpy boolean subtract is not supported: cross needs numbers")
    a, b = a.astype(dtype, copy=False), b.astype(dtype, copy=False)
    shape = np.broadcast_shapes(a.shape[:-1], b.shape[:-1])
    parts = [[x[..., k] for k in range(x.shape[-1])] for x in (a, b)]
    if a.shape[-1] == b.shape[-1] == 2:
        made = empty(shape, dtype, device=a.device)
        _cross_plane_kernel()(*parts[0], *parts[1], made)
        return made
    flat = "a" if a.shape[-1] == 2 else "b" if b.shape[-1] == 2 else ""
    result = empty((*shape, 3), dtype, device=a.device)
    _cross_kernel(flat)(*parts[0], *parts[1], *(result[..., k] for k in range(3)))
    return moveaxis(result, -1, axisc)
