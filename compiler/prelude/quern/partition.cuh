// Partitions of rows by blocks of one thread. With QUERN_PARTITION_PAIRS the places of values are the result.
#pragma once
#include "quern/partition_cpu.cuh"

// Values go by way of `there` and end `here`, or with places those end in `result`.
extern "C" __global__ void quern_partition(const QUERN_T0* in, QUERN_T0* here, QUERN_T0* there, unsigned int* here_places,
                                           unsigned int* there_places, long long* result, const long long rows, const long long length,
                                           const long long* wanted, const long long count) {
    typedef quern::PartItems<QUERN_T0> Items;
    for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
        const long long at = row * length, own = blockIdx.x * length;
        const Items from = {const_cast<QUERN_T0*>(in) + at, nullptr};
#if QUERN_PARTITION_PAIRS
        const Items one = {here + own, here_places + own}, other = {there + own, there_places + own};
#else
        const Items one = {here + at, nullptr}, other = {there + own, nullptr};
#endif
        const quern::Partition<QUERN_T0> partition = {one, other};
        if (quern::standing(from.values, length, 0, length) > 0)
            partition.finish(from, 0, length);
        else
            partition.divide_at(from, 0, length, wanted, count);
#if QUERN_PARTITION_PAIRS
        for (long long k = 0; k < length; ++k) result[at + k] = one.places[k];
#endif
    }
}
