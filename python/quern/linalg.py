"""Linear algebra: numpy.linalg's names come later; until then each says so."""

from __future__ import annotations

from typing import Any

from quern._absent import later_module

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    raise later_module("linalg", name)
