"""python -m fuzz FIRST LAST [--reduce]: tries these seeds, in processes that may crash or hang."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

from . import compare, tree
from .generate import generate
from .interpret import Illegal
from .reduce import reduce
from .render import render

PATIENCE = 60  # seconds for one kernel


def complaints(kernel: tree.Kernel) -> list[str]:
    """What goes wrong with the kernel in this process; Illegal if it has no meaning."""
    wanted = compare.expected(kernel)
    found = []
    for tier in compare.TIERS:
        try:
            wrong = compare.differences(wanted, compare.launched(kernel, tier))
        except RuntimeError as error:
            wrong = [str(error)]
        found += [f"{tier}: {line}" for line in wrong]
    return found


def still_fails(kernel: tree.Kernel) -> bool:
    try:
        return bool(complaints(kernel))
    except (Illegal, ValueError, KeyError, AttributeError):  # too small to be a kernel
        return False


def work(first: int, last: int, smaller: bool) -> None:
    for seed in range(first, last):
        print(f"seed {seed}", flush=True)
        kernel = generate(seed)
        found = complaints(kernel)
        if found and smaller:
            kernel = reduce(kernel, still_fails)
            found = complaints(kernel)
        if found:
            print("\n".join([f"seed {seed} fails", *found, render(kernel)]), flush=True)
            print(kernel.launches, kernel.arguments, flush=True)


def supervise(first: int, last: int, smaller: bool) -> int:
    failures = 0
    command = [sys.executable, "-m", "fuzz", "--worker", *(["--reduce"] if smaller else [])]
    environment = os.environ | {"QUERN_CACHE_DIR": ""}
    while first < last:
        end = min(first + 20, last)
        patience = PATIENCE * (20 if smaller else 3)
        try:
            done = subprocess.run(
                [*command, str(first), str(end)],
                env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                timeout=patience, check=False,
            )  # fmt: skip
            text, status = done.stdout.decode(errors="replace"), f"ended with {done.returncode}"
            broken = done.returncode != 0
        except subprocess.TimeoutExpired as error:
            text, status, broken = (error.stdout or b"").decode(errors="replace"), "hangs", True
        lines = text.splitlines()
        begun = [line for line in lines if line.startswith("seed ") and "fails" not in line]
        failures += sum(line.endswith(" fails") for line in lines) + broken
        print("\n".join(line for line in lines if line not in begun))
        first = end
        if broken:
            print(f"{begun[-1] if begun else first}: the process {status}", flush=True)
            first = int(begun[-1].split()[1]) + 1 if begun else end
    print(f"{failures} failures")
    return failures


def main() -> int:
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    parser.add_argument("--reduce", action="store_true", help="make failing kernels smaller")
    parser.add_argument("--worker", action="store_true", help="try them in this process")
    given = parser.parse_args()
    if given.worker:
        work(given.first, given.last, given.reduce)
        return 0
    return min(supervise(given.first, given.last, given.reduce), 100)


if __name__ == "__main__":
    sys.exit(main())
