// Does a row stand in order already? Blocks of one thread look at `chunk` elements each, and tell from stands[first] on.
#pragma once
#include "quern/standing_cpu.cuh"

extern "C" __global__ void quern_stand(const QUERN_T0* row, const long long length, const long long chunk, bool* stands,
                                       const long long first) {
    const long long begin = blockIdx.x * chunk, end = begin + chunk < length ? begin + chunk : length;
    stands[first + blockIdx.x] = quern::standing(row, length, begin, end) > 0;
}
