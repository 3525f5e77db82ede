// quern | elementwise | cpu_blocked(x: float32[n], y: float32[n]) -> z: float32[n]
// plan: blocked x64 | 3 axes | contiguous tiled contiguous | 64-bit
#include "quern/elementwise.cuh"

typedef float T;

struct q_nest_type {
    unsigned long long steps;
    unsigned long long share;
    unsigned long long extent_1;
    unsigned long long extent_2;
    quern::Divisor<unsigned long long> by_tiles_2;
    quern::Divisor<unsigned long long> by_tiles_1;
    long long x_stride_0;
    long long x_stride_1;
    long long y_stride_0;
    long long y_stride_1;
    long long y_stride_2;
    long long z_stride_0;
    long long z_stride_1;
};

extern "C" __global__ void cpu_blocked(const T* q_data_x, const T* q_data_y, T* q_data_z, const q_nest_type q_nest) {
    const unsigned long long q_first = blockIdx.x * q_nest.share, q_end = q_first + q_nest.share;
    for (unsigned long long q_tile = q_first; q_tile < q_end && q_tile < q_nest.steps; ++q_tile) {
        const unsigned long long q_above_low = q_nest.by_tiles_2.divide(q_tile);
        const unsigned long long q_low = (q_tile - q_above_low * q_nest.by_tiles_2.divisor) * 64;
        const unsigned long long q_above_high = q_nest.by_tiles_1.divide(q_above_low);
        const unsigned long long q_high = (q_above_low - q_above_high * q_nest.by_tiles_1.divisor) * 64;
        const unsigned long long q_at_0 = q_above_high;
        const unsigned long long q_high_end = q_high + 64 < q_nest.extent_1 ? q_high + 64 : q_nest.extent_1;
        const unsigned long long q_low_end = q_low + 64 < q_nest.extent_2 ? q_low + 64 : q_nest.extent_2;
        T q_tile_y[64][64];
        quern::turn_tile<64>(q_tile_y, quern::at_byte(quern::at_byte(q_data_y, static_cast<long long>(q_at_0) * q_nest.y_stride_0), static_cast<long long>(q_low) * q_nest.y_stride_2) + q_high, q_nest.y_stride_2, q_high_end - q_high, q_low_end - q_low);
        for (unsigned long long q_q = q_high; q_q < q_high_end; ++q_q) {
            quern::ask_for_run<64, 0>(quern::at_byte(quern::at_byte(q_data_x, static_cast<long long>(q_at_0) * q_nest.x_stride_0), static_cast<long long>(q_q) * q_nest.x_stride_1) + q_low_end);
            quern::ask_for_run<64, 1>(quern::at_byte(quern::at_byte(q_data_z, static_cast<long long>(q_at_0) * q_nest.z_stride_0), static_cast<long long>(q_q) * q_nest.z_stride_1) + q_low_end);
            const T* const q_row_x = quern::at_byte(quern::at_byte(q_data_x, static_cast<long long>(q_at_0) * q_nest.x_stride_0), static_cast<long long>(q_q) * q_nest.x_stride_1);
            const T* const q_row_y = q_tile_y[q_q - q_high] - q_low;
            T* const q_row_z = quern::at_byte(quern::at_byte(q_data_z, static_cast<long long>(q_at_0) * q_nest.z_stride_0), static_cast<long long>(q_q) * q_nest.z_stride_1);
            QUERN_INDEPENDENT
            for (long long q_j = static_cast<long long>(q_low); q_j < static_cast<long long>(q_low_end); ++q_j) {
                const T x = q_row_x[q_j];
                const T y = q_row_y[q_j];
                T& z = q_row_z[q_j];
                {
#line 1 "operation"
z = x + y
#line 50 "cpu_blocked.cu"
                    ;
                }
            }
        }
    }
}
