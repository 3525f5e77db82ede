"""`python -m quern doctor` and `python -m quern cache`: what the one search saw, in words for people."""

import os
import platform
import sys
from pathlib import Path
from typing import Any

from quern._report import binary_bytes, describe_devices, table

# Without these nothing runs on that kind of device; the rest serve single families of functions.
_NEEDED = {"cuda": "cuda", "nvrtc": "cuda", "quern_cc": "cpu"}


def doctor(*, verbose: bool = False) -> int:
    """Prints what quern found on this machine, with remedies; returns 1 if no kernel can run here, else 0."""
    import numpy as np

    print(f"Python    {platform.python_version()}  {sys.executable}")
    print(f"NumPy     {np.__version__}")
    try:
        import quern
        from quern import _core
    except ImportError as error:
        print(f"quern     does not load: {error}")
        print(
            "          remedy: reinstall it (pip install --force-reinstall quern); the text above names the cause"
        )
        return 1
    print(f"quern     {quern.__version__}  {Path(quern.__file__).parent}")
    machine = f"{platform.system()} {platform.release()} {platform.machine()}"
    print(f"system    {machine}, {usable_cpus()} CPUs for this process")

    findings: list[dict[str, Any]] = list(_core.survey_libraries())
    devices = describe_devices()
    print("\nDevices")
    print(
        table(
            [(d.description or d.name, d.backend, "" if d.usable else d.problem) for d in devices]
        )
        or "  none"
    )
    by_name = {str(f["name"]): f for f in findings}
    for kind in ("cuda", "cpu"):
        if not any(d.name.startswith(kind) for d in devices):
            reasons = [
                f"{n} was not found"
                for n, k in _NEEDED.items()
                if k == kind and not by_name.get(n, {}).get("path")
            ]
            print(f"  no {kind} device: {'; '.join(reasons) or 'the driver reports none'}")

    print("\nLibraries")
    print(
        table(
            [
                (
                    str(f["name"]),
                    str(f["version"]) or ("found" if f["path"] else "-"),
                    str(f["path"]) or "not found",
                )
                for f in findings
            ]
        )
    )
    wanting = [f for f in findings if f["remedy"]]
    if wanting:
        print("\nRemedies (only for what you need)")
        for finding in wanting:
            print(f"  {finding['name']}: {finding['remedy']}")
            if verbose:
                for place in finding["tried"]:
                    print(f"      looked in {place}")

    print("\nCache")
    print_cache()
    settings = sorted(
        name
        for name in os.environ
        if name.startswith("QUERN_") or name in ("CUDA_PATH", "CUDA_HOME")
    )
    if settings:
        print("\nSettings from the environment")
        print(table([(name, os.environ[name]) for name in settings]))

    runnable = [d for d in devices if d.usable]
    print()
    if not runnable:
        print("No kernel can run here: see the remedies above.")
        return 1
    print(f"Kernels run on {', '.join(d.name for d in runnable)}.")
    return 0


def cache_command(action: str) -> int:
    """`python -m quern cache stats|clear|path`; returns the exit status."""
    import quern

    if action == "path":
        print(quern.cache.folder() or "no folder: compiled kernels stay in memory")
    elif action == "clear":
        before = quern.cache.stats()
        quern.cache.clear()
        after = quern.cache.stats()
        gone = int(before["entries"]) - int(after["entries"])
        print(f"removed {gone} entries, {binary_bytes(int(before['bytes']) - int(after['bytes']))}")
        if int(after["entries"]):
            print(
                f"{after['entries']} entries could not be removed from {quern.cache.folder()}",
                file=sys.stderr,
            )
            return 1
    else:
        print_cache()
    return 0


def print_cache() -> None:
    """Folder, state and figures of the cache on disk."""
    import quern

    stats, folder = quern.cache.stats(), quern.cache.folder()
    limit = os.environ.get("QUERN_CACHE_SIZE", "1 GiB")
    print(
        table(
            [
                ("folder", folder or "none: compiled kernels stay in memory"),
                ("state", folder_state(folder)),
                ("entries", str(stats["entries"])),
                ("size", f"{binary_bytes(int(stats['bytes']))} of at most {limit}"),
            ]
        )
    )


def folder_state(folder: str) -> str:
    """Whether the cache folder can be used, and why not."""
    if not folder:
        return "no disk cache (set QUERN_CACHE_DIR or HOME)"
    path = Path(folder)
    if not path.exists():
        parent = next(p for p in path.parents if p.exists())
        return (
            "not made yet"
            if os.access(parent, os.W_OK)
            else f"cannot be made: {parent} is not writable"
        )
    if not path.is_dir():
        return "not a folder: name another with QUERN_CACHE_DIR"
    if not os.access(path, os.W_OK | os.X_OK):
        return "not writable: compiled kernels stay in memory"
    status = path.stat()
    if status.st_uid != os.getuid():
        return f"belongs to another user (uid {status.st_uid})"
    if status.st_mode & 0o022:
        return "others may write to it: refused unless QUERN_CACHE_TRUST_SHARED=1 (chmod go-w mends it)"
    return "ready"


def usable_cpus() -> int:
    """CPUs that this process may run on."""
    return len(os.sched_getaffinity(0))
