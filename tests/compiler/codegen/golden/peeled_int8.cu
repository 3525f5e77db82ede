// quern | elementwise | peeled_int8(x: int8[n], y: int8[n]) -> z: int8[n]
// plan: vector x16 | 1 axis | contiguous contiguous contiguous | 32-bit | peeled
#include "quern/elementwise.cuh"

typedef signed char T;

struct q_nest_type {
    unsigned int steps;
    unsigned int extent_0;
    unsigned int shift;
};

extern "C" __global__ void peeled_int8(const T* q_data_x, const T* q_data_y, T* q_data_z, const q_nest_type q_nest) {
    for (unsigned int q_step = static_cast<unsigned int>(blockIdx.x) * blockDim.x + threadIdx.x; q_step < q_nest.steps; q_step += static_cast<unsigned int>(gridDim.x) * blockDim.x) {
        const int q_base = static_cast<int>(q_step * 16 - q_nest.shift);
        const int q_begin = q_base < 0 ? -q_base : 0, q_end = static_cast<int>(q_nest.extent_0) - q_base;
        const T* q_at_x = q_data_x + q_base;
        quern::Pack<T, 16> q_pack_x;
        const T* q_at_y = q_data_y + q_base;
        quern::Pack<T, 16> q_pack_y;
        T* q_at_z = q_data_z + q_base;
        quern::Pack<T, 16> q_pack_z;
        q_pack_x.load(q_at_x, q_begin, q_end);
        q_pack_y.load(q_at_y, q_begin, q_end);
        #pragma unroll
        for (int q_lane = 0; q_lane < 16; ++q_lane) {
            if (q_lane >= q_begin && q_lane < q_end) {
                const T& x = q_pack_x[q_lane];
                const T& y = q_pack_y[q_lane];
                T& z = q_pack_z[q_lane];
                {
#line 1 "operation"
z = x + y
#line 35 "peeled_int8.cu"
                    ;
                }
            }
        }
        q_pack_z.store(q_at_z, q_begin, q_end);
    }
}
