"""numpy.pad: the array in the middle of a larger one, and what stands around it, axis after axis."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from quern import _order, _reductions
from quern._creation import arange, empty
from quern._manipulation import moveaxis
from quern._operands import (
    as_array,
    host_array,
    ufuncs,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from quern._core import ndarray

__all__ = ["pad"]

Pair = tuple[Any, Any]

_OPTIONS: dict[str, dict[str, Any]] = {
    "empty": {},
    "edge": {},
    "wrap": {},
    "constant": {"constant_values": 0},
    "linear_ramp": {"end_values": 0},
    "maximum": {"stat_length": None},
    "mean": {"stat_length": None},
    "median": {"stat_length": None},
    "minimum": {"stat_length": None},
    "reflect": {"reflect_type": "even"},
    "symmetric": {"reflect_type": "even"},
}


def _pairs(value: Any, ndim: int, as_index: bool = False) -> list[Pair]:
    """One (before, after) per axis, out of a scalar, a pair, or pairs."""
    if value is None:
        return [(None, None)] * ndim
    if type(value) is int or (type(value) is float and not as_index):
        if as_index and value < 0:
            raise ValueError("index can't contain negative values")
        return [(value, value)] * ndim
    values = host_array(value)
    if as_index:
        values = np.round(values).astype(np.intp, copy=False)
        if values.size and values.min() < 0:
            raise ValueError("index can't contain negative values")
    pairs: list[Pair] = [tuple(row) for row in np.broadcast_to(values, (ndim, 2)).tolist()]
    return pairs


def _widths(pad_width: Any, ndim: int) -> list[Pair]:
    if type(pad_width) is int:
        return _pairs(pad_width, ndim, as_index=True)
    if isinstance(pad_width, dict):
        rows = [(0, 0)] * ndim
        for axis, width in pad_width.items():
            both = (width, width) if isinstance(width, (int, np.integer)) else tuple(width)
            if len(both) not in (1, 2):
                raise ValueError(f"a pad width is an int or a pair, not {width!r}")
            rows[axis] = both * (3 - len(both)) if len(both) == 1 else both
        pad_width = rows
    widths = host_array(pad_width)
    if widths.dtype.kind != "i":
        raise TypeError("`pad_width` must be of integral type.")
    return _pairs(widths, ndim, as_index=True)


class _Line:
    """The padded array along one axis: what is filled from `start` to `stop`, with earlier axes done in full."""

    def __init__(self, padded: ndarray, inner: list[slice], axis: int) -> None:
        lead = (slice(None),) * (axis + 1)
        self.view = padded[(*lead, *inner[axis + 1 :])]
        self.axis = axis
        self.start, self.stop = inner[axis].start, inner[axis].stop

    def part(self, start: int, stop: int, step: int = 1) -> ndarray:
        """From `start` to before `stop`; with a step of -1 the same elements in reverse."""
        cut = slice(start, stop)
        found = self.view[(*(slice(None),) * self.axis, cut)]
        if step == 1:
            return found
        return found[(*(slice(None),) * self.axis, slice(None, None, -1))]

    @property
    def extent(self) -> int:
        return self.view.shape[self.axis]

    def write(self, before: Any, after: Any) -> None:
        if self.start > 0:
            self.part(0, self.start)[...] = before
        if self.stop < self.extent:
            self.part(self.stop, self.extent)[...] = after


def _ramp(line: _Line, ends: Pair) -> None:
    def values(end: Any, edge: ndarray, width: int) -> ndarray:
        steps = arange(width, dtype=np.float64, device=edge.device)
        steps = steps.reshape((width,) + (1,) * (edge.ndim - 1 - line.axis))
        ramp = steps * ((edge - end * 1.0) / width) + end * 1.0
        return ufuncs["floor"](ramp) if line.view.dtype.kind in "iu" else ramp

    wide = np.complex128 if line.view.dtype.kind == "c" else np.float64
    before, after = line.start, line.extent - line.stop
    if before:
        edge = line.part(line.start, line.start + 1).astype(wide)
        line.part(0, before)[...] = values(ends[0], edge, before)
    if after:
        edge = line.part(line.stop - 1, line.stop).astype(wide)
        line.part(line.stop, line.extent, -1)[...] = values(ends[1], edge, after)


def _statistic(line: _Line, lengths: Pair, function: Callable[..., ndarray]) -> None:
    most = line.stop - line.start
    before, after = (most if n is None or n > most else n for n in lengths)

    def of(part: ndarray) -> ndarray:
        found = function(part, axis=line.axis, keepdims=True)
        return ufuncs["rint"](found) if line.view.dtype.kind in "iu" else found

    left = of(line.part(line.start, line.start + before))
    if before == after == most:
        line.write(left, left)
    else:
        line.write(left, of(line.part(line.stop - after, line.stop)))


def _constant(line: _Line, values: Pair) -> None:
    line.write(*values)


def _mirror(line: _Line, odd: bool, with_edge: bool) -> None:
    start, stop = line.start, line.stop
    skip = 0 if with_edge else 1
    period = stop - start - skip
    if period == 0:  # one element has nothing to be mirrored but itself
        line.write(line.part(start, start + 1), line.part(start, start + 1))
        return
    while start > 0:
        count = min(start, period)
        chunk = line.part(start + skip, start + skip + count, -1)
        if odd:
            chunk = 2 * line.part(start, start + 1) - chunk
        line.part(start - count, start)[...] = chunk
        start -= count
    while stop < line.extent:
        count = min(line.extent - stop, period)
        chunk = line.part(stop - skip - count, stop - skip, -1)
        if odd:
            chunk = 2 * line.part(stop - 1, stop) - chunk
        line.part(stop, stop + count)[...] = chunk
        stop += count


def _wrap(line: _Line) -> None:
    start, stop = line.start, line.stop
    period = stop - start
    while start > 0:
        count = min(start, period)
        line.part(start - count, start)[...] = line.part(start - count + period, start + period)
        start -= count
    while stop < line.extent:
        count = min(line.extent - stop, period)
        line.part(stop, stop + count)[...] = line.part(stop - period, stop - period + count)
        stop += count


def _call(function: Callable[..., Any], padded: ndarray, widths: list[Pair], options: Any) -> None:
    for axis, width in enumerate(widths):
        lines = moveaxis(padded, axis, -1)
        for place in np.ndindex(lines.shape[:-1]):
            function(lines[place], width, axis, options)


def pad(array: object, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> ndarray:
    """A copy of `array` with so many elements put before and after it along each axis.

    `mode` is 'constant' (`constant_values`), 'edge', 'linear_ramp' (`end_values`), 'maximum', 'mean', 'median',
    'minimum' (`stat_length`), 'reflect', 'symmetric' (`reflect_type`), 'wrap', 'empty', or a function called as
    `function(line, (before, after), axis, kwargs)` for every line along every axis, which writes into it.
    Shapes: the extents plus both widths. Kernels: as many as there are borders, and one for the middle.
    Raises: TypeError for widths that are no integers; ValueError for negative ones, for unknown modes and options.
    Source: NumPy, `numpy.pad`.
    """
    a = as_array(array)
    widths = _widths(pad_width, a.ndim)
    if not callable(mode):
        if mode not in _OPTIONS:
            raise ValueError(f"mode '{mode}' is not supported")
        unsupported = set(kwargs) - set(_OPTIONS[mode])
        if unsupported:
            raise ValueError(f"unsupported keyword arguments for mode '{mode}': {unsupported}")
    shape = tuple(before + n + after for n, (before, after) in zip(a.shape, widths, strict=True))
    fortran = a.flags.fnc
    padded = empty(shape, a.dtype, "F" if fortran else "C", device=a.device)
    inner = [slice(before, before + n) for n, (before, _) in zip(a.shape, widths, strict=True)]
    if callable(mode):
        padded.fill(0)
        padded[tuple(inner)] = a
        _call(mode, padded, widths, kwargs)
        return padded
    options = {**_OPTIONS[mode], **kwargs}
    if mode not in ("constant", "empty"):
        for axis, (n, width) in enumerate(zip(a.shape, widths, strict=True)):
            if n == 0 and any(width):
                raise ValueError(
                    f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'"
                )
    if mode == "constant":
        values = {value for pair in _pairs(options["constant_values"], a.ndim) for value in pair}
        if len(values) == 1 and _borders_cost_more(padded, fortran, widths):
            padded[...] = values.pop()
            padded[tuple(inner)] = a
            return padded
    padded[tuple(inner)] = a
    for axis, work in enumerate(_works(mode, options, a.ndim)):
        if any(widths[axis]) and padded.size:
            work(_Line(padded, inner, axis))
    return padded


def _borders_cost_more(padded: ndarray, fortran: bool, widths: list[Pair]) -> bool:
    """Is all of it written sooner than its borders?

    Those of short lines are parts of what memory moves at once; those of a small array are little to do for so
    many launches, in each of which a GPU writes 16 MiB.
    """
    if padded.ndim == 0:
        return False
    line = padded.shape[0 if fortran else -1] * padded.dtype.itemsize
    if padded.device.is_cpu:
        small = 1 << 14
    else:
        borders = sum(width > 0 for pair in widths for width in pair)
        small = (borders - 1) << 24
    return line <= 512 or padded.nbytes <= small


def _edge(line: _Line) -> None:
    line.write(line.part(line.start, line.start + 1), line.part(line.stop - 1, line.stop))


def _works(mode: str, options: dict[str, Any], ndim: int) -> list[Callable[[_Line], None]]:
    """What is done along each axis."""
    if mode == "empty":
        return []
    if mode == "edge":
        return [_edge] * ndim
    if mode == "wrap":
        return [_wrap] * ndim
    if mode in ("reflect", "symmetric"):
        odd = options["reflect_type"] == "odd"
        return [functools.partial(_mirror, odd=odd, with_edge=mode == "symmetric")] * ndim
    if mode == "constant":
        pairs = _pairs(options["constant_values"], ndim)
        return [functools.partial(_constant, values=values) for values in pairs]
    if mode == "linear_ramp":
        pairs = _pairs(options["end_values"], ndim)
        return [functools.partial(_ramp, ends=ends) for ends in pairs]
    functions: dict[str, Callable[..., ndarray]] = {
        "maximum": _reductions.max,
        "minimum": _reductions.min,
        "mean": _reductions.mean,
        "median": _order.median,
    }
    pairs = _pairs(options["stat_length"], ndim, as_index=True)
    if mode in ("maximum", "minimum") and any(0 in lengths for lengths in pairs):
        raise ValueError("stat_length of 0 yields no value for padding")
    return [
        functools.partial(_statistic, lengths=lengths, function=functions[mode])
        for lengths in pairs
    ]
