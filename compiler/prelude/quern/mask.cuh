// Elements that a mask chooses, on GPUs, in one pass: a tile counts its own, learns how many are before it, and writes where
// they stand (QUERN_MASK_ACT 0), themselves (1), or what they become (2); neighbouring threads write neighbours. Without a mask
// those are chosen of a sorted row with which another value begins (3).
#pragma once
#include "quern/scan.cuh"
#if QUERN_MASK_ACT == 3
    #include "quern/order.cuh"
#endif

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

// What a thread has of a tile that begins at `base`, as bits: mask_run elements, side by side.
struct Marks {
    const bool* mask;
    long long size;
    __device__ void operator()(long long base, unsigned int (&bits)[mask_chunks]) const {
#pragma unroll
        for (int c = 0; c < mask_chunks; ++c) bits[c] = true_bits(mask, base + (threadIdx.x * mask_chunks + c) * 16, size);
    }
};
#if QUERN_MASK_ACT == 3
template <class T> struct Heads {
    const T* sorted;
    long long size;
    bool one_nan;
    template <bool whole> __device__ unsigned int votes_of_warp(long long base) const {
        const unsigned int lane = threadIdx.x & 31, together = 8;
        const T* const line = sorted + base + ((threadIdx.x - lane) * 32 + lane);
        const long long behind = size - (line - sorted); // elements from this thread's first one on
        unsigned int own = 0;
    #pragma unroll 1
        for (unsigned int from = 0; from < 32; from += together) { // a warp reads what one of its threads has, and the next's
            T values[together], befores[together];
    #pragma unroll
            for (unsigned int k = 0; k < together; ++k) {
                const int at = static_cast<int>(from + k) * 32;
                if (whole || at < behind) {
                    values[k] = line[at];
                    befores[k] = whole || line + at > sorted ? line[at - 1] : values[k];
                }
            }
    #pragma unroll
            for (unsigned int k = 0; k < together; ++k) {
                const int at = static_cast<int>(from + k) * 32;
                const bool begins = whole ? differ(befores[k], values[k], one_nan)
                                          : at < behind && (line + at == sorted || differ(befores[k], values[k], one_nan));
                const unsigned int votes = __ballot_sync(0xffffffffu, begins);
                if (from + k == lane) own = votes;
            }
        }
        return own;
    }
    __device__ void operator()(long long base, unsigned int (&bits)[mask_chunks]) const {
        static_assert(mask_chunks == 2 && mask_run == 32, "a vote has the bits of a thread");
        const unsigned int own = base > 0 && base + mask_tile <= size ? votes_of_warp<true>(base) : votes_of_warp<false>(base);
        bits[0] = own & 0xffffu;
        bits[1] = own >> 16;
    }
};
#endif

// write(rank, place) for every element that `marks` has; how many there are goes to `count`, if anywhere. `lead`: how far the
// line's start is from the 16 bytes that it is in.
template <class Marked, class Write>
__device__ inline void walk_marked(const Marked& marks, long long lead, long long tiles, void* room, long long* count, const Write& write) {
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
    unsigned int bits[mask_chunks], own = 0;
    marks(base, bits);
#pragma unroll
    for (int c = 0; c < mask_chunks; ++c) own += __popc(bits[c]);
    const unsigned int up_to = scan_lanes(own, 1, 32, lane, join);
    if (lane == 31) sums[warp] = up_to;
    __syncthreads();
    unsigned int rank = up_to - own, total = 0;
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
    if (count && tile + 1 == steps && threadIdx.x == 0) *count = static_cast<long long>(ahead) + total;
#pragma unroll 4
    for (unsigned int r = threadIdx.x; r < total; r += mask_threads) write(static_cast<long long>(ahead) + r, base + order[r]);
}

} // namespace quern

#if QUERN_MASK_ACT == 0
extern "C" __global__ void __launch_bounds__(quern::mask_threads)
    quern_mask_find(const bool* mask, const long long size, const long long lead, const long long tiles, unsigned char* room, long long* places) {
    quern::walk_marked(quern::Marks{mask, size}, lead, tiles, room, nullptr, [=](long long rank, long long place) { places[rank] = place; });
}
#elif QUERN_MASK_ACT == 1
extern "C" __global__ void __launch_bounds__(quern::mask_threads)
    quern_mask_pick(const bool* mask, const long long size, const long long lead, const long long tiles, unsigned char* room, const QUERN_T0* x,
                    QUERN_T0* y) {
    quern::walk_marked(quern::Marks{mask, size}, lead, tiles, room, nullptr, [=](long long rank, long long place) { y[rank] = x[place]; });
}
#elif QUERN_MASK_ACT == 2
extern "C" __global__ void __launch_bounds__(quern::mask_threads)
    quern_mask_fill(const bool* mask, const long long size, const long long lead, const long long tiles, unsigned char* room, const QUERN_T0* x,
                    const long long length, QUERN_T0* y) {
    quern::walk_marked(quern::Marks{mask, size}, lead, tiles, room, nullptr,
                       [=](long long rank, long long place) { y[place] = x[rank < length ? rank : rank % length]; });
}
#else
extern "C" __global__ void __launch_bounds__(quern::mask_threads)
    quern_mask_heads(const QUERN_T0* sorted, const long long size, const long long lead, const long long tiles, unsigned char* room,
                     const long long one_nan, QUERN_T0* y, long long* count) {
    const quern::Heads<QUERN_T0> heads{sorted, size, one_nan != 0};
    quern::walk_marked(heads, lead, tiles, room, count, [=](long long rank, long long place) { y[rank] = sorted[place]; });
}
#endif
