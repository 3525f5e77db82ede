// Does a row, or what stands at `places` of one, stand in order already? Blocks of one thread look at `chunk` elements each, and tell
// from stands[first] on.
#pragma once
#include "quern/standing_cpu.cuh"

namespace quern {

template <class T> struct PlacedRow {
    const T* values;
    const long long* places;
    __device__ const T& operator[](long long k) const { return values[places[k]]; }
};

} // namespace quern

extern "C" __global__ void quern_stand(const QUERN_T0* row, const long long* places, const long long length, const long long chunk, bool* stands,
                                       const long long first) {
    const long long begin = blockIdx.x * chunk, end = begin + chunk < length ? begin + chunk : length;
    const long long from = begin > 0 ? begin - 1 : 0;
    const quern::PlacedRow<QUERN_T0> placed = {row, places};
    stands[first + blockIdx.x] =
        (places ? quern::stretch_of<quern::Way::rises, QUERN_T0>(placed, from, end) : quern::stretch<quern::Way::rises>(row, from, end)) == end;
}
