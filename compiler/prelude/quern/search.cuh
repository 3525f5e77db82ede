// Searches in sorted arrays: where values would go, or whether they are there.
#pragma once
#include "quern/bisect.cuh"
#include "quern/order.cuh"

namespace quern {

#if QUERN_SEARCH_TOP
// The ends of QUERN_SEARCH_TOP parts of a sorted row in shared memory, so that most of a search's first steps take nothing from
// the second cache, which all blocks share. Every thread of the block takes part in making them.
template <class T> struct SearchTop {
    typedef typename SortKey<T>::Key Key;
    const T* sorted;
    const Key* ends;
    long long length, part;
    __device__ SearchTop(const T* row, long long count, Key* room)
        : sorted(row), ends(room), length(count), part((count + QUERN_SEARCH_TOP - 1) / QUERN_SEARCH_TOP) {
        for (long long k = threadIdx.x; k < QUERN_SEARCH_TOP; k += blockDim.x) room[k] = SortKey<T>::of(sorted[min((k + 1) * part, length) - 1]);
        __syncthreads();
    }
    template <bool right> __device__ long long find(const T& wanted) const {
        const Key key = SortKey<T>::of(wanted);
        int above = 0;
#pragma unroll
        for (int half = QUERN_SEARCH_TOP / 2; half > 0; half /= 2) {
            const Key there = ends[above + half - 1];
            above += (right ? !(key < there) : there < key) ? half : 0;
        }
        const long long first = min(above * part, length);
        long long found;
        search<T, 1, right>(sorted + first, min(part, length - first), nullptr, &wanted, &found);
        return first + found;
    }
};
#endif

} // namespace quern

// found[k] = search(wanted[k]), or whether it is there: QUERN_SEARCH_MODE 0 left, 1 right, 2 is there, 3 is not.
extern "C" __global__ void quern_search(const QUERN_T0* sorted, const long long length, const long long* sorter, const QUERN_T0* wanted,
                                        const long long count, long long* places, bool* there) {
    const int lanes = quern::search_lanes;
    const bool right = QUERN_SEARCH_MODE == 1;
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x * lanes;
#if QUERN_SEARCH_TOP
    typedef quern::SearchTop<QUERN_T0> Top;
    __shared__ typename Top::Key room[QUERN_SEARCH_TOP];
    const Top top(sorted, length, room);
#endif
    for (long long k = (static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x) * lanes; k < count; k += step) {
        long long found[lanes];
        const long long here = count - k < lanes ? count - k : lanes;
#if QUERN_SEARCH_TOP
        found[0] = top.find<right>(wanted[k]);
#else
        if (here == lanes)
            quern::search<QUERN_T0, lanes, right>(sorted, length, sorter, wanted + k, found);
        else
            for (long long l = 0; l < here; ++l)
                quern::search<QUERN_T0, 1, right>(sorted, length, sorter, wanted + k + l, found + l);
#endif
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
