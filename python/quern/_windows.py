"""Windows that taper samples, under NumPy's names: each is computed on the device in a few launches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from quern._creation import arange, array, ones
from quern._elementwise import i0
from quern._operands import ufuncs

if TYPE_CHECKING:
    from quern._core import ndarray

__all__ = ["bartlett", "blackman", "hamming", "hanning", "kaiser"]

_cos, _sqrt = ufuncs["cos"], ufuncs["sqrt"]


def _points(M: float) -> tuple[float, ndarray | None]:
    """`M` as a float, of whose type a NumPy scalar may be too narrow, and the window where it has one point at most."""
    M = float(M)
    if M < 1:
        return M, array([], np.float64)
    return M, ones(1) if M == 1 else None


def _centred(M: float) -> ndarray:
    return arange(1 - M, M, 2, np.float64)


def bartlett(M: float) -> ndarray:
    """A triangle of `M` points that is 0 at both ends. Source: NumPy, `numpy.bartlett`."""
    M, short = _points(M)
    if short is not None:
        return short
    n = _centred(M)
    return ufuncs["where"](n <= 0, 1 + n / (M - 1), 1 - n / (M - 1))


def blackman(M: float) -> ndarray:
    """Three cosines' sum, close to 0 at both ends. Source: NumPy, `numpy.blackman`."""
    M, short = _points(M)
    if short is not None:
        return short
    n = _centred(M)
    return 0.42 + 0.5 * _cos(n * np.pi / (M - 1)) + 0.08 * _cos(n * (2.0 * np.pi) / (M - 1))


def hanning(M: float) -> ndarray:
    """A raised cosine that is 0 at both ends. Source: NumPy, `numpy.hanning`."""
    M, short = _points(M)
    return short if short is not None else 0.5 + 0.5 * _cos(_centred(M) * np.pi / (M - 1))


def hamming(M: float) -> ndarray:
    """A raised cosine that is 0.08 at both ends. Source: NumPy, `numpy.hamming`."""
    M, short = _points(M)
    return short if short is not None else 0.54 + 0.46 * _cos(_centred(M) * np.pi / (M - 1))


def kaiser(M: float, beta: float) -> ndarray:
    """Kaiser's window of shape `beta`, by Bessel functions. Source: NumPy, `numpy.kaiser`."""
    M, short = _points(M)
    if short is not None:
        return short
    alpha = (M - 1) / 2.0
    n = arange(M, dtype=np.float64)
    return i0(beta * _sqrt(1 - ((n - alpha) / alpha) ** 2.0)) / float(np.i0(float(beta)))
