"""Rows of compile time: each kernel of the corpus alone, by the CPU's toolchain and by NVRTC. Run by __main__; prints
JSON lines.

The programs are recorded while the corpus's own tests run; each kernel is then compiled without its neighbours. Both
sides in CPU time of the process, the cache empty, the first compilation of each text not counted. NVRTC needs no GPU.
"""

import contextlib
import io
import json
import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.measure import Row, Sample

SECTION = "compile"
CORPUS = "tests/python/raw/corpus"
REPEATS = 5


@dataclass(frozen=True)
class Kernel:
    """One kernel of a program: what RawModule took, and the name by which it was asked for."""

    place: str  # the test file's name
    name: str
    code: str
    is_expression: bool


def recorded() -> list[Kernel]:
    """Runs the corpus's tests, and notes every kernel that they ask for."""
    import pytest

    import quern

    found: dict[tuple[str, str], Kernel] = {}
    place = ""

    def note(kernel: Kernel) -> None:  # of a template its first instance
        found.setdefault((kernel.place, plain_name(kernel)), kernel)

    class Module:
        def __init__(self, code: str = "", **options: Any) -> None:
            self._module = real_module(code=code, **options)
            self._code, self._names = code, tuple(options.get("name_expressions") or ())

        def get_function(self, name: str) -> Any:
            note(Kernel(place, name, self._code, name in self._names))
            return self._module.get_function(name)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._module, name)

    def raw_kernel(code: str, name: str, *options: Any, **more: Any) -> Any:
        note(Kernel(place, name, code, False))
        return real_kernel(code, name, *options, **more)

    class Places:
        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_setup(self, item: Any) -> None:
            nonlocal place
            place = Path(str(item.fspath)).stem.removeprefix("test_")

    real_module, real_kernel = quern.RawModule, quern.RawKernel
    patched: Any = quern
    patched.RawModule, patched.RawKernel = Module, raw_kernel
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            status = pytest.main(["-q", "-p", "no:cacheprovider", CORPUS], plugins=[Places()])
    finally:
        patched.RawModule, patched.RawKernel = real_module, real_kernel
    if status != 0:
        raise RuntimeError("the corpus's tests fail")
    return list(found.values())


def plain_name(kernel: Kernel) -> str:
    return re.split(r"[<(]", kernel.name)[0].split("::")[-1]


GLOBAL = re.compile(
    r"__global__\s+(?:void\s+)?(?:__launch_bounds__\s*\((?:[^()]|\([^()]*\))*\)\s*)?(?:void\s+)?(\w+)\s*\("
)


def alone(kernel: Kernel) -> str:
    """The program without the definitions of its other kernels."""
    wanted = plain_name(kernel)
    text, kept, at = kernel.code, [], 0
    for found in GLOBAL.finditer(text):
        if found.start() < at or found[1] == wanted or in_macro(text, found.start()):
            continue
        begin = max(text.rfind(mark, 0, found.start()) for mark in (";", "}", "\n\n")) + 1
        line = text.rfind(
            "\n#", max(begin - 1, 0), found.start()
        )  # a directive right above it stays
        begin = max(begin, text.find("\n", line + 1) + 1)
        end = text.find("{", found.end())
        if end < 0 or begin < at or "#" in text[begin : found.start()]:
            continue
        depth = 1
        while depth and end + 1 < len(text):
            end += 1
            depth += {"{": 1, "}": -1}.get(text[end], 0)
        kept.append(text[at:begin])
        at = end + 1
    return "".join(kept) + text[at:]


def in_macro(text: str, at: int) -> bool:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    before = text[: text.rfind("\n", 0, at) + 1]
    return line.lstrip().startswith("#") or before.endswith("\\\n")


def library() -> Path:
    """The CPU's compiler that this quern uses."""
    from quern import _core

    return Path(_core.__file__).resolve().with_name("libquern_cc.so")


def tool() -> Path:
    """The program of compile_times.cpp, in the build folder that this quern comes from."""
    path = library().parents[2] / "tests" / "bench" / "quern_compile_times"
    if not path.exists():
        raise RuntimeError(f"no {path}: this quern does not run from its build folder")
    return path


def timed(programs: list[tuple[str, list[str]]]) -> list[dict[str, Any]]:
    """For each program its times on the CPU, then on NVRTC."""
    request = [f"repeats {REPEATS}\n".encode()]
    for code, names in programs:
        text = code.encode()
        request += [f"program {len(text)} {len(names)}\n".encode(), text, b"\n"]
        request += [f"{name}\n".encode() for name in names]
    with tempfile.TemporaryDirectory(prefix="quern-bench-") as cache:
        done = subprocess.run(
            [tool()],
            input=b"".join(request),
            env=dict(os.environ, QUERN_CACHE_DIR=cache, QUERN_CC_LIBRARY=str(library())),
            stdout=subprocess.PIPE,
            check=True,
        )
    return [json.loads(line) for line in done.stdout.decode().splitlines()]


def rows() -> list[Row]:
    kernels = recorded()
    results = timed([(alone(k), [k.name] if k.is_expression else []) for k in kernels])
    made = []
    for kernel, ours, theirs in zip(kernels, results[::2], results[1::2], strict=True):
        row = Row(SECTION, f"{kernel.place}: {kernel.name}", "ms")
        if ours["failed"]:
            row.skipped = ours["failed"]
        else:
            row.ours = Sample.of(ours["times"])
        if theirs["failed"]:
            row.note = f"NVRTC: {theirs['failed']}"
        else:
            row.reference, row.reference_name = Sample.of(theirs["times"]), "NVRTC"
        made.append(row)
    return made


def main() -> None:
    for made in rows():
        print(made.as_json(), flush=True)


if __name__ == "__main__":
    main()
