"""The corpus of functions to be fused, run as they stand: each gives NumPy's answers."""

import pytest
from fuse.compare import check
from fuse.corpus.cases import runs_of
from fuse.corpus.loader import functions

RUNS = [run for name, function in functions().items() for run in runs_of(name, function.cases)]


@pytest.mark.parametrize("run", RUNS, ids=str)
def test_eager(device, run):
    check(run, device)
