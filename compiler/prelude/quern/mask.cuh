// Elements that a mask chooses, on GPUs, in one pass: a tile counts its own, learns how many are before it, and writes where
// they stand (QUERN_MASK_ACT 0), themselves (1), or what they become (2); neighbouring threads write neighbours.
#pragma once
#include "quern/scan.cuh"

namespace quern {

#if QUERN_MASK_WIDE // more elements than 32 bits count
typedef unsigned long long MaskRank;
#else
typedef unsigned int MaskRank;
#endif

const int mask_threads = 256, mask_chunks = 2, mask_run = 16 * mask_chunks, mask_tile = mask_threads * mask_run;

// The tiles of one mask are one line of them.
struct OneLine {
    static const unsigned int divisor = 0;
    __device__ unsigned int divide(unsigned int) const { return 0; }
};

// The true ones among the 16 elements from `at` on, which may begin before the mask or end after it, as bits.
__device__ inline unsigned int true_bits(const bool* mask, long long at, long long size) {
    const unsigned char* const bytes = reinterpret_cast<const unsigned char*>(mask) + at;
    unsigned int bits = 0;
    if (at >= 0 && at + 16 <= size) {
        const uint4 chunk = *reinterpret_cast<const uint4*>(bytes);
        const unsigned int words[4] = {chunk.x, chunk.y, chunk.z, chunk.w};
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            const unsigned int set = (((words[k] & 0x7f7f7f7fu) + 0x7f7f7f7fu) | words[k]) >> 7 & 0x01010101u;
            bits |= (set * 0x01020408u >> 24 & 15u) << 4 * k;
        }
    } else {
        for (int k = 0; k < 16; ++k)
            if (at + k >= 0 && at + k < size && bytes[k]) bits |= 1u << k;
    }
    return bits;
}

// write(rank, place) for every true element. `lead`: how far the mask's start is from the 16 bytes that it is in.
template <class Write>
__device__ inline void walk_mask(const bool* mask, long long size, long long lead, long long tiles, void* room, const Write& write) {
    typedef Ledger<MaskRank> Tally;
    __shared__ unsigned int taken, sums[mask_threads / 32];
    __shared__ MaskRank ahead;
    __shared__ unsigned short order[mask_tile];
    const unsigned int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, steps = static_cast<unsigned int>(tiles);
    const auto join = [](MaskRank a, MaskRank b) { return a + b; };
    if (threadIdx.x == 0) taken = static_cast<unsigned int>(atomicAdd(static_cast<unsigned long long*>(room), 1ull));
    __syncthreads();
    if (taken == 0) { // the first block to start joins what the others tell
        if (warp == 0) Tally::scan(room, steps, 1u, 0u, 1u, OneLine(), join);
        return;
    }
    const unsigned int tile = taken - 1;
    const long long base = static_cast<long long>(tile) * mask_tile - lead;
    unsigned int bits[mask_chunks], count = 0;
#pragma unroll
    for (int c = 0; c < mask_chunks; ++c) bits[c] = true_bits(mask, base + (threadIdx.x * mask_chunks + c) * 16, size);
#pragma unroll
    for (int c = 0; c < mask_chunks; ++c) count += __popc(bits[c]);
    const unsigned int up_to = scan_lanes(count, 1, 32, lane, join);
    if (lane == 31) sums[warp] = up_to;
    __syncthreads();
    unsigned int rank = up_to - count, total = 0;
#pragma unroll
    for (unsigned int w = 0; w < mask_threads / 32; ++w) {
        if (w == warp) rank += total;
        total += sums[w];
    }
    const Tally tally(room, steps, 1, 0);
    if (threadIdx.x == 0) tally.tell_total(tile, total);
#pragma unroll
    for (int c = 0; c < mask_chunks; ++c)
        for (unsigned int rest = bits[c]; rest; rest &= rest - 1) order[rank++] = threadIdx.x * mask_run + c * 16 + __ffs(rest) - 1;
    if (threadIdx.x == 0) ahead = tile > 0 ? tally.wait_before(tile) : 0;
    __syncthreads();
#pragma unroll 4
    for (unsigned int r = threadIdx.x; r < total; r += mask_threads) write(static_cast<long long>(ahead) + r, base + order[r]);
}

} // namespace quern

#if QUERN_MASK_ACT == 0
extern "C" __global__ void __launch_bounds__(quern::mask_threads)
    quern_mask_find(const bool* mask, const long long size, const long long lead, const long long tiles, unsigned char* room, long long* places) {
    quern::walk_mask(mask, size, lead, tiles, room, [=](long long rank, long long place) { places[rank] = place; });
}
#elif QUERN_MASK_ACT == 1
extern "C" __global__ void __launch_bounds__(quern::mask_threads)
    quern_mask_pick(const bool* mask, const long long size, const long long lead, const long long tiles, unsigned char* room, const QUERN_T0* x,
                    QUERN_T0* y) {
    quern::walk_mask(mask, size, lead, tiles, room, [=](long long rank, long long place) { y[rank] = x[place]; });
}
#else
extern "C" __global__ void __launch_bounds__(quern::mask_threads)
    quern_mask_fill(const bool* mask, const long long size, const long long lead, const long long tiles, unsigned char* room, const QUERN_T0* x,
                    const long long length, QUERN_T0* y) {
    quern::walk_mask(mask, size, lead, tiles, room, [=](long long rank, long long place) { y[place] = x[rank < length ? rank : rank % length]; });
}
#endif
