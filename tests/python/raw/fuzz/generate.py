"""Random kernels. Threads of a block meet only where all of them come, and between two barriers each shared array is
either read by all, or every element has one thread that owns it, or all add to it: no races, by construction.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from . import tree
from .expressions import (
    BLOCK,
    FLOATS,
    INTS,
    MASKED,
    NAME_N,
    THREAD,
    WARP,
    Expressions,
    Mode,
    SharedArray,
    T,
    Variable,
    binary,
    const,
    t,
    wrapping,
)

Body = list[tree.Stmt]
OUTPUTS = 4
SUMS = ("Add", "Max", "Xor", "Min")  # what may be done to each quarter of `sums`
STORED = (*INTS, "int", "int", "unsigned", "short", "unsigned char", "bool", *FLOATS)
BLOCKS = {
    1: [(1,), (32,), (64,), (128,), (100,), (33,), (7,), (256,)],
    2: [(8, 8), (16, 5), (32, 3), (33, 2), (3, 20)],
    3: [(4, 4, 4), (5, 3, 7), (8, 2, 9), (2, 16, 3)],
}


class Generator(Expressions):
    def __init__(self, seed: int) -> None:
        super().__init__(random.Random(seed))
        self.profile = self.rng.choice(["plain", "block", "block", "warp", "mixed", "mixed"])
        self.seed = seed
        self.names = 0
        self.weight = 1  # how often what is being made may run
        self.level = BLOCK
        self.mask = ""
        self.exits: list[tuple[str, int, dict[str, Mode]]] = []
        self.functions: list[tree.Function] = []
        self.params: dict[str, tuple[int, list[Variable]]] = {}
        self.inside = -1  # level of the function that is being made

    def name(self, stem: str) -> str:
        self.names += 1
        return f"{stem}{self.names}"

    # What surrounds statements.

    @contextmanager
    def scope(self, level: int, weight: int = 1, mask: str | None = None) -> Iterator[None]:
        kept = self.level, self.weight, self.mask
        self.scopes.append([])
        self.local_arrays.append([])
        reached = max(self.level, level)
        self.mask = mask if mask is not None else (self.mask if reached == MASKED else "")
        self.level, self.weight = reached, self.weight * weight
        yield
        self.scopes.pop()
        self.local_arrays.pop()
        self.level, self.weight, self.mask = kept

    def add(self, type: str, level: int, stem: str = "v", fixed: bool = False) -> Variable:
        v = Variable(self.name(stem), type, level, fixed)
        self.scopes[-1].append(v)
        return v

    def value_level(self, least: int = BLOCK) -> int:
        if self.level >= MASKED:
            return THREAD
        choices = [BLOCK, THREAD, THREAD] if self.profile == "block" else [BLOCK, WARP, THREAD]
        return max(self.level, least, self.rng.choice(choices))

    def part_level(self) -> int:
        """On whom a branch depends."""
        return self.rng.choice([BLOCK, BLOCK, WARP, THREAD, THREAD])

    def block(self, size: int) -> Body:
        """Some statements that leave every shared array as they found it."""
        before = dict(self.modes)
        body: Body = []
        for _ in range(self.rng.randint(1, size)):
            body += self.statement()
        if self.modes != before:
            body.append(tree.Sync())
            self.modes = before
        return body

    def statement(self) -> Body:
        rng = self.rng
        deep = len(self.scopes) > 5 or self.weight > 60
        options: list[tuple[float, Callable[[], Body]]] = [
            (3, self.declare),
            (4, self.assign),
            (1, self.store_out),
            (0.7, self.add_to_sums),
            (0.5, self.declare_array),
            (1.2, self.store_local),
        ]
        if self.shared:
            options.append((4, self.store_shared))
        if self.level == BLOCK and self.shared and self.profile != "plain":
            options += [(4, self.sync), (0.7, self.vote)]
        if self.level <= MASKED and self.profile in ("warp", "mixed"):
            options.append((3, self.warp))
            if self.level <= WARP and not deep:
                options.append((0.8, self.masked))
        if not deep:
            options += [(2.5, self.branch), (2, self.count), (1, self.repeat), (0.7, self.switch)]
            options.append((0.8, self.swap_loop))
            if self.level == BLOCK and self.inside < 0:
                options.append((2 if self.profile == "plain" else 0.6, self.along_data))
                options.append((0.5, self.reduce_along))
                if self.shared and self.profile != "plain":
                    options += [(0.5, self.tree), (0.5, self.scan)]
            if self.level <= WARP and self.shared and self.profile in ("warp", "mixed"):
                options.append((0.6, self.exchange))
        if self.params and not deep:
            options.append((1.5, self.call))
        if self.exits:
            options.append((0.8, self.leave_loop))
        if self.inside < 0 or self.inside == THREAD:
            options.append((0.25 if self.level else 0.12, self.leave))
        makers = [make for _, make in options]
        return rng.choices(makers, [weight for weight, _ in options])[0]()

    # Values.

    def declare(self) -> Body:
        type, level = self.rng.choice(STORED), self.value_level()
        value = self.stored(type, level)
        return [tree.Declare(self.add(type, level).name, type, value)]

    def assignable(self, least: int = BLOCK) -> list[Variable]:
        return [
            v
            for v in self.variables(THREAD)
            if not v.fixed
            and v.level >= max(least, min(self.level, THREAD), least)
            and (self.level < MASKED or v.level == THREAD)
        ]

    def target(self, type: str, level: int) -> tuple[Body, Variable]:
        """A variable that takes a result of this type, on which `level` agrees."""
        level = THREAD if max(level, self.level) >= MASKED else max(level, self.level)
        known = [v for v in self.assignable(level) if v.type == type]
        if known and self.chance(0.6):
            return [], self.rng.choice(known)
        declared = tree.Declare("", type, const(0, type))
        v = self.add(type, level)
        declared.name = v.name
        return [declared], v

    def assign(self) -> Body:
        known = self.assignable()
        if not known:
            return self.declare()
        v = self.rng.choice(known)
        value = self.stored(v.type, v.level)
        if v.type in INTS and self.chance(0.5):
            value = wrapping(self.rng.choice("+-^"), tree.Var(v.type, v.name), value)
        return [tree.Assign(v.name, value)]

    def declare_array(self) -> Body:
        size, type = self.rng.choice([2, 4, 8, 16]), self.rng.choice(["int", "unsigned", "short"])
        values = [self.stored(type, THREAD) if self.chance(0.3) else const(i) for i in range(size)]
        values = [v if v.type == type else tree.Cast(type, v) for v in values]
        name = self.name("l")
        read_as = type if type in INTS else "int"
        self.local_arrays[-1].append((name, read_as, size))
        return [tree.DeclareArray(name, type, values)]

    def store_local(self) -> Body:
        known = [array for scope in self.local_arrays for array in scope]
        if not known:
            return self.assign()
        name, type, size = self.rng.choice(known)
        index = binary("&", self.expr("int", THREAD, 2), size - 1)
        return [tree.Store(name, index, self.stored(type, THREAD))]

    def store_out(self) -> Body:
        if self.inside >= 0:
            return self.assign()
        slot = binary("*", tree.Var("int", "G"), self.rng.randrange(OUTPUTS))
        index = binary("+", slot, tree.Var("int", "gid"))
        return [tree.Store("out", index, self.stored("int", THREAD))]

    def add_to_sums(self) -> Body:
        quarter = self.rng.randrange(4)
        index = binary("+", self.small(THREAD, 3), 4 * quarter)
        return [tree.Atomic(SUMS[quarter], "sums", index, self.stored("unsigned", THREAD))]

    # Shared memory.

    def store_shared(self) -> Body:
        usable = [s for s in self.shared if self.modes[s.name].kind != "read"]
        if not usable:
            return self.assign()
        array = self.rng.choice(usable)
        mode = self.modes[array.name]
        value = self.stored(array.type, THREAD)
        if mode.kind == "own":
            return [tree.Store(array.name, self.own_index(array), value)]
        size = tree.Cast("unsigned", self.times(T, array.copies))
        index = binary("%", self.expr("unsigned", THREAD, 1), size)
        return [tree.Atomic(mode.op, array.name, index, value)]

    def new_modes(self) -> None:
        self.modes = dict(self.modes)
        for array in self.shared:
            pick = self.rng.random()
            if pick < 0.5:
                mode = Mode("read")
            elif pick < 0.9 or array.type not in ("int", "unsigned"):
                mode = Mode("own", self.rng.choice([0, 0, 0, 1, 3]))
            else:
                mode = Mode("add", op=self.rng.choice(["Add", "Max", "Xor", "Or"]))
            self.modes[array.name] = mode

    def sync(self) -> Body:
        self.new_modes()
        return [tree.Sync()]

    def vote(self) -> Body:
        predicate = self.condition(THREAD)
        declared, v = self.target("int", BLOCK)
        self.new_modes()
        return [*declared, tree.Sync(self.rng.choice(["count", "and", "or"]), predicate, v.name)]

    def tree(self) -> Body:
        """A reduction by halves, over any number of threads."""
        array = self.rng.choice(self.shared)
        if array.type in FLOATS:
            return self.sync()
        value = self.expr(array.type, THREAD, 2)
        half, mine = self.name("h"), self.add(array.type, THREAD)
        at = tree.Var("int", half)
        body: Body = [
            tree.Declare(mine.name, mine.type, value),
            tree.Sync(),
            tree.Store(array.name, t, tree.Var(mine.type, mine.name)),
            tree.Sync(),
        ]
        start = self.rng.choice([128, 512])
        total = wrapping(
            self.rng.choice(["+", "^", "max"]),
            tree.Load(array.type, array.name, t),
            tree.Load(array.type, array.name, binary("+", t, at)),
        )
        inner: Body = [tree.Store(array.name, t, total)]
        guard = tree.Binary("int", "&&", binary("<", t, at), binary("<", binary("+", t, at), T))
        rounds: Body = [tree.If(guard, inner), tree.Sync()]
        body.append(tree.For(half, const(start), binary(">", at, 0), binary(">>", at, 1), rounds))
        for other in self.shared:
            self.modes[other.name] = Mode("own") if other is not array else Mode("read")
        return body

    def scan(self) -> Body:
        """Sums up to each thread, in two halves of an array that change places."""
        twice = [s for s in self.shared if s.copies == 2 and s.type not in FLOATS]
        if not twice:
            return self.sync()
        array = self.rng.choice(twice)
        value = self.expr(array.type, THREAD, 2)
        mine = self.add(array.type, THREAD)
        old, new = self.add("int", BLOCK, "o", True), self.add("int", BLOCK, "o", True)
        kept, step = self.name("o"), self.name("d")
        read, write, d = (tree.Var("int", x) for x in (old.name, new.name, step))
        before = binary("-", binary("+", read, t), d)
        inner: Body = [
            tree.Store(
                array.name,
                binary("+", write, t),
                tree.Load(array.type, array.name, binary("+", read, t)),
            ),
            tree.If(
                binary(">=", t, d),
                [
                    tree.Store(
                        array.name,
                        binary("+", write, t),
                        wrapping(
                            "+",
                            tree.Load(array.type, array.name, binary("+", read, t)),
                            tree.Load(array.type, array.name, before),
                        ),
                    )
                ],
            ),
            tree.Declare(kept, "int", read),
            tree.Assign(old.name, write),
            tree.Assign(new.name, tree.Var("int", kept)),
            tree.Sync(),
        ]
        body: Body = [
            tree.Declare(old.name, "int", const(0)),
            tree.Declare(new.name, "int", T),
            tree.Declare(mine.name, mine.type, value),
            tree.Sync(),
            tree.Store(array.name, t, tree.Var(mine.type, mine.name)),
            tree.Sync(),
            tree.For(step, const(1), binary("<", d, T), binary("*", d, 2), inner),
        ]
        self.modes = {s.name: Mode("own") for s in self.shared} | {array.name: Mode("read")}
        return body

    def exchange(self) -> Body:
        """Through shared memory within a warp."""
        usable = [s for s in self.shared if self.modes[s.name] == Mode("own")]
        if not usable:
            return self.warp()
        array = self.rng.choice(usable)
        first = binary("-", t, tree.Var("int", "lane"))
        moved = binary("&", binary("+", tree.Var("int", "lane"), self.small(THREAD, 31)), 31)
        index = binary("min", binary("+", first, moved), binary("-", T, 1))
        value = tree.Load(array.type, array.name, index)
        v = self.add(array.type, THREAD)
        return [
            tree.Declare(v.name, v.type, const(0, v.type)),
            tree.SyncWarp(),
            tree.Store(array.name, t, self.stored(array.type, THREAD)),
            tree.SyncWarp(),
            tree.Assign(v.name, value),
            tree.SyncWarp(),
        ]

    # Warps.

    def warp(self) -> Body:
        rng = self.rng
        pick = rng.random()
        if pick < 0.08:
            return [tree.SyncWarp(self.mask)]
        if pick < 0.5:
            op = rng.choice(["shfl", "shfl_up", "shfl_down", "shfl_xor"])
            type = rng.choice(["int", "unsigned", "long long", "float"])
            width = rng.choice([32, 32, 32, 16, 8])
            value = self.stored(type, THREAD)
            delta: tree.Expr = const(rng.choice([1, 2, 4, 8, 16, 31]))
            if op == "shfl":
                delta = self.expr("int", THREAD, 2)
            elif op == "shfl_xor":
                delta = const(rng.randrange(width))
            elif self.chance(0.4):
                delta = self.small(THREAD, 31)
            declared, v = self.target(type, THREAD)
            return [*declared, tree.Warp(v.name, op, value, delta, width, self.mask)]
        level = self.level if self.level <= WARP else THREAD
        level = max(level, WARP)
        if pick < 0.72:
            op = rng.choice(["ballot", "any", "all"])
            condition = self.condition(THREAD)
            declared, v = self.target("unsigned" if op == "ballot" else "int", level)
            return [*declared, tree.Warp(v.name, op, condition, mask=self.mask)]
        if pick < 0.8:
            value = binary("&", self.expr("int", THREAD), rng.choice([1, 3, 15, -1]))
            declared, v = self.target("unsigned", THREAD)
            return [*declared, tree.Warp(v.name, "match_any", value, mask=self.mask)]
        type = rng.choice(["int", "unsigned"])
        ops = ["add", "min", "max"] + (["and", "or", "xor"] if type == "unsigned" else [])
        value = self.stored(type, THREAD)
        declared, v = self.target(type, level)
        return [
            *declared,
            tree.Warp(v.name, f"reduce_{rng.choice(ops)}", value, mask=self.mask),
        ]

    def masked(self) -> Body:
        """The lanes for which something holds do something together."""
        condition = self.condition(THREAD)
        mask, chosen = self.add("unsigned", WARP, "m", True), self.add("bool", THREAD, "c", True)
        body: Body = [
            tree.Declare(chosen.name, "bool", condition),
            tree.Declare(mask.name, "unsigned", const(0, "unsigned")),
            tree.Warp(mask.name, "ballot", tree.Var("int", chosen.name)),
        ]
        with self.scope(MASKED, mask=mask.name):
            inner = self.block(3)
        return [*body, tree.If(tree.Var("int", chosen.name), inner)]

    # Ways.

    def branch(self) -> Body:
        level = self.part_level()
        condition = self.condition(level)
        with self.scope(level):
            then = self.block(4)
        if self.chance(0.6):
            return [tree.If(condition, then)]
        with self.scope(level):
            return [tree.If(condition, then, self.block(4))]

    @contextmanager
    def loop(self, kind: str, level: int, weight: int) -> Iterator[None]:
        with self.scope(level, weight):
            self.exits.append((kind, self.level, dict(self.modes)))
            yield
            self.exits.pop()

    def count(self) -> Body:
        level = self.part_level()
        most = self.rng.choice([1, 3, 3, 7])
        limit = const(self.rng.randint(1, 5)) if self.chance(0.3) else self.small(level, most)
        with self.scope(level):
            i = self.add("int", level if level != WARP else WARP, "i", True)
            var = tree.Var("int", i.name)
            with self.loop("loop", level, most):
                body = self.block(4)
        if self.chance(0.2):  # downwards
            return [tree.For(i.name, limit, binary(">", var, 0), binary("-", var, 1), body)]
        start, step = const(0), 1
        if self.chance(0.3):
            start, step = const(self.rng.randint(0, 2)), self.rng.randint(1, 3)
        return [tree.For(i.name, start, binary("<", var, limit), binary("+", var, step), body)]

    def repeat(self) -> Body:
        level = self.part_level()
        with self.scope(level):
            i = self.add("int", level, "w", True)
            condition = self.condition(level)
            with self.loop("loop", level, 4):
                body = self.block(4)
        var = tree.Var("int", i.name)
        grow = tree.Assign(i.name, binary("+", var, 1))
        declared = tree.Declare(i.name, "int", const(0))
        few = self.rng.randint(1, 5)
        pick = self.rng.random()
        if pick < 0.4:
            guarded = tree.Binary("int", "&&", binary("<", var, few), condition)
            return [declared, tree.While(guarded, [grow, *body])]
        if pick < 0.7:
            stop = tree.If(binary(">=", var, few), [tree.Break()])
            leave = tree.If(condition, [tree.Break()])
            return [declared, tree.While(const(1), [grow, stop, leave, *body])]
        guarded = tree.Binary("int", "&&", condition, binary("<", var, few))
        return [declared, tree.While(guarded, [grow, *body], first=False)]

    def leave_loop(self) -> Body:
        """break or continue, where no barrier is skipped that others reach."""
        kind, level, modes = self.exits[-1]
        if modes != self.modes:
            return self.assign()
        if level != THREAD and self.level > level:
            return self.assign()  # a part would leave
        what: tree.Stmt = tree.Break() if self.chance(0.5) else tree.Continue()
        if what == tree.Continue() and kind == "switch":
            what = tree.Break()
        return [tree.If(self.condition(level), [what])]

    def leave(self) -> Body:
        """Some threads are done."""
        at = binary("%", binary("+", tree.Var("int", "gid"), self.rng.randrange(50)), 11)
        condition: tree.Expr = binary("==", at, self.rng.randrange(11))
        if self.chance(0.3):
            condition = binary(">=", tree.Var("int", "gid"), tree.Var("int", "n"))
        if self.inside >= 0:
            type = self.functions[-1].type
            return [tree.If(self.condition(THREAD), [tree.Return(self.stored(type, THREAD))])]
        return [tree.If(condition, [tree.Return()])]

    def switch(self) -> Body:
        level = self.part_level()
        value = self.small(level, 7)
        values = self.rng.sample(range(8), self.rng.randint(1, 5))
        cases = []
        while values:
            labels = [values.pop() for _ in range(min(len(values), self.rng.choice([1, 1, 2])))]
            with self.loop("switch", level, 1):
                cases.append(tree.Case(labels, self.block(3), self.chance(0.2)))
        if self.chance(0.5):
            with self.loop("switch", level, 1):
                cases.append(tree.Case([], self.block(3)))
        else:
            cases[-1].falls = False
        return [tree.Switch(value, cases)]

    def swap_loop(self) -> Body:
        """Two values that change places in each round."""
        level = self.part_level()
        value_level = THREAD if max(self.level, level) >= MASKED else max(self.level, level)
        if self.chance(0.5):
            value_level = THREAD
        type = self.rng.choice(["int", "unsigned", "long long"])
        a, b = self.stored(type, value_level), self.stored(type, value_level)
        va, vb = self.add(type, value_level), self.add(type, value_level)
        with self.scope(level):
            i = self.add("int", level, "i", True)
            limit = self.small(level, 7)
            with self.loop("loop", level, 5):
                body = self.block(2)
                kept = self.name("k")
        at = tree.Var("int", i.name)
        changed = wrapping("+", tree.Var(type, vb.name), tree.Cast(type, at))
        swap: Body = [
            tree.Declare(kept, type, tree.Var(type, va.name)),
            tree.Assign(va.name, changed if self.chance(0.5) else tree.Var(type, vb.name)),
            tree.Assign(vb.name, tree.Var(type, kept)),
        ]
        body = [*swap, *body] if self.chance(0.5) else [*body, *swap]
        return [
            tree.Declare(va.name, type, a),
            tree.Declare(vb.name, type, b),
            tree.For(i.name, const(0), binary("<", at, limit), binary("+", at, 1), body),
        ]

    # Loops over data.

    def row_loop(self, start: str, step: str, make: Callable[[str], Body], most: int) -> Body:
        with self.scope(THREAD):
            i = self.add("int", THREAD, "r", True)
            at = tree.Var("int", i.name)
            self.rows.append(i.name)
            with self.loop("loop", THREAD, most):
                body = self.block(2) if self.chance(0.4) else []
                body += make(i.name)
            self.rows.pop()
        following = binary("+", at, tree.Var("int", step))
        return [tree.For(i.name, tree.Var("int", start), binary("<", at, NAME_N), following, body)]

    def along_data(self) -> Body:
        def make(i: str) -> Body:
            at = tree.Var("int", i)
            value = self.stored("int", THREAD)
            if self.chance(0.4):
                value = wrapping("+", value, tree.Load("int", "data", at))
            store = tree.Store("data", at, value)
            return [tree.If(self.condition(THREAD), [store])] if self.chance(0.2) else [store]

        body = self.row_loop("gid", "G", make, 6)
        return body + self.row_loop("gid", "G", make, 6) if self.chance(0.3) else body

    def reduce_along(self) -> Body:
        """Each thread's sum over its part of the data."""
        declared, v = self.target(self.rng.choice(["int", "unsigned", "long long"]), THREAD)
        op = self.rng.choice(["+", "^", "max"])

        def make(_: str) -> Body:
            value = wrapping(op, tree.Var(v.type, v.name), self.expr(v.type, THREAD, 2))
            return [tree.Assign(v.name, value)]

        start, step = self.rng.choice([("gid", "G"), ("t", "T")])
        return declared + self.row_loop(start, step, make, 10)

    # Functions.

    def make_function(self) -> None:
        level = self.rng.choice([THREAD, THREAD, BLOCK, WARP])
        if self.profile == "plain" or (level == BLOCK and not self.shared):
            level = THREAD
        if level == WARP and self.profile == "block":
            level = THREAD
        kept = self.scopes, self.local_arrays, self.modes, self.shared, self.level, self.exits
        type = self.rng.choice(["int", "unsigned", "long long"])
        self.scopes, self.local_arrays, self.exits = [[]], [[]], []
        self.level, self.inside, self.weight = level, level, 8
        if level != BLOCK:
            self.shared = []
        params = [
            self.add(
                self.rng.choice(STORED),
                BLOCK if level == BLOCK and self.chance(0.3) else THREAD,
                "x",
            )
            for _ in range(self.rng.randint(1, 3))
        ]
        depth = self.add("int", BLOCK, "d", True) if self.chance(0.15) else None
        attribute = self.rng.choice(["", "__noinline__", "__forceinline__"])
        function = tree.Function(
            self.name("f"),
            type,
            [(v.name, v.type) for v in self.scopes[0]],
            [],
            "" if depth else attribute,
            self.chance(0.5),
        )
        body: Body = []
        if level == BLOCK:
            body.append(tree.Sync())
            self.new_modes()
        self.functions.append(function)
        for _ in range(self.rng.randint(2, 6)):
            body += self.statement()
        value = self.stored(type, THREAD)
        result = self.add(type, THREAD)
        body.append(tree.Declare(result.name, type, value))
        if depth:
            less = binary("-", tree.Var("int", depth.name), 1)
            values = [self.argument(v) for v in params]
            again = tree.Call(result.name, function.name, [*values, less])
            body.append(tree.If(binary(">", tree.Var("int", depth.name), 0), [again]))
        if level == BLOCK:
            body.append(tree.Sync())
        body.append(tree.Return(tree.Var(type, result.name)))
        function.body = body
        self.scopes, self.local_arrays, self.modes, self.shared, self.level, self.exits = kept
        self.inside, self.weight = -1, 1
        self.params[function.name] = (level, [*params, *([depth] if depth else [])])

    def argument(self, v: Variable) -> tree.Expr:
        value = self.stored(v.type, v.level)
        return value if v.type != "bool" else binary("!=", value, 0)

    def call(self) -> Body:
        usable = [
            f
            for f in self.functions
            if f.name in self.params
            and self.level <= self.params[f.name][0]
            and not (self.inside >= 0 and self.params[f.name][0] == BLOCK)
        ]
        if self.level == MASKED:
            usable = [f for f in usable if self.params[f.name][0] == THREAD]
        if not usable:
            return self.assign()
        f = self.rng.choice(usable)
        values: list[tree.Expr] = []
        for v in self.params[f.name][1]:
            is_depth = v.fixed
            values.append(const(self.rng.randint(0, 3)) if is_depth else self.argument(v))
        declared, target = self.target(f.type, THREAD)
        return [*declared, tree.Call(target.name, f.name, values)]

    # The whole.

    def kernel(self) -> tree.Kernel:
        rng = self.rng
        dimensions = rng.choice([1, 1, 1, 2, 3])
        launches = []
        for _ in range(2):
            block = rng.choice(BLOCKS[dimensions])
            launches.append((rng.randint(1, 3), block, rng.choice([1, 50, 257, 700])))
        largest = max(self.threads(block) for _, block, _ in launches)
        arrays = [
            tree.Array(name, type, "argument", 0)
            for name, type in (("a", "int"), ("b", "unsigned"), ("data", "int"), ("out", "int"))
        ]
        if self.profile != "plain":
            dynamic = False
            for _ in range(rng.choice([1, 2, 2, 3])):
                kind = rng.choice(["static", "static", "file", "dynamic"])
                if kind == "dynamic" and dynamic:
                    kind = "static"
                dynamic |= kind == "dynamic"
                type = rng.choice(["int", "int", "unsigned", "long long", "float"])
                shared = SharedArray(self.name("s"), type, rng.choice([1, 1, 2]))
                self.shared.append(shared)
                arrays.append(tree.Array(shared.name, type, kind, shared.copies * largest))
        self.modes = {s.name: Mode("own") for s in self.shared}
        for _ in range(rng.choice([0, 0, 1, 2])):
            self.make_function()
        body: Body = []
        shared, self.shared = self.shared, []
        for array in shared:
            for copy in range(array.copies):
                index = binary("+", t, self.times(T, copy)) if copy else t
                body.append(tree.Store(array.name, index, self.stored(array.type, THREAD)))
        self.shared = shared
        for _ in range(rng.randint(3, 10)):
            body += self.statement()
        names = self.variables(THREAD)
        for slot, v in enumerate(names[-OUTPUTS:]):
            at = binary("+", binary("*", tree.Var("int", "G"), slot), tree.Var("int", "gid"))
            value = self.typed(v, "int")
            body.append(tree.Store("out", at, binary("^", value, tree.Load("int", "out", at))))
        return tree.Kernel(
            f"fuzz_{self.seed}",
            dimensions,
            arrays,
            self.functions,
            body,
            launches,
            {"p": rng.randint(-5, 50), "q": rng.randint(0, 9)},
            OUTPUTS,
        )

    @staticmethod
    def threads(block: tuple[int, ...]) -> int:
        total = 1
        for extent in block:
            total *= extent
        return total


def generate(seed: int) -> tree.Kernel:
    return Generator(seed).kernel()
