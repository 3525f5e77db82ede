"""Matrices of a pattern, and triangles and diagonals of given ones, under NumPy's names."""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from quern import _core
from quern._creation import arange, empty, zeros
from quern._operands import as_array

if TYPE_CHECKING:
    import numpy.typing as npt

    from quern._core import DeviceLike, ElementwiseKernel, Order, ndarray

__all__ = ["diag", "diagflat", "eye", "identity", "trace", "tri", "tril", "triu", "vander"]


def _diagonal_of(matrix: ndarray, k: int) -> ndarray:
    """A writable view of the k-th diagonal of a matrix in C order."""
    rows, columns = matrix.shape
    count = min(rows, columns - k) if k >= 0 else min(rows + k, columns)
    start = k if k >= 0 else -k * columns
    step = columns + 1
    return matrix.reshape(-1)[start : start + max(count, 0) * step : step]


def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: npt.DTypeLike | None = float,
    order: Order = "C",
    *,
    device: DeviceLike = None,
) -> ndarray:
    """A matrix of `N` rows and `M` columns (`N` by default) with ones on the `k`-th diagonal.

    Source: NumPy, `numpy.eye`.
    """
    rows, k = operator.index(N), operator.index(k)
    columns = rows if M is None else operator.index(M)
    if order == "F":
        return eye(columns, rows, -k, dtype, device=device).T
    made = zeros((rows, columns), dtype, device=device)
    if -rows < k < columns:
        _diagonal_of(made, k)[...] = 1
    return made


def identity(n: int, dtype: npt.DTypeLike | None = float, *, device: DeviceLike = None) -> ndarray:
    """The square matrix with ones on its diagonal. Source: NumPy, `numpy.identity`."""
    return eye(n, dtype=dtype, device=device)


def diag(v: object, k: int = 0) -> ndarray:
    """The `k`-th diagonal of a matrix, a view; or of 1-D values the matrix with them on that diagonal.

    Raises: ValueError for any other number of axes. Source: NumPy, `numpy.diag`.
    """
    values = as_array(v)
    if values.ndim == 2:
        return values.diagonal(k)
    if values.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    n = values.size + abs(k)
    made = zeros((n, n), values.dtype, device=values.device)
    if values.size:
        _diagonal_of(made, k)[...] = values
    return made


def diagflat(v: object, k: int = 0) -> ndarray:
    """The matrix with all elements of `v`, in C order, on its `k`-th diagonal. Source: NumPy, `numpy.diagflat`."""
    return diag(as_array(v).ravel(), k)


def tri(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: npt.DTypeLike | None = float,
    *,
    device: DeviceLike = None,
) -> ndarray:
    """Ones on and below the `k`-th diagonal, zeros above it. Source: NumPy, `numpy.tri`."""
    columns = N if M is None else M
    below = _core.ufuncs["greater_equal"].outer(
        arange(N, device=device), arange(-k, columns - k, device=device)
    )
    made: ndarray = below.astype(dtype if dtype is not None else np.float64, copy=False)
    return made


@functools.cache
def _triangle_kernel() -> ElementwiseKernel:
    return _core.ElementwiseKernel(
        "T x, I row, I column, I k, bool upper",
        "T y",
        "y = (upper ? column - row >= k : column - row <= k) ? x : T(0)",
        "quern_triangle",
    )


def _triangle(m: object, k: int, upper: bool) -> ndarray:
    matrix = as_array(m)
    if matrix.ndim == 0:
        raise ValueError("tril and triu need at least one axis")
    rows, columns = matrix.shape[-2:] if matrix.ndim > 1 else (matrix.size, matrix.size)
    # Elements read their row and column beside what they are: in few bytes.
    index = np.dtype(np.int32 if max(rows, columns) < 1 << 30 else np.int64)
    down = arange(rows, dtype=index, device=matrix.device)[:, None]
    across = arange(columns, dtype=index, device=matrix.device)
    k = index.type(max(-rows - 1, min(operator.index(k), columns + 1)))
    made: ndarray = _triangle_kernel()(matrix, down, across, k, upper)
    return made


def tril(m: object, k: int = 0) -> ndarray:
    """A copy with zeros above the `k`-th diagonal of the last two axes. Source: NumPy, `numpy.tril`."""
    return _triangle(m, k, upper=False)


def triu(m: object, k: int = 0) -> ndarray:
    """A copy with zeros below the `k`-th diagonal of the last two axes. Source: NumPy, `numpy.triu`."""
    return _triangle(m, k, upper=True)


def trace(
    a: object,
    offset: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: npt.DTypeLike | None = None,
    out: ndarray | None = None,
) -> ndarray:
    """The sum of the diagonal of every matrix in two axes; dtypes as `sum` has them. Source: NumPy, `numpy.trace`."""
    return as_array(a).diagonal(offset, axis1, axis2).sum(-1, dtype, out)


def vander(x: object, N: int | None = None, increasing: bool = False) -> ndarray:
    """A matrix whose columns are powers of `x`, from the highest down unless `increasing`.

    Source: NumPy, `numpy.vander`.
    """
    values = as_array(x)
    if values.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    columns = len(values) if N is None else N
    dtype: Any = np.promote_types(values.dtype, int)
    made = empty((len(values), columns), dtype, device=values.device)
    powers = made if increasing else made[:, ::-1]
    if columns > 0:
        powers[:, 0] = 1
    if columns > 1:
        powers[:, 1:] = values[:, None]
        multiply = _core.ufuncs["multiply"]
        multiply.accumulate(powers[:, 1:], out=powers[:, 1:], axis=1)
    return made
