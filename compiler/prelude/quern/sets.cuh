// What sets are made of once their elements are sorted: where another value begins, and the elements that are kept.
#pragma once
#include "quern/each.cuh"
#include "quern/order.cuh"

namespace quern {
// A NaN is another value than a NaN, unless all are taken as one.
template <class T> __device__ inline bool differ(const T& a, const T& b, bool one_nan) { return !(same(a, b) || (one_nan && is_nan(a) && is_nan(b))); }
} // namespace quern

// heads[k]: is it another value than the one before? With `lonely`, and than the one behind?
extern "C" __global__ void quern_heads(const QUERN_T0* sorted, const long long count, bool* heads, const long long one_nan,
                                       const long long lonely) {
    QUERN_EACH(k, count) {
        const bool begins = k == 0 || quern::differ(sorted[k - 1], sorted[k], one_nan != 0);
        heads[k] = begins && (lonely == 0 || k + 1 == count || quern::differ(sorted[k], sorted[k + 1], one_nan != 0));
    }
}

#ifdef __QUERN_HOST__
// For blocks of one thread, each with `chunk` elements: how many heads there are among them, and their values, which follow
// those of the blocks before: `upto` are their ends.
extern "C" __global__ void quern_count_heads(const QUERN_T0* sorted, const long long count, const long long chunk, const long long one_nan,
                                             long long* counts) {
    const long long begin = blockIdx.x * chunk, end = begin + chunk < count ? begin + chunk : count;
    long long found = begin == 0;
    for (long long k = begin == 0 ? 1 : begin; k < end; ++k) found += quern::differ(sorted[k - 1], sorted[k], one_nan != 0);
    counts[blockIdx.x] = found;
}
extern "C" __global__ void quern_keep_heads(const QUERN_T0* sorted, const long long count, const long long chunk, const long long one_nan,
                                            const long long* upto, QUERN_T0* kept) {
    const long long begin = blockIdx.x * chunk, end = begin + chunk < count ? begin + chunk : count, last = upto[blockIdx.x];
    long long to = blockIdx.x == 0 ? 0 : upto[blockIdx.x - 1], k = begin;
    if (begin == 0) kept[to++] = sorted[k++];
    for (; k < end && to < last; ++k) { // written past a head is only what the next one overwrites
        kept[to] = sorted[k];
        to += quern::differ(sorted[k - 1], sorted[k], one_nan != 0);
    }
}
#endif

// The values at heads, of which `upto` counts those up to each element; where they begin, the place of the first element like
// it, and for each place which value stood there. Whatever is null is not wanted.
extern "C" __global__ void quern_keep(const QUERN_T0* values, const bool* heads, const long long* upto, const long long* places,
                                      const long long count, QUERN_T0* kept, long long* begins, long long* firsts, long long* inverse) {
    QUERN_EACH(k, count) {
        const long long to = upto[k] - 1;
        if (heads[k]) {
            kept[to] = values[k];
            if (begins) begins[to] = k;
            if (firsts) firsts[to] = places[k];
        }
        if (inverse) inverse[places[k]] = to;
    }
}

// counts[k] = how many elements there are from begins[k] to the next beginning.
extern "C" __global__ void quern_runs(const long long* begins, const long long kept, const long long count, long long* counts) {
    QUERN_EACH(k, kept) counts[k] = (k + 1 < kept ? begins[k + 1] : count) - begins[k];
}
