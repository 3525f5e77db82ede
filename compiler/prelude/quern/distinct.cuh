// Distinct values of one or two bytes, on GPUs: there is a bit for each key that such values can have. Blocks set bits of their
// own, then the table's, and one block lists the values in order.
#pragma once
#include "quern/each.cuh"
#include "quern/ordered.cuh"
#include "quern/scan.cuh"

namespace quern {
typedef Ordered<QUERN_T0> Listed; // all NaN have the last key

const int key_words = sizeof(QUERN_T0) == 1 ? 8 : 2048, mark_threads = 512, list_threads = 1024;

__device__ inline void mark(volatile unsigned int* seen, QUERN_T0 value) {
    const unsigned int key = Listed::key(value), bit = 1u << (key & 31);
    if (!(seen[key >> 5] & bit)) atomicOr(const_cast<unsigned int*>(seen) + (key >> 5), bit);
}
} // namespace quern

extern "C" __global__ void __launch_bounds__(quern::mark_threads)
    quern_mark(const QUERN_T0* values, const long long count, unsigned int* table) {
    __shared__ unsigned int seen[quern::key_words];
    for (int k = threadIdx.x; k < quern::key_words; k += quern::mark_threads) seen[k] = 0;
    __syncthreads();
    const long long pack = 16 / sizeof(QUERN_T0), apart = (16 - (reinterpret_cast<unsigned long long>(values) & 15)) % 16 / sizeof(QUERN_T0);
    const long long lead = apart < count ? apart : count, packs = (count - lead) / pack, rest = lead + packs * pack;
    const uint4* const whole = reinterpret_cast<const uint4*>(values + lead);
    QUERN_EACH(k, packs) {
        const uint4 moved = whole[k];
        QUERN_T0 held[pack];
        memcpy(held, &moved, sizeof held);
#pragma unroll
        for (int j = 0; j < pack; ++j) quern::mark(seen, held[j]);
    }
    QUERN_EACH(k, lead) quern::mark(seen, values[k]);
    QUERN_EACH(k, count - rest) quern::mark(seen, values[rest + k]);
    __syncthreads();
    for (int k = threadIdx.x; k < quern::key_words; k += quern::mark_threads)
        if (seen[k] & ~static_cast<volatile unsigned int*>(table)[k]) atomicOr(table + k, seen[k]);
}

// For one block. Of two zeros one is listed.
extern "C" __global__ void __launch_bounds__(quern::list_threads)
    quern_list(const unsigned int* table, QUERN_T0* values, long long* count) {
    __shared__ unsigned int sums[quern::list_threads / 32];
    const int each = (quern::key_words + quern::list_threads - 1) / quern::list_threads, half = quern::key_words / 2;
    const unsigned int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    unsigned int bits[each], own = 0;
#pragma unroll
    for (int k = 0; k < each; ++k) {
        const int at = static_cast<int>(threadIdx.x) * each + k;
        bits[k] = at < quern::key_words ? table[at] : 0;
        if (quern::Listed::has_nan && at == half && table[half - 1] >> 31) bits[k] &= ~1u;
        own += __popc(bits[k]);
    }
    const unsigned int up_to = quern::scan_lanes(own, 1, 32, lane, [](unsigned int a, unsigned int b) { return a + b; });
    if (lane == 31) sums[warp] = up_to;
    __syncthreads();
    unsigned int rank = up_to - own, total = 0;
    for (unsigned int w = 0; w < quern::list_threads / 32; ++w) {
        if (w == warp) rank += total;
        total += sums[w];
    }
#pragma unroll
    for (int k = 0; k < each; ++k)
        for (unsigned int left = bits[k]; left; left &= left - 1)
            values[rank++] = quern::Listed::value(static_cast<quern::Listed::Key>((threadIdx.x * each + k) * 32 + __ffs(left) - 1));
    if (threadIdx.x == 0) *count = total;
}
