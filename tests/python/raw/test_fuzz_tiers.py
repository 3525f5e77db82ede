"""Generated kernels mean the same in each tier of the CPU and in an interpreter of their trees.

QUERN_FUZZ=1000:1500 tries these seeds as well; `python -m fuzz` beside this file hunts in processes of their own and
makes what fails smaller.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from fuzz import compare, tree
from fuzz.generate import generate
from fuzz.interpret import Illegal
from fuzz.render import render

import quern

pytestmark = pytest.mark.skipif(
    quern.cuda.is_available() and os.environ.get("QUERN_DEVICE") != "cpu",
    reason="a GPU has one tier",
)


FOUND = (710180,)  # the compiler read a value that was gone


def seeds() -> list[int]:
    first, _, last = os.environ.get("QUERN_FUZZ", "0:0").partition(":")
    return [*range(1, 25), *FOUND, *range(int(first), int(last))]


@pytest.mark.parametrize("seed", seeds())
def test_tiers_agree_with_the_meaning(seed):
    kernel = generate(seed)
    wanted = compare.expected(kernel)
    for tier in compare.TIERS:
        wrong = compare.differences(wanted, compare.launched(kernel, tier))
        assert not wrong, f"{tier}: {wrong}\n{render(kernel)}"


def waits(kernel: tree.Kernel) -> bool:
    return "_sync(" in (text := render(kernel)) or "__sync" in text


COMPILE = """
import sys
from fuzz.compare import TIERS
from fuzz.generate import generate
from fuzz.render import render
import quern
with quern.Device("cpu"):
    for seed in map(int, sys.argv[1:]):
        kernel = generate(seed)
        quern.RawKernel(render(kernel), kernel.name, TIERS["regions"]).compile()
"""


def test_most_kernels_that_wait_are_cut_in_regions(tmp_path):
    chosen = [seed for seed in range(1, 25) if waits(generate(seed))][:8]
    environment = os.environ | {
        "QUERN_CACHE_DIR": str(tmp_path),
        "PYTHONPATH": os.pathsep.join([*sys.path, str(Path(__file__).parent)]),
    }
    command = [sys.executable, "-c", COMPILE, *map(str, chosen)]
    subprocess.run(command, env=environment, check=True, timeout=120)
    objects = [p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()]
    objects = [data for data in objects if b"__quern_run_" in data]
    assert len(objects) == len(chosen)
    cut = sum(b"__quern_run_regions" in data for data in objects)
    assert cut >= 0.7 * len(chosen)


def one_body(body: list[tree.Stmt], arrays: list[tree.Array]) -> tree.Kernel:
    given = [tree.Array(name, "int", "argument", 0) for name in ("a", "data", "out")]
    launches = [(1, (64,), 64)]
    return tree.Kernel("one", 1, given + arrays, [], body, launches, {"p": 1, "q": 2}, 4)


T_VAR, N = tree.Var("int", "t"), tree.Var("int", "T")
NEXT = tree.Binary("int", "%", tree.Binary("int", "+", T_VAR, tree.Const("int", 1)), N)
WRITE = tree.Store("s", T_VAR, T_VAR)
READ = tree.Declare("v", "int", tree.Load("int", "s", NEXT))
FEW = tree.Binary("int", "<", T_VAR, tree.Const("int", 5))


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ([WRITE, READ], "read what another thread writes"),
        ([WRITE, tree.Sync(), READ, WRITE], "written while another thread reads"),
        ([tree.Store("s", tree.Const("int", 0), T_VAR)], "two threads write"),
        ([READ], "read before it was written"),
        ([tree.If(FEW, [tree.Sync()])], "a barrier that some threads do not reach"),
        ([tree.If(FEW, [tree.SyncWarp()])], "a warp operation that some lanes"),
        ([tree.Store("s", tree.Var("int", "G"), T_VAR)], "out of range"),
    ],
)
def test_the_interpreter_finds_kernels_without_meaning(body, complaint):
    array = tree.Array("s", "int", "static", 64)
    with pytest.raises(Illegal, match=complaint):
        compare.expected(one_body(body, [array]))
    sound = [WRITE, tree.Sync(), READ, tree.Sync(), WRITE]
    compare.expected(one_body(sound, [array]))
