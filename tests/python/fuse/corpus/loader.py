"""The corpus as modules of functions, loaded once for NumPy and once for quern: the same text with another `np`."""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

MODULES = (
    "elementwise",
    "integers",
    "complexes",
    "broadcasting",
    "reductions",
    "rows",
    "scans",
    "views",
    "inplace",
    "gather",
    "creation",
    "containers",
    "control",
    "captured",
    "programs",
    "pictures",
    "physics",
    "learning",
    "partly",
    "value_dependent",
)


def unchanged(function: Any = None, **options: Any) -> Any:
    """What `fuse` is where nothing is fused."""
    return function if callable(function) else unchanged


def load(name: str, np: Any, fuse: Callable[..., Any]) -> ModuleType:
    """A module of the corpus that gets `np` where it imports numpy, and `fuse` where it imports that from quern."""

    def importer(wanted: str, *rest: Any) -> Any:
        if wanted == "numpy":
            return np
        return SimpleNamespace(fuse=fuse) if wanted == "quern" else __import__(wanted, *rest)

    path = Path(__file__).with_name(f"{name}.py")
    module = ModuleType(f"fuse.corpus.{name}")
    module.__file__ = str(path)
    module.__dict__["__builtins__"] = {**vars(builtins), "__import__": importer}
    exec(compile(path.read_text(), path, "exec"), module.__dict__)
    return module


@functools.cache
def functions(
    np: Any = np, device: str = "", fuse: Callable[..., Any] = unchanged
) -> dict[str, Any]:
    """The corpus by names. Modules hold arrays, so `device` is the name of quern's current one."""
    found: dict[str, Any] = {}
    for name in MODULES:
        for key, value in vars(load(name, np, fuse)).items():
            if hasattr(value, "cases"):
                assert key not in found, f"two functions of the corpus are called {key}"
                found[key] = value
    return found
