"""The example of a physics step: one text for NumPy, eager and fused calls, all with the same result."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quern


@pytest.fixture(scope="module")
def example() -> Any:
    path = Path(__file__).parents[3] / "examples" / "shallow_water.py"
    spec = importlib.util.spec_from_file_location("shallow_water", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_fused_as_numpy(example: Any, device: quern.Device) -> None:
    start = example.drop(200)
    wide = example.flow(example.step, [part.astype("f8") for part in start], 40)
    here = [quern.asarray(part) for part in start]
    eager = example.flow(example.step, here, 40)
    fused = example.flow(example.fused_step, here, 40)
    for one, other, wanted in zip(fused, eager, wide, strict=True):
        np.testing.assert_array_equal(one.get(), other.get())
        np.testing.assert_allclose(one.get(), wanted, atol=1e-5)
    assert not np.array_equal(wide[0], start[0])
    assert len(example.fused_step.explain(here, [part.copy() for part in here]).kernels) == 2


def test_it_tallies_what_eager_calls_move(example: Any) -> None:
    start = [part.view(example.Tally) for part in example.drop(10)]
    example.step(start, [part.copy() for part in start])
    inner, whole = 64, 100
    assert example.Tally.operations == 10 * whole + 27 * inner
    assert example.Tally.moved > 4 * 2 * example.Tally.operations


def test_it_runs(
    example: Any, device: quern.Device, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    example.main(["--size", "64", "--steps", "3", "--out", str(tmp_path / "water.png")])
    assert (tmp_path / "water.png").read_bytes().startswith(b"\x89PNG")
    said = capsys.readouterr().out
    assert "step: 2 fused kernels" in said
    assert "fused" in said.splitlines()[-3]
