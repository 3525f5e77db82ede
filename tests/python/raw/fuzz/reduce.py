"""Makes a kernel smaller while something still holds for it."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from . import tree


def bodies(node: Any) -> Iterator[list[tree.Stmt]]:
    """All lists of statements in a kernel, a function, a statement or a list of them."""
    if isinstance(node, list):
        if node and not isinstance(node[0], (tree.Case, tree.Function)):
            yield node
        for part in node:
            yield from bodies(part)
    elif isinstance(node, tree.Kernel):
        yield from bodies(node.functions)
        yield from bodies(node.body)
    else:
        for name in ("body", "then", "other", "cases"):
            if isinstance(part := getattr(node, name, None), list):
                yield from bodies(part)


def smaller_statements(kernel: tree.Kernel) -> Iterator[tree.Kernel]:
    for which, body in enumerate(list(bodies(kernel))):
        size = len(body)
        while size:
            for first in range(0, len(body), size):
                tried = copy.deepcopy(kernel)
                del list(bodies(tried))[which][first : first + size]
                yield tried
            size //= 2
        for at, s in enumerate(body):  # what is inside instead of the whole
            for inner in bodies([s]):
                if inner and inner[0] is not s:
                    tried = copy.deepcopy(kernel)
                    list(bodies(tried))[which][at : at + 1] = copy.deepcopy(inner)
                    yield tried


EXPRESSIONS = (tree.Const, tree.Var, tree.Unary, tree.Binary, tree.Select, tree.Cast, tree.Load)


def type_of(e: tree.Expr) -> str:
    compares = isinstance(e, tree.Binary) and e.op in ("&&", "||", "<", "<=", ">", ">=", "==", "!=")
    return "int" if compares else e.type


def simpler(e: tree.Expr) -> Iterator[tree.Expr]:
    for name in ("a", "b", "index", "condition"):
        part = getattr(e, name, None)
        if isinstance(part, EXPRESSIONS):
            if type_of(part) == type_of(e):
                yield part
            for other in simpler(part):
                yield dataclasses.replace(e, **{name: other})
    if not isinstance(e, (tree.Const, tree.Var)):
        yield tree.Const(type_of(e), 1)
        yield tree.Const(type_of(e), 0)


def smaller_expressions(kernel: tree.Kernel) -> Iterator[tree.Kernel]:
    for which, body in enumerate(list(bodies(kernel))):
        for at, s in enumerate(body):
            for name in ("value", "condition", "index", "start", "predicate", "other"):
                e = getattr(s, name, None)
                if isinstance(e, EXPRESSIONS):
                    for other in simpler(e):
                        tried = copy.deepcopy(kernel)
                        setattr(list(bodies(tried))[which][at], name, other)
                        yield tried


def smaller(kernel: tree.Kernel) -> Iterator[tree.Kernel]:
    for number in range(len(kernel.launches)):
        if len(kernel.launches) > 1:
            tried = copy.deepcopy(kernel)
            del tried.launches[number]
            yield tried
    for number, array in enumerate(kernel.arrays):
        if array.kind != "argument":
            tried = copy.deepcopy(kernel)
            del tried.arrays[number]
            yield tried
    for number in range(len(kernel.functions)):
        tried = copy.deepcopy(kernel)
        del tried.functions[number]
        yield tried
    yield from smaller_statements(kernel)
    yield from smaller_expressions(kernel)


def reduce(kernel: tree.Kernel, holds: Callable[[tree.Kernel], bool]) -> tree.Kernel:
    """The smallest kernel found for which `holds` is true, as it must be for `kernel`."""
    again = True
    while again:
        again = False
        for tried in smaller(kernel):
            if holds(tried):
                kernel, again = tried, True
                break
    return kernel
