"""Compiles a C++ file of this folder and opens it: what rows are held against is built on the machine that measures."""

import ctypes
import os
import subprocess
from pathlib import Path


def compiler() -> str:
    """The system's C++ compiler, or the one that CXX names."""
    return os.environ.get("CXX", "c++")


def build(name: str, *flags: str) -> ctypes.CDLL:
    """The library made of `name` with these flags; raises RuntimeError with the reason."""
    source = Path(__file__).with_name(name)
    target = Path("out/bench") / f"lib{source.stem}.so"
    target.parent.mkdir(parents=True, exist_ok=True)
    command = [compiler(), "-std=c++17", "-shared", "-fPIC", str(source), "-o", str(target), *flags]
    try:
        made = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise RuntimeError(f"no C++ compiler ({compiler()}) for {name}") from None
    if made.returncode != 0:
        raise RuntimeError(f"{name} does not compile: {made.stderr.strip()[-300:]}")
    return ctypes.CDLL(str(target.resolve()))
