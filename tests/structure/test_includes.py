"""The house rules that a machine can hold: include directions, a README per room, opening comments, guards, paths.

The table below is docs' table of rooms; a line that breaks it is shown with its file and number.
"""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# A room may include itself, these rooms, and all that those may.
MAY_INCLUDE: dict[str, tuple[str, ...]] = {
    "compiler/base": (),
    "compiler/spec": ("compiler/base",),
    "compiler/ops": ("compiler/base", "compiler/spec"),
    "compiler/resolve": ("compiler/spec", "compiler/ops"),
    "compiler/prelude": (),
    "compiler/plan": ("compiler/resolve",),
    "compiler/codegen": ("compiler/plan", "compiler/prelude"),
    "compiler/fusion": ("compiler/codegen",),
    "compiler/host": ("compiler/base",),
    "compiler/backend": ("compiler/base",),
    "compiler/cache": ("compiler/backend",),
    "compiler": ("compiler/fusion", "compiler/cache"),  # the door: compile.h, compile.cpp
    "runtime/driver": ("compiler/base",),
    "runtime/host": ("runtime/driver",),
    "runtime/device": ("runtime/host",),
    "runtime/stream": ("runtime/device",),
    "runtime/memory": ("runtime/stream",),
    "runtime/array": ("runtime/memory",),
    "runtime/texture": ("runtime/array",),
    "runtime/blas": ("runtime/array",),
    "runtime/kernel": ("runtime/texture", "runtime/blas"),
    "runtime/fusion": ("runtime/kernel", "compiler/fusion"),
    "python/bindings": ("runtime/fusion", "compiler"),
}

# Single headers past the table: the C ABI of the host compiler, which its backend calls, and the compiler's door.
DOOR = "compiler/compile.h"
SINGLE_HEADERS: dict[str, tuple[str, ...]] = {
    "compiler/backend": ("compiler/host/quern_cc.h",),
    "runtime/kernel": (DOOR,),
}
# Rooms whose headers come through the door with it, as far as the door includes them.
BEHIND_THE_DOOR = ("compiler/spec", "compiler/resolve", "compiler/plan", "compiler/codegen")

SOURCE_SUFFIXES = {".h", ".cpp", ".cuh", ".def", ".inc"}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
# Written in two halves so that this file does not mention them.
MACHINE_PATHS = re.compile(
    "|".join(("/wo" + "rk/", "/ro" + "ot/", "/ho" + r"me/[a-z]+/", "/bash" + "_jobs"))
)


@cache
def tracked() -> tuple[str, ...]:
    """Every file of the repository, by path from its root; without git, every file that is not a build's."""
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True
        ).stdout.split("\0")
        files = [name for name in listed if name]
    except (OSError, subprocess.CalledProcessError):
        files = []
    if not files:
        skipped = ("build", ".", "dist", "out")
        files = [
            path.relative_to(ROOT).as_posix()
            for top in sorted(ROOT.iterdir())
            if not top.name.startswith(skipped)
            for path in ([top] if top.is_file() else sorted(top.rglob("*")))
            if path.is_file() and "__pycache__" not in path.parts
        ]
    return tuple(
        name for name in files if (ROOT / name).is_file() and not (ROOT / name).is_symlink()
    )


@cache
def text_of(name: str) -> str | None:
    """The file's text, or None when it is not text."""
    try:
        return (ROOT / name).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def room_of(name: str) -> str | None:
    """The room that a file stands in: the longest key of the table that is a folder above it."""
    rooms = [room for room in MAY_INCLUDE if name.startswith(room + "/")]
    return max(rooms, key=len, default=None)


@cache
def reach(room: str) -> frozenset[str]:
    """All rooms that `room` may include."""
    return frozenset({room}).union(*(reach(other) for other in MAY_INCLUDE[room]))


def includes_of(name: str) -> list[tuple[int, str]]:
    """(line number, included path) of every quoted include."""
    lines = (text_of(name) or "").splitlines()
    return [(k, found[1]) for k, line in enumerate(lines, 1) if (found := INCLUDE.match(line))]


def behind_the_door() -> set[str]:
    """Headers that compile.h includes, at any depth, from rooms whose types its callers need."""
    seen: set[str] = set()
    waiting = [DOOR]
    while waiting:
        name = waiting.pop()
        if name in seen or not (ROOT / name).is_file():
            continue
        seen.add(name)
        waiting += [path for _, path in includes_of(name)]
    return {name for name in seen if room_of(name) in BEHIND_THE_DOOR}


def sources() -> list[str]:
    """Every C++ file of a room."""
    return [name for name in tracked() if room_of(name) and Path(name).suffix in SOURCE_SUFFIXES]


def forbidden_include(name: str, path: str, extra: set[str]) -> str | None:
    """Why this include line is wrong, or None."""
    room = room_of(name)
    assert room is not None
    if room == "compiler/prelude" and path.startswith("quern/"):
        return None  # pieces of the prelude name each other as kernels do
    if path.startswith("."):
        return "paths start at the root of the repository"
    target = room_of(path)
    if target is None:
        # A header of a room's own, made by the build or shipped beside its sources.
        return (
            None
            if "/" not in path or not path.startswith(("compiler/", "runtime/", "python/"))
            else "no such room"
        )
    if target in reach(room) or path in SINGLE_HEADERS.get(room, ()) or path in extra:
        return None
    return f"{room} may include {', '.join(sorted(reach(room) - {room})) or 'nothing but itself'}"


def test_includes_follow_the_table() -> None:
    through_door = behind_the_door()
    wrong = []
    for name in sources():
        extra = through_door if room_of(name) == "runtime/kernel" else set()
        for number, path in includes_of(name):
            if reason := forbidden_include(name, path, extra):
                wrong.append(f'{name}:{number}: #include "{path}": {reason}')
    assert not wrong, "\n" + "\n".join(wrong)


def test_the_table_has_no_circle_and_knows_every_folder() -> None:
    for room in MAY_INCLUDE:
        assert not any(room in reach(other) for other in MAY_INCLUDE[room]), (
            f"{room} reaches itself"
        )
    folders = {"/".join(Path(name).parts[:2]) for name in tracked() if len(Path(name).parts) > 2}
    rooms = {folder for folder in folders if folder.startswith(("compiler/", "runtime/"))}
    assert rooms <= set(MAY_INCLUDE), f"not in the table: {sorted(rooms - set(MAY_INCLUDE))}"


def test_included_files_exist() -> None:
    missing = [
        f'{name}:{number}: #include "{path}"'
        for name in sources()
        for number, path in includes_of(name)
        if room_of(path) and not (ROOT / path).is_file()
    ]
    assert not missing, "\n" + "\n".join(missing)


def test_every_room_has_a_readme() -> None:
    occupied = {room_of(name) for name in sources()} - {None, "compiler"}
    missing = sorted(room for room in occupied if room and f"{room}/README.md" not in tracked())
    assert not missing, f"README.md is missing in: {', '.join(missing)}"


def test_files_open_with_a_comment() -> None:
    openings = {
        ".h": ("//", "/*"),
        ".cpp": ("//", "/*"),
        ".cuh": ("//", "/*"),
        ".py": ('"""', 'r"""', "#"),
    }
    bare = []
    for name in tracked():
        wanted = openings.get(Path(name).suffix)
        if wanted is None:
            continue
        lines = [
            line
            for line in (text_of(name) or "").splitlines()
            if line and not line.startswith("#!")
        ]
        if lines and not lines[0].startswith(wanted):
            bare.append(f"{name}: {lines[0]}")
    assert not bare, "\n" + "\n".join(bare)


def test_headers_have_guards() -> None:
    guard = re.compile(r"^#\s*(pragma once|ifndef \w+)", re.MULTILINE)
    # The main files of the host compiler's precompiled headers: clang warns of #pragma once there.
    main_files = {
        "compiler/host/device/builtins.cuh",
        "compiler/host/device/builtins_short.cuh",
    }
    headers = [
        name for name in sources() if Path(name).suffix in {".h", ".cuh"} and name not in main_files
    ]
    open_ones = [name for name in headers if not guard.search(text_of(name) or "")]
    assert not open_ones, f"neither #pragma once nor a guard: {', '.join(open_ones)}"


def test_no_file_mentions_a_machine() -> None:
    found = [
        f"{name}:{number}: {line.strip()[:120]}"
        for name in tracked()
        if (text := text_of(name)) and MACHINE_PATHS.search(text)
        for number, line in enumerate(text.splitlines(), 1)
        if MACHINE_PATHS.search(line)
    ]
    assert not found, "\n" + "\n".join(found)


def test_the_rules_bite() -> None:
    """Each kind of wrong include is seen."""
    assert forbidden_include("compiler/spec/a.cpp", "compiler/resolve/signature.h", set())
    assert forbidden_include("compiler/base/a.h", "runtime/driver/api.h", set())
    assert forbidden_include("compiler/plan/a.h", "compiler/codegen/writer.h", set())
    assert forbidden_include("runtime/kernel/a.cpp", "compiler/codegen/writer.h", set())
    assert forbidden_include("runtime/driver/a.cpp", "../host/a.h", set())
    assert forbidden_include("compiler/backend/a.cpp", "compiler/host/passes.h", set())
    assert forbidden_include("runtime/array/a.cpp", DOOR, set())
    assert forbidden_include("runtime/driver/a.cpp", "runtime/attic/a.h", set())
    assert not forbidden_include("runtime/kernel/a.cpp", DOOR, set())
    assert not forbidden_include("runtime/host/a.cpp", "compiler/base/host_abi.h", set())
    assert not forbidden_include("runtime/kernel/a.cpp", "compiler/spec/a.h", {"compiler/spec/a.h"})
    assert not forbidden_include("compiler/prelude/quern/a.cuh", "quern/half.cuh", set())
