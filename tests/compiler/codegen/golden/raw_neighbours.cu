// quern | elementwise | raw_neighbours(raw x: uint8[n], width: int32) -> y: uint8[n]
// plan: vector x16 | 1 axis | contiguous | 32-bit
#include "quern/elementwise.cuh"
#include "quern/carray.cuh"

typedef unsigned char T;

struct q_nest_type {
    unsigned int steps;
    unsigned int extent_0;
};

extern "C" __global__ void raw_neighbours(const CArray<const T, 2, true, true> x, const int width, T* q_data_y, const q_nest_type q_nest) {
    for (unsigned int q_step = static_cast<unsigned int>(blockIdx.x) * blockDim.x + threadIdx.x; q_step < q_nest.steps; q_step += static_cast<unsigned int>(gridDim.x) * blockDim.x) {
        const int q_base = static_cast<int>(q_step * 16);
        const int q_begin = 0, q_end = static_cast<int>(q_nest.extent_0) - q_base;
        T* q_at_y = q_data_y + q_base;
        quern::Pack<T, 16> q_pack_y;
        #pragma unroll
        for (int q_lane = 0; q_lane < 16; ++q_lane) {
            if (q_lane >= q_begin && q_lane < q_end) {
                T& y = q_pack_y[q_lane];
                const ptrdiff_t i = static_cast<ptrdiff_t>(q_base) + q_lane;
                {
#line 1 "operation"
y = x[i] - x[(i + width) % x.size()]
#line 28 "raw_neighbours.cu"
                    ;
                }
            }
        }
        q_pack_y.store(q_at_y, q_begin, q_end);
    }
}
