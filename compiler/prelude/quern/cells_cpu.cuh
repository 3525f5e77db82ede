// Parts of rows of a CPU, and how their values lie among a few keys in order.
#pragma once
#include "quern/sort_key.cuh"

namespace quern {

// A block's part of a row.
struct Part {
    long long row, number, begin, end;
    __device__ Part(long long length, long long splits, long long chunk)
        : row(blockIdx.x / splits), number(blockIdx.x - row * splits), begin(number * chunk), end(begin + chunk < length ? begin + chunk : length) {}
};

// visit(k, value) for `count` values that stand about evenly along a row.
template <class T, class Visit> __device__ inline void each_sampled(const T* row, long long length, long long count, const Visit& visit) {
    const long long apart = length / count;
    unsigned int noise = 0x9e3779b9u;
    for (long long k = 0; k < count; ++k) {
        noise = noise * 1664525u + 1013904223u;
        visit(k, row[k * apart + (noise >> 8) % apart]);
    }
}

template <class Key> struct CellNumber { typedef Key type; }; // as wide as a key, so that lanes of both match, but room for a count
template <> struct CellNumber<unsigned char> { typedef unsigned int type; };
template <> struct CellNumber<unsigned short> { typedef unsigned int type; };
template <> struct CellNumber<WideKey> { typedef unsigned long long type; };

const int reached_width = 32; // values that are looked at together

// reached[e] becomes the number of values of row[begin, end) at or behind edges[e], which rise, and visit(k, n, found) is told of
// the edges that are not above the values row[k] to row[k + n].
template <int most_edges, class T, class Key, class Count, class Visit>
__device__ inline void count_reached(const T* row, long long begin, long long end, const Key* edges, int count, Count* reached,
                                     const Visit& visit) {
    typedef typename CellNumber<Key>::type Number;
    const int lanes = 8, width = reached_width;
    const long long turn = 1ll << 24; // steps after which a lane's count is added to the others, before it overflows
    for (int e = 0; e < count; ++e) reached[e] = 0;
    for (long long from = begin; from < end; from += turn * width) {
        const long long stop = end - from < turn * width ? end : from + turn * width;
        Number sums[most_edges][lanes] = {};
        for (long long k = from; k < stop; k += width) {
            const int here = stop - k < width ? static_cast<int>(stop - k) : width;
            Key keys[width];
            Number found[width];
            for (int l = 0; l < width; ++l) keys[l] = Key(), found[l] = 0;
            if (here == width)
                for (int l = 0; l < width; ++l) keys[l] = SortKey<T>::of(row[k + l]);
            else
                for (int l = 0; l < here; ++l) keys[l] = SortKey<T>::of(row[k + l]);
            for (int e = 0; e < count; ++e) {
                const Key edge = edges[e];
                for (int l = 0; l < lanes; ++l) {
                    Number all = 0;
#pragma unroll
                    for (int m = 0; m < width; m += lanes) {
                        const Number one = !(keys[l + m] < edge);
                        found[l + m] += one;
                        all += one;
                    }
                    sums[e][l] += all;
                }
            }
            visit(k, here, found);
            if (here < width) // the keys beyond the end count where edges are as small
                for (int e = 0; e < count; ++e)
                    if (!(Key() < edges[e])) reached[e] -= width - here;
        }
        for (int e = 0; e < count; ++e)
            for (int l = 0; l < lanes; ++l) reached[e] += static_cast<Count>(sums[e][l]);
    }
}

} // namespace quern
