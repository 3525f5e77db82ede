// Searches in sorted arrays: where values would go, or whether they are there.
#pragma once
#include "quern/bisect.cuh"
#include "quern/order.cuh"

namespace quern {

#if QUERN_SEARCH_TOP
// The ends of `parts` parts of a sorted row, a power of two of them, in shared memory, so that a search's first steps take nothing
// from the second cache, which all blocks share, or none of its steps does where a part is one value. They stand as a tree, each
// level from left to right behind the one above it: what a warp looks at in one step lies in banks of its own. Every thread of
// the block takes part in making it.
template <class T> struct SearchTop {
    const T *sorted, *tree;
    long long length, part;
    int parts;
    __device__ SearchTop(const T* row, long long count, int number, T* room)
        : sorted(row), tree(room), length(count), part(count / number + 1), parts(number) {
        for (int node = 1 + static_cast<int>(threadIdx.x); node < parts; node += blockDim.x) {
            const int level = 31 - __clz(node), end = (2 * (node - (1 << level)) + 1) * (parts >> (level + 1));
            room[node] = sorted[min(end * part, length) - 1];
        }
        __syncthreads();
    }
    template <bool right> __device__ long long find(const T& wanted) const {
        Before<T, right> before;
        before.set(wanted);
        int node = 1;
        while (node < parts) node = 2 * node + before(tree[node]);
        const long long first = min((node - parts) * part, length);
        if (part == 1) return first;
        long long found;
        search<T, 1, right>(sorted + first, min(part, length - first), nullptr, &wanted, &found);
        return first + found;
    }
};
#endif

// visit(k, n, found) for all of `wanted`: found[l] sorted values come before wanted[k + l], or with `right` do not come behind it.
template <class T, bool right, class Visit>
__device__ inline void search_all(const T* sorted, long long length, const long long* sorter, const T* wanted, long long count, long long parts,
                                  const Visit& visit) {
    const int lanes = search_lanes;
#ifdef __QUERN_HOST__ // blocks of one thread, each with a part of its own
    const long long step = lanes, part = ((count + gridDim.x - 1) / gridDim.x + lanes - 1) / lanes * lanes, first = blockIdx.x * part,
                    end = count - first < part ? count : first + part;
    NearSearch<T, right> near;
#else
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x * lanes,
                    first = (static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x) * lanes, end = count;
#endif
#if QUERN_SEARCH_TOP
    __shared__ __align__(16) unsigned char room[QUERN_SEARCH_TOP]; // bytes
    const SearchTop<T> top(sorted, length, static_cast<int>(parts), reinterpret_cast<T*>(room));
#endif
    for (long long k = first; k < end; k += step) {
        long long found[lanes];
        const long long here = end - k < lanes ? end - k : lanes;
#if QUERN_SEARCH_TOP
        found[0] = top.template find<right>(wanted[k]);
#else
#ifdef __QUERN_HOST__
        if (here == lanes) {
            if (sorter ? near.search([=](long long at) { return sorted[sorter[at]]; }, length, wanted + k, found)
                       : near.search([=](long long at) { return sorted[at]; }, length, wanted + k, found))
                visit(k, lanes, OnePlace{near.begin});
            else
                visit(k, lanes, found);
            continue;
        }
#endif
        for (long long l = 0; l < here; ++l) search<T, 1, right>(sorted, length, sorter, wanted + k + l, found + l);
#endif
        visit(k, static_cast<int>(here), found);
    }
}

// What is made of the places that were found: visits of `search_all`.
#if QUERN_INTERP_PARTS
struct Lines {
    const double *xp, *fp, *left, *right, *x;
    double* y;
    long long length;
    template <class Found> __device__ void operator()(long long k, int here, const Found& found) const {
        const int width = QUERN_INTERP_PARTS, lanes = search_lanes;
        for (int part = 0; part < width; ++part) {
            const double *const f = fp + part, before = left ? left[part] : f[0], behind = right ? right[part] : f[(length - 1) * width];
            double at[lanes], x0[lanes], x1[lanes], f0[lanes], f1[lanes], made[lanes]; // x0 <= at < x1
            for (int l = 0; l < here; ++l) {
                const long long low = found[l] > 0 ? found[l] - 1 : 0, high = found[l] < length ? found[l] : length - 1;
                at[l] = x[k + l];
                x0[l] = xp[low], x1[l] = xp[high];
                f0[l] = f[low * width], f1[l] = f[high * width];
            }
            for (int l = 0; l < here; ++l) {
                const double slope = (f1[l] - f0[l]) / (x1[l] - x0[l]), from_low = slope * (at[l] - x0[l]) + f0[l],
                             from_high = slope * (at[l] - x1[l]) + f1[l]; // with infinite values these may have a difference
                double value = from_low == from_low ? from_low : from_high;
                value = (at[l] == x0[l]) | (x0[l] == x1[l]) | ((value != value) & (f0[l] == f1[l])) ? f0[l] : value;
                value = at[l] < x0[l] ? before : at[l] > x1[l] ? behind : value;
                made[l] = (at[l] != at[l]) & (length > 1) ? at[l] : value;
            }
            for (int l = 0; l < here; ++l) y[(k + l) * width + part] = made[l];
        }
    }
};
#else
struct Notes {
    const QUERN_T0 *sorted, *wanted;
    long long length, *places;
    bool* there;
    template <class Found> __device__ void operator()(long long k, int here, const Found& found) const {
        for (int l = 0; l < here; ++l) {
#if QUERN_SEARCH_MODE < 2
            places[k + l] = found[l];
#else
            there[k + l] = (found[l] < length && same(sorted[found[l]], wanted[k + l])) != (QUERN_SEARCH_MODE == 3);
#endif
        }
    }
};
#endif

} // namespace quern

#if QUERN_INTERP_PARTS
// y[k] is what the straight lines between the points (xp, fp) have at x[k], and left and right of all of them `left` and `right`, by
// default the first and the last value. Values have so many parts: complex ones two, each with lines of its own.
extern "C" __global__ void quern_interp(const double* __restrict__ xp, const long long length, const long long*, const double* __restrict__ x,
                                        const long long count, const long long parts, const double* __restrict__ fp,
                                        const double* __restrict__ left, const double* __restrict__ right, double* __restrict__ y) {
    quern::search_all<double, true>(xp, length, nullptr, x, count, parts, quern::Lines{xp, fp, left, right, x, y, length});
}
#else
// found[k] = search(wanted[k]), or whether it is there: QUERN_SEARCH_MODE 0 left, 1 right, 2 is there, 3 is not.
extern "C" __global__ void quern_search(const QUERN_T0* sorted, const long long length, const long long* sorter, const QUERN_T0* wanted,
                                        const long long count, const long long parts, long long* places, bool* there) {
    quern::search_all<QUERN_T0, QUERN_SEARCH_MODE == 1>(sorted, length, sorter, wanted, count, parts,
                                                        quern::Notes{sorted, wanted, length, places, there});
}
#endif

#ifdef __QUERN_HOST__
// Likewise whether sorted values are there, or are not with `invert`, for blocks of one thread: both are walked along, in parts of
// nearly as many steps, several at once, for a step waits for the one before. An answer stands once its value is passed, which is
// the last step of a part. Values beyond the last sorted one are not there; without them no walk comes to an end of either.
extern "C" __global__ void quern_walk(const QUERN_T0* sorted, const long long length, const QUERN_T0* wanted, const long long count,
                                      bool* there, const long long invert) {
    const int lanes = 8;
    const auto passed_before = [=](long long k) { // how many sorted values are once wanted[k - 1] is
        long long found = 0;
        if (k > 0) quern::search<QUERN_T0, 1, false>(sorted, length, nullptr, wanted + k - 1, &found);
        return found;
    };
    long long within = 0;
    if (length > 0) quern::search<QUERN_T0, 1, true>(wanted, count, nullptr, sorted + length - 1, &within);
    const long long last = passed_before(within), total = last + within, parts = static_cast<long long>(gridDim.x) * lanes;
    long long at[lanes + 1], k[lanes + 1], ends[lanes + 1], together = total;
    for (int l = 0; l <= lanes; ++l) {
        const long long part = blockIdx.x * lanes + l, steps = total / parts * part + min(total % parts, part);
        ends[l] = k[l] = steps - quern::passed(sorted, last, wanted, within, steps);
        at[l] = passed_before(k[l]);
        if (l > 0) together = min(together, at[l] + k[l] - at[l - 1] - k[l - 1]);
    }
    const auto step = [&](int l) {
        const QUERN_T0 value = wanted[k[l]], other = sorted[at[l]];
        quern::Before<QUERN_T0, false> before;
        before.set(value);
        const bool goes_on = before(other);
        there[k[l]] = quern::same(value, other) != (invert != 0);
        at[l] += goes_on;
        k[l] += !goes_on;
    };
    for (long long i = 0; i < together; ++i)
#pragma unroll
        for (int l = 0; l < lanes; ++l) step(l);
    for (int l = 0; l < lanes; ++l)
        while (k[l] < ends[l + 1]) step(l);
    if (blockIdx.x + 1 == gridDim.x)
        for (long long i = within; i < count; ++i) there[i] = invert != 0;
}
#endif
