"""Runs a generated kernel as compiled in each tier, and compares with what it means."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import quern

from . import tree
from .interpret import DTYPES, Machine
from .render import render

Arrays = dict[str, npt.NDArray[Any]]
CHANGED = ("data", "out", "sums")
TIERS: dict[str, tuple[str, ...]] = {
    "fibers": ("--quern-waiting=fibers",),
    "regions": ("--quern-waiting=regions",),
}


def inputs(kernel: tree.Kernel, launch: tuple[int, tuple[int, ...], int]) -> Arrays:
    blocks, block, n = launch
    rng = np.random.default_rng(n * 1000 + blocks)
    lanes = blocks * int(np.prod(block))

    def ints(count: int, dtype: Any = np.int32) -> npt.NDArray[Any]:
        wide = rng.integers(-(2**31), 2**31, count).astype(dtype)
        return np.where(rng.random(count) < 0.5, wide & 255, wide).astype(dtype)

    return {
        "a": ints(n),
        "b": ints(n, np.uint32),
        "data": ints(n),
        "out": ints(lanes * kernel.outputs),
        "sums": ints(16, np.uint32),
    }


def expected(kernel: tree.Kernel) -> list[Arrays]:
    """What the launches leave behind; Illegal if the kernel is no good."""
    results = []
    for launch in kernel.launches:
        arrays = inputs(kernel, launch)
        Machine(kernel, launch).run(arrays)
        results.append(arrays)
    return results


def launched(kernel: tree.Kernel, tier: str) -> list[Arrays]:
    run = quern.RawKernel(render(kernel), kernel.name, TIERS[tier])
    dynamic = sum(
        a.size * np.dtype(DTYPES[a.type]).itemsize for a in kernel.arrays if a.kind == "dynamic"
    )
    results = []
    for launch in kernel.launches:
        blocks, block, n = launch
        arrays = inputs(kernel, launch)
        held = {name: quern.asarray(array) for name, array in arrays.items()}
        scalars = (n, kernel.arguments["p"], kernel.arguments["q"])
        run((blocks,), block, (*held.values(), *scalars), shared_mem=dynamic)
        results.append({name: quern.asnumpy(array) for name, array in held.items()})
    return results


def differences(wanted: list[Arrays], made: list[Arrays]) -> list[str]:
    found = []
    for number, (right, got) in enumerate(zip(wanted, made, strict=True)):
        for name in CHANGED:
            wrong = np.flatnonzero(right[name] != got[name])
            if wrong.size:
                at = int(wrong[0])
                found.append(
                    f"launch {number}, {name}[{at}]: {got[name][at]} instead of {right[name][at]} "
                    f"({wrong.size} of {right[name].size} wrong)"
                )
    return found
