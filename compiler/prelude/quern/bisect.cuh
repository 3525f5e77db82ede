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

// Where sorted values, the k-th of which is at(k), cease to come before each of some wanted ones: from `begin` to `end`.
template <int lanes, class Before, class At>
__device__ inline void bisect(const At& at, long long begin, long long end, const Before (&before)[lanes], long long* found) {
    for (int l = 0; l < lanes; ++l) found[l] = begin;
    for (long long rest = end - begin; rest > 0;) {
        const long long half = (rest + 1) / 2;
        for (int l = 0; l < lanes; ++l) found[l] += before[l](at(found[l] + half - 1)) ? half : 0;
        rest = rest == 1 ? 0 : rest - half;
    }
}

// How many of `length` sorted values come before each of wanted[0] to wanted[lanes].
template <class T, int lanes, bool right, class At>
__device__ inline void search(const At& at, long long length, const T* wanted, long long* found) {
    Before<T, right> before[lanes];
    for (int l = 0; l < lanes; ++l) before[l].set(wanted[l]);
    bisect(at, 0, length, before, found);
}
template <class T, int lanes, bool right>
__device__ inline void search(const T* sorted, long long length, const long long* sorter, const T* wanted, long long* found) {
    if (sorter)
        search<T, lanes, right>([=](long long k) { return sorted[sorter[k]]; }, length, wanted, found);
    else
        search<T, lanes, right>([=](long long k) { return sorted[k]; }, length, wanted, found);
}

#ifdef __QUERN_HOST__
// Searches one after the other. Values that rise, or change little, are found near those before them: that is looked at first
// where it is a small part of the row, and is one place where those before had one.
template <class T, bool right> struct NearSearch {
    static const int lanes = search_lanes, worth_it = 4;
    long long begin = 0, end = -1; // what to look at first, if anything
    template <class At> __device__ inline void search(const At& at, long long length, const T* wanted, long long* found) {
        Before<T, right> before[lanes];
        for (int l = 0; l < lanes; ++l) before[l].set(wanted[l]);
        bool near = begin <= end;
        if (near && begin > 0) {
            const T last = at(begin - 1);
            for (int l = 0; l < lanes; ++l) near &= before[l](last);
        }
        if (near && end < length) {
            const T next = at(end);
            for (int l = 0; l < lanes; ++l) near &= !before[l](next);
        }
        if (near) // a branch, so that what is looked at does not wait for the comparisons
            bisect(at, begin, end, before, found);
        else
            bisect(at, 0, length, before, found);
        const long long first = found[0], last = found[lanes - 1], least = first < last ? first : last, apart = first < last ? last - first : first - last,
                        around = apart + apart / 4 + (apart > 0);
        begin = least > around ? least - around : 0;
        end = least + apart + around < length ? least + apart + around : length;
        if ((end - begin) * worth_it > length) end = begin - 1;
    }
};
#endif

} // namespace quern
