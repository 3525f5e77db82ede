"""`fuse`: a function of arrays whose elementwise calls become as few kernels as can be."""

from __future__ import annotations

import functools
import inspect
import re
import sys
import types
import warnings
from typing import TYPE_CHECKING, Any, Self, overload

from quern import _core
from quern._errors import FusionError
from quern._repeats import what_it_reads

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Explanation", "Fused", "fuse"]


class Fused(_core.FusedCall):
    """A function that `fuse` made: called as the function it was made from, with the same results."""

    def __new__(
        cls, function: Callable[..., Any], kernel_name: str | None = None, *, strict: bool = False
    ) -> Self:
        if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
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
        launches: list[dict[str, Any]] = []
        args, kwargs = _copied(args), _copied(kwargs)
        _core._explain_fused(self._kernel, self._function, args, kwargs, self._line, launches)
        return Explanation(_name_of(self._function), launches)

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
    """The kernels of a fused call; its text tells of each."""

    def __init__(self, name: str, kernels: list[dict[str, Any]]) -> None:
        self.name = name
        self.kernels = kernels

    def __str__(self) -> str:
        count = len(self.kernels)
        lines = [f"{self.name}: {count} fused kernel{'s' if count != 1 else ''}"]
        for number, kernel in enumerate(self.kernels, 1):
            from_lines = ", ".join(str(line) for line in kernel["lines"] if line)
            lines.append(
                f"kernel {number}: {kernel['calls']} calls"
                + (f" of line{'s' if ',' in from_lines else ''} {from_lines}" if from_lines else "")
                + f", {kernel['read']} bytes read, {kernel['written']} written"
            )
            lines += [f"    {line}" for line in kernel["graph"].splitlines()]
        return "\n".join(lines)

    __repr__ = __str__


def _name_of(function: Any) -> str:
    name: str = getattr(function, "__name__", type(function).__name__)
    return "lambda" if name == "<lambda>" else name


def _kernel_name(function: Any, given: str | None) -> str:
    return re.sub(r"\W", "_", given or f"fused_{_name_of(function)}")


def _copied(value: Any) -> Any:
    if isinstance(value, _core.ndarray):
        return value.copy()
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
    Raises: TypeError for generators and coroutines.
    Source: CuPy, `cupy.fuse`.
    """
    if function is not None:
        return Fused(function, kernel_name, strict=strict)
    return lambda given: Fused(given, kernel_name, strict=strict)
