"""What every Python test shares: a cache of its own, the choice of device, and the markers' meaning.

`pytest --device cuda:0` runs the suite on that device; without it quern's own default is used (the first GPU, else
the CPU). Tests ask for the `device` fixture when they need the name.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

# Set before anything imports quern: settings are read once.
_cache = tempfile.mkdtemp(prefix="quern-test-cache-")
os.environ["QUERN_CACHE_DIR"] = _cache


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--device", default=None, help="device for the whole run: cpu, cuda, cuda:1 (QUERN_DEVICE)"
    )


def pytest_configure(config: pytest.Config) -> None:
    if chosen := config.getoption("--device"):
        os.environ["QUERN_DEVICE"] = chosen


def pytest_unconfigure(config: pytest.Config) -> None:
    shutil.rmtree(_cache, ignore_errors=True)


def device_names() -> list[str]:
    """Names of the devices of this machine, or none if quern does not import (structure tests run without it)."""
    try:
        from quern import _core
    except ImportError:
        return []
    return [str(name) for name in _core.device_names()]


def _free_gib() -> float:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable"):
            return int(line.split()[1]) / 2**20
    return 0.0


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    marked = {m: [i for i in items if i.get_closest_marker(m)] for m in ("gpu", "host", "big")}
    names = device_names() if marked["gpu"] or marked["host"] else []
    for item in marked["gpu"]:
        if not any(name.startswith("cuda") for name in names):
            item.add_marker(pytest.mark.skip(reason="no NVIDIA GPU here"))
    for item in marked["host"]:
        if "cpu" not in names:
            item.add_marker(pytest.mark.skip(reason="built without LLVM: no CPU backend"))
    for item in marked["big"]:
        need = float((item.get_closest_marker("big").args or (8,))[0])
        if _free_gib() < need:
            item.add_marker(pytest.mark.skip(reason=f"needs {need:g} GiB of free memory"))


@pytest.fixture(scope="session")
def device() -> str:
    """The name of the device that the run uses: "cpu", "cuda:0"."""
    names = device_names()
    if not names:
        pytest.skip("no device")
    chosen = os.environ.get("QUERN_DEVICE", "")
    if chosen:
        return next((n for n in names if n == chosen or n.split(":")[0] == chosen), names[0])
    return next((n for n in names if n.startswith("cuda")), names[0])


@pytest.fixture
def empty_cache_dir(tmp_path: Path) -> Iterator[Path]:
    """A folder for a child process's QUERN_CACHE_DIR; mode 0700, as the cache wants it."""
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    return folder
