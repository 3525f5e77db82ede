"""What a generated kernel is made of. Every expression says its C++ type; threads are named by position variables."""

from __future__ import annotations

from dataclasses import dataclass, field

# Known in every body: t (number in the block), lane, warp, gid (number in the grid), T (threads of a block),
# G (threads of the grid), bid (block), and the kernel's arguments n, p, q.
POSITIONS = ("t", "lane", "warp", "gid", "T", "G", "bid")
ARGUMENTS = ("n", "p", "q")


@dataclass(frozen=True)
class Const:
    type: str
    value: int


@dataclass(frozen=True)
class Var:
    type: str  # what it has become in an expression
    name: str


@dataclass(frozen=True)
class Unary:
    type: str
    op: str  # - ~ popc
    a: Expr


@dataclass(frozen=True)
class Binary:
    type: str  # of the operands; what compares is an int
    op: str
    a: Expr
    b: Expr
    wraps: bool = False  # may leave the range of a signed type: computed as unsigned


@dataclass(frozen=True)
class Select:
    type: str
    condition: Expr
    a: Expr
    b: Expr


@dataclass(frozen=True)
class Cast:
    type: str
    a: Expr


@dataclass(frozen=True)
class Load:
    type: str
    array: str
    index: Expr


Expr = Const | Var | Unary | Binary | Select | Cast | Load


@dataclass
class Declare:
    name: str
    type: str
    value: Expr


@dataclass
class DeclareArray:  # a thread's own
    name: str
    type: str
    values: list[Expr]


@dataclass
class Assign:
    name: str
    value: Expr


@dataclass
class Store:
    array: str
    index: Expr
    value: Expr


@dataclass
class Atomic:
    op: str  # Add Min Max And Or Xor
    array: str
    index: Expr
    value: Expr


@dataclass
class Sync:
    op: str = ""  # count, and, or: with a predicate and a target
    predicate: Expr | None = None
    target: str = ""


@dataclass
class SyncWarp:
    mask: str = ""  # the full one, or a variable's


@dataclass
class Warp:
    """target = __op_sync(mask, value, other, width)."""

    target: str
    op: str  # shfl shfl_up shfl_down shfl_xor ballot any all match_any reduce_*
    value: Expr
    other: Expr | None = None
    width: int = 32
    mask: str = ""


@dataclass
class If:
    condition: Expr
    then: list[Stmt]
    other: list[Stmt] = field(default_factory=list)


@dataclass
class For:
    name: str
    start: Expr
    condition: Expr
    next: Expr
    body: list[Stmt]


@dataclass
class While:
    condition: Expr
    body: list[Stmt]
    first: bool = True  # False: do ... while


@dataclass
class Case:
    values: list[int]  # none: default, the last one
    body: list[Stmt]
    falls: bool = False


@dataclass
class Switch:
    value: Expr
    cases: list[Case]


@dataclass
class Break:
    pass


@dataclass
class Continue:
    pass


@dataclass
class Return:
    value: Expr | None = None


@dataclass
class Call:
    target: str
    function: str
    values: list[Expr]


Stmt = (
    Declare
    | DeclareArray
    | Assign
    | Store
    | Atomic
    | Sync
    | SyncWarp
    | Warp
    | If
    | For
    | While
    | Switch
    | Break
    | Continue
    | Return
    | Call
)


@dataclass
class Array:
    name: str
    type: str
    kind: str  # argument, static, file (static, at file scope), dynamic
    size: int  # shared ones: for the largest block


@dataclass
class Function:
    name: str
    type: str
    params: list[tuple[str, str]]
    body: list[Stmt]
    attribute: str  # __noinline__, __forceinline__ or none
    own_positions: bool  # reads threadIdx itself instead of being told


@dataclass
class Kernel:
    name: str
    dimensions: int
    arrays: list[Array]
    functions: list[Function]
    body: list[Stmt]
    launches: list[tuple[int, tuple[int, ...], int]]  # blocks, block, n
    arguments: dict[str, int]  # p, q
    outputs: int  # of each thread
