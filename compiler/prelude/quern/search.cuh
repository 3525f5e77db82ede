// Binary searches in a sorted row, several at a time on the CPU: all take the same steps.
#pragma once
#include "quern/order.cuh"
#include "quern/sort_key.cuh"

namespace quern {

#ifdef __QUERN_HOST__
const int search_lanes = 16;
#else
const int search_lanes = 1;
#endif

// How many of `sorted` (by way of `sorter`, if any) come before each of wanted[k] to wanted[k + lanes]; with `right` equal ones
// do too.
template <class T, int lanes, bool right>
__device__ inline void search(const T* sorted, long long length, const long long* sorter, const T* wanted, long long* found) {
    typename SortKey<T>::Key keys[lanes];
    for (int l = 0; l < lanes; ++l) {
        keys[l] = SortKey<T>::of(wanted[l]);
        found[l] = 0;
    }
    for (long long rest = length; rest > 0;) {
        const long long half = (rest + 1) / 2;
        for (int l = 0; l < lanes; ++l) {
            const long long at = found[l] + half - 1;
            const typename SortKey<T>::Key there = SortKey<T>::of(sorted[sorter ? sorter[at] : at]);
            const bool goes_on = right ? !(keys[l] < there) : there < keys[l];
            found[l] += goes_on ? half : 0;
        }
        rest = rest == 1 ? 0 : rest - half;
    }
}

} // namespace quern

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
