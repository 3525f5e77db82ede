"""Polynomials in one variable, highest power first, under NumPy's names.

Coefficients are arrays of a device. What has a solver in it (roots, fits, long division) the host computes with
NumPy's LAPACK, until `linalg` is there.
"""

from __future__ import annotations

import functools
import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from quern import _core
from quern._creation import arange, asarray, ones, zeros, zeros_like
from quern._differences import convolve
from quern._joining import concatenate
from quern._logic import array_equal, isscalar
from quern._operands import as_array, host_array, operands, ufuncs
from quern._rearranging import atleast_1d, trim_zeros

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from quern._core import ElementwiseKernel, StreamLike, ndarray

__all__ = [
    "horner",
    "poly",
    "poly1d",
    "polyadd",
    "polyder",
    "polydiv",
    "polyfit",
    "polyint",
    "polymul",
    "polysub",
    "polyval",
    "roots",
]


class poly1d:
    """A polynomial by its coefficients, the highest power's first, or by its roots with `r=True`.

    Coefficients are an array of a device (or a list, or NumPy's, or NumPy's poly1d), which is shared if it can be.
    Leading zeros are left out when `coeffs`, `order` or what hangs on them is first asked for: that waits for the
    device; sums, products, values and single coefficients do not.
    Raises: ValueError for coefficients of several axes. Source: NumPy, `numpy.poly1d`; CuPy, `cupy.poly1d`.
    """

    __hash__ = None  # type: ignore[assignment]
    __array_ufunc__ = None  # NumPy's scalars on the left leave it to the operators here

    def __init__(self, c_or_r: object, r: bool = False, variable: str | None = None) -> None:
        self._coeffs: ndarray
        self._trimmed = False
        self._variable = str(variable or getattr(c_or_r, "variable", "x"))
        if isinstance(c_or_r, poly1d):
            self._coeffs, self._trimmed = c_or_r._coeffs, c_or_r._trimmed
            return
        given = asarray(c_or_r.coeffs if isinstance(c_or_r, np.poly1d) else c_or_r)
        coeffs = atleast_1d(poly(given) if r else given)
        if coeffs.ndim > 1:
            raise ValueError("Polynomial must be 1d only.")
        self._coeffs = coeffs if coeffs.size else zeros(1, coeffs.dtype, device=coeffs.device)

    @property
    def coeffs(self) -> ndarray:
        """The coefficients without leading zeros, highest power first; of nothing but zeros one."""
        if not self._trimmed:
            zero, kept = self._coeffs[:1], trim_zeros(self._coeffs, "f")
            self._coeffs = kept if kept.size else zero
            self._trimmed = True
        return self._coeffs

    @coeffs.setter
    def coeffs(self, value: ndarray) -> None:
        if value is not self._coeffs:  # `p.coeffs += 1` comes here as well
            raise AttributeError("Cannot set attribute")

    c = coef = coefficients = coeffs

    @property
    def variable(self) -> str:
        """The name that text gives the variable."""
        return self._variable

    @property
    def order(self) -> int:
        """The highest power."""
        return self.coeffs.size - 1

    o = order

    @property
    def roots(self) -> ndarray:
        """Where it is 0; see `quern.roots`."""
        return roots(self)

    r = roots

    def get(self, stream: StreamLike = None) -> np.poly1d:
        """NumPy's poly1d of the same coefficients, on the host."""
        return np.poly1d(self.coeffs.get(stream), variable=self.variable)

    def set(self, polyin: np.poly1d, stream: StreamLike = None) -> None:
        """Take coefficients and variable from NumPy's poly1d; a new array, on this one's device."""
        if not isinstance(polyin, np.poly1d):
            raise TypeError(f"set() takes a numpy.poly1d, not {type(polyin)}")
        coeffs = zeros(polyin.coeffs.shape, polyin.coeffs.dtype, device=self._coeffs.device)
        coeffs.set(polyin.coeffs, stream)
        self._coeffs, self._trimmed, self._variable = coeffs, True, polyin.variable

    def deriv(self, m: int = 1) -> poly1d:
        """Its `m`-th derivative."""
        return poly1d(polyder(self, m))

    def integ(self, m: int = 1, k: Any = 0) -> poly1d:
        """Its `m`-th antiderivative, with the constants `k`."""
        return poly1d(polyint(self, m, k))

    def __cupy_get_ndarray__(self) -> ndarray:
        return self.coeffs

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return self.coeffs.__array__(dtype, copy)

    def __call__(self, val: Any) -> Any:
        return polyval(self, val)

    def __len__(self) -> int:
        return self.order

    def __iter__(self) -> Iterator[ndarray]:
        return iter(self.coeffs)

    def __getitem__(self, val: int) -> ndarray:
        last = self._coeffs.size - 1
        if not 0 <= val <= last:
            return zeros((), self._coeffs.dtype, device=self._coeffs.device)
        found: ndarray = self._coeffs[last - val]
        return found

    def __setitem__(self, key: int, val: Any) -> None:
        if key < 0:
            raise ValueError("Does not support negative powers.")
        new = key - self._coeffs.size + 1
        if new > 0:
            wider = zeros(new, self._coeffs.dtype, device=self._coeffs.device)
            self._coeffs = concatenate([wider, self._coeffs])
        self._coeffs[self._coeffs.size - 1 - key] = val

    def __repr__(self) -> str:
        return repr(self.get())

    def __str__(self) -> str:
        return str(self.get())

    def __neg__(self) -> poly1d:
        return poly1d(-self._coeffs)

    def __pos__(self) -> poly1d:
        return self

    def __add__(self, other: Any) -> Any:
        return polyadd(self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return polysub(self, other)

    def __rsub__(self, other: Any) -> Any:
        return polysub(other, self)

    def __mul__(self, other: Any) -> poly1d:
        return poly1d(self._coeffs * other) if isscalar(other) else polymul(self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return poly1d(self._coeffs / other) if isscalar(other) else polydiv(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return poly1d(other / self._coeffs) if isscalar(other) else polydiv(other, self)

    def __pow__(self, val: Any, modulo: None = None) -> poly1d:
        if not isscalar(val) or int(val) != val or val < 0:
            raise ValueError("Power to non-negative integers only.")
        exponent = operator.index(val)
        made = poly1d(ones(1, int, device=self._coeffs.device))
        square = polymul(self, made)
        while exponent:
            made = polymul(made, square) if exponent & 1 else made
            exponent >>= 1
            square = polymul(square, square) if exponent else square
        return made

    def __eq__(self, other: object) -> Any:
        return (
            array_equal(self.coeffs, other.coeffs) if isinstance(other, poly1d) else NotImplemented
        )

    def __ne__(self, other: object) -> Any:
        return ~(self == other) if isinstance(other, poly1d) else NotImplemented


def _raw(p: object) -> Any:
    return p._coeffs if isinstance(p, poly1d) else p


def _either(*given: object) -> bool:
    return any(isinstance(p, (poly1d, np.poly1d)) for p in given)


def _on_host(p: Any) -> Any:
    if isinstance(p, (poly1d, _core.ndarray)):
        return p.get()
    return host_array(p) if isinstance(p, (list, tuple)) else p


def _from_host(values: Any, like: object) -> Any:
    """NumPy's arrays and poly1d as quern's, on the device of `like`; the rest as it is."""
    if isinstance(values, tuple):
        return tuple(_from_host(x, like) for x in values)
    if isinstance(values, np.poly1d):
        return poly1d(_from_host(values.coeffs, like), variable=values.variable)
    known = _raw(like)
    device = known.device if isinstance(known, _core.ndarray) else None
    return (
        asarray(values, device=device) if isinstance(values, (np.ndarray, np.generic)) else values
    )


def _padded(act: str, a1: object, a2: object) -> Any:
    a, b = (atleast_1d(x) for x in operands(_raw(a1), _raw(a2)))
    for x in (a, b):
        if x.ndim > 1:
            raise ValueError(f"coefficients have one axis, not the shape {x.shape}")
    wider = [zeros(max(b.size - a.size, 0), a.dtype, device=a.device), a]
    wide = [zeros(max(a.size - b.size, 0), b.dtype, device=b.device), b]
    made = ufuncs[act](*(concatenate(x) if x[0].size else x[1] for x in (wider, wide)))
    return poly1d(made) if _either(a1, a2) else made


def polyadd(a1: object, a2: object) -> Any:
    """The sum of two polynomials: a poly1d if one of them is, else coefficients. Source: NumPy, `numpy.polyadd`."""
    return _padded("add", a1, a2)


def polysub(a1: object, a2: object) -> Any:
    """The difference of two polynomials. Raises: TypeError for bools. Source: NumPy, `numpy.polysub`."""
    return _padded("subtract", a1, a2)


def polymul(a1: object, a2: object) -> Any:
    """The product of two polynomials: a poly1d if one of them is, else coefficients.

    Coefficients of what is no poly1d lose their leading zeros, which waits for the device.
    Source: NumPy, `numpy.polymul`.
    """
    known = operands(_raw(a1), _raw(a2))
    a, b = (poly1d(x) for x in known)
    if _either(a1, a2):
        return poly1d(convolve(a._coeffs, b._coeffs))
    return convolve(a.coeffs, b.coeffs)


def polydiv(u: object, v: object) -> tuple[Any, Any]:
    """The quotient and the remainder of two polynomials, which the host divides.

    Source: NumPy, `numpy.polydiv`.
    """
    made: tuple[Any, Any] = _from_host(np.polydiv(_on_host(u), _on_host(v)), u)
    return made


def polyder(p: object, m: int = 1) -> Any:
    """The `m`-th derivative. Raises: ValueError for a negative `m`. Source: NumPy, `numpy.polyder`."""
    m = int(m)
    if m < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    y = as_array(_raw(p))
    for _ in range(m):
        n = y.size - 1
        y = y[:-1] * arange(n, 0, -1, device=y.device)
    return poly1d(y) if _either(p) else y


def polyint(p: object, m: int = 1, k: Any = None) -> Any:
    """The `m`-th antiderivative, with the constants `k` (0 by default; one for all of them, or one for each).

    Raises: ValueError for a negative `m` or too few constants. Source: NumPy, `numpy.polyint`.
    """
    m = int(m)
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    y = as_array(_raw(p))
    constants = atleast_1d(as_array(zeros(m) if k is None else k, y.device))
    if constants.size == 1 and m > 1:
        constants = constants[0] * ones(m, device=y.device)
    if constants.size < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    for step in range(m):
        y = concatenate([y / arange(y.size, 0, -1, device=y.device), constants[step : step + 1]])
    return poly1d(y) if _either(p) else y


@functools.cache
def _horner_kernel() -> ElementwiseKernel:
    """The polynomial at x whose coefficients are every `lines`-th of `c` from `line` on, highest power first."""
    return _core.ElementwiseKernel(
        "T x, raw T c, int64 count, int64 lines, int64 line",
        "T y",
        "T total = T(0); for (long long k = 0; k < count; ++k) total = total * x + c[k * lines + line]; y = total",
        "quern_horner",
    )


def horner(c: ndarray, x: ndarray) -> ndarray:
    """The values at `x` of polynomials whose coefficients lie along the first axis of `c`, highest power first.

    Shapes: `c.shape[1:]` and that of `x`, broadcast. One launch, besides casts.
    """
    count, lines = len(c), c.shape[1:]
    dtype = np.result_type(c.dtype, x.dtype)
    line: Any = 0
    if lines:
        line = arange(math.prod(lines), device=x.device).reshape(lines)
    flat = c.astype(dtype, copy=False).ravel()
    made: ndarray = _horner_kernel()(
        x.astype(dtype, copy=False), flat, count, math.prod(lines), line
    )
    return made


def polyval(p: object, x: object) -> Any:
    """The values of a polynomial at `x`, by Horner's rule, in one launch. A poly1d `x` is put in on the host.

    Shapes: that of `x`; coefficients of more axes than one broadcast with it.
    Raises: TypeError for a 0-d `p`. Source: NumPy, `numpy.polyval`.
    """
    if isinstance(x, poly1d):
        return _from_host(np.polyval(_on_host(p), x.get()), x)
    c, places = operands(_raw(p), x)
    if c.ndim == 0:
        raise TypeError("iteration over a 0-d array")
    return horner(c, places) if len(c) else zeros_like(places)


def poly(seq_of_zeros: object) -> ndarray:
    """The coefficients of the polynomial with these roots, or of a square matrix's characteristic one.

    The host multiplies them out. Raises: ValueError for any other shape. Source: NumPy, `numpy.poly`.
    """
    made: Any = np.poly(host_array(as_array(seq_of_zeros)))
    return asarray(made, device=as_array(seq_of_zeros).device)


def roots(p: object) -> ndarray:
    """Where a polynomial is 0, which the host computes: the eigenvalues of its companion matrix.

    Raises: ValueError for coefficients of several axes; TypeError for dtypes that LAPACK has not.
    Source: NumPy, `numpy.roots`.
    """
    found: ndarray = _from_host(np.asarray(np.roots(_on_host(p))), p)
    return found


def polyfit(
    x: object,
    y: object,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: object = None,
    cov: bool | str = False,
) -> Any:
    """The polynomial of degree `deg` that is nearest to the points (`x`, `y`) by least squares, weighted by `w`.

    The points are copied to the host, where NumPy's LAPACK solves.
    Shapes: `x` (n,), `y` (n,) or (n, k); coefficients (deg + 1,) or (deg + 1, k). With `full` also residuals, rank,
    singular values and `rcond`, with `cov` the covariance of the coefficients.
    Raises: TypeError and ValueError as NumPy does; RankWarning for a fit that is not determined.
    Source: NumPy, `numpy.polyfit`.
    """
    given = [None if v is None else host_array(as_array(v)) for v in (x, y, w)]
    fit: Callable[..., Any] = np.polyfit
    made = fit(given[0], given[1], deg, rcond, full, given[2], cov)
    if full:
        c, residuals, rank, singular, used = made
        return (*_from_host((c, residuals), x), rank, _from_host(singular, x), used)
    return _from_host(made, x)
