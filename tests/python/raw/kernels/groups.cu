// Algorithms written with cooperative groups.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

// Sums of rows, a tile of `Size` threads each.
template <int Size> __global__ void row_sums(const float* x, float* sums, int rows, int columns) {
    const auto tile = cg::tiled_partition<Size>(cg::this_thread_block());
    const int row = blockIdx.x * tile.meta_group_size() + tile.meta_group_rank();
    if (row >= rows) return;
    float sum = 0;
    for (int column = tile.thread_rank(); column < columns; column += tile.size()) sum += x[row * columns + column];
    sum = cg::reduce(tile, sum, cg::plus<float>());
    if (tile.thread_rank() == 0) sums[row] = sum;
}

// As many as there are, with one atomic operation for those who come together.
extern "C" __global__ void filter(const int* x, int* kept, int* count, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] % 3 == 0) {
        const cg::coalesced_group active = cg::coalesced_threads();
        int base = 0;
        if (active.thread_rank() == 0) base = atomicAdd(count, active.size());
        kept[active.shfl(base, 0) + active.thread_rank()] = x[i];
    }
}

// Sums by key: neighbours with the same key add theirs up first.
extern "C" __global__ void sums_by_key(const int* keys, const int* values, int* sums, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const cg::coalesced_group same = cg::labeled_partition(cg::coalesced_threads(), keys[i]);
    const int sum = cg::reduce(same, values[i], cg::plus<int>());
    cg::invoke_one(same, [&] { atomicAdd(&sums[keys[i]], sum); });
}

// Stable compaction of a block: scan of tiles, then of the tiles' totals.
extern "C" __global__ void compact(const int* x, int* kept, int* counts) {
    __shared__ int totals[32];
    const cg::thread_block block = cg::this_thread_block();
    const auto tile = cg::tiled_partition<16>(block);
    const int value = x[blockIdx.x * block.size() + block.thread_rank()], keep = value > 0;
    const int before = cg::exclusive_scan(tile, keep);
    if (tile.thread_rank() == tile.size() - 1) totals[tile.meta_group_rank()] = before + keep;
    block.sync();
    int base = 0;
    for (int k = 0; k < tile.meta_group_rank(); ++k) base += totals[k];
    if (keep) kept[blockIdx.x * block.size() + base + before] = value;
    if (block.thread_rank() == block.size() - 1) counts[blockIdx.x] = base + before + keep;
}

// Heat along a rod: every step needs all blocks' last one.
extern "C" __global__ void heat(float* a, float* b, int n, int steps) {
    const cg::grid_group grid = cg::this_grid();
    for (int step = 0; step < steps; ++step) {
        for (int i = grid.thread_rank(); i < n; i += grid.size()) {
            const float left = a[i > 0 ? i - 1 : 0], right = a[i < n - 1 ? i + 1 : n - 1];
            b[i] = 0.5f * a[i] + 0.25f * (left + right);
        }
        grid.sync();
        float* const swap = a;
        a = b;
        b = swap;
    }
}

// A whole reduction in one launch.
extern "C" __global__ void grid_sum(const double* x, double* partial, double* sum, int n) {
    const cg::grid_group grid = cg::this_grid();
    const cg::thread_block block = cg::this_thread_block();
    const auto warp = cg::tiled_partition<32>(block);
    __shared__ double of_warp[32];
    double total = 0;
    for (int i = grid.thread_rank(); i < n; i += grid.num_threads()) total += x[i];
    total = cg::reduce(warp, total, [](double a, double b) { return a + b; });
    if (warp.thread_rank() == 0) of_warp[warp.meta_group_rank()] = total;
    cg::sync(block);
    if (block.thread_rank() == 0) {
        for (int k = 1; k < warp.meta_group_size(); ++k) total += of_warp[k];
        partial[grid.block_rank()] = total;
    }
    cg::sync(grid);
    if (grid.thread_rank() == 0) {
        *sum = 0;
        for (int k = 0; k < grid.num_blocks(); ++k) *sum += partial[k];
    }
}

// Tiled matrix product whose tiles come by memcpy_async.
extern "C" __global__ void product(const float* a, const float* b, float* c, int n) {
    __shared__ float of_a[16][16], of_b[16][16];
    const cg::thread_block block = cg::this_thread_block();
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        for (int i = 0; i < 16; ++i) {
            cg::memcpy_async(block, of_a[i], a + (blockIdx.y * 16 + i) * n + k, sizeof(float) * 16);
            cg::memcpy_async(block, of_b[i], b + (k + i) * n + blockIdx.x * 16, sizeof(float) * 16);
        }
        cg::wait(block);
        for (int i = 0; i < 16; ++i) sum += of_a[threadIdx.y][i] * of_b[i][threadIdx.x];
        block.sync();
    }
    c[row * n + column] = sum;
}

// Tiles of several warps.
extern "C" __global__ void large_tiles(const int* x, int* sums, int* scans) {
    __shared__ cg::block_tile_memory<512> memory;
    const auto block = cg::this_thread_block(memory);
    const auto tile = cg::tiled_partition<128>(block);
    const int i = blockIdx.x * block.size() + block.thread_rank();
    scans[i] = cg::inclusive_scan(tile, x[i], cg::plus<int>());
    const int sum = cg::reduce(tile, x[i], cg::plus<int>());
    if (tile.thread_rank() == 0) sums[blockIdx.x * tile.meta_group_size() + tile.meta_group_rank()] = sum;
}
