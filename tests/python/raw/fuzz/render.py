"""A generated kernel as CUDA C++."""

from __future__ import annotations

from . import tree

SIGNATURE = (
    "const int* a, const unsigned* b, int* data, int* out, unsigned* sums, int n, int p, int q"
)
UNSIGNED = {"int": "unsigned", "long long": "unsigned long long"}
PASSED = "a, b, data, out, sums, n, p, q"


def expression(e: tree.Expr) -> str:
    match e:
        case tree.Const(type, value):
            if type == "int":
                return str(value) if value > -(2**31) else f"({value + 1} - 1)"
            suffix = {"unsigned": "u", "long long": "ll", "float": ".0f", "double": ".0"}[type]
            return f"{value}{suffix}"
        case tree.Var(_, name):
            return name
        case tree.Unary(_, "popc", a):
            return f"__popc({expression(a)})"
        case tree.Unary(("int" | "long long") as type, "-", a):
            return f"({type})-({UNSIGNED[type]})({expression(a)})"
        case tree.Unary(_, op, a):
            return f"{op}({expression(a)})"
        case tree.Binary(_, ("min" | "max") as op, a, b):
            return f"{op}({expression(a)}, {expression(b)})"
        case tree.Binary(("int" | "long long") as type, op, a, b, True):
            wide = UNSIGNED[type]
            return f"({type})(({wide}){expression(a)} {op} ({wide}){expression(b)})"
        case tree.Binary(_, op, a, b):
            return f"({expression(a)} {op} {expression(b)})"
        case tree.Select(_, condition, a, b):
            return f"({expression(condition)} ? {expression(a)} : {expression(b)})"
        case tree.Cast(type, a):
            return f"({type})({expression(a)})"
        case tree.Load(_, array, index):
            return f"{array}[{expression(index)}]"


def warp_call(s: tree.Warp) -> str:
    values = [s.mask or "0xffffffffu", expression(s.value)]
    if s.other is not None:
        values.append(expression(s.other))
    if s.width != 32:
        values.append(str(s.width))
    return f"{s.target} = __{s.op}_sync({', '.join(values)});"


class Text:
    def __init__(self, kernel: tree.Kernel) -> None:
        self.kernel = kernel
        self.lines: list[str] = []
        self.depth = 0
        self.functions = {f.name: f for f in kernel.functions}

    def put(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def block(self, head: str, body: list[tree.Stmt], tail: str = "}") -> None:
        self.put(head + " {")
        self.depth += 1
        for s in body:
            self.statement(s)
        self.depth -= 1
        self.put(tail)

    def statement(self, s: tree.Stmt) -> None:
        match s:
            case tree.Declare(name, type, value):
                self.put(f"{type} {name} = {expression(value)};")
            case tree.DeclareArray(name, type, values):
                listed = ", ".join(map(expression, values))
                self.put(f"{type} {name}[{len(values)}] = {{{listed}}};")
            case tree.Assign(name, value):
                self.put(f"{name} = {expression(value)};")
            case tree.Store(array, index, value):
                self.put(f"{array}[{expression(index)}] = {expression(value)};")
            case tree.Atomic(op, array, index, value):
                self.put(f"atomic{op}(&{array}[{expression(index)}], {expression(value)});")
            case tree.Sync("", _, _):
                self.put("__syncthreads();")
            case tree.Sync(op, predicate, target):
                self.put(f"{target} = __syncthreads_{op}({expression(predicate)});")
            case tree.SyncWarp(mask):
                self.put(f"__syncwarp({mask});")
            case tree.Warp():
                self.put(warp_call(s))
            case tree.If(condition, then, other):
                self.block(f"if ({expression(condition)})", then, "} else {" if other else "}")
                if other:
                    self.depth += 1
                    for inner in other:
                        self.statement(inner)
                    self.depth -= 1
                    self.put("}")
            case tree.For(name, start, condition, following, body):
                head = f"int {name} = {expression(start)}; {expression(condition)}; "
                self.block(f"for ({head}{name} = {expression(following)})", body)
            case tree.While(condition, body, True):
                self.block(f"while ({expression(condition)})", body)
            case tree.While(condition, body, False):
                self.block("do", body, f"}} while ({expression(condition)});")
            case tree.Switch(value, cases):
                self.put(f"switch ({expression(value)}) {{")
                for case in cases:
                    labels = " ".join(f"case {v}:" for v in case.values) or "default:"
                    self.block(labels, case.body, "}" if case.falls else "} break;")
                self.put("}")
            case tree.Break():
                self.put("break;")
            case tree.Continue():
                self.put("continue;")
            case tree.Return(None):
                self.put("return;")
            case tree.Return(value):
                self.put(f"return {expression(value)};")
            case tree.Call(target, name, values):
                function = self.functions[name]
                passed = [PASSED, *self.passed_arrays()]
                if not function.own_positions:
                    passed += tree.POSITIONS
                self.put(f"{target} = {name}({', '.join([*passed, *map(expression, values)])});")

    def passed_arrays(self) -> list[str]:
        return [a.name for a in self.kernel.arrays if a.kind in ("static", "dynamic")]

    def positions(self) -> None:
        size = "blockDim.x"
        number = "threadIdx.x"
        if self.kernel.dimensions == 2:
            size, number = "blockDim.x * blockDim.y", "threadIdx.y * blockDim.x + threadIdx.x"
        elif self.kernel.dimensions == 3:
            size = "blockDim.x * blockDim.y * blockDim.z"
            number = "(threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x"
        self.put(f"const int T = {size}, t = {number}, lane = t & 31, warp = t >> 5;")
        self.put("const int bid = blockIdx.x, gid = bid * T + t, G = gridDim.x * T;")

    def function(self, f: tree.Function) -> None:
        params = [SIGNATURE]
        params += [
            f"{a.type}* {a.name}" for a in self.kernel.arrays if a.kind in ("static", "dynamic")
        ]
        if not f.own_positions:
            params += [f"int {name}" for name in tree.POSITIONS]
        params += [f"{type} {name}" for name, type in f.params]
        self.put(f"__device__ {f.attribute} {f.type} {f.name}({', '.join(params)}) {{")
        self.depth = 1
        if f.own_positions:
            self.positions()
        for s in f.body:
            self.statement(s)
        self.depth = 0
        self.put("}")

    def whole(self) -> str:
        for array in self.kernel.arrays:
            if array.kind == "file":
                self.put(f"__shared__ {array.type} {array.name}[{array.size}];")
        for f in self.kernel.functions:
            self.function(f)
        self.put(f'extern "C" __global__ void {self.kernel.name}({SIGNATURE}) {{')
        self.depth = 1
        for array in self.kernel.arrays:
            if array.kind == "static":
                self.put(f"__shared__ {array.type} {array.name}[{array.size}];")
            elif array.kind == "dynamic":
                self.put(f"extern __shared__ {array.type} {array.name}[];")
        self.positions()
        for s in self.kernel.body:
            self.statement(s)
        self.depth = 0
        self.put("}")
        return "\n".join(self.lines) + "\n"


def render(kernel: tree.Kernel) -> str:
    return Text(kernel).whole()
