"""What `import quern` offers and what it costs nobody: names, the cache's figures, threads, fork."""

import subprocess
import sys
import textwrap

import quern


def run(code: str, **environment: str) -> str:
    import os

    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True, text=True, timeout=120, env={**os.environ, **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_all_names_exist():
    for name in quern.__all__:
        assert hasattr(quern, name), name
    for name in quern.cuda.__all__:
        assert hasattr(quern.cuda, name), name
    assert quern.ndarray.__module__ == "quern"
    assert quern.__version__.count(".") == 2


def test_import_is_quiet():
    assert run("""
        import sys, threading
        import quern
        maps = open("/proc/self/maps").read()
        assert "libcuda" not in maps and "nvrtc" not in maps and "quern_cc" not in maps
        assert "ml_dtypes" not in sys.modules
        assert threading.active_count() == 1
        print("quiet")
    """) == "quiet"  # fmt: skip


def test_every_public_thing_is_explained():
    for name in quern.__all__:
        thing = getattr(quern, name)
        if callable(thing) and getattr(thing, "__module__", "").startswith("quern"):
            assert thing.__doc__, name
    for name in dir(quern.ndarray):
        if not name.startswith("_"):
            assert getattr(quern.ndarray, name).__doc__, name


def test_cache_figures():
    stats = quern.cache.stats()
    assert set(stats) == {"memory_hits", "disk_hits", "compiles", "entries", "bytes", "last_miss"}
    assert all(
        isinstance(stats[key], int)
        for key in ("memory_hits", "disk_hits", "compiles", "entries", "bytes")
    )
    assert isinstance(stats["last_miss"], dict)
    assert isinstance(quern.cache.folder(), str)


def test_fork_before_use():
    assert run("""
        import os, sys
        import numpy as np
        import quern
        child = os.fork()
        values = quern.asarray(np.arange(5)).get().tolist()
        assert values == [0, 1, 2, 3, 4]
        if child == 0:
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        print("both")
    """) == "both"  # fmt: skip


def test_fork_after_use():
    """On a GPU the child is told what to do; the CPU goes on working. Neither hangs."""
    out = run("""
        import os, sys
        import numpy as np
        import quern
        array = quern.asarray(np.arange(5))
        array.get()
        gpu = not array.device.is_cpu
        child = os.fork()
        if child == 0:
            try:
                values = quern.asarray(np.arange(5)).get().tolist()
                os._exit(0 if not gpu and values == [0, 1, 2, 3, 4] else 1)
            except RuntimeError as error:
                os._exit(0 if "fork" in str(error) and "spawn" in str(error) else 2)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """)
    assert out == "0"


def test_package_folders():
    folders = quern._core.package_folders()
    assert any(folder.endswith("quern") for folder in folders)
