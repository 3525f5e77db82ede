// Does a row, or what stands at `places` of one, stand in order already? Blocks of one thread look at `chunk` elements each, and tell
// from stands[first] on.
#pragma once
#include "quern/standing_cpu.cuh"

namespace quern {

template <class T> __device__ inline bool stands_at(const T* row, const long long* places, long long begin, long long end) {
    const int width = 32;
    for (long long k = begin; k < end; k += width) {
        const int count = end - k < width ? static_cast<int>(end - k) : width;
        unsigned int falls = 0; // no bool, which vectors would not have
        for (int l = 0; l < count; ++l) falls |= sorts_before(row[places[k + l]], row[places[k + l - 1]]) ? 1 : 0;
        if (falls != 0) return false;
    }
    return true;
}

} // namespace quern

extern "C" __global__ void quern_stand(const QUERN_T0* row, const long long* places, const long long length, const long long chunk, bool* stands,
                                       const long long first) {
    const long long begin = blockIdx.x * chunk, end = begin + chunk < length ? begin + chunk : length;
    stands[first + blockIdx.x] = places ? quern::stands_at(row, places, begin > 0 ? begin : 1, end) : quern::standing(row, length, begin, end) > 0;
}
