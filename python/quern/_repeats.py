"""Whether a fused function does the same whenever it is called with arrays that lie alike, by its bytecode."""

from __future__ import annotations

import builtins
import dis
import types
from typing import TYPE_CHECKING, Any

import numpy

from quern import _core

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["what_it_reads"]

# A global's namespace with its name and value, or a cell with its value; no value: the name is not there.
Guard = tuple[Any, Any] | tuple[Any, Any, Any]

# What changes something that outlives the call, or runs other code before or after.
CHANGES = {
    *("STORE_GLOBAL", "DELETE_GLOBAL", "STORE_NAME", "DELETE_NAME", "STORE_ATTR", "DELETE_ATTR", "DELETE_DEREF"),
    *("IMPORT_NAME", "IMPORT_FROM", "LOAD_NAME", "LOAD_BUILD_CLASS", "LOAD_SUPER_ATTR", "LOAD_CLASSDEREF"),
    *("BEFORE_WITH", "SETUP_WITH", "LOAD_SPECIAL", "WITH_EXCEPT_START", "LOAD_FROM_DICT_OR_GLOBALS"),
    *("YIELD_VALUE", "SEND", "GET_AWAITABLE", "RETURN_GENERATOR", "ASYNC_GEN_WRAP", "LOAD_LOCALS"),
}  # fmt: skip
# Methods that change arrays in ways that no kernel shows, or read from outside.
REFUSED_METHODS = {
    "resize",
    "setflags",
    "tofile",
    "dump",
    "set",
    "__setattr__",
    "__dict__",
    "__globals__",
}
CONTAINER_METHODS = {
    *("append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse", "update", "setdefault", "popitem"),
    "add",
}  # fmt: skip
PURE_BUILTINS = {
    *("abs", "all", "any", "bool", "complex", "dict", "divmod", "enumerate", "filter", "float", "hasattr", "int"),
    *("isinstance", "issubclass", "len", "list", "map", "max", "min", "object", "pow", "range", "reversed", "round"),
    *("set", "slice", "sorted", "str", "sum", "tuple", "type", "zip", "Ellipsis", "NotImplemented", "None"),
    *("ArithmeticError", "AssertionError", "Exception", "IndexError", "KeyError", "NotImplementedError"),
    *("RuntimeError", "TypeError", "ValueError", "ZeroDivisionError"),
}  # fmt: skip
CONSTANTS = (
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    type(None),
    type(...),
    numpy.generic,
    numpy.dtype,
)
KERNELS = (_core.ufunc, numpy.ufunc, _core.ElementwiseKernel, _core.ReductionKernel)
# Modules of which all is known; what draws, reads files or changes how others work is not.
MODULES = ("quern", "numpy", "math", "cmath", "operator")
REFUSED_MODULES = (
    "quern.random",
    "quern.cuda",
    "quern.x",
    "quern.cache",
    "numpy.random",
    "numpy.testing",
)
REFUSED_NAMES = {
    "random",
    "cuda",
    "config",
    "cache",
    "errstate",
    "seterr",
    "set_printoptions",
    "ctypeslib",
    "x",
}


class Changes(Exception):
    """It may do anything."""


def what_it_reads(function: Any) -> tuple[list[Guard], list[_core.ndarray], bool] | None:
    """Guards, the arrays among their values, and whether it changes containers; None where it may do anything."""
    look = _Look()
    try:
        look.at_function(function)
    except Changes:
        return None
    return list(look.guards.values()), look.arrays, look.changes_containers


class _Look:
    def __init__(self) -> None:
        self.guards: dict[tuple[int, str | None], Guard] = {}
        self.arrays: list[_core.ndarray] = []
        self.changes_containers = False
        self.seen: set[int] = set()

    def at_function(self, function: Any) -> None:
        if id(function) in self.seen:
            return
        self.seen.add(id(function))
        if isinstance(function, _core.FusedCall):
            function = function.__wrapped__  # type: ignore[attr-defined]
        if type(function) is not types.FunctionType:
            raise Changes
        defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
        for default in defaults:
            self.at_value(default)
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        self.at_code(function.__code__, function.__globals__, cells)

    def at_code(self, code: types.CodeType, names: dict[str, Any], cells: dict[str, Any]) -> None:
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self.at_code(constant, names, cells)
        steps = [
            step
            for step in dis.get_instructions(code)
            if step.opname not in ("CACHE", "EXTENDED_ARG")
        ]
        for place, step in enumerate(steps):
            name, word = step.opname, step.argval
            if name in CHANGES or (name == "STORE_DEREF" and word in cells):
                raise Changes
            if name.startswith(("STORE_SUBSCR", "DELETE_SUBSCR", "STORE_SLICE")):
                self.changes_containers = True
            elif name in ("LOAD_ATTR", "LOAD_METHOD"):
                if word in REFUSED_METHODS:
                    raise Changes
                self.changes_containers = self.changes_containers or word in CONTAINER_METHODS
            elif name == "LOAD_GLOBAL":
                self.at_global(names, word, attributes(steps[place + 1 :]))
            elif name in ("LOAD_DEREF", "LOAD_CLOSURE") and word in cells:
                self.at_cell(cells[word], attributes(steps[place + 1 :]))

    def at_global(self, names: dict[str, Any], word: str, chain: list[str]) -> None:
        if word in names:
            self.guards[id(names), word] = (names, word, names[word])
            self.at_value(names[word], chain)
            return
        if word not in PURE_BUILTINS or not hasattr(builtins, word):
            raise Changes
        self.guards[id(names), word] = (names, word)

    def at_cell(self, cell: types.CellType, chain: list[str]) -> None:
        try:
            value = cell.cell_contents
        except ValueError:
            raise Changes from None
        self.guards[id(cell), None] = (cell, None, value)
        self.at_value(value, chain)

    def at_value(self, value: Any, chain: list[str] | None = None) -> None:
        """Something that stays what it is while the guards hold, with the attributes that are taken of it."""
        if isinstance(value, types.ModuleType):
            self.at_module(value, chain or [])
        elif type(value) is _core.ndarray:
            if not any(value is known for known in self.arrays):
                self.arrays.append(value)
        elif type(value) is tuple:
            for item in value:
                self.at_value(item)
        elif isinstance(value, types.FunctionType) and is_ours(value.__module__):
            if value.__module__ in REFUSED_MODULES:
                raise Changes
        elif isinstance(value, (types.FunctionType, _core.FusedCall)):
            if chain:
                raise Changes
            self.at_function(value)
        elif isinstance(value, type):
            if not is_ours(value.__module__) and value.__module__ != "builtins":
                raise Changes
        elif not (
            isinstance(value, (*CONSTANTS, *KERNELS))
            or (isinstance(value, types.BuiltinFunctionType) and is_ours(value.__module__))
        ):
            raise Changes

    def at_module(self, module: types.ModuleType, chain: list[str]) -> None:
        name = module.__name__
        if not is_ours(name) or any(name == m or name.startswith(m + ".") for m in REFUSED_MODULES):
            raise Changes
        if not chain:
            return
        word, *rest = chain
        if word in REFUSED_NAMES:
            raise Changes
        inside = vars(module)
        if word not in inside:  # made on demand: numpy's and quern's modules have such
            raise Changes
        self.guards[id(inside), word] = (inside, word, inside[word])
        self.at_value(inside[word], rest)


def is_ours(module: str | None) -> bool:
    """Is it a module whose functions do nothing but compute?"""
    return module is not None and module.partition(".")[0] in (*MODULES, "ml_dtypes")


def attributes(steps: list[dis.Instruction]) -> list[str]:
    """The names of `.a.b` that follow."""

    def chain() -> Iterator[str]:
        for step in steps:
            if step.opname not in ("LOAD_ATTR", "LOAD_METHOD"):
                return
            yield step.argval

    return list(chain())
