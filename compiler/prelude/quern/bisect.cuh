// Binary searches in a sorted row, several at a time on the CPU: all take the same steps.
#pragma once
#include "quern/sort_key.cuh"

namespace quern {

#ifdef __QUERN_HOST__
const int search_lanes = 16;
#else
const int search_lanes = 1;
#endif

// How many of `length` sorted values, the k-th of which is at(k), come before each of wanted[0] to wanted[lanes]; with `right`
// equal ones do too.
template <class T, int lanes, bool right, class At>
__device__ inline void search(const At& at, long long length, const T* wanted, long long* found) {
    typename SortKey<T>::Key keys[lanes];
    for (int l = 0; l < lanes; ++l) {
        keys[l] = SortKey<T>::of(wanted[l]);
        found[l] = 0;
    }
    for (long long rest = length; rest > 0;) {
        const long long half = (rest + 1) / 2;
        for (int l = 0; l < lanes; ++l) {
            const typename SortKey<T>::Key there = SortKey<T>::of(at(found[l] + half - 1));
            const bool goes_on = right ? !(keys[l] < there) : there < keys[l];
            found[l] += goes_on ? half : 0;
        }
        rest = rest == 1 ? 0 : rest - half;
    }
}
template <class T, int lanes, bool right>
__device__ inline void search(const T* sorted, long long length, const long long* sorter, const T* wanted, long long* found) {
    if (sorter)
        search<T, lanes, right>([=](long long k) { return sorted[sorter[k]]; }, length, wanted, found);
    else
        search<T, lanes, right>([=](long long k) { return sorted[k]; }, length, wanted, found);
}

} // namespace quern
