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
        unsigned char takes[lanes]; // kept apart from the sums: as one, compilers make it a branch
        for (int l = 0; l < lanes; ++l) takes[l] = before[l](at(found[l] + half - 1)) ? 1 : 0;
        for (int l = 0; l < lanes; ++l) found[l] += half & -static_cast<long long>(takes[l]);
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
// Searches one after the other. Values that rise or fall, or change little, are found near those before them, where is looked
// first: a little ahead in the direction that they had, or at one place if they had one; then around that.
template <class T, bool right> struct NearSearch {
    static const int lanes = search_lanes, pack = 8, most = 16 * pack, around = 24, worth_it = 4;
    long long begin = 0, end = -1; // what to look at first, if anything

    // Do all places lie from `first` to `last`?
    template <class At> static __device__ inline bool within(const At& at, long long length, const T* wanted, long long first, long long last) {
        const T low = at(first > 0 ? first - 1 : 0), high = at(last < length ? last : length - 1);
        const bool all_low = first == 0, all_high = last == length;
        unsigned int beyond = 0; // no bool, which vectors would not have
        for (int l = 0; l < lanes; ++l) {
            Before<T, right> before;
            before.set(wanted[l]);
            beyond |= (before(low) | all_low) & (!before(high) | all_high) ? 0 : 1;
        }
        return beyond == 0;
    }
    // From `first` on one value after the other, each for all that are wanted.
    template <class At> static __device__ inline void count(const At& at, const T* wanted, long long first, long long last, long long* found) {
        int passed[lanes] = {};
        for (long long k = first; k < last; k += pack) {
            T values[pack];
            for (int j = 0; j < pack; ++j) values[j] = at(k + j);
            for (int l = 0; l < lanes; ++l) {
                Before<T, right> before;
                before.set(wanted[l]);
                int here = 0;
#pragma unroll
                for (int j = 0; j < pack; ++j) here += before(values[j]) ? 1 : 0;
                passed[l] += here;
            }
        }
        for (int l = 0; l < lanes; ++l) found[l] = first + passed[l];
    }
    // Whether all are at one place, which is `begin`.
    template <class At> __device__ inline bool search(const At& at, long long length, const T* wanted, long long* found) {
        long long first = begin, last = end;
        bool near = first <= last;
        if (near && !within(at, length, wanted, first, last)) {
            first = first > around ? first - around : 0;
            last = last + around < length ? last + around : length;
            near = within(at, length, wanted, first, last);
        } else if (near && first == last) {
            return true;
        }
        const long long width = (last - first + pack - 1) / pack * pack;
        if (first > length - width) first = length - width;
        if (near && width <= most && first >= 0) {
            count(at, wanted, first, first + width, found);
        } else {
            Before<T, right> before[lanes];
            for (int l = 0; l < lanes; ++l) before[l].set(wanted[l]);
            if (near) // a branch, so that what is looked at does not wait for the comparisons
                bisect(at, first > 0 ? first : 0, last, before, found);
            else
                bisect(at, 0, length, before, found);
        }
        look_next(found[0], found[lanes - 1], length);
        return false;
    }
    __device__ inline void look_next(long long first, long long last, long long length) {
        const long long step = last - first, apart = step < 0 ? -step : step, behind = apart > 0 ? apart / 4 + 1 : 0, ahead = apart + 2 * behind;
        begin = last - (step < 0 ? ahead : behind);
        end = last + (step < 0 ? behind : ahead);
        if (begin < 0) begin = 0;
        if (end > length) end = length;
        if ((end - begin) * worth_it >= length) end = begin - 1;
    }
};
// Two sorted rows are walked along together, the lesser value first, of equals the second row's: how many of the first are passed
// after `steps` steps.
template <class T>
__device__ inline long long passed(const T* first, long long length, const T* second, long long count, long long steps) {
    long long low = steps > count ? steps - count : 0, high = steps < length ? steps : length;
    while (low < high) {
        const long long middle = low + (high - low) / 2;
        if (sorts_before(first[middle], second[steps - 1 - middle]))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// What some values have in common.
struct OnePlace {
    long long place;
    __device__ long long operator[](int) const { return place; }
};
#endif

} // namespace quern
