"""The recorded kernels, which the compiler's tests compile for GPUs that are not here, are those of today's tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CORPUS = HERE.parents[1] / "compiler" / "compile" / "corpus.txt"


@pytest.mark.slow
def test_corpus_is_what_the_tests_call(tmp_path: Path, cpu_kernels: None) -> None:
    recorded = tmp_path / "kernels.txt"
    modules = [str(p) for p in sorted(HERE.glob("test_*.py")) if p.name != Path(__file__).name]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--device=cpu",
        *modules,
    ]
    run = subprocess.run(
        command,
        env={**os.environ, "QUERN_RECORD_KERNELS": str(recorded)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout[-3000:]
    missing = set(recorded.read_text().splitlines()) - set(CORPUS.read_text().splitlines())
    again = f"QUERN_RECORD_KERNELS={CORPUS.relative_to(HERE.parents[2])} python -m pytest tests/python/kernel"
    assert not missing, (
        f"{len(missing)} kernels are not in the corpus; record it anew: {again}\n"
        + "\n".join(sorted(missing)[:5])
    )
