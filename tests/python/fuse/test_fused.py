"""The corpus of functions, fused: each call gives NumPy's answers, the first, the one that is noted and the one that
repeats it."""

import warnings

import pytest
from fuse.compare import check
from fuse.corpus.cases import runs_of
from fuse.corpus.loader import functions

import quern

RUNS = [run for name, function in functions().items() for run in runs_of(name, function.cases)]


@pytest.mark.parametrize("run", RUNS, ids=str)
def test_fused(device, run):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*needs an array's values here")
        check(run, device, quern.fuse, calls=3)
