// quern | elementwise | swift_quotients(x: float32[n], y: float32[n], rows: float32[n]) -> z: float32[n]
// plan: vector x4 | 2 axes | contiguous contiguous repeated contiguous | 32-bit | swift
#include "quern/elementwise.cuh"
#include "quern/swift.cuh"

typedef float T;

struct q_nest_type {
    unsigned int steps;
    unsigned int extent_1;
    unsigned int share;
    quern::Divisor<unsigned int> by_row;
    int x_stride_0;
    int y_stride_0;
    int rows_stride_0;
    int z_stride_0;
};

extern "C" __global__ void swift_quotients(const T* q_data_x, const T* q_data_y, const T* q_data_rows, T* q_data_z, const q_nest_type q_nest) {
    const unsigned int q_past = static_cast<unsigned int>(blockIdx.x + 1) * q_nest.share, q_stop = q_past < q_nest.steps ? q_past : q_nest.steps;
    #pragma unroll 1
    for (unsigned int q_step = static_cast<unsigned int>(blockIdx.x) * q_nest.share + threadIdx.x; q_step < q_stop; q_step += blockDim.x) {
        const unsigned int q_row = q_nest.by_row.divide(q_step);
        const unsigned int q_at_0 = q_row;
        const int q_base = static_cast<int>((q_step - q_row * q_nest.by_row.divisor) * 4);
        const int q_begin = 0, q_end = static_cast<int>(q_nest.extent_1) - q_base;
        const T* q_at_x = quern::at_byte(q_data_x, static_cast<int>(q_at_0) * q_nest.x_stride_0) + q_base;
        quern::Pack<T, 4> q_pack_x;
        const T* q_at_y = quern::at_byte(q_data_y, static_cast<int>(q_at_0) * q_nest.y_stride_0) + q_base;
        quern::Pack<T, 4> q_pack_y;
        const T& rows = *quern::at_byte(q_data_rows, static_cast<int>(q_at_0) * q_nest.rows_stride_0);
        T* q_at_z = quern::at_byte(q_data_z, static_cast<int>(q_at_0) * q_nest.z_stride_0) + q_base;
        quern::Pack<T, 4> q_pack_z;
        bool quern_usual = q_begin == 0 && q_end >= 4;
        if (quern_usual) {
            q_pack_x.load(q_at_x, 0, 4);
            q_pack_y.load(q_at_y, 0, 4);
            #pragma unroll
            for (int q_lane = 0; q_lane < 4; ++q_lane) {
                const T& x = q_pack_x[q_lane];
                const T& y = q_pack_y[q_lane];
                T& z = q_pack_z[q_lane];
                {
#line 1 "operation"
z = quern::swift::divide(quern::swift::divide(x, y, quern_usual), rows, quern_usual)
#line 47 "swift_quotients.cu"
                    ;
                }
            }
            if (quern_usual) {
                q_pack_z.store(q_at_z, 0, 4);
            }
        }
        if (!quern_usual) {
            #pragma unroll 1
            for (int q_lane = q_begin; q_lane < 4 && q_lane < q_end; ++q_lane) {
                const T& x = q_at_x[q_lane];
                const T& y = q_at_y[q_lane];
                T& z = q_at_z[q_lane];
                {
#line 1 "operation"
z = x / y / rows
#line 64 "swift_quotients.cu"
                    ;
                }
            }
        }
    }
}
