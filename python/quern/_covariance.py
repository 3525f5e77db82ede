"""Covariances and correlations of variables, under NumPy's names."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from quern._averages import average
from quern._creation import asarray, empty
from quern._elementwise import clip
from quern._joining import concatenate
from quern._manipulation import squeeze
from quern._operands import host_array, operands, ufuncs
from quern._products import matmul

if TYPE_CHECKING:
    import numpy.typing as npt

    from quern._core import ndarray

__all__ = ["corrcoef", "cov"]


def _weights(given: Any, name: str, samples: int) -> np.ndarray[Any, Any] | None:
    """Weights on the host, in float64, checked."""
    if given is None:
        return None
    weights = host_array(given).astype(float)
    if name == "fweights" and not np.all(weights == np.around(weights)):
        raise TypeError("fweights must be integer")
    if weights.ndim > 1:
        raise RuntimeError(f"cannot handle multidimensional {name}")
    if weights.shape[0] != samples:
        raise RuntimeError(f"incompatible numbers of samples and {name}")
    if (weights < 0).any():
        raise ValueError(f"{name} cannot be negative")
    return weights


def cov(
    m: object,
    y: object = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: npt.DTypeLike | None = None,
) -> ndarray:
    """The covariances of variables: rows of `m` (and `y`), or columns unless `rowvar`, over their samples.

    Divided by the number of samples less `ddof`: by default 1, or 0 with `bias`. `fweights` counts each sample that
    often, `aweights` weighs it; the host checks them, so those of a device are waited for.
    Shapes: (n, n) of n variables; one variable gives a 0-d array. float64 unless inputs or `dtype` are wider.
    Raises: ValueError for more axes than two, a `ddof` that is no integer and negative weights; TypeError and
    RuntimeError for weights that do not fit; RuntimeWarning for too few samples. Source: NumPy, `numpy.cov`.
    """
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    values, *others = operands(m) if y is None else operands(m, y)
    for x, name in zip((values, *others), "my", strict=False):
        if x.ndim > 2:
            raise ValueError(f"{name} has more than 2 dimensions")
    wanted = dtype
    if wanted is None:
        wanted = np.result_type(values.dtype, *(x.dtype for x in others), np.float64)
    rows = values.astype(wanted)
    rows = rows.reshape(1, -1) if rows.ndim < 2 else rows if rowvar else rows.T
    if rows.shape[0] == 0:
        return empty((0, 0), np.float64, device=rows.device)
    for x in others:
        more = x.astype(wanted)
        more = more.reshape(1, -1) if more.ndim < 2 else more
        rows = concatenate([rows, more if rowvar or more.shape[0] == 1 else more.T])
    taken = (0 if bias else 1) if ddof is None else ddof

    counts = _weights(fweights, "fweights", rows.shape[1])
    parts = _weights(aweights, "aweights", rows.shape[1])
    given = [x for x in (counts, parts) if x is not None]
    if not given:
        mean, weights = rows.mean(axis=1), None
        divisor: Any = rows.shape[1] - taken
    else:
        host = np.prod(given, axis=0)
        weights = asarray(host, device=rows.device)
        mean = average(rows, axis=1, weights=weights)
        total = host.sum()
        if total == 0:
            raise ZeroDivisionError("Weights sum to zero, can't be normalized")
        less = taken if parts is None else taken * (host * parts).sum() / total if taken else 0
        divisor = total - less
    if divisor <= 0:
        warnings.warn("Degrees of freedom <= 0 for slice", RuntimeWarning, stacklevel=2)
        divisor = 0.0
    rows -= mean[:, None]
    columns = (rows if weights is None else rows * weights).T
    products = matmul(rows, ufuncs["conjugate"](columns) if columns.dtype.kind == "c" else columns)
    with np.errstate(divide="ignore"):
        products *= np.true_divide(1, divisor)
    return squeeze(products)


def corrcoef(
    x: object, y: object = None, rowvar: bool = True, *, dtype: npt.DTypeLike | None = None
) -> ndarray:
    """The correlation coefficients of variables: their covariances over both standard deviations, within [-1, 1].

    Shapes, dtypes and errors: as `cov`. Source: NumPy, `numpy.corrcoef`.
    """
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    deviation = ufuncs["sqrt"](c.diagonal().real)
    c /= deviation[:, None]
    c /= deviation[None, :]
    clip(c.real, -1, 1, out=c.real)
    if c.dtype.kind == "c":
        clip(c.imag, -1, 1, out=c.imag)
    return c
