"""Programs written with cooperative groups: tiles, coalesced threads, labels, whole grids that wait."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import quern

KERNELS = Path(__file__).parent / "kernels"
SOURCE = (KERNELS / "groups.cu").read_text(encoding="utf-8")
ATOMICS = (KERNELS / "group_atomics.cu").read_text(encoding="utf-8")


@pytest.fixture
def toolkit(device):
    """Skips where neither a toolkit nor a package brings <cuda/atomic>."""
    try:
        quern.RawKernel('#include <cuda/atomic>\nextern "C" __global__ void k() {}', "k").compile()
    except quern.CompileError as error:
        if "cuda/atomic" not in str(error):
            raise
        pytest.skip("no CUDA headers on this machine")


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16, 32])
@pytest.mark.parametrize("block", [(64,), (16, 6), (4, 8, 4)])
def test_row_sums(device, size, block):
    rows, columns = 77, 45
    x = np.random.default_rng(size).standard_normal((rows, columns)).astype(np.float32)
    module = quern.RawModule(code=SOURCE, name_expressions=[f"row_sums<{size}>"])
    sums = quern.zeros(rows, np.float32)
    blocks = -(-rows * size // int(np.prod(block)))
    arguments = (quern.asarray(x), sums, rows, columns)
    module.get_function(f"row_sums<{size}>")((blocks,), block, arguments)
    np.testing.assert_allclose(sums.get(), x.sum(axis=1, dtype=np.float64), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("block", [32, 100, 512])
def test_coalesced_threads_share_one_atomic(device, block):
    x = np.random.default_rng(7).integers(-1000, 1000, 3001, dtype=np.int32)
    kept, count = quern.zeros(x.size, np.int32), quern.zeros(1, np.int32)
    arguments = (quern.asarray(x), kept, count, x.size)
    quern.RawKernel(SOURCE, "filter")((-(-x.size // block),), (block,), arguments)
    found = int(count.get()[0])
    np.testing.assert_array_equal(np.sort(kept.get()[:found]), np.sort(x[x % 3 == 0]))


@pytest.mark.parametrize("kinds", [1, 3, 40])
def test_labels(device, kinds):
    random = np.random.default_rng(kinds)
    keys = random.integers(0, kinds, 5000, dtype=np.int32)
    values = random.integers(-1000, 1000, 5000, dtype=np.int32)
    sums = quern.zeros(kinds, np.int32)
    arguments = (quern.asarray(keys), quern.asarray(values), sums, keys.size)
    quern.RawKernel(SOURCE, "sums_by_key")((50,), (100,), arguments)
    np.testing.assert_array_equal(sums.get(), np.bincount(keys, values, kinds).astype(np.int32))


@pytest.mark.parametrize("block", [16, 64, 512])
def test_compaction_keeps_the_order(device, block):
    x = np.random.default_rng(8).integers(-5, 6, (9, block), dtype=np.int32)
    kept, counts = quern.zeros(x.shape, np.int32), quern.zeros(9, np.int32)
    quern.RawKernel(SOURCE, "compact")((9,), (block,), (quern.asarray(x), kept, counts))
    for row, found, count in zip(x, kept.get(), counts.get(), strict=True):
        np.testing.assert_array_equal(found[:count], row[row > 0])


@pytest.mark.parametrize(("grid", "block"), [(1, 32), (6, 64), (20, 256)])
def test_steps_of_a_whole_grid(device, grid, block):
    n, steps = 3000, 9
    x = np.random.default_rng(9).random(n).astype(np.float32)
    a, b = quern.asarray(x), quern.zeros(n, np.float32)
    kernel = quern.RawKernel(SOURCE, "heat", enable_cooperative_groups=True)
    kernel((grid,), (block,), (a, b, n, steps))
    expected = x.astype(np.float64)
    for _ in range(steps):
        ends = np.pad(expected, 1, mode="edge")
        expected = 0.5 * expected + 0.25 * (ends[:-2] + ends[2:])
    np.testing.assert_allclose(b.get(), expected, rtol=1e-5)


@pytest.mark.parametrize(("grid", "block"), [((1,), (32,)), ((3, 2), (64,)), ((7,), (16, 8))])
def test_grid_sum(device, grid, block):
    x = np.random.default_rng(10).standard_normal(12345)
    total, partial = quern.zeros(1, np.float64), quern.zeros(int(np.prod(grid)), np.float64)
    kernel = quern.RawKernel(SOURCE, "grid_sum", enable_cooperative_groups=True)
    kernel(grid, block, (quern.asarray(x), partial, total, x.size))
    np.testing.assert_allclose(total.get()[0], x.sum(), rtol=1e-9, atol=1e-9)


def test_product_of_copied_tiles(device):
    n = 64
    a, b = np.random.default_rng(11).standard_normal((2, n, n)).astype(np.float32)
    c = quern.zeros((n, n), np.float32)
    arguments = (quern.asarray(a), quern.asarray(b), c, n)
    quern.RawKernel(SOURCE, "product")((n // 16, n // 16), (16, 16), arguments)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(c.get(), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("block", [128, 512])
def test_tiles_of_several_warps(device, block):
    x = np.random.default_rng(12).integers(-1000, 1000, (3 * block // 128, 128), dtype=np.int32)
    sums, scans = quern.zeros(len(x), np.int32), quern.zeros(x.shape, np.int32)
    quern.RawKernel(SOURCE, "large_tiles")((3,), (block,), (quern.asarray(x), sums, scans))
    np.testing.assert_array_equal(scans.get(), x.cumsum(axis=1))
    np.testing.assert_array_equal(sums.get(), x.sum(axis=1))


@pytest.mark.usefixtures("toolkit")
@pytest.mark.parametrize("block", [32, 256])
def test_groups_add_to_atomic_variables(device, block):
    x = np.random.default_rng(13).integers(-1000, 1000, 3000, dtype=np.int32)
    total, least = quern.zeros(1, np.int32), quern.zeros(1, np.int32)
    odd, real = quern.zeros(1, np.uint32), quern.zeros(1, np.float32)
    arguments = (quern.asarray(x), total, least, odd, real, x.size)
    quern.RawKernel(ATOMICS, "totals")((-(-x.size // block),), (block,), arguments)
    assert total.get()[0] == x.sum()
    assert least.get()[0] == x.min()
    assert odd.get()[0] == np.bitwise_xor.reduce(x.astype(np.uint32))
    assert real.get()[0] == x.sum()


@pytest.mark.usefixtures("toolkit")
@pytest.mark.parametrize("name", ["places", "last_places"])
def test_scans_that_reserve_places(device, name):
    x = np.random.default_rng(14).integers(1, 9, 640, dtype=np.int32)
    place, end = quern.zeros(x.size, np.int32), quern.zeros(1, np.int32)
    quern.RawKernel(ATOMICS, name)((5,), (128,), (quern.asarray(x), place, end))
    assert end.get()[0] == x.sum()
    first = place.get() - (x if name == "last_places" else 0)
    taken = np.concatenate([np.arange(f, f + n) for f, n in zip(first, x, strict=True)])
    np.testing.assert_array_equal(np.sort(taken), np.arange(x.sum()))


@pytest.mark.usefixtures("toolkit")
def test_groups_store_their_least(device):
    x = np.random.default_rng(15).integers(-1000, 1000, (40, 8), dtype=np.int32)
    least = quern.zeros(40, np.int32)
    quern.RawKernel(ATOMICS, "store_least")((5,), (64,), (quern.asarray(x), least))
    np.testing.assert_array_equal(least.get(), x.min(axis=1))
