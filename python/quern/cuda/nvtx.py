"""Named ranges and marks that NVIDIA's profilers show, under CuPy's names: NVTX.

Where its library is not installed nobody listens, and the calls do nothing.
"""

from __future__ import annotations

from quern import _core

__all__ = ["Mark", "MarkC", "RangePop", "RangePush", "RangePushC", "available"]

available: bool = True
"""Whether the functions of this module can be called: always."""

_COLORS = (0xFF00FF00, 0xFF0000FF, 0xFFFFFF00, 0xFFFF00FF, 0xFF00FFFF, 0xFFFF0000, 0xFFFFFFFF)


def _color(id_color: int) -> int | None:
    return None if id_color < 0 else _COLORS[id_color % len(_COLORS)]


def RangePush(message: str, id_color: int = -1) -> None:
    """Begin a range inside of those that are open; `id_color` picks a colour from a row, -1 none."""
    _core._push_range(message, _color(id_color))


def RangePushC(message: str, color: int = 0) -> None:
    """Begin a range with a colour: 0xFF00FF00 is green."""
    _core._push_range(message, color)


def RangePop() -> None:
    """End the range that began last."""
    _core._pop_range()


def Mark(message: str, id_color: int = -1) -> None:
    """Mark this moment; `id_color` picks a colour from a row, -1 none."""
    _core._mark(message, _color(id_color))


def MarkC(message: str, color: int = 0) -> None:
    """Mark this moment with a colour: 0xFF00FF00 is green."""
    _core._mark(message, color)
