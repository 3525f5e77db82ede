"""Every cell of the benchmark's grid, small, against NumPy in twice the width."""

from __future__ import annotations

import warnings

import pytest

import quern
from tests.bench.reduction_grid import DTYPES, LAYOUTS, OPS, agrees, as_dtype, cells


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
@pytest.mark.parametrize("dtype", DTYPES)
def test_cells(device, dtype, layout):
    done = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy's, of casts and overflows
        for cell in cells("tiny"):
            if (cell.dtype, cell.layout) != (dtype, layout):
                continue
            values = cell.values(seed=3)
            array = cell.view(quern.asarray(values))
            found = getattr(quern, cell.op)(array, axis=cell.axis).get()
            assert agrees(cell, found, cell.view(values)), cell.name
            done += 1
    assert done >= len(OPS) - 4


def test_the_grid_says_what_it_measures():
    listed = list(cells("gpu"))
    assert len({cell.name for cell in listed}) == len(listed)
    for cell in cells("tiny"):
        values = cell.view(cell.values())
        assert values.shape == cell.shape
        assert values.dtype == as_dtype(cell)
    large = next(cell for cell in listed if cell.name == "sum float32 (n, n) axis 0")
    assert large.bytes_moved == 4 * (1 << 28) + 4 * (1 << 14)
