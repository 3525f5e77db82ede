"""Cooperative groups: tiles of every width, coalesced threads, a whole grid; aggregated atomics."""

from __future__ import annotations

import numpy as np
import pytest

import quern

CODE = r"""
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

template <int Width> __global__ void tile_sums(const int* in, int* sums, int* highest, int n) {
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<Width> tile = cg::tiled_partition<Width>(block);
    int i = blockIdx.x * block.size() + block.thread_rank();
    int v = i < n ? in[i] : 0, sum = v;
    for (int d = tile.size() / 2; d > 0; d /= 2) sum += tile.shfl_down(sum, d);
    int most = cg::reduce(tile, v, cg::greater<int>());
    int group = blockIdx.x * (block.size() / Width) + tile.meta_group_rank();
    if (tile.thread_rank() == 0) sums[group] = sum, highest[group] = most;
}

// Threads of one warp that want the same thing send one of them.
__device__ int aggregated(int* counter) {
    cg::coalesced_group together = cg::coalesced_threads();
    int base;
    if (together.thread_rank() == 0) base = atomicAdd(counter, together.size());
    return together.shfl(base, 0) + together.thread_rank();
}
extern "C" __global__ void filter(const int* in, int* out, int* count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && in[i] > 0) out[aggregated(count)] = in[i];
}

// Many steps of relaxation in one launch: all blocks meet after each.
extern "C" __global__ void smooth(float* a, float* b, int n, int steps) {
    cg::grid_group grid = cg::this_grid();
    for (int s = 0; s < steps; ++s) {
        for (int i = grid.thread_rank(); i < n; i += grid.size())
            b[i] = 0.25f * a[max(i - 1, 0)] + 0.5f * a[i] + 0.25f * a[min(i + 1, n - 1)];
        grid.sync();
        float* t = a;
        a = b, b = t;
    }
}

// A sum over the grid in one launch: blocks, then the first block.
extern "C" __global__ void grid_sum(const double* in, double* parts, double* out, int n) {
    cg::grid_group grid = cg::this_grid();
    cg::thread_block block = cg::this_thread_block();
    extern __shared__ double s[];
    double sum = 0;
    for (int i = grid.thread_rank(); i < n; i += grid.size()) sum += in[i];
    s[block.thread_rank()] = sum;
    cg::sync(block);
    for (unsigned width = block.size(); width > 1; width = (width + 1) / 2) {
        unsigned half = (width + 1) / 2;
        if (block.thread_rank() < width / 2) s[block.thread_rank()] += s[block.thread_rank() + half];
        cg::sync(block);
    }
    if (block.thread_rank() == 0) parts[blockIdx.x] = s[0];
    cg::sync(grid);
    if (grid.thread_rank() == 0) {
        sum = 0;
        for (unsigned b = 0; b < gridDim.x; ++b) sum += parts[b];
        *out = sum;
    }
}

// Halves of a warp part company and each counts its own.
extern "C" __global__ void parted(int* out) {
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    int value;
    if (warp.thread_rank() % 3 == 0) {
        auto some = cg::coalesced_threads();
        value = 1000 + some.size() * 32 + some.thread_rank();
    } else {
        auto others = cg::coalesced_threads();
        value = others.size() * 32 + others.thread_rank();
    }
    out[threadIdx.x] = value + 10000 * warp.any(value == 1001) + 100000 * __popc(warp.ballot(value < 1000));
}
"""
WIDTHS = (1, 2, 8, 16, 32)


@pytest.fixture(scope="module")
def module():
    names = [f"tile_sums<{w}>" for w in WIDTHS]
    return quern.RawModule(code=CODE, name_expressions=names, enable_cooperative_groups=True)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("n", [5, 500])
def test_tiles(device, module, width, n):
    x = np.random.default_rng(n).integers(-50, 50, n).astype("i4")
    blocks = -(-n // 96)
    groups = blocks * 96 // width
    sums, highest = quern.zeros(groups, "i4"), quern.zeros(groups, "i4")
    module.get_function(f"tile_sums<{width}>")(
        (blocks,), (96,), (quern.asarray(x), sums, highest, n)
    )
    padded = np.pad(x, (0, blocks * 96 - n)).reshape(groups, width)
    np.testing.assert_array_equal(sums.get(), padded.sum(1))
    np.testing.assert_array_equal(highest.get(), padded.max(1))


@pytest.mark.parametrize("n", [1, 777])
def test_aggregated_atomics(device, module, n):
    x = np.random.default_rng(n).integers(-50, 50, n).astype("i4")
    out, count = quern.zeros(n, "i4"), quern.zeros(1, "i4")
    module.get_function("filter")((-(-n // 100),), (100,), (quern.asarray(x), out, count, n))
    kept = int(count.get()[0])
    assert kept == (x > 0).sum()
    np.testing.assert_array_equal(np.sort(out.get()[:kept]), np.sort(x[x > 0]))


@pytest.mark.parametrize(("blocks", "block"), [(1, 32), (4, 100)])
def test_grid_sync(device, module, blocks, block):
    x = np.random.default_rng(3).random(1001, np.float32)
    a, b = quern.asarray(x), quern.zeros(1001, "f4")
    module.get_function("smooth")((blocks,), (block,), (a, b, 1001, 10))
    wanted = x.astype("f8")
    for _ in range(10):
        p = np.pad(wanted, 1, "edge")
        wanted = 0.25 * p[:-2] + 0.5 * wanted + 0.25 * p[2:]
    np.testing.assert_allclose(a.get(), wanted, atol=1e-6)


@pytest.mark.parametrize(("blocks", "block"), [(1, 1), (5, 96)])
def test_grid_sum(device, module, blocks, block):
    x = np.random.default_rng(4).normal(size=3001)
    parts, out = quern.zeros(blocks, "f8"), quern.zeros(1, "f8")
    args = (quern.asarray(x), parts, out, 3001)
    module.get_function("grid_sum")((blocks,), (block,), args, shared_mem=8 * block)
    np.testing.assert_allclose(out.get()[0], x.sum(), atol=1e-10)


def test_parted_warps(device, module):
    out = quern.zeros(64, "i4")
    module.get_function("parted")((1,), (64,), (out,))
    wanted = np.zeros(64, int)
    for warp in range(2):
        some = [t for t in range(32) if t % 3 == 0]
        others = [t for t in range(32) if t % 3]
        for group, extra in ((some, 1000), (others, 0)):
            for rank, t in enumerate(group):
                wanted[32 * warp + t] = extra + len(group) * 32 + rank
        part = wanted[32 * warp : 32 * warp + 32]
        part += 10000 * (part == 1001).any() + 100000 * (part < 1000).sum()
    np.testing.assert_array_equal(out.get(), wanted)
