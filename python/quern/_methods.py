"""Methods of ndarray that are functions of this package: attached once, when quern is imported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quern import _core, _elementwise, _files
from quern._operands import ufuncs
from quern._rearranging import repeat

if TYPE_CHECKING:
    from quern._core import ndarray

__all__ = ["attach"]


def _clip(
    self: ndarray, min: Any = None, max: Any = None, out: ndarray | None = None, **kwargs: Any
) -> ndarray:
    """`quern.clip` of this array."""
    return _elementwise.clip(self, min, max, out, **kwargs)


def _round(self: ndarray, decimals: int = 0, out: ndarray | None = None) -> ndarray:
    """`quern.round` of this array."""
    return _elementwise.around(self, decimals, out)


def _conjugate(self: ndarray) -> ndarray:
    """The complex conjugates; of real numbers the array itself."""
    return ufuncs["conjugate"](self) if self.dtype.kind == "c" else self


def _repeat(self: ndarray, repeats: Any, axis: int | None = None) -> ndarray:
    """`quern.repeat` of this array."""
    return repeat(self, repeats, axis)


def attach() -> None:
    """Give ndarray the methods above."""
    methods = {
        "byteswap": _files.byteswap,
        "clip": _clip,
        "conj": _conjugate,
        "conjugate": _conjugate,
        "dump": _files.dump,
        "dumps": _files.dumps,
        "repeat": _repeat,
        "round": _round,
        "tofile": _files.tofile,
    }
    for name, method in methods.items():
        setattr(_core.ndarray, name, method)
