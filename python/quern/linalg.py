"""Linear algebra: the products and norms of numpy.linalg. Its solvers and decompositions come later, and say so."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from numpy import inf
from numpy.linalg import LinAlgError

from quern import _matrices, _products, _reductions
from quern._absent import later_module
from quern._creation import empty_like
from quern._manipulation import diagonal as _diagonal_of
from quern._manipulation import squeeze
from quern._operands import as_array, normalize_axis_index, normalize_axis_tuple, operands, ufuncs
from quern._rearranging import matrix_transpose

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from quern._core import ndarray

    Axis = int | tuple[int, ...] | None

__all__ = [
    "LinAlgError",
    "cross",
    "diagonal",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]


def __getattr__(name: str) -> Any:
    raise later_module("linalg", name)


def matmul(x1: ndarray, x2: ndarray, /) -> ndarray:
    """The matrix product, as `quern.matmul`. Source: NumPy, `numpy.linalg.matmul`."""
    return _products.matmul(x1, x2)


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> ndarray:
    """Sums of products over `axes`, as `quern.tensordot`. Source: NumPy, `numpy.linalg.tensordot`."""
    return _products.tensordot(x1, x2, axes)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> ndarray:
    """Sums of products along an axis, as `quern.vecdot`. Source: NumPy, `numpy.linalg.vecdot`."""
    return _products.vecdot(x1, x2, axis=axis)


def outer(x1: Any, x2: Any, /) -> ndarray:
    """The products of all pairs of elements of two 1-D arrays.

    Raises: ValueError for other numbers of axes. Source: NumPy, `numpy.linalg.outer`.
    """
    a, b = operands(x1, x2)
    if a.ndim != 1 or b.ndim != 1:
        raise ValueError(
            f"Input arrays must be one-dimensional, but they are a.ndim={a.ndim} and b.ndim={b.ndim}."
        )
    return _products.outer(a, b)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> ndarray:
    """The cross product of vectors of three elements. Raises: ValueError for others.

    Source: NumPy, `numpy.linalg.cross`.
    """
    a, b = operands(x1, x2)
    if a.shape[axis] != 3 or b.shape[axis] != 3:
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, "
            f"but they are {a.shape[axis]} and {b.shape[axis]} dimensional instead."
        )
    return _products.cross(a, b, axis=axis)


def diagonal(x: Any, /, *, offset: int = 0) -> ndarray:
    """The diagonals of the matrices in the last two axes. Source: NumPy, `numpy.linalg.diagonal`."""
    return _diagonal_of(as_array(x), offset, -2, -1)


def trace(x: Any, /, *, offset: int = 0, dtype: npt.DTypeLike | None = None) -> ndarray:
    """The sums of the diagonals of the matrices in the last two axes. Source: NumPy, `numpy.linalg.trace`."""
    return _matrices.trace(x, offset, -2, -1, dtype)


def matrix_power(a: Any, n: int) -> ndarray:
    """The `n`-th power of square matrices in the last two axes, by about 2 log2(n) products.

    Raises: LinAlgError for matrices that are not square; TypeError for an `n` that is no integer; NotImplementedError
    for a negative one, which needs an inverse. Source: NumPy, `numpy.linalg.matrix_power`.
    """
    square = as_array(a)
    if square.ndim < 2:
        raise LinAlgError(
            f"{square.ndim}-dimensional array given. Array must be at least two-dimensional"
        )
    if square.shape[-1] != square.shape[-2]:
        raise LinAlgError("Last 2 dimensions of the array must be square")
    try:
        exponent = operator.index(n)
    except TypeError as error:
        raise TypeError("exponent must be an integer") from error
    if exponent < 0:
        raise NotImplementedError("matrix_power to a negative exponent comes later, with inv")
    if exponent == 0:
        made = empty_like(square)
        made[...] = _matrices.eye(square.shape[-1], dtype=square.dtype, device=square.device)
        return made
    result: ndarray | None = None
    while True:
        if exponent & 1:
            result = square if result is None else _products.matmul(result, square)
        exponent >>= 1
        if exponent == 0:
            assert result is not None
            return result
        square = _products.matmul(square, square)


def multi_dot(arrays: Sequence[Any], *, out: ndarray | None = None) -> ndarray:
    """The product of two or more matrices, in the order of least work; the first and the last may be vectors.

    Raises: ValueError for less than two, LinAlgError for other numbers of axes.
    Source: NumPy, `numpy.linalg.multi_dot`.
    """
    given = operands(*arrays)
    if len(given) < 2:
        raise ValueError("Expecting at least two arrays.")
    if len(given) == 2:
        return _products.dot(given[0], given[1], out)
    first, last = given[0].ndim, given[-1].ndim
    if first == 1:
        given[0] = given[0][None, :]
    if last == 1:
        given[-1] = given[-1][:, None]
    for x in given:
        if x.ndim != 2:
            raise LinAlgError(f"{x.ndim}-dimensional array given. Array must be two-dimensional")
    extents = [x.shape[0] for x in given] + [given[-1].shape[1]]
    cut = _cuts(extents)

    def product(i: int, j: int) -> ndarray:
        if i == j:
            return given[i]
        k = cut[i, j]
        whole = out if (i, j) == (0, len(given) - 1) and first == last == 2 else None
        return _products.dot(product(i, k), product(k + 1, j), out=whole)

    made = product(0, len(given) - 1)
    if first == last == 2:
        return made
    made = made[0, 0] if first == last == 1 else made.ravel()
    if out is None:
        return made
    out[...] = made
    return out


def _cuts(extents: list[int]) -> dict[tuple[int, int], int]:
    """Behind which matrix the product of those from i to j is best cut, by the number of multiplications."""
    count = len(extents) - 1
    cost = {(i, i): 0 for i in range(count)}
    cut = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            costs = [
                (cost[i, k] + cost[k + 1, j] + extents[i] * extents[k + 1] * extents[j + 1], k)
                for k in range(i, j)
            ]
            cost[i, j], cut[i, j] = min(costs)
    return cut


def _inexact(x: Any) -> ndarray:
    values = as_array(x)
    return values.astype(float) if values.dtype.kind in "biu" else values


def _length(x: ndarray, axis: Axis, keepdims: bool) -> ndarray:
    squares = (ufuncs["conjugate"](x) * x).real if x.dtype.kind == "c" else x * x
    return ufuncs["sqrt"](_reductions.sum(squares, axis, keepdims=keepdims))


def _norm_of_vectors(x: ndarray, order: Any, axis: Axis, keepdims: bool) -> ndarray:
    if order is None or order == 2:
        return _length(x, axis, keepdims)
    if isinstance(order, str):
        raise ValueError(f"Invalid norm order '{order}' for vectors")
    if order == 0:
        filled = (x != 0).astype(x.real.dtype)
        return _reductions.sum(filled, axis, keepdims=keepdims)
    sizes = ufuncs["absolute"](x)
    if order == inf:
        return _reductions.max(sizes, axis, keepdims=keepdims, initial=0)
    if order == -inf:
        return _reductions.min(sizes, axis, keepdims=keepdims)
    if order == 1:
        return _reductions.sum(sizes, axis, keepdims=keepdims)
    sizes **= order
    total = _reductions.sum(sizes, axis, keepdims=keepdims)
    total **= 1 / order
    return total


def _norm_of_matrices(x: ndarray, order: Any, axes: tuple[int, ...], keepdims: bool) -> ndarray:
    row, column = (normalize_axis_index(axis, x.ndim) for axis in axes)
    if row == column:
        raise ValueError("Duplicate axes given.")
    if order in (None, "fro", "f"):
        return _length(x, axes, keepdims)
    if order in (2, -2, "nuc"):
        raise NotImplementedError(f"the norm of order {order!r} of matrices comes later, with svd")
    if order not in (1, -1, inf, -inf):
        raise ValueError("Invalid norm order for matrices.")
    inner, other = (row, column) if order in (1, -1) else (column, row)
    sums = _reductions.sum(ufuncs["absolute"](x), inner, keepdims=True)
    found = (
        _reductions.max(sums, other, keepdims=True, initial=0)
        if order > 0
        else _reductions.min(sums, other, keepdims=True)
    )
    return found if keepdims else squeeze(found, (row, column))


def norm(x: Any, ord: Any = None, axis: Axis = None, keepdims: bool = False) -> ndarray:
    """The norm of vectors along one axis, or of matrices in two; of all elements with neither axis nor `ord`.

    Vectors: inf, -inf, 0 and every other number; matrices: 'fro', 1, -1, inf, -inf.
    Raises: ValueError for another `ord`; NotImplementedError for 2, -2 and 'nuc' of matrices, which need singular
    values. Source: NumPy, `numpy.linalg.norm`.
    """
    values = _inexact(x)
    if axis is None:
        if ord is None or (ord in ("f", "fro") and values.ndim == 2):
            return _length(values, None, keepdims)
        axis = tuple(range(values.ndim))
    elif not isinstance(axis, tuple):
        try:
            axis = (operator.index(axis),)
        except TypeError as error:
            raise TypeError("'axis' must be None, an integer or a tuple of integers") from error
    if len(axis) == 1:
        return _norm_of_vectors(values, ord, axis, keepdims)
    if len(axis) == 2:
        return _norm_of_matrices(values, ord, axis, keepdims)
    raise ValueError("Improper number of dimensions to norm.")


def vector_norm(x: Any, /, *, axis: Axis = None, keepdims: bool = False, ord: Any = 2) -> ndarray:
    """The norm of all elements, or of vectors along any axes. Errors as `norm`.

    Source: NumPy, `numpy.linalg.vector_norm`.
    """
    values = _inexact(x)
    axes = tuple(range(values.ndim)) if axis is None else normalize_axis_tuple(axis, values.ndim)
    return _norm_of_vectors(values, ord, axes, keepdims)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> ndarray:
    """The norm of the matrices in the last two axes. Errors as `norm`. Source: NumPy, `numpy.linalg.matrix_norm`."""
    return _norm_of_matrices(_inexact(x), ord, (-2, -1), keepdims)
