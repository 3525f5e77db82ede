// quern | elementwise | cpu_range(a: float32, x: float32[n], y: float32[n]) -> out: float32[n]
// plan: range x1 | 1 axis | contiguous contiguous contiguous | 64-bit
#include "quern/elementwise.cuh"

typedef float T;

struct q_nest_type {
    unsigned long long count;
    unsigned long long share;
};

extern "C" __global__ void cpu_range(const T a, const T* q_data_x, const T* q_data_y, T* q_data_out, const q_nest_type q_nest) {
    const long long q_first = static_cast<long long>(blockIdx.x * q_nest.share);
    const long long q_limit = static_cast<long long>(q_nest.count), q_end = q_first + static_cast<long long>(q_nest.share);
    const long long q_last = q_end < q_limit ? q_end : q_limit;
    const T* const q_row_x = q_data_x;
    const T* const q_row_y = q_data_y;
    T* const q_row_out = q_data_out;
    QUERN_INDEPENDENT
    for (long long q_j = q_first; q_j < q_last; ++q_j) {
        const T x = q_row_x[q_j];
        const T y = q_row_y[q_j];
        T& out = q_row_out[q_j];
        {
#line 1 "operation"
out = a * x + y
#line 28 "cpu_range.cu"
            ;
        }
    }
}
