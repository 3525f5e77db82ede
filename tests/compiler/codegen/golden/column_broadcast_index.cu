// quern | elementwise | column_broadcast_index(x: float64[n], column: float64[n]) -> z: float64[n]
// plan: vector x2 | 2 axes | contiguous repeated contiguous | 32-bit
#include "quern/elementwise.cuh"

typedef double T;

struct q_nest_type {
    unsigned int steps;
    unsigned int extent_1;
    quern::Divisor<unsigned int> by_row;
    int x_stride_0;
    int column_stride_0;
    int z_stride_0;
};

extern "C" __global__ void column_broadcast_index(const T* q_data_x, const T* q_data_column, T* q_data_z, const q_nest_type q_nest) {
    const ptrdiff_t n = static_cast<ptrdiff_t>(q_nest.by_row.divide(q_nest.steps) * q_nest.extent_1);
    for (unsigned int q_step = static_cast<unsigned int>(blockIdx.x) * blockDim.x + threadIdx.x; q_step < q_nest.steps; q_step += static_cast<unsigned int>(gridDim.x) * blockDim.x) {
        const unsigned int q_row = q_nest.by_row.divide(q_step);
        const unsigned int q_at_0 = q_row;
        const int q_base = static_cast<int>((q_step - q_row * q_nest.by_row.divisor) * 2);
        const int q_begin = 0, q_end = static_cast<int>(q_nest.extent_1) - q_base;
        const T* q_at_x = quern::at_byte(q_data_x, static_cast<int>(q_at_0) * q_nest.x_stride_0) + q_base;
        quern::Pack<T, 2> q_pack_x;
        const T& column = *quern::at_byte(q_data_column, static_cast<int>(q_at_0) * q_nest.column_stride_0);
        T* q_at_z = quern::at_byte(q_data_z, static_cast<int>(q_at_0) * q_nest.z_stride_0) + q_base;
        quern::Pack<T, 2> q_pack_z;
        q_pack_x.load(q_at_x, q_begin, q_end);
        #pragma unroll
        for (int q_lane = 0; q_lane < 2; ++q_lane) {
            if (q_lane >= q_begin && q_lane < q_end) {
                const T& x = q_pack_x[q_lane];
                T& z = q_pack_z[q_lane];
                const ptrdiff_t i = static_cast<ptrdiff_t>(q_row) * q_nest.extent_1 + static_cast<ptrdiff_t>(q_base) + q_lane;
                {
#line 1 "operation"
z = x * column + i + n
#line 39 "column_broadcast_index.cu"
                    ;
                }
            }
        }
        q_pack_z.store(q_at_z, q_begin, q_end);
    }
}
