"""numpy.broadcast: the shape that arguments broadcast to, and each of them in it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from quern._manipulation import broadcast_shapes, broadcast_to
from quern._operands import operands

if TYPE_CHECKING:
    from quern._core import ndarray

__all__ = ["broadcast"]


class broadcast:
    """Arguments in the shape that theirs broadcast to; what NumPy's gives element by element is left to it.

    Raises: ValueError for shapes that do not go together. Source: NumPy, `numpy.broadcast`; CuPy, `cupy.broadcast`.
    """

    def __init__(self, *arrays: object) -> None:
        given = operands(*arrays)
        self._shape: tuple[int, ...] = broadcast_shapes(*(a.shape for a in given))
        self._values = tuple(broadcast_to(a, self._shape) for a in given)

    @property
    def values(self) -> tuple[ndarray, ...]:
        """Each argument, as a view of the whole shape."""
        return self._values

    @property
    def shape(self) -> tuple[int, ...]:
        """What the arguments' shapes broadcast to."""
        return self._shape

    @property
    def size(self) -> int:
        """The number of elements of that shape."""
        return math.prod(self._shape)

    @property
    def nd(self) -> int:
        """The number of axes of that shape."""
        return len(self._shape)

    @property
    def ndim(self) -> int:
        """The number of axes of that shape."""
        return self.nd

    @property
    def numiter(self) -> int:
        """The number of arguments."""
        return len(self._values)
