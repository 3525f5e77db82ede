"""NumPy programs as people write them, run on quern unchanged: each gets the module and gives NumPy's answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from programs import algebra, science, stencils

import quern

PROGRAMS = {**stencils.PROGRAMS, **algebra.PROGRAMS, **science.PROGRAMS}


def agree(ours: Any, theirs: Any) -> None:
    if isinstance(theirs, tuple):
        assert len(ours) == len(theirs)
        for mine, other in zip(ours, theirs, strict=True):
            agree(mine, other)
        return
    assert isinstance(ours, quern.ndarray)
    assert ours.dtype == np.asarray(theirs).dtype
    assert ours.shape == np.shape(theirs)
    tolerance = 1e-4 if ours.dtype in (np.float32, np.complex64) else 1e-9
    np.testing.assert_allclose(ours.get(), theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(device, name):
    program, make = PROGRAMS[name]
    theirs = program(np, *make(np.random.default_rng(1)))
    inputs = (quern.asarray(x) for x in make(np.random.default_rng(1)))
    agree(program(quern, *inputs), theirs)
