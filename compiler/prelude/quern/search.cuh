// Searches in sorted arrays: where values would go, or whether they are there.
#pragma once
#include "quern/bisect.cuh"
#include "quern/order.cuh"

// found[k] = search(wanted[k]), or whether it is there: QUERN_SEARCH_MODE 0 left, 1 right, 2 is there, 3 is not.
extern "C" __global__ void quern_search(const QUERN_T0* sorted, const long long length, const long long* sorter, const QUERN_T0* wanted,
                                        const long long count, long long* places, bool* there) {
    const int lanes = quern::search_lanes;
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x * lanes;
    for (long long k = (static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x) * lanes; k < count; k += step) {
        long long found[lanes];
        const long long here = count - k < lanes ? count - k : lanes;
        if (here == lanes)
            quern::search<QUERN_T0, lanes, QUERN_SEARCH_MODE == 1>(sorted, length, sorter, wanted + k, found);
        else
            for (long long l = 0; l < here; ++l)
                quern::search<QUERN_T0, 1, QUERN_SEARCH_MODE == 1>(sorted, length, sorter, wanted + k + l, found + l);
        for (long long l = 0; l < here; ++l) {
#if QUERN_SEARCH_MODE < 2
            places[k + l] = found[l];
#else
            there[k + l] = (found[l] < length && quern::same(sorted[found[l]], wanted[k + l])) != (QUERN_SEARCH_MODE == 3);
#endif
        }
    }
}

#ifdef __QUERN_HOST__
// Likewise whether sorted values are there, or are not with `invert`, for blocks of one thread with `chunk` of them each: both
// are walked along, one step at a time, and an answer stands once its value is passed.
extern "C" __global__ void quern_walk(const QUERN_T0* sorted, const long long length, const QUERN_T0* wanted, const long long count,
                                      const long long chunk, bool* there, const long long invert) {
    typedef quern::SortKey<QUERN_T0> Keys;
    const long long begin = blockIdx.x * chunk, end = begin + chunk < count ? begin + chunk : count;
    long long at = 0, k = begin;
    quern::search<QUERN_T0, 1, false>(sorted, length, nullptr, wanted + begin, &at);
    while (k < end && at < length) {
        const QUERN_T0 value = wanted[k], other = sorted[at];
        const bool goes_on = Keys::of(other) < Keys::of(value);
        there[k] = quern::same(value, other) != (invert != 0);
        at += goes_on;
        k += !goes_on;
    }
    for (; k < end; ++k) there[k] = invert != 0;
}
#endif
