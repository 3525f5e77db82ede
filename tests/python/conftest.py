"""Fixtures of the Python tests: every device of this machine in turn, every dtype, NumPy arrays in every layout."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

import quern
from quern import _core

with contextlib.suppress(ImportError):  # a bare GPU machine may not have it
    import hypothesis

    # The same examples in every run, so that a change is judged by what it changed;
    # QUERN_EXPLORE=1 draws new ones.
    hypothesis.settings.register_profile("same", derandomize=True)
    hypothesis.settings.load_profile("default" if os.environ.get("QUERN_EXPLORE") else "same")

DTYPES = [np.dtype(c) for c in "?bhilBHILefdFD"] + [np.dtype(ml_dtypes.bfloat16)]

LAYOUTS: dict[str, Callable[[npt.NDArray[Any]], npt.NDArray[Any]]] = {
    "c": lambda a: a,
    "f": np.asfortranarray,
    "transposed": lambda a: np.ascontiguousarray(a.T).T,
    "strided": lambda a: np.repeat(np.repeat(a, 2, 0), 3, 1)[::2, ::3],
    "reversed": lambda a: np.ascontiguousarray(a[::-1, ::-1])[::-1, ::-1],
    "offset": lambda a: np.pad(a, ((1, 2), (3, 1)))[1:-2, 3:-1],
}


@functools.cache
def compiles_for_the_cpu() -> bool:
    """False in a build without LLVM: its CPU holds arrays but runs no kernel."""
    try:
        quern.full(2, 1, device="cpu")
    except RuntimeError:
        return False
    return True


@pytest.fixture(scope="session")
def cpu_kernels() -> None:
    """For tests that run kernels on the CPU whatever device was chosen."""
    if not compiles_for_the_cpu():
        pytest.skip("this build compiles for GPUs only (QUERN_LLVM=OFF)")


@functools.cache
def devices_to_test(chosen: str) -> list[str]:
    """The chosen device, else the CPU and the first GPU of those that can run kernels."""
    names: list[str] = _core.device_names()
    if chosen:
        return [n for n in names if chosen in (n, n.split(":")[0])][:1] or names[:1]
    names = [n for n in names if n in ("cpu", "cuda:0")]
    if len(names) > 1 and not compiles_for_the_cpu():
        names.remove("cpu")
    return names


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "device" in metafunc.fixturenames:
        option = metafunc.config.getoption("--device", default=None)
        names = devices_to_test(option or os.environ.get("QUERN_DEVICE", ""))
        metafunc.parametrize("device", names, indirect=True)


@pytest.fixture
def device(request: pytest.FixtureRequest) -> Iterator[quern.Device]:
    """A device, current for the test's length."""
    with quern.Device(request.param) as current:
        yield current


@pytest.fixture(params=DTYPES, ids=str)
def dtype(request: pytest.FixtureRequest) -> np.dtype[Any]:
    """Every dtype that quern has."""
    found: np.dtype[Any] = request.param
    return found


@pytest.fixture(params=LAYOUTS)
def layout(request: pytest.FixtureRequest) -> Callable[[npt.NDArray[Any]], npt.NDArray[Any]]:
    """Turns a 2-D array into an equal one of another layout."""
    return LAYOUTS[request.param]


def sample(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> npt.NDArray[Any]:
    """Values that a dtype holds exactly and that differ from place to place."""
    dtype = np.dtype(dtype)
    random = np.random.default_rng(seed)
    low, high = {"b": (0, 2), "u": (0, 100)}.get(dtype.kind, (-100, 100))
    values = np.empty(shape, dtype)
    values[...] = random.integers(low, high, shape)
    if dtype.kind == "c":
        values[...] += 1j * random.integers(low, high, shape)
    return values


@contextlib.contextmanager
def planned_as(*, gpu_layout: bool = False, narrow_bits: int = 32) -> Iterator[None]:
    """Plans of this thread are made for a GPU whatever the device, with a narrow index of so many bits."""
    _core._plan_as(gpu_layout, narrow_bits)
    try:
        yield
    finally:
        _core._plan_as()


@pytest.fixture
def plan_as() -> Callable[..., contextlib.AbstractContextManager[None]]:
    """`with plan_as(gpu_layout=True, narrow_bits=16):` runs other plans than the device's own."""
    return planned_as


@pytest.fixture
def make() -> Callable[..., npt.NDArray[Any]]:
    """`make(shape, dtype, seed=0)`: a NumPy array of values that the dtype holds exactly."""
    return sample


@pytest.fixture
def equal() -> Callable[[Any, Any], None]:
    """`equal(ours, numpy's)`: the same shape, dtype and bits."""

    def compare(ours: quern.ndarray, theirs: Any) -> None:
        theirs = np.asarray(theirs)
        assert isinstance(ours, quern.ndarray)
        assert ours.shape == theirs.shape
        assert ours.dtype == theirs.dtype
        values = ours.get()
        assert values.shape == theirs.shape
        assert values.dtype == theirs.dtype
        assert values.tobytes() == theirs.tobytes(), f"{values}\n{theirs}"

    return compare
