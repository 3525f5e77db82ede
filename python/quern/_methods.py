"""Methods of ndarray that are functions of this package: attached once, when quern is imported."""

from __future__ import annotations

from contextlib import nullcontext
from types import GenericAlias
from typing import TYPE_CHECKING, Any

from quern import _core, _elementwise, _files, _sorting
from quern._array_api import array_namespace
from quern._creation import asarray
from quern._flat import flat
from quern._indexing import choose
from quern._matrices import trace
from quern._operands import ufuncs
from quern._products import dot
from quern._rearranging import repeat
from quern.lib.stride_tricks import as_strided
from quern.x import scatter_add, scatter_max, scatter_min

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quern._core import DeviceLike, Stream, ndarray

__all__ = ["attach"]


def _clip(
    self: ndarray, min: Any = None, max: Any = None, out: ndarray | None = None, **kwargs: Any
) -> ndarray:
    """`quern.clip` of this array."""
    return _elementwise.clip(self, min, max, out, **kwargs)


def _round(self: ndarray, decimals: int = 0, out: ndarray | None = None) -> ndarray:
    """`quern.round` of this array."""
    return _elementwise.around(self, decimals, out)


def _python_round(self: ndarray, ndigits: int | None = None) -> Any:
    """`round` of a 0-d array, as of a scalar of NumPy's: to an int of Python's, which is waited for, or to decimals."""
    if self.ndim > 0:
        raise TypeError("only 0-d arrays are rounded by round(): use quern.round(a, decimals)")
    return round(self.item()) if ndigits is None else _elementwise.around(self, ndigits)


def _conjugate(self: ndarray) -> ndarray:
    """The complex conjugates; of real numbers the array itself."""
    return ufuncs["conjugate"](self) if self.dtype.kind == "c" else self


def _repeat(self: ndarray, repeats: Any, axis: int | None = None) -> ndarray:
    """`quern.repeat` of this array."""
    return repeat(self, repeats, axis)


def _trace(
    self: ndarray,
    offset: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: Any = None,
    out: ndarray | None = None,
) -> ndarray:
    """`quern.trace` of this array."""
    return trace(self, offset, axis1, axis2, dtype, out)


def _array_function(self: ndarray, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """What NumPy's functions do with quern arrays: the function of the same name in quern computes on the device."""
    import quern

    path: list[str] = [*func.__module__.split("."), func.__name__]  # as in numpy.lib.stride_tricks
    ours: Any = quern if path[0] == "numpy" else None
    for name in path[1:]:
        ours = getattr(ours, name, None)
    return NotImplemented if ours is None else ours(*args, **kwargs)


def _contains(self: ndarray, value: object) -> bool:
    """Is an element equal to `value`, which broadcasts? The answer is waited for."""
    equal: Any = self == value
    return bool(equal.any() if isinstance(equal, _core.ndarray) else equal)


def _bytes(self: ndarray) -> bytes:
    """The elements' bytes in C order."""
    return self.tobytes()


def _sort(
    self: ndarray,
    axis: int = -1,
    kind: str | None = None,
    order: None = None,
    *,
    stable: bool | None = None,
) -> None:
    """Sorts this array where it lies; see `quern.sort`."""
    _sorting.check_kind(kind, order, stable)
    _core._sort_in_place(self, axis)


def _partition(
    self: ndarray,
    kth: int | Sequence[int],
    axis: int = -1,
    kind: str = "introselect",
    order: None = None,
) -> None:
    """Partitions this array where it lies; see `quern.partition`."""
    self[...] = _core._partition(
        self, _sorting.places_of_partition(self, kth, axis, kind, order), axis
    )


def _to_device(self: ndarray, device: DeviceLike, /, *, stream: Stream | None = None) -> ndarray:
    """This array if it is on `device`, else a copy there, made in `stream` or the current one."""
    with stream if stream is not None else nullcontext():
        return asarray(self, device=device)


def _setflags(
    self: ndarray, write: bool | None = None, align: bool | None = None, uic: bool | None = None
) -> None:
    """Makes this array writable or read-only. Raises: ValueError for flags that no array here has."""
    if align is not None and not align:
        raise ValueError("cannot set align to False: arrays on a device are aligned")
    if uic:
        raise ValueError("cannot set WRITEBACKIFCOPY flag to True")
    if write is not None:
        self.flags.writeable = bool(write)


def _reduced_view(self: ndarray, dtype: Any = None) -> ndarray:
    """A view with as few axes as its strides allow: of C-contiguous elements one, of a single one none.

    `dtype` is taken and ignored. Source: CuPy, `cupy.ndarray.reduced_view`.
    """
    if self.ndim <= 1:
        return self
    axes: list[tuple[int, int]] = []  # extent and stride, the longest stride first
    for extent, stride in zip(self.shape, self.strides, strict=True):
        if axes and axes[-1][1] == extent * stride:
            axes[-1] = (axes[-1][0] * extent, stride)
        elif extent != 1:
            axes.append((extent, stride))
    if self.size == 0:
        return self.reshape(-1)
    return as_strided(self, [n for n, _ in axes], [step for _, step in axes])


def attach() -> None:
    """Give ndarray the methods above."""
    methods = {
        "__array_function__": _array_function,
        "__array_namespace__": array_namespace,
        "__bytes__": _bytes,
        "__contains__": _contains,
        "__round__": _python_round,
        "argpartition": _sorting.argpartition,
        "argsort": _sorting.argsort,
        "byteswap": _files.byteswap,
        "choose": choose,
        "clip": _clip,
        "conj": _conjugate,
        "conjugate": _conjugate,
        "dot": dot,
        "dump": _files.dump,
        "dumps": _files.dumps,
        "flat": flat,
        "partition": _partition,
        "reduced_view": _reduced_view,
        "repeat": _repeat,
        "round": _round,
        "scatter_add": scatter_add,
        "scatter_max": scatter_max,
        "scatter_min": scatter_min,
        "searchsorted": _sorting.searchsorted,
        "setflags": _setflags,
        "sort": _sort,
        "to_device": _to_device,
        "tofile": _files.tofile,
        "trace": _trace,
    }
    for name, method in methods.items():
        setattr(_core.ndarray, name, method)
    _core.ndarray.__class_getitem__ = classmethod(GenericAlias)  # type: ignore[attr-defined]
