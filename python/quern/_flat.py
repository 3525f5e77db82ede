"""ndarray.flat: all elements along one axis, in C order, whatever the array's layout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from quern import _core
from quern._core import ndarray
from quern._creation import arange, asarray, asnumpy

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["flatiter", "ndenumerate"]


def _refuse() -> NoReturn:
    raise IndexError(
        "only integers, slices (`:`), ellipsis (`...`) and integer or boolean arrays are valid indices"
    )


class ndenumerate:
    """Pairs of every element's indices and its value, a NumPy scalar, in C order: the host reads the array, once.

    Waits. To compute, take functions of whole arrays.
    Source: NumPy, `numpy.ndenumerate`.
    """

    def __init__(self, arr: object) -> None:
        self._pairs = np.ndenumerate(asnumpy(asarray(arr)))

    def __iter__(self) -> Iterator[tuple[tuple[int, ...], Any]]:
        """The iterator itself."""
        return self

    def __next__(self) -> tuple[tuple[int, ...], Any]:
        """The next pair."""
        return next(self._pairs)


class flatiter:
    """Elements of `base` in C order: read and set by integers, slices, and arrays of integers or of bools.

    A get is a copy; values that are set are repeated as often as needed. Going through it gives 0-d arrays, one by one.
    Raises: IndexError.
    Source: NumPy, `numpy.flatiter`.
    """

    __slots__ = ("_at", "base")

    def __init__(self, base: ndarray) -> None:
        self.base = base
        self._at = 0

    def __len__(self) -> int:
        """The number of elements."""
        return self.base.size

    def __iter__(self) -> Iterator[ndarray]:
        """The iterator itself."""
        return self

    def __next__(self) -> ndarray:
        """The next element."""
        if self._at >= self.base.size:
            raise StopIteration
        self._at += 1
        return self._one(self._at - 1)

    @property
    def index(self) -> int:
        """The position of the next element."""
        return self._at

    @property
    def coords(self) -> tuple[int, ...]:
        """The indices of the next element."""
        return tuple(int(k) for k in np.unravel_index(self._at, self.base.shape))

    def copy(self) -> ndarray:
        """A copy of all elements along one axis."""
        return self.base.flatten()

    def _one(self, position: int) -> ndarray:
        return self.base[tuple(int(k) for k in np.unravel_index(position, self.base.shape))]

    def _places(self, key: Any) -> Any:
        """Positions, or an int; `...` stands for all."""
        if isinstance(key, tuple):
            if len(key) > 1:
                raise IndexError(
                    f"too many indices for flat iterator: flat iterator is 1-dimensional, but {len(key)} were indexed"
                )
            key = key[0] if key else ...
        size = self.base.size
        if key is ...:
            return ...
        if isinstance(key, slice):
            return arange(*key.indices(size), dtype=np.int64, device=self.base.device)
        if isinstance(key, (bool, np.bool_)) or key is None or isinstance(key, (str, bytes)):
            _refuse()
        if isinstance(key, (list, tuple)):
            key = _core.host_array(key)
            if not key.size:
                key = key.astype(np.int64)
            if key.dtype.kind == "b":
                _refuse()
        if isinstance(key, (ndarray, np.ndarray)) and key.ndim:
            if key.dtype.kind == "b":
                if key.shape != (size,):
                    raise IndexError(
                        "boolean index did not match indexed array along axis 0; "
                        f"size of axis is {size} but size of corresponding boolean axis is {key.size}"
                    )
                return _core.flatnonzero(asarray(key, device=self.base.device))
            if key.dtype.kind not in "iu":
                _refuse()
            return key
        try:
            position = key.__index__()
        except (AttributeError, TypeError):
            _refuse()
        if not -size <= position < size:
            raise IndexError(f"index {position} is out of bounds for size {size}")
        return position % size

    def __getitem__(self, key: Any) -> ndarray:
        """A copy of elements: 0-d for an integer."""
        places = self._places(key)
        if places is ...:
            return self.copy()
        return self._one(places).copy() if isinstance(places, int) else self.base.take(places)

    def __setitem__(self, key: Any, value: Any) -> None:
        """Set elements; values are repeated as often as needed."""
        places = self._places(key)
        if places is ...:
            places = arange(self.base.size, dtype=np.int64, device=self.base.device)
        self.base.put(places, value)


def _get(self: ndarray) -> flatiter:
    return flatiter(self)


def _set(self: ndarray, value: Any) -> None:
    flatiter(self)[...] = value


flat = property(_get, _set, None, "All elements along one axis, in C order.")
