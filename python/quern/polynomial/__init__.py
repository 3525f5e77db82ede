"""Power series: numpy.polynomial's functions of coefficients; its classes come later, and say so."""

from __future__ import annotations

from typing import Any

from quern._absent import later_module
from quern.polynomial import polynomial, polyutils

__all__ = ["polynomial", "polyutils"]


def __getattr__(name: str) -> Any:
    raise later_module("polynomial", name)
