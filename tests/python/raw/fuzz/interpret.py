"""What a generated kernel means: all threads of the grid take every step together, held back by masks where they
part. Also judges the kernel: no race in shared memory, barriers where all live threads of a block come.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from . import tree

Lanes = npt.NDArray[Any]

DTYPES = {
    "int": np.int32,
    "unsigned": np.uint32,
    "long long": np.int64,
    "float": np.float32,
    "double": np.float64,
    "unsigned char": np.uint8,
    "short": np.int16,
    "bool": np.bool_,
}
COMPARE = {"<", "<=", ">", ">=", "==", "!=", "&&", "||"}
REDUCE = {"add": np.add, "min": np.minimum, "max": np.maximum}
REDUCE |= {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}


class Illegal(Exception):
    """The kernel is at fault: CUDA gives it no meaning."""


class Shared:
    """One array for each block, and who touched each element since the block's last barrier."""

    def __init__(self, blocks: int, size: int, dtype: Any) -> None:
        self.size = size
        self.values = np.zeros(blocks * size, dtype)
        self.written, self.read, self.added = (np.full(blocks * size, -1) for _ in range(3))
        self.writer, self.reader = (np.full(blocks * size, -1) for _ in range(2))
        self.write_turn, self.read_turn = (np.full(blocks * size, -1) for _ in range(2))
        self.read_warp = np.full(blocks * size, -1)
        self.known = np.zeros(blocks * size, np.bool_)


class Frame:
    def __init__(self, variables: dict[str, Lanes], lanes: int) -> None:
        self.variables = variables
        self.arrays: dict[str, Lanes] = {}
        self.returned = np.zeros(lanes, np.bool_)
        self.result: Lanes | None = None
        self.exits: list[dict[str, Lanes]] = []  # loops and switches around


class Machine:
    def __init__(self, kernel: tree.Kernel, launch: tuple[int, tuple[int, ...], int]) -> None:
        self.blocks, block, self.n = launch
        self.threads = int(np.prod(block))
        self.kernel = kernel
        self.lanes = self.blocks * self.threads
        self.gid = np.arange(self.lanes, dtype=np.int32)
        self.bid, self.t = self.gid // self.threads, self.gid % self.threads
        self.warps_each = -(-self.threads // 32)
        self.warp = self.bid * self.warps_each + self.t // 32  # in the grid
        self.cell = self.warp * 32 + self.t % 32  # lanes with room for those that are not there
        self.live = np.ones(self.lanes, np.bool_)
        self.epoch = np.zeros(self.blocks, np.int64)
        self.turn = np.zeros(self.blocks * self.warps_each, np.int64)
        self.functions = {f.name: f for f in kernel.functions}
        self.shared = {
            a.name: Shared(self.blocks, a.size, DTYPES[a.type])
            for a in kernel.arrays
            if a.kind != "argument"
        }
        self.depth = 0

    def run(self, arrays: dict[str, Lanes]) -> None:
        """Changes `arrays` as the kernel does."""
        self.arguments = arrays
        self.positions = {
            "t": self.t,
            "lane": self.t % 32,
            "warp": self.t // 32,
            "gid": self.gid,
            "bid": self.bid,
            "T": np.full(self.lanes, self.threads),
            "G": np.full(self.lanes, self.lanes),
            "n": np.full(self.lanes, self.n),
        }
        for name, value in self.kernel.arguments.items():
            self.positions[name] = np.full(self.lanes, value)
        self.positions = {k: v.astype(np.int32) for k, v in self.positions.items()}
        self.frame = Frame(dict(self.positions), self.lanes)
        self.top = self.frame
        with np.errstate(over="ignore"):
            self.block(self.kernel.body, self.live.copy())

    # Expressions.

    def value(self, e: tree.Expr, mask: Lanes) -> Lanes:
        match e:
            case tree.Const(type, value):
                return np.full(self.lanes, value, DTYPES[type])
            case tree.Var(type, name):
                if name not in self.frame.variables:
                    raise Illegal(f"{name} is not declared")
                return self.frame.variables[name].astype(DTYPES[type])
            case tree.Unary(_, op, a):
                v = self.value(a, mask)
                if op == "popc":
                    return np.bitwise_count(v).astype(np.int32)
                return ~v if op == "~" else np.zeros_like(v) - v
            case tree.Binary(_, op, a, b):
                return self.binary(op, self.value(a, mask), self.value(b, mask), mask)
            case tree.Select(_, condition, a, b):
                chosen = self.value(condition, mask) != 0
                return np.where(chosen, self.value(a, mask & chosen), self.value(b, mask & ~chosen))
            case tree.Cast(type, a):
                v = self.value(a, mask)
                if v.dtype.kind == "f":
                    v = np.where(mask, v, 0)
                return v.astype(DTYPES[type])
            case tree.Load(_, array, index):
                return self.load(array, self.value(index, mask), mask)

    def binary(self, op: str, a: Lanes, b: Lanes, mask: Lanes) -> Lanes:
        if op in COMPARE:
            if op == "&&":
                return ((a != 0) & (b != 0)).astype(np.int32)
            if op == "||":
                return ((a != 0) | (b != 0)).astype(np.int32)
            compare = {
                "<": np.less,
                "<=": np.less_equal,
                ">": np.greater,
                ">=": np.greater_equal,
                "==": np.equal,
                "!=": np.not_equal,
            }
            return compare[op](a, b).astype(np.int32)
        if op in "/%":
            wide_a, wide_b = a.astype(np.int64), b.astype(np.int64)
            if (wide_b == 0)[mask].any():
                raise Illegal("division by zero")
            wide_b = np.where(wide_b == 0, 1, wide_b)
            quotient = np.abs(wide_a) // np.abs(wide_b) * (np.sign(wide_a) * np.sign(wide_b))
            return (quotient if op == "/" else wide_a - quotient * wide_b).astype(a.dtype)
        plain = {
            "+": np.add,
            "-": np.subtract,
            "*": np.multiply,
            "&": np.bitwise_and,
            "|": np.bitwise_or,
            "^": np.bitwise_xor,
            "<<": np.left_shift,
            ">>": np.right_shift,
            "min": np.minimum,
            "max": np.maximum,
        }
        if op in ("<<", ">>"):
            b = b.astype(a.dtype)
        result: Lanes = plain[op](a, b)
        return result

    # Memory.

    def place(self, name: str, index: Lanes, mask: Lanes, size: int) -> Lanes:
        index = index.astype(np.int64)
        if ((index < 0) | (index >= size))[mask].any():
            raise Illegal(f"{name}: index out of range")
        return np.where(mask, index, 0)

    def load(self, name: str, index: Lanes, mask: Lanes) -> Lanes:
        if name in self.frame.arrays:
            own = self.frame.arrays[name]
            return own[self.gid, self.place(name, index, mask, own.shape[1])]
        if name in self.shared:
            shared = self.shared[name]
            place = self.place(name, index, mask, shared.size) + self.bid * shared.size
            self.note_read(name, shared, place[mask], self.gid[mask])
            return shared.values[place]
        given = self.arguments.get(name)
        if given is None:
            raise Illegal(f"{name} is not declared")
        return given[self.place(name, index, mask, given.size)]

    def store(self, name: str, index: Lanes, value: Lanes, mask: Lanes) -> None:
        if name in self.frame.arrays:
            own = self.frame.arrays[name]
            place = self.place(name, index, mask, own.shape[1])
            own[self.gid[mask], place[mask]] = value[mask]
        elif name in self.shared:
            shared = self.shared[name]
            place = self.place(name, index, mask, shared.size) + self.bid * shared.size
            self.note_write(name, shared, place[mask], self.gid[mask])
            shared.values[place[mask]] = value[mask]
        elif name in self.arguments:
            given = self.arguments[name]
            place = self.place(name, index, mask, given.size)
            if (place % self.lanes != self.gid)[mask].any():
                raise Illegal(f"{name}: another thread's element")
            given[place[mask]] = value[mask]
        else:
            raise Illegal(f"{name} is not declared")

    def behind(self, before: Lanes, turn: Lanes, lanes: Lanes) -> Lanes:
        """Whether what lane `before` did in its warp's `turn` is ordered before what `lanes` do now."""
        same = (before >= 0) & (self.warp[np.maximum(before, 0)] == self.warp[lanes])
        return (before == lanes) | (same & (turn < self.turn[self.warp[lanes]]))

    def note_read(self, name: str, shared: Shared, place: Lanes, lanes: Lanes) -> None:
        now = self.epoch[self.bid[lanes]]
        if not shared.known[place].all():
            raise Illegal(f"{name}: read before it was written")
        fresh = shared.written[place] == now
        if (fresh & ~self.behind(shared.writer[place], shared.write_turn[place], lanes)).any():
            raise Illegal(f"{name}: read what another thread writes")
        if (shared.added[place] == now).any():
            raise Illegal(f"{name}: read what others add to")
        mine, turn = self.warp[lanes], self.turn[self.warp[lanes]]
        ordered = (shared.read_warp[place] == mine) & (shared.read_turn[place] < turn)
        open_ = (shared.read[place] == now) & ~ordered
        earlier = np.where(open_, shared.reader[place], lanes)
        warp = np.where(open_, shared.read_warp[place], mine)
        shared.reader[place], shared.read_warp[place] = lanes, self.warp[lanes]
        many = (shared.reader[place] != lanes) | (earlier != lanes)
        shared.reader[place[many]] = -1
        spread = (shared.read_warp[place] != self.warp[lanes]) | (warp != self.warp[lanes])
        shared.read_warp[place[spread]] = -1
        shared.read[place] = now
        shared.read_turn[place] = self.turn[self.warp[lanes]]

    def note_write(self, name: str, shared: Shared, place: Lanes, lanes: Lanes) -> None:
        now = self.epoch[self.bid[lanes]]
        fresh = shared.written[place] == now
        if (fresh & ~self.behind(shared.writer[place], shared.write_turn[place], lanes)).any():
            raise Illegal(f"{name}: two threads write")
        ordered = (shared.reader[place] == lanes) | (
            (shared.read_warp[place] == self.warp[lanes])
            & (shared.read_turn[place] < self.turn[self.warp[lanes]])
        )
        if ((shared.read[place] == now) & ~ordered).any():
            raise Illegal(f"{name}: written while another thread reads")
        if (shared.added[place] == now).any():
            raise Illegal(f"{name}: written while others add to it")
        shared.writer[place] = lanes
        if (shared.writer[place] != lanes).any():
            raise Illegal(f"{name}: two threads write at once")
        shared.written[place] = now
        shared.write_turn[place] = self.turn[self.warp[lanes]]
        shared.known[place] = True

    def atomic(self, s: tree.Atomic, mask: Lanes) -> None:
        index, value = self.value(s.index, mask), self.value(s.value, mask)
        if s.array in self.shared:
            shared = self.shared[s.array]
            place = self.place(s.array, index, mask, shared.size) + self.bid * shared.size
            place, target = place[mask], shared.values
            now = self.epoch[self.bid[mask]]
            if ((shared.written[place] == now) | (shared.read[place] == now)).any():
                raise Illegal(f"{s.array}: atomics beside plain accesses")
            if not shared.known[place].all():
                raise Illegal(f"{s.array}: added to before it was written")
            shared.added[place] = now
        else:
            target = self.arguments[s.array]
            place = self.place(s.array, index, mask, target.size)[mask]
        REDUCE[s.op.lower()].at(target, place, value[mask].astype(target.dtype))

    # Statements: each gives the threads that go on to the next.

    def block(self, body: list[tree.Stmt], mask: Lanes) -> Lanes:
        for s in body:
            if not mask.any():
                break
            mask = self.statement(s, mask)
        return mask

    def assign(self, name: str, value: Lanes, mask: Lanes) -> None:
        before = self.frame.variables.get(name)
        if before is None or name in self.positions:
            raise Illegal(f"{name} is not declared")
        self.frame.variables[name] = np.where(mask, value.astype(before.dtype), before)

    def declare(self, name: str, type: str, value: Lanes, mask: Lanes) -> None:
        dtype = DTYPES[type]
        before = self.frame.variables.get(name, np.zeros(self.lanes, dtype))
        self.frame.variables[name] = np.where(mask, value.astype(dtype), before)

    def statement(self, s: tree.Stmt, mask: Lanes) -> Lanes:
        none = np.zeros_like(mask)
        match s:
            case tree.Declare(name, type, value):
                self.declare(name, type, self.value(value, mask), mask)
            case tree.DeclareArray(name, type, values):
                fresh = np.stack([self.value(v, mask) for v in values], axis=1).astype(DTYPES[type])
                before = self.frame.arrays.get(name, fresh)
                self.frame.arrays[name] = np.where(mask[:, None], fresh, before)
            case tree.Assign(name, value):
                self.assign(name, self.value(value, mask), mask)
            case tree.Store(array, index, value):
                self.store(array, self.value(index, mask), self.value(value, mask), mask)
            case tree.Atomic():
                self.atomic(s, mask)
            case tree.Sync():
                self.sync(s, mask)
            case tree.SyncWarp(lanes):
                self.meet(lanes, mask)
                self.turn[np.unique(self.warp[mask])] += 1
            case tree.Warp():
                self.warp_step(s, mask)
            case tree.If(condition, then, other):
                chosen = self.value(condition, mask) != 0
                return self.block(then, mask & chosen) | self.block(other, mask & ~chosen)
            case tree.For(name, start, condition, following, body):
                self.declare(name, "int", self.value(start, mask), mask)
                return self.loop(condition, body, mask, True, (name, following))
            case tree.While(condition, body, first):
                return self.loop(condition, body, mask, first, None)
            case tree.Switch():
                return self.switch(s, mask)
            case tree.Break():
                if not self.frame.exits:
                    raise Illegal("break outside a loop")
                self.frame.exits[-1]["broke"] |= mask
                return none
            case tree.Continue():
                loops = [e for e in self.frame.exits if "continued" in e]
                if not loops:
                    raise Illegal("continue outside a loop")
                loops[-1]["continued"] |= mask
                return none
            case tree.Return(value):
                self.leave(value, mask)
                return none
            case tree.Call(target, name, values):
                self.call(target, self.functions[name], values, mask)
        return mask

    def leave(self, value: tree.Expr | None, mask: Lanes) -> None:
        if self.frame is self.top:
            self.live &= ~mask
        elif value is not None:
            result = self.value(value, mask)
            before = result if self.frame.result is None else self.frame.result
            self.frame.result = np.where(mask, result, before)
            self.frame.returned |= mask

    def loop(
        self,
        condition: tree.Expr,
        body: list[tree.Stmt],
        mask: Lanes,
        check_first: bool,
        step: tuple[str, tree.Expr] | None,
    ) -> Lanes:
        done = np.zeros_like(mask)
        rounds = 0
        while True:
            if check_first:
                more = self.value(condition, mask) != 0
                done |= mask & ~more
                mask = mask & more
            check_first = True
            if not mask.any():
                return done
            exits = {"broke": np.zeros_like(mask), "continued": np.zeros_like(mask)}
            self.frame.exits.append(exits)
            mask = self.block(body, mask) | exits["continued"]
            self.frame.exits.pop()
            done |= exits["broke"]
            if step and mask.any():
                self.assign(step[0], self.value(step[1], mask), mask)
            rounds += 1
            if rounds > 5000:
                raise Illegal("a loop without end")

    def switch(self, s: tree.Switch, mask: Lanes) -> Lanes:
        value = self.value(s.value, mask)
        exits = {"broke": np.zeros_like(mask)}
        left, running = mask.copy(), np.zeros_like(mask)
        self.frame.exits.append(exits)
        for case in s.cases:
            chosen = left & np.isin(value, case.values) if case.values else left
            left = left & ~chosen
            running = self.block(case.body, running | chosen)
            if not case.falls:
                exits["broke"] |= running
                running = np.zeros_like(mask)
        self.frame.exits.pop()
        return exits["broke"] | running | left

    def call(
        self, target: str, function: tree.Function, values: list[tree.Expr], mask: Lanes
    ) -> None:
        outer = self.frame
        given = [self.value(v, mask) for v in values]
        if self.depth > 8:
            raise Illegal("too deep")
        self.depth += 1
        self.frame = Frame(dict(self.positions), self.lanes)
        for (name, type), value in zip(function.params, given, strict=True):
            self.frame.variables[name] = value.astype(DTYPES[type])
        left = self.block(function.body, mask)
        result = self.frame.result
        if left.any() or result is None:
            raise Illegal(f"{function.name}: a way without return")
        self.frame = outer
        self.depth -= 1
        self.assign(target, result.astype(DTYPES[function.type]), mask)

    # Meetings.

    def sync(self, s: tree.Sync, mask: Lanes) -> None:
        come = np.bincount(self.bid[mask], minlength=self.blocks)
        alive = np.bincount(self.bid[self.live], minlength=self.blocks)
        if ((come != 0) & (come != alive)).any():
            raise Illegal("a barrier that some threads do not reach")
        true = self.value(s.predicate, mask) != 0 if s.predicate is not None else None
        self.epoch[np.unique(self.bid[mask])] += 1
        if true is None:
            return
        votes = np.bincount(self.bid[mask & true], minlength=self.blocks)
        result = {"count": votes, "and": votes == come, "or": votes != 0}[s.op]
        self.assign(s.target, result[self.bid].astype(np.int32), mask)

    def meet(self, lanes: str, mask: Lanes) -> None:
        cells = np.zeros(self.blocks * self.warps_each * 32, np.bool_)
        cells[self.cell[mask]] = True
        come = cells.reshape(-1, 32)
        wanted = np.zeros_like(cells)
        if lanes:
            named = self.value(tree.Var("unsigned", lanes), mask)
            for lane in range(32):
                wanted[(self.warp * 32 + lane)[mask & (named >> np.uint32(lane) & 1 != 0)]] = True
        else:
            wanted[:] = True
        alive = np.zeros_like(cells)
        alive[self.cell[self.live]] = True
        expected = (wanted & alive).reshape(-1, 32) & come.any(axis=1, keepdims=True)
        if (expected != come).any():
            raise Illegal("a warp operation that some lanes of its mask do not reach")

    def warp_step(self, s: tree.Warp, mask: Lanes) -> None:
        self.meet(s.mask, mask)
        value = self.value(s.value, mask)
        cells = np.zeros(self.blocks * self.warps_each * 32, value.dtype)
        there = np.zeros(cells.size, np.bool_)
        cells[self.cell[mask]], there[self.cell[mask]] = value[mask], True
        rows, come = cells.reshape(-1, 32), there.reshape(-1, 32)
        bits = np.uint32(1) << np.arange(32, dtype=np.uint32)
        result: Lanes
        if s.op.startswith("shfl"):
            other = self.value(s.other, mask).astype(np.int64)  # type: ignore[arg-type]
            lane, width = (self.t % 32).astype(np.int64), s.width
            first = lane & ~(width - 1)
            if s.op == "shfl":
                source = first | (other & (width - 1))
            elif s.op == "shfl_up":
                source = np.where(lane - other < first, lane, lane - other)
            elif s.op == "shfl_down":
                source = np.where(lane + other > first + width - 1, lane, lane + other)
            else:
                source = lane ^ other
            source = np.where(mask, source, 0)
            place = self.warp * 32 + source
            result = np.where(there[place], cells[place], value)
        elif s.op == "match_any":
            same = (rows[:, :, None] == rows[:, None, :]) & come[:, None, :]
            result = (same * bits).sum(axis=2).astype(np.uint32).ravel()[self.cell]
        elif s.op in ("ballot", "any", "all"):
            true = come & (rows != 0)
            if s.op == "ballot":
                each = (true * bits).sum(axis=1).astype(np.uint32)
            else:
                each = (true.any(axis=1) if s.op == "any" else (true == come).all(axis=1)).astype(
                    np.int32
                )
            result = each[self.warp]
        else:
            combine = REDUCE[s.op.removeprefix("reduce_")]
            each = np.zeros(come.shape[0], value.dtype)
            for row in np.flatnonzero(come.any(axis=1)):
                each[row] = combine.reduce(rows[row][come[row]], dtype=value.dtype)
            result = each[self.warp]
        self.assign(s.target, result, mask)
