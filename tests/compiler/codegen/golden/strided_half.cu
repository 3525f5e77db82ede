// quern | elementwise | strided_half(x: float16[n]) -> y: float16[n]
// plan: scattered x4 | 1 axis | strided contiguous | 32-bit
#include "quern/half.cuh"
#include "quern/elementwise.cuh"

typedef float16 T;

struct q_nest_type {
    unsigned int count;
    int x_stride_0;
};

extern "C" __global__ void strided_half(const T* q_data_x, T* q_data_y, const q_nest_type q_nest) {
    for (unsigned int q_first = static_cast<unsigned int>(blockIdx.x) * blockDim.x * 4 + threadIdx.x; q_first < q_nest.count; q_first += static_cast<unsigned int>(gridDim.x) * blockDim.x * 4) {
        T q_lanes_x[4];
        T q_lanes_y[4];
        T* q_places_y[4];
        #pragma unroll
        for (int q_lane = 0; q_lane < 4; ++q_lane) {
            const unsigned int q_step = q_first + q_lane * blockDim.x;
            if (q_step < q_nest.count) {
                const unsigned int q_at_0 = q_step;
                q_lanes_x[q_lane] = *quern::at_byte(q_data_x, static_cast<int>(q_at_0) * q_nest.x_stride_0);
                q_places_y[q_lane] = &q_data_y[q_at_0];
            }
        }
        #pragma unroll
        for (int q_lane = 0; q_lane < 4; ++q_lane) {
            const unsigned int q_step = q_first + q_lane * blockDim.x;
            if (q_step < q_nest.count) {
                const T& x = q_lanes_x[q_lane];
                T& y = q_lanes_y[q_lane];
                {
#line 1 "operation"
y = x + T(1)
#line 37 "strided_half.cu"
                    ;
                }
            }
        }
        #pragma unroll
        for (int q_lane = 0; q_lane < 4; ++q_lane) {
            const unsigned int q_step = q_first + q_lane * blockDim.x;
            if (q_step < q_nest.count) {
                *q_places_y[q_lane] = q_lanes_y[q_lane];
            }
        }
    }
}
