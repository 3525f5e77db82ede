// Binary searches in a sorted row, several at a time on the CPU: all take the same steps.
#pragma once
#include "quern/sort_key.cuh"

namespace quern {

#ifdef __QUERN_HOST__
const int search_lanes = 16;
#else
const int search_lanes = 1;
#endif

// Whether sorted values come before a wanted one; with `right` equal ones do too.
template <class T, bool right> struct Before {
    typename SortKey<T>::Key wanted;
    __device__ void set(const T& value) { wanted = SortKey<T>::of(value); }
    __device__ bool operator()(const T& there) const { return right ? !(wanted < SortKey<T>::of(there)) : SortKey<T>::of(there) < wanted; }
};
// Floats are compared as they are, which takes fewer instructions than keys.
template <class T, class Wide, bool right> struct FloatBefore {
    Wide wanted;
    bool last; // a NaN
    __device__ void set(const T& value) {
        wanted = static_cast<Wide>(value);
        last = wanted != wanted;
    }
    __device__ bool operator()(const T& value) const {
        const Wide there = static_cast<Wide>(value);
        return right ? (there <= wanted) | last : (there < wanted) | (last & (there == there));
    }
};
template <bool right> struct Before<float, right> : FloatBefore<float, float, right> {};
template <bool right> struct Before<double, right> : FloatBefore<double, double, right> {};
#if defined(QUERN_HAS_HALF) || defined(QUERN_HAS_BFLOAT16)
template <class Format, bool right> struct Before<SmallFloat<Format>, right> : FloatBefore<SmallFloat<Format>, float, right> {};
#endif

// How many of `length` sorted values, the k-th of which is at(k), come before each of wanted[0] to wanted[lanes].
template <class T, int lanes, bool right, class At>
__device__ inline void search(const At& at, long long length, const T* wanted, long long* found) {
    Before<T, right> before[lanes];
    for (int l = 0; l < lanes; ++l) {
        before[l].set(wanted[l]);
        found[l] = 0;
    }
    for (long long rest = length; rest > 0;) {
        const long long half = (rest + 1) / 2;
        for (int l = 0; l < lanes; ++l) found[l] += before[l](at(found[l] + half - 1)) ? half : 0;
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
