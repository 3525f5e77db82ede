"""The cache of compiled kernels: in memory by signature, on disk by everything that can change the binary.

Settings: QUERN_CACHE_DIR (the folder; empty: no disk), QUERN_CACHE_SIZE (bytes, or as in "512M"; the least recently
used entries go first). A disk that fails costs one RuntimeWarning; kernels are then kept in memory alone.
"""

from __future__ import annotations

from typing import TypedDict

from quern import _core

__all__ = ["Stats", "clear", "folder", "stats"]


class Stats(TypedDict):
    """What the cache did in this process, and what lies on its disk."""

    memory_hits: int
    disk_hits: int
    compiles: int
    entries: int  # on disk
    bytes: int  # on disk
    last_miss: dict[
        str, str
    ]  # fields of the last missed key that differ from the nearest entry seen


def stats() -> Stats:
    """Figures since the process began; `entries` and `bytes` are those of the folder now."""
    figures = _core.cache_stats()
    return Stats(
        memory_hits=figures["memory_hits"],
        disk_hits=figures["disk_hits"],
        compiles=figures["compiles"],
        entries=figures["entries"],
        bytes=figures["bytes"],
        last_miss=figures["last_miss"],
    )


def clear() -> None:
    """Remove every entry on disk and forget what was compiled; loaded kernels go on working."""
    _core.cache_clear()


def folder() -> str:
    """The folder on disk; "" if compiled kernels stay in memory."""
    return _core.cache_folder()
