// quern | elementwise | row_broadcast(x: float32[n], row: float32[n]) -> z: float32[n]
// plan: vector x4 | 2 axes | contiguous contiguous contiguous | 32-bit
#include "quern/elementwise.cuh"

typedef float T;

struct q_nest_type {
    unsigned int steps;
    unsigned int extent_1;
    quern::Divisor<unsigned int> by_row;
    int x_stride_0;
    int row_stride_0;
    int z_stride_0;
};

extern "C" __global__ void row_broadcast(const T* q_data_x, const T* q_data_row, T* q_data_z, const q_nest_type q_nest) {
    for (unsigned int q_step = static_cast<unsigned int>(blockIdx.x) * blockDim.x + threadIdx.x; q_step < q_nest.steps; q_step += static_cast<unsigned int>(gridDim.x) * blockDim.x) {
        const unsigned int q_row = q_nest.by_row.divide(q_step);
        const unsigned int q_at_0 = q_row;
        const int q_base = static_cast<int>((q_step - q_row * q_nest.by_row.divisor) * 4);
        const int q_begin = 0, q_end = static_cast<int>(q_nest.extent_1) - q_base;
        const T* q_at_x = quern::at_byte(q_data_x, static_cast<int>(q_at_0) * q_nest.x_stride_0) + q_base;
        quern::Pack<T, 4> q_pack_x;
        const T* q_at_row = quern::at_byte(q_data_row, static_cast<int>(q_at_0) * q_nest.row_stride_0) + q_base;
        quern::Pack<T, 4> q_pack_row;
        T* q_at_z = quern::at_byte(q_data_z, static_cast<int>(q_at_0) * q_nest.z_stride_0) + q_base;
        quern::Pack<T, 4> q_pack_z;
        q_pack_x.load(q_at_x, q_begin, q_end);
        q_pack_row.load(q_at_row, q_begin, q_end);
        #pragma unroll
        for (int q_lane = 0; q_lane < 4; ++q_lane) {
            if (q_lane >= q_begin && q_lane < q_end) {
                const T& x = q_pack_x[q_lane];
                const T& row = q_pack_row[q_lane];
                T& z = q_pack_z[q_lane];
                {
#line 1 "operation"
z = x * row
#line 40 "row_broadcast.cu"
                    ;
                }
            }
        }
        q_pack_z.store(q_at_z, q_begin, q_end);
    }
}
