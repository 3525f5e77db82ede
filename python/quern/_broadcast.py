"""numpy.broadcast: the shape that arguments broadcast to, and each of them in it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from quern._manipulation import broadcast_shapes, broadcast_to
from quern._operands import as_array

if TYPE_CHECKING:
    from quern._core import ndarray

__all__ = ["broadcast"]


class broadcast:
    """Arguments in the shape that theirs broadcast to; what NumPy's gives element by element is left to it.

    Raises: ValueError for shapes that do not go together. Source: NumPy, `numpy.broadcast`; CuPy, `cupy.broadcast`.
    """

    def __init__(self, *arrays: object) -> None:
        given = [as_array(a) for a in arrays]
        self.shape: tuple[int, ...] = broadcast_shapes(*(a.shape for a in given))
        self.size: int = math.prod(self.shape)
        self.nd: int = len(self.shape)
        self.ndim: int = self.nd
        self.numiter: int = len(given)
        self.values: tuple[ndarray, ...] = tuple(broadcast_to(a, self.shape) for a in given)
