// Stable sorts of rows, NaN last: short rows are merged, longer ones go digit by digit of a key, from the lowest up or, whole
// rows on a CPU, from the highest down. Zeros keep their signs: values move as they are, or as keys where there is no -0.0.
// QUERN_SORT_PAIRS: the place that a value had in its row travels with it. Where QUERN_SORT_THREADS is 0 a block is one thread,
// and no thread waits.
#pragma once
#include "quern/sort_key.cuh"

namespace quern {

#if QUERN_SORT_WIDE
typedef long long SortPlace;
typedef unsigned long long SortCount;
#else
typedef unsigned int SortPlace;
typedef unsigned int SortCount;
#endif

const int sort_digits = 256; // digits of 8 bits

// Where places come from and go to: on the way in `SortPlace`s, at the end in 64 bits. Without `given` a value's place is
// where it stands.
struct Places {
    const SortPlace* from;
    SortPlace* to;
    const long long* given;
    long long* result;
    __device__ SortPlace at(long long row, long long k) const {
        return from ? from[row + k] : given ? static_cast<SortPlace>(given[row + k]) : static_cast<SortPlace>(k);
    }
    __device__ void put(long long row, long long k, SortPlace place) const {
        if (to)
            to[row + k] = place;
        else
            result[row + k] = place;
    }
};

#if QUERN_SORT_THREADS
const int sort_held = QUERN_SORT_HELD, sort_block = QUERN_SORT_BLOCK, sort_warps = sort_block / 32, sort_tile = sort_held * sort_block;
#endif

} // namespace quern

#if QUERN_SORT_THREADS && QUERN_SORT_ROAD == 0
#include "quern/sort_short_gpu.cuh"
#elif QUERN_SORT_THREADS
#include "quern/sort_gpu.cuh"
#elif QUERN_SORT_ROAD == 0
#include "quern/sort_short_cpu.cuh"
#elif QUERN_SORT_ROAD == 1
#include "quern/sort_cpu.cuh"
#else
#include "quern/sort_split_cpu.cuh"
#endif
