// quern | elementwise | leaves_early(x: float64[n]) -> y: float64[n]
// plan: scattered x1 | 1 axis | contiguous contiguous | 32-bit
#include "quern/elementwise.cuh"

typedef double T;

struct q_nest_type {
    unsigned int count;
};

extern "C" __global__ void leaves_early(const T* q_data_x, T* q_data_y, const q_nest_type q_nest) {
    for (unsigned int q_step = static_cast<unsigned int>(blockIdx.x) * blockDim.x + threadIdx.x; q_step < q_nest.count; q_step += static_cast<unsigned int>(gridDim.x) * blockDim.x) {
        const unsigned int q_at_0 = q_step;
        const T& x = q_data_x[q_at_0];
        T& y = q_data_y[q_at_0];
        {
#line 1 "operation"
if (x < 0) return;
y = sqrt(x)
#line 21 "leaves_early.cu"
            ;
        }
    }
}
