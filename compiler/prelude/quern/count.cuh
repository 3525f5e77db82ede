// Counts, and sums of weights, by bin. Counts are integers, whose order does not matter; weights are summed in an order that
// is the same each time: by one thread, or by one warp over its share, and then over the shares.
#pragma once
#include "quern/each.cuh"
#include "quern/bisect.cuh"
#include "quern/convert.cuh"

namespace quern {

#if QUERN_COUNT_EDGES
#if !QUERN_COUNT_THREADS
// Cells of one width from the first edge to the last, each with the last edge before it: what lies in a cell is compared with
// the first edges in it, and where there are more with those by halves. Integers that are few have a cell each, and nothing is
// compared. What is outside has a cell of its own.
struct EdgeGrid {
    static const int cells = 1024, most_steps = 2;
    const QUERN_T1* edges;
    int last; // bin
    int before[cells + 1];
    double first, scale;
    int steps; // edges of a cell that all in it are compared with
    long long halved; // elements that went on by halves
    // The last bits of a sum with a number so large that they count ones.
    __device__ int cell_of(double x) const {
        const double sum = (x - first) * scale + 4503599627370496.0;
        int low;
        memcpy(&low, &sum, sizeof low);
        return low;
    }
    // False where there are too many edges, or an infinite one.
    __device__ bool make(const QUERN_T1* rising, long long bins) {
        edges = rising;
        first = convert<double>(edges[0]);
        const double range = convert<double>(edges[bins]) - first;
        const double whole = 9007199254740992.0; // up to here doubles are all integers
        const bool exact = !Ordered<QUERN_T1>::has_nan && range < cells && first > -whole && first < whole - cells;
        scale = exact ? 1 : (cells - 1) / range;
        steps = 0, halved = 0;
        if (!(scale > 0 && scale - scale == 0) || bins > 4 * cells) return false;
        last = static_cast<int>(bins) - 1;
        int edge = 0;
        for (int cell = 0; cell < cells; ++cell) {
            const int from = edge;
            while (edge <= bins && cell_of(convert<double>(edges[edge])) == cell) ++edge;
            if (edge - from > steps) steps = edge - from;
            const int upto = (exact ? edge : from) - 1;
            before[cell] = upto < last ? upto : last;
        }
        before[cells] = last + 1;
        if (exact) steps = 0;
        return true;
    }
    template <int lanes> __device__ void find_cells(const QUERN_T1 (&x)[lanes], int* found) const {
        const QUERN_T1 least = edges[0], most = edges[last + 1];
        QUERN_INDEPENDENT
        for (int l = 0; l < lanes; ++l) found[l] = (x[l] >= least) & (x[l] <= most) ? cell_of(convert<double>(x[l])) : cells;
    }
    template <int most> __device__ int bin_of(QUERN_T1 x, int cell) {
        const int start = before[cell];
        int at = start;
        for (int step = 0; step < most; ++step) at += (at < last) & (x >= edges[at + (at < last)]);
        if (most == most_steps && at == start + most && before[cell + 1] > at) {
            long long passed;
            ++halved;
            search<QUERN_T1, 1, true>(edges + at + 1, before[cell + 1] - at, nullptr, &x, &passed);
            at += static_cast<int>(passed < last - at ? passed : last - at);
        }
        return at;
    }
};
template <int count> struct Steps { static const int value = count; };
#endif
// Bins between edges, each with its lower one and the last with both; -1 outside. Bins of one width are guessed first: `scale`
// of them to a unit.
struct Binner {
    const QUERN_T1* edges;
    long long bins;
    double scale;
    __device__ bool has(long long bin) const { return bin < bins; }
    __device__ bool is_in(QUERN_T1 x) const { return (x >= edges[0]) & (x <= edges[bins]); } // NaN is not
    // Within one bin of where it is, unless bins are as narrow as what edges are rounded by.
    __device__ int near(QUERN_T1 x) const {
        const double guess = (convert<double>(x) - convert<double>(edges[0])) * scale, last = static_cast<double>(bins - 1);
        int at = static_cast<int>(guess > 0 ? guess < last ? guess : last : 0.0);
        at -= (at > 0) & (x < edges[at]);
        return at + ((at + 1 < bins) & (x >= edges[at + 1]));
    }
    __device__ bool is_there(QUERN_T1 x, int at) const { return (x >= edges[at]) & ((at + 1 == bins) | (x < edges[at + 1])); }
    __device__ long long guessed(QUERN_T1 x) const {
        if (!is_in(x)) return -1;
        long long at = near(x);
        while (at > 0 && x < edges[at]) --at;
        while (at + 1 < bins && x >= edges[at + 1]) ++at;
        return at;
    }
    template <int lanes> __device__ void guess(const QUERN_T1 (&x)[lanes], long long* found) const {
#if !QUERN_COUNT_THREADS
        bool lost = false;
        QUERN_INDEPENDENT
        for (int l = 0; l < lanes; ++l) {
            const int at = near(x[l]);
            const bool in = is_in(x[l]);
            lost |= in & !is_there(x[l], at);
            found[l] = in ? at : -1;
        }
        if (!lost) return;
#endif
        for (int l = 0; l < lanes; ++l) found[l] = guessed(x[l]);
    }
    template <int lanes> __device__ void bin(const QUERN_T0* values, long long* found) const {
        QUERN_T1 x[lanes];
        for (int l = 0; l < lanes; ++l) x[l] = convert<QUERN_T1>(values[l]);
        if (scale > 0) {
            guess(x, found);
            return;
        }
        search<QUERN_T1, lanes, true>(edges, bins + 1, nullptr, x, found); // edges up to x; all of them for a NaN
        for (int l = 0; l < lanes; ++l) found[l] = found[l] <= bins ? found[l] - 1 : x[l] == edges[bins] ? bins - 1 : -1;
    }
};
#else
struct Binner { // values are bins themselves
    const void* edges;
    long long bins;
    double scale;
    __device__ bool has(long long) const { return true; }
    template <int lanes> __device__ void bin(const QUERN_T0* values, long long* found) const {
        for (int l = 0; l < lanes; ++l) found[l] = static_cast<long long>(values[l]);
    }
};
#endif

#if !QUERN_COUNT_THREADS
// So few bins have more than one table, for neighbours: an addition waits for that before it.
const int few_bins = 256, tables_of_few = 4;

// visit(k, l, bin) for elements [begin, end) in order, of which the k-th is the l-th of those looked at together; the bin behind the
// last one is that of all outside: no branch can foresee those.
template <class Visit> __device__ inline void each_bin(Binner binner, const QUERN_T0* x, long long begin, long long end, const Visit& visit) {
    const int lanes = QUERN_COUNT_EDGES ? search_lanes : 4;
    long long k = begin;
#if QUERN_COUNT_EDGES
    EdgeGrid grid;
    if (!(binner.scale > 0) && end - begin > 8 * EdgeGrid::cells && grid.make(binner.edges, binner.bins)) {
        const auto take = [&](auto steps) { // until too many stand in crowded cells
            for (; k + lanes <= end && 16 * grid.halved <= k - begin + 1024; k += lanes) {
                QUERN_T1 value[lanes];
                int cell[lanes];
                for (int l = 0; l < lanes; ++l) value[l] = convert<QUERN_T1>(x[k + l]);
                grid.find_cells(value, cell);
#pragma unroll 4
                for (int l = 0; l < lanes; ++l) visit(k + l, l, grid.bin_of<steps.value>(value[l], cell[l]));
            }
        };
        if (grid.steps == 0) take(Steps<0>());
        else if (grid.steps == 1) take(Steps<1>());
        else take(Steps<EdgeGrid::most_steps>());
    }
#endif
    const auto number = [&](long long bin) { return QUERN_COUNT_EDGES && bin < 0 ? binner.bins : bin; };
    long long found[lanes];
    for (; k + lanes <= end; k += lanes) {
        binner.bin<lanes>(x + k, found);
#pragma unroll 4
        for (int l = 0; l < lanes; ++l) visit(k + l, l, number(found[l]));
    }
    for (; k < end; ++k) {
        binner.bin<1>(x + k, found);
        visit(k, 0, number(found[0]));
    }
}
#endif

} // namespace quern

#if QUERN_COUNT_EDGES
#define QUERN_BINNER const QUERN_T0 *x, const long long count, const QUERN_T1 *edges, const long long bins, const double scale
#else
#define QUERN_BINNER const QUERN_T0 *x, const long long count, const void *edges, const long long bins, const double scale
#endif

#if QUERN_COUNT_THREADS
// All blocks add to one table, by way of shared memory where it is small.
extern "C" __global__ void quern_count(QUERN_BINNER, unsigned long long* counts) {
    const quern::Binner binner = {edges, bins, scale};
#if QUERN_COUNT_SHARED
    __shared__ unsigned int own[QUERN_COUNT_SHARED];
    for (int k = threadIdx.x; k < bins; k += blockDim.x) own[k] = 0;
    __syncthreads();
#endif
    long long last = -1;
    unsigned int run = 0; // neighbours are often alike
    const auto flush = [&] {
        if (run == 0 || last < 0) return;
#if QUERN_COUNT_SHARED
        atomicAdd(&own[last], run);
#else
        atomicAdd(&counts[last], static_cast<unsigned long long>(run));
#endif
    };
    const int batch = 8;
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long k = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; k < count; k += batch * step) {
        QUERN_T0 held[batch];
#pragma unroll
        for (int b = 0; b < batch; ++b)
            if (k + b * step < count) held[b] = x[k + b * step];
#pragma unroll
        for (int b = 0; b < batch; ++b) {
            if (k + b * step >= count) break;
            long long bin;
            binner.bin<1>(held + b, &bin);
            if (bin != last) {
                flush();
                last = bin;
                run = 0;
            }
            ++run;
        }
    }
    flush();
#if QUERN_COUNT_SHARED
    __syncthreads();
    for (int k = threadIdx.x; k < bins; k += blockDim.x)
        if (own[k]) atomicAdd(&counts[k], static_cast<unsigned long long>(own[k]));
#endif
}
#else
// A block of one thread has a table and a share of the elements.
extern "C" __global__ void quern_count(QUERN_BINNER, unsigned long long* tables) {
    const quern::Binner binner = {edges, bins, scale};
    unsigned long long* const own = tables + blockIdx.x * bins;
    const long long share = (count + gridDim.x - 1) / gridDim.x, begin = blockIdx.x * share, end = begin + share < count ? begin + share : count;
    if (bins > quern::few_bins) return quern::each_bin(binner, x, begin, end, [=](long long, int, long long bin) { own[binner.has(bin) ? bin : 0] += binner.has(bin); });
    unsigned long long apart[quern::tables_of_few][quern::few_bins + 1] = {};
    quern::each_bin(binner, x, begin, end, [&](long long, int l, long long bin) { ++apart[l % quern::tables_of_few][bin]; });
    for (int k = 0; k < bins; ++k) own[k] = apart[0][k] + apart[1][k] + apart[2][k] + apart[3][k];
}
#endif

// A group of lanes has a table and a share of the elements: a warp, whose lanes of one bin are summed by the first of them in
// order, or the one thread of a block.
extern "C" __global__ void quern_weigh(QUERN_BINNER, const double* weights, double* tables) {
    const quern::Binner binner = {edges, bins, scale};
#if QUERN_COUNT_THREADS
    const unsigned int lane = threadIdx.x % 32, all = 0xffffffffu;
    const long long groups = static_cast<long long>(gridDim.x) * (blockDim.x / 32),
                    group = static_cast<long long>(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
    const long long share = (count + groups - 1) / groups, begin = group * share, end = begin + share < count ? begin + share : count;
    double* const own = tables + group * bins;
    for (long long k = begin; k < end; k += 32) {
        const bool is_in = k + lane < end;
        long long bin = -1;
        if (is_in) binner.bin<1>(x + k + lane, &bin);
        double weight = is_in ? weights[k + lane] : 0.0;
        const unsigned int alike = __match_any_sync(all, bin), first = __ffs(alike) - 1;
        unsigned int rest = lane == first ? alike & (alike - 1) : 0;
        while (__any_sync(all, rest != 0)) {
            const unsigned int from = rest ? __ffs(rest) - 1 : lane;
            const double other = __shfl_sync(all, weight, from);
            if (rest) weight += other;
            rest &= rest - 1;
        }
        if (lane == first && bin >= 0) own[bin] += weight;
        __syncwarp();
    }
#else
    const long long share = (count + gridDim.x - 1) / gridDim.x, begin = blockIdx.x * share, end = begin + share < count ? begin + share : count;
    double* const own = tables + blockIdx.x * bins;
    if (bins > quern::few_bins)
        return quern::each_bin(binner, x, begin, end, [=](long long k, int, long long bin) { own[binner.has(bin) ? bin : 0] += binner.has(bin) ? weights[k] : 0.0; });
    double apart[quern::tables_of_few][quern::few_bins + 1] = {};
    quern::each_bin(binner, x, begin, end, [&](long long k, int l, long long bin) { apart[l % quern::tables_of_few][bin] += weights[k]; });
    for (int k = 0; k < bins; ++k) own[k] = (apart[0][k] + apart[1][k]) + (apart[2][k] + apart[3][k]);
#endif
}

// Sums of tables in their order.
extern "C" __global__ void quern_join_counts(const unsigned long long* tables, const long long groups, const long long bins,
                                             unsigned long long* counts) {
    QUERN_EACH(k, bins) {
        unsigned long long sum = 0;
        for (long long g = 0; g < groups; ++g) sum += tables[g * bins + k];
        counts[k] = sum;
    }
}
extern "C" __global__ void quern_join_weights(const double* tables, const long long groups, const long long bins, double* sums) {
    QUERN_EACH(k, bins) {
        double sum = tables[k];
        for (long long g = 1; g < groups; ++g) sum += tables[g * bins + k];
        sums[k] = sum;
    }
}
