// What sets are made of once their elements are sorted: where another value begins, and the elements that are kept.
#pragma once
#include "quern/each.cuh"
#include "quern/order.cuh"

// heads[k]: is it another value than the one before? With `lonely`, and than the one behind?
extern "C" __global__ void quern_heads(const QUERN_T0* sorted, const long long count, bool* heads, const long long one_nan,
                                       const long long lonely) {
    QUERN_EACH(k, count) {
        const bool begins = k == 0 || quern::differ(sorted[k - 1], sorted[k], one_nan != 0);
        heads[k] = begins && (lonely == 0 || k + 1 == count || quern::differ(sorted[k], sorted[k + 1], one_nan != 0));
    }
}

#ifdef __QUERN_HOST__
// For blocks of one thread, each with `chunk` elements: how many heads there are among them.
extern "C" __global__ void quern_count_heads(const QUERN_T0* sorted, const long long count, const long long chunk, const long long one_nan,
                                             long long* counts) {
    const long long begin = blockIdx.x * chunk, end = begin + chunk < count ? begin + chunk : count;
    long long found = begin == 0;
    for (long long k = begin == 0 ? 1 : begin; k < end; ++k) found += quern::differ(sorted[k - 1], sorted[k], one_nan != 0);
    counts[blockIdx.x] = found;
}
#endif

// The values at heads; where they begin, the place of the first element like it, and for each place which value stood there.
// Whatever is null is not wanted. `upto` are how many heads there are up to each element, or, for blocks of one thread, which
// have no `heads` but look for them, up to the end of each chunk.
extern "C" __global__ void quern_keep(const QUERN_T0* values, const bool* heads, const long long* upto, const long long* places,
                                      const long long count, const long long chunk, const long long one_nan, QUERN_T0* kept,
                                      long long* begins, long long* firsts, long long* inverse) {
#ifdef __QUERN_HOST__
    const int width = 32;
    const long long begin = blockIdx.x * chunk, end = begin + chunk < count ? begin + chunk : count;
    long long to = blockIdx.x == 0 ? 0 : upto[blockIdx.x - 1];
    const auto pass = [&](long long k, int here, unsigned int found) { // bits of heads
        if (inverse) {
            long long value = to - 1;
            for (int l = 0; l < here; ++l) inverse[places[k + l]] = value += found >> l & 1;
        }
        for (; found != 0; found &= found - 1, ++to) {
            const long long at = k + __ffs(static_cast<int>(found)) - 1;
            kept[to] = values[at];
            if (begins) begins[to] = at;
            if (firsts) firsts[to] = places[at];
        }
    };
    const auto pass_some = [&](long long k, int here) {
        unsigned int found = 0;
        for (int l = 0; l < here; ++l) found |= static_cast<unsigned int>(quern::differ(values[k + l - 1], values[k + l], one_nan != 0)) << l;
        pass(k, here, found);
    };
    long long k = begin;
    if (begin == 0) pass(k++, 1, 1);
    for (; k + width <= end; k += width) pass_some(k, width);
    pass_some(k, static_cast<int>(end - k));
#else
    QUERN_EACH(k, count) {
        const long long to = upto[k] - 1;
        if (heads[k]) {
            kept[to] = values[k];
            if (begins) begins[to] = k;
            if (firsts) firsts[to] = places[k];
        }
        if (inverse) inverse[places[k]] = to;
    }
#endif
}

// counts[k] = how many elements there are from begins[k] to the next beginning.
extern "C" __global__ void quern_runs(const long long* __restrict__ begins, const long long kept, const long long count,
                                      long long* __restrict__ counts) {
    QUERN_EACH(k, kept - 1) counts[k] = begins[k + 1] - begins[k];
    if (blockIdx.x == 0 && threadIdx.x == 0) counts[kept - 1] = count - begins[kept - 1];
}
