// Cooperative groups: everything a group within one warp can do, written out for each thread (`facts`), by groups made
// in every way; then tiles of several warps, blocks, grids.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

constexpr int fact_count = 33;
struct Odd { short a; double b; unsigned char c[9]; };
struct Large { long long word[4]; };

__device__ unsigned place() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }

template <class Group> __device__ void facts(const Group& group, const int* x, const int* operand, long long* out) {
    __shared__ int kept[1024];
    const unsigned t = place(), size = group.size();
    const int value = x[t], from = operand[t] % size, by = operand[t] % 33;
    out += fact_count * t;
    *out++ = group.thread_rank();
    *out++ = size;
    *out++ = group.meta_group_rank();
    *out++ = group.meta_group_size();
    *out++ = group.shfl(value, from);
    *out++ = group.shfl_up(value, by);
    *out++ = group.shfl_down(value, by);
    *out++ = group.any(value > 40) != 0;
    *out++ = group.all(value < 40) != 0;
    *out++ = group.ballot(value > 0);
    *out++ = group.match_any(value % 3);
    int same = 5;
    *out++ = group.match_all(value % 2, same);
    *out++ = same;
    *out++ = cg::reduce(group, value, cg::plus<int>());
    *out++ = cg::reduce(group, (long long)value << 33, cg::less<long long>());
    *out++ = cg::reduce(group, (unsigned)value, cg::greater<unsigned>());
    *out++ = cg::reduce(group, value & 1023, [](int a, int b) { return a * b % 1009; });
    *out++ = cg::reduce(group, (unsigned)value, cg::bit_xor<unsigned>());
    *out++ = (long long)cg::reduce(group, (float)value, cg::plus<float>());
    *out++ = cg::inclusive_scan(group, value);
    *out++ = cg::exclusive_scan(group, value);
    *out++ = cg::inclusive_scan(group, value, [](int a, int b) { return a > b ? a : b; });
    *out++ = cg::exclusive_scan(group, (long long)value, cg::greater<long long>());
    *out++ = (long long)cg::exclusive_scan(group, (float)value);
    const Odd odd = group.shfl(Odd{(short)value, value * 0.5, {1, 2, 3, 4, 5, 6, 7, 8, (unsigned char)value}}, from);
    *out++ = odd.a + (long long)(odd.b * 2) + odd.c[8] + odd.c[0];
    const Large large = group.shfl(Large{{value, -value, value * 3ll, t}}, from);
    *out++ = large.word[0] + large.word[1] + large.word[2] + large.word[3];
    kept[t] = value;
    group.sync();
    *out++ = kept[group.shfl(t, from)];
    group.sync();
    *out++ = cg::reduce(group, value, cg::less<int>());
    *out++ = cg::reduce(group, value, cg::greater<int>());
    *out++ = cg::reduce(group, (unsigned)value, cg::less<unsigned>());
    *out++ = cg::reduce(group, (unsigned)value, cg::bit_and<unsigned>());
    *out++ = cg::reduce(group, value, cg::bit_or<int>());
    const bool first = group.thread_rank() == 0;
    *out++ = cg::invoke_one_broadcast(group, [&] { return first ? value + 0.25f : -1.0f; }) == group.shfl(value, 0) + 0.25f;
}

template <unsigned Size> __device__ void cut(const int* x, const int* operand, long long* out, long long* crossed) {
    const auto tile = cg::tiled_partition<Size>(cg::this_thread_block());
    facts(tile, x, operand, out);
    crossed[place()] = tile.shfl_xor(x[place()], operand[place()] % Size);
}
#define TILE(N)                                                                                                        \
    extern "C" __global__ void tile_##N(const int* x, const int* operand, long long* out, long long* crossed) {        \
        cut<N>(x, operand, out, crossed);                                                                              \
    }
TILE(1) TILE(2) TILE(4) TILE(8) TILE(16) TILE(32)

extern "C" __global__ void tile_of_tile(const int* x, const int* operand, long long* out) {
    const cg::thread_block_tile<32> warp = cg::tiled_partition<32>(cg::this_thread_block());
    facts(cg::tiled_partition<8>(warp), x, operand, out);
}

extern "C" __global__ void whole_warps(const int* x, const int* operand, long long* out) {
    facts(cg::coalesced_threads(), x, operand, out);
}

extern "C" __global__ void parts(const int* x, const int* operand, int size, long long* out) {
    facts(cg::tiled_partition(cg::coalesced_threads(), size), x, operand, out);
}

extern "C" __global__ void halves(const int* x, const int* operand, long long* out) {
    const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    facts(cg::binary_partition(warp, x[place()] > 0), x, operand, out);
}

extern "C" __global__ void labels(const int* x, const int* operand, int kinds, long long* out) {
    const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    facts(cg::labeled_partition(warp, x[place()] % kinds), x, operand, out);
}

extern "C" __global__ void parts_of_labels(const int* x, const int* operand, int kinds, int size, long long* out) {
    const auto group = cg::labeled_partition(cg::coalesced_threads(), x[place()] % kinds);
    facts(cg::tiled_partition(group, size), x, operand, out);
}

extern "C" __global__ void branches(const int* x, const int* operand, long long* out) {
    if (x[place()] % 2 == 0)
        facts(cg::coalesced_threads(), x, operand, out);
    else
        facts(cg::coalesced_threads(), x, operand, out);
}

// Groups whose kind is known only here. Each group sums up shared memory by halves, whatever it is.
__device__ long long total(cg::thread_group group, long long* kept, long long value) {
    long long sum = value;
    const unsigned rank = (unsigned)group.thread_rank(), size = (unsigned)group.size();
    kept[rank] = value;
    group.sync();
    if (rank == 0)
        for (unsigned i = 1; i < size; ++i) kept[0] += kept[i];
    group.sync();
    sum = kept[0];
    group.sync();
    return sum;
}
extern "C" __global__ void any_group(const int* x, int size, long long* out) {
    __shared__ long long kept[1024];
    const unsigned t = place();
    const cg::thread_block block = cg::this_thread_block();
    const cg::thread_group part = cg::tiled_partition(block, size);
    const cg::thread_group smaller = cg::tiled_partition(part, 2);
    out[4 * t] = total(block, kept, x[t]);
    out[4 * t + 1] = total(part, kept + t - part.thread_rank(), x[t]);
    out[4 * t + 2] = total(smaller, kept + t - smaller.thread_rank(), x[t]);
    out[4 * t + 3] = total(cg::this_thread(), kept + t, x[t]) + 1000 * cg::thread_rank(part) + smaller.size();
}

template <unsigned Size> __device__ void large(const int* x, const int* operand, long long* out) {
    const auto tile = cg::tiled_partition<Size>(cg::this_thread_block());
    const auto warp = cg::tiled_partition<32>(tile);
    const unsigned t = place();
    const int value = x[t];
    __shared__ int kept[1024];
    out += 16 * t;
    *out++ = tile.thread_rank();
    *out++ = tile.meta_group_rank();
    *out++ = tile.meta_group_size();
    *out++ = warp.meta_group_rank() * 100 + warp.meta_group_size();
    *out++ = tile.shfl(value, 37);
    *out++ = tile.any(value > 95) != 0;
    *out++ = tile.all(value > -95) != 0;
    *out++ = cg::reduce(tile, value, cg::plus<int>());
    *out++ = (long long)cg::reduce(tile, (double)value, cg::greater<double>());
    *out++ = cg::reduce(tile, value & 1023, [](int a, int b) { return a * b % 1009; });
    *out++ = cg::inclusive_scan(tile, value);
    *out++ = cg::exclusive_scan(tile, value);
    *out++ = cg::exclusive_scan(tile, value, [](int a, int b) { return a > b ? a : b; });
    kept[t] = value;
    tile.sync();
    *out++ = kept[t / Size * Size + operand[t] % Size];
    tile.sync();
    for (int i = 0; i < tile.meta_group_rank(); ++i) tile.sync(); // tiles do not wait for each other
    *out++ = cg::invoke_one_broadcast(tile, [&] { return value; });
}
#define LARGE(N)                                                                                                       \
    extern "C" __global__ void large_##N(const int* x, const int* operand, long long* out) {                           \
        large<N>(x, operand, out);                                                                                     \
    }
LARGE(64) LARGE(128) LARGE(256) LARGE(512)

// Tiles of two sizes meet at the same time: every second part of a tile goes ahead.
template <int Size, int Part> __global__ void two_sizes(const int* x, int* out) {
    __shared__ int kept[1024];
    const auto tile = cg::tiled_partition<Size>(cg::this_thread_block());
    const auto part = cg::tiled_partition<Part>(tile);
    const unsigned t = place();
    int value = x[t];
    for (int round = 0; round < 5; ++round) {
        if ((part.meta_group_rank() + tile.meta_group_rank() + round) % 2 == 0)
            for (int i = 0; i < 3; ++i) {
                kept[t] = value;
                part.sync();
                value += kept[t / Part * Part + (t + 1) % Part];
                part.sync();
            }
        kept[t] = value;
        tile.sync();
        value = (value + kept[t / Size * Size + (t + 77) % Size]) & 0xffffff;
        tile.sync();
    }
    out[t] = value;
}
template __global__ void two_sizes<128, 64>(const int*, int*);
template __global__ void two_sizes<256, 64>(const int*, int*);
template __global__ void two_sizes<256, 128>(const int*, int*);
template __global__ void two_sizes<512, 64>(const int*, int*);
template __global__ void two_sizes<512, 128>(const int*, int*);
template __global__ void two_sizes<512, 256>(const int*, int*);

// A prefix sum over the whole grid, by blocks that wait for the grid twice; and what a grid says of itself.
extern "C" __global__ void grid_scan(const int* x, int* y, int* of_block, unsigned long long* where) {
    __shared__ int sums[32];
    const cg::grid_group grid = cg::this_grid();
    const cg::thread_block block = cg::this_thread_block();
    const auto warp = cg::tiled_partition<32>(block);
    const unsigned long long i = grid.thread_rank();
    int sum = cg::inclusive_scan(warp, x[i]);
    if (warp.thread_rank() == 31) sums[warp.meta_group_rank()] = sum;
    block.sync();
    for (unsigned w = 0; w < warp.meta_group_rank(); ++w) sum += sums[w];
    if (block.thread_rank() == block.num_threads() - 1) of_block[grid.block_rank()] = sum;
    grid.sync();
    if (i == 0)
        for (unsigned b = 1; b < grid.num_blocks(); ++b) of_block[b] += of_block[b - 1];
    auto token = grid.barrier_arrive();
    grid.barrier_wait(static_cast<decltype(token)&&>(token));
    y[i] = sum + (grid.block_rank() ? of_block[grid.block_rank() - 1] : 0);
    where[8 * i] = grid.is_valid();
    where[8 * i + 1] = grid.size() + 1000000 * grid.num_threads();
    where[8 * i + 2] = grid.dim_blocks().x + 1000 * grid.dim_blocks().y + 1000000 * grid.group_dim().z;
    where[8 * i + 3] = grid.block_index().x + 1000 * grid.block_index().y + 1000000 * grid.block_index().z;
    where[8 * i + 4] = grid.thread_index().x + 1000 * grid.thread_index().y + 1000000 * grid.dim_threads().x;
    where[8 * i + 5] = block.group_index().x + 1000 * block.thread_index().y + 1000000 * block.dim_threads().x;
    where[8 * i + 6] = block.group_dim().y + 1000 * block.size();
    where[8 * i + 7] = grid.block_rank();
}

extern "C" __global__ void ask_grid(int* out) { out[threadIdx.x] = cg::this_grid().is_valid(); }
extern "C" __global__ void wait_for_grid(int* out) {
    cg::this_grid().sync();
    out[threadIdx.x] = 1;
}

#if __CUDA_ARCH__ >= 900
// Without clusters in the launch, a cluster is a block.
extern "C" __global__ void cluster(int* out) {
    __shared__ int kept[256];
    const cg::cluster_group cluster = cg::this_cluster();
    const unsigned t = cluster.thread_rank();
    int* const mapped = cluster.map_shared_rank(kept, cluster.block_rank());
    mapped[t] = t * 3;
    cluster.sync();
    out[blockIdx.x * cluster.num_threads() + t] = kept[cluster.size() - 1 - t] + 1000 * cluster.num_blocks() + cluster.dim_blocks().x;
    cluster.barrier_arrive();
    cluster.barrier_wait();
}
#endif

extern "C" __global__ void copies(const int* x, int* y, int n) {
    __shared__ int kept[300];
    const cg::thread_block block = cg::this_thread_block();
    for (int first = 0; first < n; first += 300) {
        const int count = n - first < 300 ? n - first : 300;
        cg::memcpy_async(block, kept, x + first, sizeof(int) * count);
        cg::wait(block);
        for (int i = block.thread_rank(); i < count; i += block.size()) y[first + i] = kept[count - 1 - i];
        block.sync();
    }
    const auto warp = cg::tiled_partition<32>(block);
    __shared__ int two[2][32];
    if (warp.meta_group_rank() == 0) {
        cg::memcpy_async(warp, two[0], 32, x, n < 20 ? n : 20); // elements; the smaller count holds
        cg::memcpy_async(warp, two[1], x + 1, sizeof(int) * 10);
        cg::wait_prior<1>(warp);
        if (warp.thread_rank() < 10) y[n + warp.thread_rank()] = two[0][warp.thread_rank()];
        cg::wait_prior<0>(warp);
        if (warp.thread_rank() < 10) y[n + 10 + warp.thread_rank()] = two[1][warp.thread_rank()];
    }
    __shared__ int result;
    cg::reduce_store_async(warp, &result, (int)warp.thread_rank(), cg::greater<int>());
    auto token = block.barrier_arrive();
    block.barrier_wait(static_cast<decltype(token)&&>(token));
    cg::invoke_one(block, [&](int more) { y[n + 20] = result + more; }, 4);
}
