// quern | elementwise | saxpy(a: float32, x: float32[n], y: float32[n]) -> out: float32[n]
// plan: vector x4 | 1 axis | contiguous contiguous contiguous | 32-bit
#include "quern/elementwise.cuh"

typedef float T;

struct q_nest_type {
    unsigned int steps;
    unsigned int extent_0;
};

extern "C" __global__ void saxpy(const T a, const T* q_data_x, const T* q_data_y, T* q_data_out, const q_nest_type q_nest) {
    for (unsigned int q_step = static_cast<unsigned int>(blockIdx.x) * blockDim.x + threadIdx.x; q_step < q_nest.steps; q_step += static_cast<unsigned int>(gridDim.x) * blockDim.x) {
        const int q_base = static_cast<int>(q_step * 4);
        const int q_begin = 0, q_end = static_cast<int>(q_nest.extent_0) - q_base;
        const T* q_at_x = q_data_x + q_base;
        quern::Pack<T, 4> q_pack_x;
        const T* q_at_y = q_data_y + q_base;
        quern::Pack<T, 4> q_pack_y;
        T* q_at_out = q_data_out + q_base;
        quern::Pack<T, 4> q_pack_out;
        q_pack_x.load(q_at_x, q_begin, q_end);
        q_pack_y.load(q_at_y, q_begin, q_end);
        #pragma unroll
        for (int q_lane = 0; q_lane < 4; ++q_lane) {
            if (q_lane >= q_begin && q_lane < q_end) {
                const T& x = q_pack_x[q_lane];
                const T& y = q_pack_y[q_lane];
                T& out = q_pack_out[q_lane];
                {
#line 1 "operation"
out = a * x + y
#line 34 "saxpy.cu"
                    ;
                }
            }
        }
        q_pack_out.store(q_at_out, q_begin, q_end);
    }
}
