"""Ranges and grids of coordinates under NumPy's names: logspace, meshgrid, mgrid, ogrid, r_, c_, fromfunction."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from quern import _core
from quern._creation import arange, array, empty, linspace
from quern._manipulation import broadcast_to, expand_dims, moveaxis
from quern._operands import as_array, operands, ufuncs

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from quern._core import DeviceLike, ndarray

__all__ = ["c_", "fromfunction", "geomspace", "logspace", "meshgrid", "mgrid", "ogrid", "r_"]

_power = ufuncs["power"]
_ARRAYS = (_core.ndarray, np.ndarray, list, tuple)


def linspace_of_arrays(
    start: Any,
    stop: Any,
    num: int,
    endpoint: bool,
    retstep: bool,
    dtype: Any,
    axis: int,
    device: DeviceLike,
) -> Any:
    """`linspace` whose ends are arrays: a line of values for each pair of their elements."""
    first, last = operands(start, stop, device=device)
    plain = (bool, int, float, complex)  # which have no say among arrays' dtypes
    ends = (x if isinstance(x, plain) else a.dtype for x, a in ((start, first), (stop, last)))
    made_as = np.result_type(*ends, float(num))
    first, last = first.astype(made_as, copy=False), last.astype(made_as, copy=False)
    intervals = num - 1 if endpoint else num
    delta = last - first
    steps = arange(num, dtype=made_as, device=delta.device).reshape((-1,) + (1,) * delta.ndim)
    step = delta / intervals if intervals > 0 else math.nan
    made = steps * (step if intervals > 0 else delta) + first
    if endpoint and num > 1:
        made[-1] = last
    wanted = made_as if dtype is None else np.dtype(dtype)
    if wanted.kind in "iu":
        made = ufuncs["floor"](made)
    made = moveaxis(made.astype(wanted, copy=False), 0, axis)
    return (made, step) if retstep else made


def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: npt.DTypeLike | None = None,
    axis: int = 0,
    *,
    device: DeviceLike = None,
) -> ndarray:
    """`base` to the power of `num` evenly spaced exponents from `start` to `stop`.

    All three may be arrays, which broadcast; `axis` of the result has the steps. Source: NumPy, `numpy.logspace`.
    """
    if isinstance(base, _ARRAYS):
        arrays = operands(base, start, stop, device=device)
        base = arrays[0]
        if base.ndim:
            ndim = max(x.ndim for x in arrays)
            base, start, stop = (array(x, copy=None, ndmin=ndim) for x in arrays)
            base = expand_dims(base, axis)
    exponents = linspace(start, stop, num, endpoint, axis=axis, device=device)
    made = ufuncs["power"](base, exponents)
    return made if dtype is None else made.astype(dtype, copy=False)


def geomspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    dtype: npt.DTypeLike | None = None,
    axis: int = 0,
    *,
    device: DeviceLike = None,
) -> ndarray:
    """`num` values from `start` to `stop`, each the same multiple of the one before.

    The ends may be arrays, which broadcast; `axis` of the result has the steps.
    Raises: ValueError if a scalar `start` or `stop` is 0; where an array's element is, the result has NaN.
    Source: NumPy, `numpy.geomspace`.
    """
    of_arrays = isinstance(start, _ARRAYS) or isinstance(stop, _ARRAYS)
    if not of_arrays and (start == 0 or stop == 0):
        raise ValueError("Geometric sequence cannot include zero")
    functions = ufuncs if of_arrays else vars(np)
    first, last = (
        operands(start, stop, device=device) if of_arrays else map(np.asarray, (start, stop))
    )
    made_as = np.result_type(first.dtype, last.dtype, float(num), np.zeros((), dtype))
    wanted = made_as if dtype is None else np.dtype(dtype)
    made_as = np.promote_types(made_as, np.complex128) if made_as.kind == "c" else made_as
    first, last = first.astype(made_as), last.astype(made_as)
    sign = functions["sign"](first)
    first, last = first / sign, last / sign
    log10 = functions["log10"]
    made = logspace(log10(first), log10(last), num, endpoint, 10.0, made_as, device=device)
    if num > 0:
        made[0] = first
        if num > 1 and endpoint:
            made[-1] = last
    made *= sign
    return moveaxis(made.astype(wanted, copy=False), 0, axis)


def meshgrid(
    *xi: object, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> tuple[ndarray, ...]:
    """Coordinates of a grid out of those along each axis: whole arrays, or with `sparse` of extent 1 along other axes.

    `indexing='xy'` lets the second axis of the result be that of the first argument, 'ij' the first.
    Source: NumPy, `numpy.meshgrid`.
    """
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    ndim = len(xi)
    axes = list(range(ndim))
    if indexing == "xy" and ndim > 1:
        axes[:2] = 1, 0
    lines = []
    for axis, given in zip(axes, map(as_array, xi), strict=True):
        lines.append(given.reshape((1,) * axis + (-1,) + (1,) * (ndim - axis - 1)))
    if not sparse:
        shape = tuple(
            max((line.shape[k] for line in lines if line.shape[k] != 1), default=1)
            if all(line.shape[k] for line in lines)
            else 0
            for k in range(ndim)
        )
        lines = [broadcast_to(line, shape) for line in lines]
    return tuple(line.copy() if copy else line for line in lines)


def _range_of(part: slice) -> tuple[Any, Any, Any, int]:
    """start, stop, step and the number of values; a complex step is a number of values, ends included."""
    start = 0 if part.start is None else part.start
    step = 1 if part.step is None else part.step
    if isinstance(step, complex):
        return start, part.stop, step, int(abs(step))
    return start, part.stop, step, math.ceil((part.stop - start) / step)


def _kind(start: Any, stop: Any, step: Any) -> np.dtype[Any]:
    """The dtype of a range of these; a complex step makes it inexact."""
    values = (start, stop, abs(step) if isinstance(step, complex) else step)
    return np.result_type(*(x.dtype if isinstance(x, _core.ndarray) else x for x in values))


class _Grid:
    """`mgrid[a:b, c:d]` and `ogrid[a:b, c:d]`: coordinates by slices; a complex step is a number of values."""

    def __init__(self, sparse: bool) -> None:
        self._sparse = sparse
        self.__doc__ = (
            "Coordinates by slices, each of extent 1 along the other axes. Source: NumPy, `numpy.ogrid`."
            if sparse
            else "Coordinates by slices, all of the grid's shape in one array. Source: NumPy, `numpy.mgrid`."
        )

    def __getitem__(self, key: slice | tuple[slice, ...]) -> Any:
        if isinstance(key, slice):
            if not isinstance(key.step, complex):
                return arange(0 if key.start is None else key.start, key.stop, key.step)
            start, stop, step, count = _range_of(key)
            return self._line(start, stop, step, count, _kind(start, stop, step))
        ranges = [_range_of(part) for part in key]
        dtype = np.result_type(np.intp, *(_kind(*ends) for *ends, _ in ranges))
        shape = tuple(max(0, count) for *_, count in ranges)
        if self._sparse:
            whole = (slice(None),)
            new = (None,) * len(ranges)
            lines = (self._line(*ends, dtype) for ends in ranges)
            return tuple(x[new[:k] + whole + new[k + 1 :]] for k, x in enumerate(lines))
        made = empty((len(key), *shape), dtype)
        for axis, ends in enumerate(ranges):
            made[axis] = self._line(*ends, dtype, (-1,) + (1,) * (len(ranges) - axis - 1))
        return made

    def _line(
        self, start: Any, stop: Any, step: Any, count: int, dtype: Any, shape: Any = -1
    ) -> ndarray:
        line = arange(max(0, count), dtype=dtype).reshape(shape)
        by = step
        if isinstance(step, complex):
            by = (stop - start) / float(count - 1) if count > 1 else abs(step)
        plain = not isinstance(by, _core.ndarray) and not isinstance(start, _core.ndarray)
        return line if plain and by == 1 and start == 0 else line * by + start


mgrid = _Grid(sparse=False)
ogrid = _Grid(sparse=True)


class _Joiner:
    """`r_[...]` and `c_[...]`: slices become ranges, scalars arrays of one element, and all are joined."""

    def __init__(self, axis: int, ndmin: int, place: int, doc: str) -> None:
        self._axis, self._ndmin, self._place = axis, ndmin, place
        self.__doc__ = doc

    def __len__(self) -> int:
        return 0

    def __getitem__(self, key: Any) -> ndarray:
        items = list(key) if isinstance(key, tuple) else [key]
        axis, ndmin, place = self._axis, self._ndmin, self._place
        if items and isinstance(items[0], str):
            axis, ndmin, place = self._directive(items.pop(0))
        parts: list[ndarray] = []
        votes: list[Any] = []  # of dtypes and, weak beside them, Python scalars
        for item in items:
            if isinstance(item, str):
                raise ValueError("special directives must be the first entry.")
            part = self._part(item, ndmin, place)
            votes.append(
                item if isinstance(item, (int, float, complex, np.generic)) else part.dtype
            )
            parts.append(part)
        if not parts:
            raise ValueError("need at least one array to concatenate")
        dtype = np.result_type(*votes)
        return _core.concatenate(parts, axis, None, dtype, "unsafe")

    @staticmethod
    def _part(item: Any, ndmin: int, place: int) -> ndarray:
        """An entry with at least `ndmin` axes, its own beginning at `place` among them."""
        if isinstance(item, slice):
            start, stop, step, count = _range_of(item)
            counted = isinstance(step, complex)
            made = linspace(start, stop, count) if counted else arange(start, stop, step)
            part = array(made, None, None, ndmin=ndmin)
            return part.swapaxes(-1, place) if ndmin > 1 and place != -1 else part
        if isinstance(item, (int, float, complex, np.generic)):
            return array(item, ndmin=ndmin)
        given = as_array(item)
        if place == -1 or given.ndim >= ndmin:
            return array(given, None, None, ndmin=ndmin)
        first = place + ndmin - given.ndim + 1 if place < 0 else place
        return _placed(given, ndmin, first)

    def _directive(self, text: str) -> tuple[int, int, int]:
        """'axis', 'axis,ndim' or 'axis,ndim,place'; what is not said is as it always is."""
        if text in ("r", "c"):
            raise NotImplementedError("quern has no matrix class: r_ takes 'axis,ndim,place' only")
        usual = (self._axis, self._ndmin, self._place)
        try:
            given = tuple(int(part) for part in text.split(","))
        except ValueError as error:
            raise ValueError(f"unknown special directive {text!r}") from error
        axis, ndmin, place = (*given, *usual[len(given) :])[:3]
        return axis, ndmin, place


def _placed(a: ndarray, ndmin: int, first: int) -> ndarray:
    """`a` with new axes so that its own begin at `first` of `ndmin`."""
    after = ndmin - first - a.ndim
    return a.reshape((1,) * first + a.shape + (1,) * after)


r_ = _Joiner(
    0,
    1,
    -1,
    "Ranges by slices, scalars and arrays, joined along the first axis. Source: NumPy, `numpy.r_`.",
)
c_ = _Joiner(
    -1, 2, 0, "Ranges by slices, scalars and arrays, joined as columns. Source: NumPy, `numpy.c_`."
)


def fromfunction(
    function: Callable[..., Any],
    shape: tuple[int, ...],
    *,
    dtype: npt.DTypeLike = float,
    **kwargs: Any,
) -> Any:
    """What `function` makes of the indices along each axis, as arrays of `shape`.

    Source: NumPy, `numpy.fromfunction`.
    """
    extents = tuple(shape)
    indices = []
    for axis, count in enumerate(extents):
        line = arange(count, dtype=dtype).reshape((-1,) + (1,) * (len(extents) - axis - 1))
        indices.append(broadcast_to(line, extents).copy())
    return function(*indices, **kwargs)
