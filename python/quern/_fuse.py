"""`fuse`: a function of arrays whose elementwise calls become as few kernels as can be."""

from __future__ import annotations

import functools
import inspect
import linecache
import re
import sys
import types
import warnings
from typing import TYPE_CHECKING, Any, Self, overload

from quern import _core
from quern._errors import FusionError
from quern._fuse_picture import svg_of
from quern._repeats import what_it_reads

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Explanation", "Fused", "fuse"]


class Fused(_core.FusedCall):
    """A function that `fuse` made: called as the function it was made from, with the same results."""

    def __new__(
        cls, function: Callable[..., Any], kernel_name: str | None = None, *, strict: bool = False
    ) -> Self:
        if isinstance(function, (staticmethod, classmethod, property)):
            raise TypeError(
                f"fuse takes a function, not a {type(function).__name__}: put it below that decorator"
            )
        if not callable(function):
            raise TypeError(
                f"fuse takes a function, not {function!r}: @fuse, or @fuse(kernel_name='...') for a name"
            )
        computes_later = (
            inspect.isgeneratorfunction,
            inspect.iscoroutinefunction,
            inspect.isasyncgenfunction,
        )
        if any(is_one(function) for is_one in computes_later):
            raise TypeError(
                f"{_name_of(function)} does not compute when it is called: fuse what it calls instead"
            )
        return super().__new__(cls, _kernel_name(function, kernel_name), function, strict)

    def __init__(
        self, function: Callable[..., Any], kernel_name: str | None = None, *, strict: bool = False
    ) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._code = getattr(inspect.unwrap(function), "__code__", None)
        self._kernel = _kernel_name(function, kernel_name)
        self._strict = strict
        self._warned: set[int] = set()

    def __repr__(self) -> str:
        return f"<fused {_name_of(self._function)}>"

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """What a call with such arguments runs: the kernels, what went into each, and the bytes that they move.

        The arguments stay as they are: copies are given to the function.
        """
        events: list[dict[str, Any]] = []
        args, kwargs = _copied(args), _copied(kwargs)
        given = _named_arrays(self._function, args, kwargs)
        _core._explain_fused(self._kernel, self._function, args, kwargs, self._line, events)
        return Explanation(_name_of(self._function), events, self._code, given)

    def source(self, *args: Any, **kwargs: Any) -> str:
        """The generated CUDA C++ of the kernels that a call with such arguments runs."""
        return "\n".join(kernel["source"] for kernel in self.explain(*args, **kwargs).kernels)

    def _look(self) -> Any:
        return what_it_reads(self._function)

    def _line(self) -> int:
        """The line of the function that is running; 0 where it is not Python."""
        frame: types.FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code is not self._code:
            frame = frame.f_back
        return 0 if frame is None else frame.f_lineno

    def _note_read(self) -> None:
        line = self._line()
        if not self._strict and line in self._warned:
            return
        self._warned.add(line)
        place = f"{self._code.co_filename}:{line}" if self._code else _name_of(self._function)
        text = (
            f"{place}: {_name_of(self._function)} needs an array's values here, so that what comes before and after "
            "cannot be one kernel: where(), select() and masks decide for each element on the device"
        )
        if self._strict:
            raise FusionError(text)
        warnings.warn(text, RuntimeWarning, stacklevel=3)


class Explanation:
    """What a fused call does, in order: its text, and in a notebook a picture, tells of each kernel and each cut.

    ``kernels`` holds a dict for each kernel: ``graph``, ``source``, ``lines``, ``calls``, and bytes ``read``,
    ``written``.
    ``cuts`` holds a pair for each cut: the line of the function (0: unknown) and why.
    """

    def __init__(
        self,
        name: str,
        events: list[dict[str, Any]],
        code: types.CodeType | None = None,
        arrays: dict[str, _core.ndarray] | None = None,
    ) -> None:
        self.name = name
        self.events = events
        self._code = code
        self.kernels = [event for event in events if event["kind"] == "kernel"]
        self.cuts = [(event["line"], event["why"]) for event in events if event["kind"] == "cut"]
        self._places: dict[int, str] = {}
        for number, kernel in enumerate(self.kernels, 1):
            kernel["number"] = number
            kernel["lines"] = list(dict.fromkeys(step["line"] for step in kernel["steps"]))
            kernel["calls"] = len(kernel["steps"])
            for value in kernel["values"]:
                if value["place"] is not None and value["place"] not in self._places:
                    self._places[value["place"]] = _place_name(value, arrays or {}, self._places)

    def name_of(self, place: int) -> str:
        """Of an array in memory: the argument that it is, or is part of, or a letter and a number."""
        return self._places[place]

    def say(self, event: dict[str, Any]) -> str:
        """A line on a kernel or a cut."""
        if event["kind"] == "cut":
            at = f" at line {event['line']}" if event["line"] else ""
            text = self._source(event["line"])
            return f"cut{at}: {event['why']}" + (f"  # {text}" if text else "")
        from_lines = ", ".join(str(line) for line in event["lines"] if line)
        return (
            f"kernel {event['number']}: {event['calls']} call{'s' if event['calls'] != 1 else ''}"
            + (f" of line{'s' if ',' in from_lines else ''} {from_lines}" if from_lines else "")
            + f", {event['read']} bytes read, {event['written']} written"
        )

    def waits(self, kernel: dict[str, Any]) -> str:
        """Why the kernel is not one with the kernel before it, where no cut is between them."""
        if not kernel["continues"]:
            return ""
        makers = {
            other["values"][value]["place"]: step
            for other in self.kernels[: kernel["number"] - 1]
            for step in other["steps"]
            for value in step["makes"]
            if other["values"][value]["stored"]
        }
        found = [
            makers[value["place"]]
            for value in kernel["values"]
            if not value["stored"] and value["place"] in makers
        ]
        if not found:
            return "beside the kernel before it"
        told = dict.fromkeys(
            step["name"] + (f" of line {step['line']}" if step["line"] else "") for step in found
        )
        return f"when all is there of {', '.join(told)}"

    def _source(self, line: int) -> str:
        if self._code is None or not line:
            return ""
        return linecache.getline(self._code.co_filename, line).strip()

    def __str__(self) -> str:
        count = len(self.kernels)
        lines = [f"{self.name}: {count} fused kernel{'s' if count != 1 else ''}"]
        for event in self.events:
            lines.append(self.say(event))
            if event["kind"] == "kernel":
                if waits := self.waits(event):
                    lines.append(f"    {waits}")
                lines += [f"    {line}" for line in event["graph"].splitlines()]
        return "\n".join(lines)

    __repr__ = __str__

    def svg(self) -> str:
        """The picture as SVG: a box for each kernel, its steps round and its arrays square, and the cuts between."""
        return svg_of(self)

    _repr_svg_ = svg  # for notebooks


def _named_arrays(function: Any, args: Any, kwargs: Any) -> dict[str, _core.ndarray]:
    """The arrays among the arguments, by the names that they have in the function."""
    try:
        bound = inspect.signature(function).bind(*args, **kwargs).arguments
    except (
        TypeError,
        ValueError,
    ):  # a wrong call, which will say so itself; or a function that tells nothing
        return {}
    return {name: value for name, value in bound.items() if isinstance(value, _core.ndarray)}


def _place_name(
    value: dict[str, Any], arrays: dict[str, _core.ndarray], places: dict[int, str]
) -> str:
    for name, array in arrays.items():
        begin = array.data.ptr
        if begin == value["address"] and array.nbytes == value["bytes"]:
            return name
        if begin <= value["address"] < begin + array.nbytes:
            return f"{name}[...]"
    return f"a{sum(re.fullmatch('a[0-9]+', name) is not None for name in places.values())}"


def _name_of(function: Any) -> str:
    name: str = getattr(function, "__name__", type(function).__name__)
    return "lambda" if name == "<lambda>" else name


def _kernel_name(function: Any, given: str | None) -> str:
    return re.sub(r"\W", "_", given or f"fused_{_name_of(function)}")


def _copied(value: Any) -> Any:
    """Arrays are copied as they lie in memory, which is what kernels go by."""
    if isinstance(value, _core.ndarray):
        whole = 256  # bytes, of which a copy keeps its distance
        low, high = _core.byte_bounds(value)
        room = _core.empty(high - low + whole, "uint8", device=value.device)
        begin = value.data.ptr - low + (low - room.data.ptr) % whole
        made = _core.ndarray(value.shape, value.dtype, room.data + begin, value.strides)
        made[...] = value
        return made
    if type(value) in (tuple, list):
        return type(value)(map(_copied, value))
    return {key: _copied(v) for key, v in value.items()} if type(value) is dict else value


@overload
def fuse(function: Callable[..., Any], /) -> Fused: ...
@overload
def fuse(
    *, kernel_name: str | None = None, strict: bool = False
) -> Callable[[Callable[..., Any]], Fused]: ...
def fuse(
    function: Callable[..., Any] | None = None,
    /,
    *,
    kernel_name: str | None = None,
    strict: bool = False,
) -> Any:
    """A function of arrays whose elementwise calls become one kernel wherever they can.

    ``@fuse``, ``@fuse()`` or ``@fuse(kernel_name="...")``, on functions, lambdas and methods. The function runs as it
    stands; calls of ufuncs, `where`, `clip`, `astype`, operators and `ElementwiseKernel` over one shape are kept back
    until something else needs them, and what nobody sees afterwards is not stored. Results are those of the undecorated
    function, bit by bit. Where the function needs an array's values (`if x > 0`, `float(x)`) it is cut there, with one
    RuntimeWarning for the line; with `strict` that is a FusionError.
    Raises: TypeError for generators, coroutines and what is no function.
    Source: CuPy, `cupy.fuse`.
    """
    if function is not None:
        return Fused(function, kernel_name, strict=strict)
    return lambda given: Fused(given, kernel_name, strict=strict)
