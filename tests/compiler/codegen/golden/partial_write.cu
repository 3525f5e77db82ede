// quern | elementwise | partial_write(x: int32[n]) -> y: int32[n]
// plan: vector x4 | 1 axis | contiguous contiguous | 32-bit
#include "quern/elementwise.cuh"

typedef int T;

struct q_nest_type {
    unsigned int steps;
    unsigned int extent_0;
};

extern "C" __global__ void partial_write(const T* q_data_x, T* q_data_y, const q_nest_type q_nest) {
    for (unsigned int q_step = static_cast<unsigned int>(blockIdx.x) * blockDim.x + threadIdx.x; q_step < q_nest.steps; q_step += static_cast<unsigned int>(gridDim.x) * blockDim.x) {
        const int q_base = static_cast<int>(q_step * 4);
        const int q_begin = 0, q_end = static_cast<int>(q_nest.extent_0) - q_base;
        const T* q_at_x = q_data_x + q_base;
        quern::Pack<T, 4> q_pack_x;
        T* q_at_y = q_data_y + q_base;
        quern::Pack<T, 4> q_pack_y;
        q_pack_x.load(q_at_x, q_begin, q_end);
        q_pack_y.load(q_at_y, q_begin, q_end);
        #pragma unroll
        for (int q_lane = 0; q_lane < 4; ++q_lane) {
            if (q_lane >= q_begin && q_lane < q_end) {
                const T& x = q_pack_x[q_lane];
                T& y = q_pack_y[q_lane];
                {
#line 1 "operation"
if (x > 0) y += x
#line 31 "partial_write.cu"
                    ;
                }
            }
        }
        q_pack_y.store(q_at_y, q_begin, q_end);
    }
}
