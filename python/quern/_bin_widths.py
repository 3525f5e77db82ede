"""NumPy's rules for the width of a histogram's bins: from an array, its extent and the outer edges."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from quern import _core
from quern._order import percentile
from quern._reductions import mean, std

if TYPE_CHECKING:
    from collections.abc import Callable

    from quern._core import ndarray

    Ends = tuple[float, float]

__all__ = ["WIDTHS"]


def _sqrt(x: ndarray, span: float, outer: Ends) -> float:
    return span / math.sqrt(x.size)


def _sturges(x: ndarray, span: float, outer: Ends) -> float:
    return span / (math.log2(x.size) + 1.0)


def _rice(x: ndarray, span: float, outer: Ends) -> float:
    return span / (2.0 * math.pow(x.size, 1.0 / 3))


def _scott(x: ndarray, span: float, outer: Ends) -> float:
    return math.pow(24.0 * math.pi**0.5 / x.size, 1.0 / 3.0) * float(std(x))


def _stone(x: ndarray, span: float, outer: Ends) -> float:
    """The number of bins whose estimated loss is least; a histogram for each that is tried."""
    n = x.size
    if n <= 1 or span == 0:
        return 0.0

    def loss(bins: int) -> float:
        edges = _core.array(np.linspace(*outer, bins + 1), device=x.device)
        parts = _core._count(x, bins, edges, bins / (outer[1] - outer[0])).get() / n
        return float((2 - (n + 1) * parts.dot(parts)) / (span / bins))

    most = max(100, int(math.sqrt(n)))
    return span / min(range(1, most + 1), key=loss)


def _doane(x: ndarray, span: float, outer: Ends) -> float:
    if x.size > 2:
        skew = math.sqrt(6.0 * (x.size - 2) / ((x.size + 1.0) * (x.size + 3)))
        sigma = float(std(x))
        if sigma > 0.0:
            third = float(mean(((x - mean(x)) / sigma) ** 3))
            return span / (1.0 + math.log2(x.size) + math.log2(1.0 + abs(third) / skew))
    return 0.0


def _fd(x: ndarray, span: float, outer: Ends) -> float:
    low, high = percentile(x, [25, 75]).get()
    return 2.0 * float(high - low) * math.pow(x.size, -1.0 / 3.0)


def _auto(x: ndarray, span: float, outer: Ends) -> float:
    wide = max(_fd(x, span, outer), _sqrt(x, span, outer) / 2)
    return min(wide, _sturges(x, span, outer))


WIDTHS: dict[str, Callable[[ndarray, float, Ends], float]] = {
    "auto": _auto,
    "doane": _doane,
    "fd": _fd,
    "rice": _rice,
    "scott": _scott,
    "sqrt": _sqrt,
    "stone": _stone,
    "sturges": _sturges,
}
