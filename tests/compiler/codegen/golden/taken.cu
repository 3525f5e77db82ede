// quern | elementwise | taken(x: float32[n], index: int64[n]) -> y: float32[n]
// plan: vector x4 | 1 axis | repeated contiguous contiguous | 32-bit
#include "quern/elementwise.cuh"

typedef float T;

struct q_nest_type {
    unsigned int steps;
    unsigned int extent_0;
};

extern "C" __global__ void __launch_bounds__(1024) taken(const T* q_data_x, const long long* q_data_index, T* q_data_y, const q_nest_type q_nest) {
    for (unsigned int q_step = static_cast<unsigned int>(blockIdx.x) * blockDim.x + threadIdx.x; q_step < q_nest.steps; q_step += static_cast<unsigned int>(gridDim.x) * blockDim.x) {
        const int q_base = static_cast<int>(q_step * 4);
        const int q_begin = 0, q_end = static_cast<int>(q_nest.extent_0) - q_base;
        const T* q_at_x = q_data_x;
        const long long* q_at_index = q_data_index + q_base;
        quern::Pack<long long, 4> q_pack_index;
        T* q_at_y = q_data_y + q_base;
        quern::Pack<T, 4> q_pack_y;
        q_pack_index.load<true>(q_at_index, q_begin, q_end);
        #pragma unroll
        for (int q_lane = 0; q_lane < 4; ++q_lane) {
            if (q_lane >= q_begin && q_lane < q_end) {
                const T* const x = &*q_at_x;
                const long long& index = q_pack_index[q_lane];
                T& y = q_pack_y[q_lane];
                {
#line 1 "operation"
y = x[index]
#line 32 "taken.cu"
                    ;
                }
            }
        }
        q_pack_y.store<true>(q_at_y, q_begin, q_end);
    }
}
