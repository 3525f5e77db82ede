"""Arguments as quern takes them, and results held against NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np

import quern


def to_quern(value: Any) -> Any:
    """NumPy's arrays in arguments as quern's, in the same layout; everything else as it is."""
    if isinstance(value, np.ndarray):
        made = quern.asarray(value)
        if value.flags.c_contiguous or value.flags.f_contiguous or value.ndim == 0:
            return made
        steps = tuple(slice(None, None, -1 if s < 0 else 1) for s in value.strides)
        wide = quern.empty(tuple(2 * n for n in value.shape), value.dtype)
        view = wide[tuple(slice(None, None, 2) for _ in steps)][steps]
        view[...] = made
        return view
    if isinstance(value, list):
        return [to_quern(x) for x in value]
    if isinstance(value, tuple):
        return tuple(to_quern(x) for x in value)
    if isinstance(value, dict):
        return {k: to_quern(x) for k, x in value.items()}
    return value


def agree(ours: Any, theirs: Any, rtol: float = 0) -> None:
    """The same values; exactly so unless `rtol` says otherwise."""
    if isinstance(theirs, (list, tuple)):
        assert isinstance(ours, (list, tuple))
        assert len(ours) == len(theirs)
        for mine, other in zip(ours, theirs, strict=True):
            agree(mine, other, rtol)
        return
    assert isinstance(ours, quern.ndarray), type(ours)
    theirs = np.asarray(theirs)
    assert ours.shape == theirs.shape
    assert ours.dtype == theirs.dtype
    if rtol and theirs.dtype.kind in "fc":
        np.testing.assert_allclose(ours.get(), theirs, rtol=rtol, atol=rtol)
    else:
        np.testing.assert_array_equal(ours.get(), theirs)
