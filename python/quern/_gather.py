"""Elements along an axis by positions that the host has checked, in one launch."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

import numpy as np

from quern import _core
from quern._creation import arange, asarray, ascontiguousarray, empty

if TYPE_CHECKING:
    import numpy.typing as npt

    from quern._core import ElementwiseKernel, ndarray

__all__ = ["gather"]


@functools.cache
def _kernel() -> ElementwiseKernel:
    return _core.ElementwiseKernel(
        "raw T x, int64 position, int64 before, int64 after, int64 inner",
        "T y",
        "y = x[before + position * inner + after]",
        "quern_gather",
    )


def gather(a: ndarray, positions: npt.NDArray[np.int64], axis: int) -> ndarray:
    """`a` at `positions` (on the host, each inside the extent) along `axis`, which is not negative."""
    lead, extent, rest = a.shape[:axis], a.shape[axis], a.shape[axis + 1 :]
    outer, inner = math.prod(lead), math.prod(rest)
    result = empty((*lead, len(positions), *rest), a.dtype, device=a.device)
    if result.size:
        places = asarray(positions.astype(np.int64, copy=False), device=a.device)
        # Where each row begins, and each column in it: products of extents, which no kernel then divides by.
        rows = arange(0, outer * extent * inner, extent * inner, device=a.device)
        before = rows.reshape(-1, 1, 1) if outer > 1 else 0
        after = arange(inner, device=a.device) if inner > 1 else 0
        target = result.reshape(outer, -1, inner)
        _kernel()(ascontiguousarray(a), places.reshape(-1, 1), before, after, inner, target)
    return result
