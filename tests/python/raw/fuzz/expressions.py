"""Random expressions, and what is in scope: variables by how many threads agree on them, arrays by who may touch what.

Levels: 0 all threads of a block agree, 1 those of a warp, 2 a part of a warp that was named by a mask, 3 nobody.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from . import tree

INTS = ("int", "unsigned", "long long")
FLOATS = ("float", "double")
BLOCK, WARP, MASKED, THREAD = range(4)

T, t = tree.Var("int", "T"), tree.Var("int", "t")


def const(value: int, type: str = "int") -> tree.Const:
    return tree.Const(type, value)


def binary(op: str, a: tree.Expr, b: tree.Expr | int) -> tree.Binary:
    if isinstance(b, int):
        b = const(b, a.type)
    return tree.Binary("int" if op in COMPARE else a.type, op, a, b)


def wrapping(op: str, a: tree.Expr, b: tree.Expr) -> tree.Binary:
    """Arithmetic on data."""
    signed = a.type in ("int", "long long")
    return tree.Binary(a.type, op, a, b, signed and op in ("+", "-", "*", "<<"))


COMPARE = ("<", "<=", ">", ">=", "==", "!=")


@dataclass
class Variable:
    name: str
    type: str
    level: int
    fixed: bool = False  # loop counters and the like: read only


@dataclass(frozen=True)
class Mode:
    """Between two barriers a shared array is read by all, owned element by element, or added to."""

    kind: str  # read, own, add
    shift: int = 0  # own: thread i has element (i + shift) % T
    op: str = ""


@dataclass
class SharedArray:
    name: str
    type: str
    copies: int  # of T elements


class Expressions:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.scopes: list[list[Variable]] = [[]]
        self.local_arrays: list[list[tuple[str, str, int]]] = [[]]
        self.shared: list[SharedArray] = []
        self.modes: dict[str, Mode] = {}
        self.in_index = False
        self.rows: list[str] = []  # variables that stay below n and go along memory

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def variables(self, level: int) -> list[Variable]:
        return [v for scope in self.scopes for v in scope if v.level <= level]

    def constant(self, type: str) -> tree.Expr:
        if type in FLOATS:
            return const(self.rng.randrange(0, 100), type)
        near = self.rng.choice([0, 1, 2, 3, 5, 7, 31, 32, 100, 255, 65537, 2**31 - 1])
        return const(near if type == "unsigned" or self.chance(0.7) else -near, type)

    def typed(self, v: Variable, type: str) -> tree.Expr:
        if v.type == type or (type == "int" and v.type in ("short", "unsigned char", "bool")):
            return tree.Var(type, v.name)
        if type in FLOATS and v.type in INTS:
            return tree.Cast(type, binary("&", tree.Var(v.type, v.name), 1023))
        stored = v.type if v.type in INTS + FLOATS else "int"
        return tree.Cast(type, tree.Var(stored, v.name))

    def position(self, level: int) -> tree.Expr:
        names = ["p", "q", "n", "T", "bid", "G"]
        if level >= WARP:
            names += ["warp"] * 2
        if level >= MASKED:
            names += ["t", "gid", "lane"] * 3
        return tree.Var("int", self.rng.choice(names))

    def leaf(self, type: str, level: int) -> tree.Expr:
        known = self.variables(level)
        for _ in range(3):
            pick = self.rng.random()
            if pick < 0.45 and known:
                return self.typed(self.rng.choice(known), type)
            if pick < 0.6 and not self.in_index:
                self.in_index = True
                loaded = self.load(level)
                self.in_index = False
                if loaded is not None:
                    if loaded.type == type:
                        return loaded
                    if type in FLOATS and loaded.type in INTS:
                        loaded = binary("&", loaded, 1023)
                    return tree.Cast(type, loaded)
            elif pick < 0.8:
                at = self.position(level)
                if type in FLOATS:
                    at = binary("&", at, 1023)
                return at if type == "int" else tree.Cast(type, at)
            else:
                return self.constant(type)
        return self.constant(type)

    def load(self, level: int) -> tree.Expr | None:
        """Some element that may be read now."""
        sources = ["a", "b"]
        for array in self.shared:
            mode = self.modes[array.name]
            if mode.kind == "read" or (mode.kind == "own" and level == THREAD):
                sources += [array.name] * 2
        if level == THREAD:
            sources += [name for scope in self.local_arrays for name, _, _ in scope] * 2
            if self.rows and self.chance(0.8):
                row = tree.Var("int", self.rng.choice(self.rows))
                return tree.Load(*self.rng.choice([("int", "a"), ("unsigned", "b")]), row)
        name = self.rng.choice(sources)
        if name in ("a", "b"):
            type = "int" if name == "a" else "unsigned"
            index = binary("%", self.expr("unsigned", level, 1), tree.Cast("unsigned", NAME_N))
            return tree.Load(type, name, index)
        for array in self.shared:
            if array.name == name:
                if self.modes[name].kind == "own":
                    return tree.Load(array.type, name, self.own_index(array))
                size = tree.Cast("unsigned", self.times(T, array.copies))
                index = binary("%", self.expr("unsigned", level, 1), size)
                return tree.Load(array.type, name, index)
        for scope in self.local_arrays:
            for known, type, size in scope:
                if known == name:
                    return tree.Load(type, name, binary("&", self.expr("int", level, 1), size - 1))
        return None

    def times(self, a: tree.Expr, factor: int) -> tree.Expr:
        return a if factor == 1 else binary("*", a, factor)

    def own_index(self, array: SharedArray) -> tree.Expr:
        shift = self.modes[array.name].shift
        index: tree.Expr = binary("%", binary("+", t, shift), T) if shift else t
        copy = self.rng.randrange(array.copies)
        return binary("+", index, self.times(T, copy)) if copy else index

    def expr(self, type: str, level: int, depth: int = 2) -> tree.Expr:
        rng = self.rng
        if depth <= 0 or self.chance(0.2):
            return self.leaf(type, level)
        if type in FLOATS:
            a, b = self.leaf(type, level), self.leaf(type, level)
            return tree.Binary(type, rng.choice(["+", "-", "*", "min", "max"]), a, b)

        def again(other: str = type) -> tree.Expr:
            return self.expr(other, level, depth - 1)

        pick = rng.random()
        if pick < 0.5:
            return wrapping(rng.choice("+-*&|^+-+"), again(), again())
        if pick < 0.58:
            by = rng.choice([const(rng.randrange(31)), binary("&", again("int"), 31)])
            value = again()
            return wrapping("<<", value, by) if self.chance(0.5) else binary(">>", value, by)
        if pick < 0.65 and type != "long long":
            return binary(rng.choice("/%"), again(), const(rng.choice([2, 3, 7, 8, 10, 32]), type))
        if pick < 0.72:
            return binary(rng.choice(["min", "max"]), again(), again())
        if pick < 0.8:
            return tree.Select(type, self.condition(level, depth - 1), again(), again())
        if pick < 0.9:
            other = rng.choice([*INTS, "unsigned char", "short", *FLOATS])
            if other in FLOATS:
                return tree.Cast(type, tree.Cast("int", self.expr(other, level, 1)))
            if other in INTS:
                return tree.Cast(type, again(other))
            return tree.Cast(type, tree.Cast(other, again("int")))
        if pick < 0.95:
            return tree.Unary(type, rng.choice("-~"), again())
        counted = tree.Unary("int", "popc", again("unsigned"))
        return counted if type == "int" else tree.Cast(type, counted)

    def condition(self, level: int, depth: int = 2) -> tree.Expr:
        rng = self.rng
        if level == THREAD and self.chance(0.3):  # what programs ask
            at = tree.Var("int", rng.choice(["t", "lane", "gid"]))
            return rng.choice(
                [
                    binary("<", at, rng.choice([1, 5, 16, 33, 64])),
                    binary("==", at, rng.randrange(40)),
                    binary("!=", binary("&", at, rng.choice([1, 3, 7])), 0),
                    binary("<", at, binary("/", T, 2)),
                ]
            )
        if level >= WARP and self.chance(0.3):
            return binary("==", binary("&", tree.Var("int", "warp"), rng.choice([1, 3])), 1)
        if depth > 0 and self.chance(0.15):
            a, b = self.condition(level, depth - 1), self.condition(level, depth - 1)
            return tree.Binary("int", rng.choice(["&&", "||"]), a, b)
        type = rng.choice([*INTS, "int", "int", "float"])
        if type in INTS and self.chance(0.5):  # otherwise nearly always true, or nearly never
            mask = rng.choice([1, 3, 7])
            masked = binary("&", self.expr(type, level, depth), mask)
            return binary(rng.choice(COMPARE), masked, rng.randrange(mask + 1))
        return binary(
            rng.choice(COMPARE), self.expr(type, level, depth), self.expr(type, level, depth)
        )

    def small(self, level: int, most: int) -> tree.Expr:
        """From 0 to `most`, which is one less than a power of two."""
        return binary("&", self.expr("int", level, 2), most)

    def stored(self, type: str, level: int) -> tree.Expr:
        """A value for a variable or element of this type."""
        if type in FLOATS:
            bounded = binary("&", tree.Cast("int", self.expr(type, level, 2)), 1023)
            return tree.Cast(type, bounded)
        if type == "bool":
            return self.condition(level)
        return self.expr(type if type in INTS else "int", level)


NAME_N = tree.Var("int", "n")
