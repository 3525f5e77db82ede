// quern | elementwise | cpu_rows(x: float32[n], row: float32[n]) -> z: float32[n]
// plan: range x1 | 2 axes | contiguous contiguous contiguous | 64-bit
#include "quern/elementwise.cuh"

typedef float T;

struct q_nest_type {
    unsigned long long count;
    unsigned long long share;
    quern::Divisor<unsigned long long> by_extent_1;
    long long x_stride_0;
    long long row_stride_0;
    long long z_stride_0;
};

extern "C" __global__ void cpu_rows(const T* q_data_x, const T* q_data_row, T* q_data_z, const q_nest_type q_nest) {
    const long long q_first = static_cast<long long>(blockIdx.x * q_nest.share);
    const long long q_limit = static_cast<long long>(q_nest.count), q_end = q_first + static_cast<long long>(q_nest.share);
    const long long q_last = q_end < q_limit ? q_end : q_limit;
    for (long long q_step = q_first; q_step < q_last;) {
        const long long q_row = static_cast<long long>(q_nest.by_extent_1.divide(q_step)), q_from = q_step - q_row * static_cast<long long>(q_nest.by_extent_1.divisor);
        const long long q_left = q_last - q_step, q_here = static_cast<long long>(q_nest.by_extent_1.divisor) - q_from;
        const long long q_to = q_from + (q_left < q_here ? q_left : q_here);
        const unsigned long long q_at_0 = q_row;
        const T* const q_row_x = quern::at_byte(q_data_x, static_cast<long long>(q_at_0) * q_nest.x_stride_0);
        const T* const q_row_row = quern::at_byte(q_data_row, static_cast<long long>(q_at_0) * q_nest.row_stride_0);
        T* const q_row_z = quern::at_byte(q_data_z, static_cast<long long>(q_at_0) * q_nest.z_stride_0);
        QUERN_INDEPENDENT
        for (long long q_j = q_from; q_j < q_to; ++q_j) {
            const T x = q_row_x[q_j];
            const T row = q_row_row[q_j];
            T& z = q_row_z[q_j];
            const ptrdiff_t i = q_row * static_cast<long long>(q_nest.by_extent_1.divisor) + q_j;
            {
#line 1 "operation"
z = x * row + i
#line 38 "cpu_rows.cu"
                ;
            }
        }
        q_step += q_to - q_from;
    }
}
