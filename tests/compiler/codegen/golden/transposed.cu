// quern | elementwise | transposed(x: float32[n], y: float32[n]) -> z: float32[n]
// plan: tile x1 | 2 axes | contiguous tiled contiguous | 32-bit
#include "quern/elementwise.cuh"

typedef float T;

struct q_nest_type {
    unsigned int steps;
    unsigned int extent_0;
    unsigned int extent_1;
    quern::Divisor<unsigned int> by_tiles_1;
    int x_stride_0;
    int y_stride_0;
    int y_stride_1;
    int z_stride_0;
};

extern "C" __global__ void transposed(const T* q_data_x, const T* q_data_y, T* q_data_z, const q_nest_type q_nest) {
    __shared__ T q_tile_y[32][33];
    const unsigned int q_column = threadIdx.x % 32, q_line = threadIdx.x / 32;
    for (unsigned int q_tile = blockIdx.x; q_tile < q_nest.steps; q_tile += gridDim.x) {
        const unsigned int q_above_low = q_nest.by_tiles_1.divide(q_tile);
        const unsigned int q_low = (q_tile - q_above_low * q_nest.by_tiles_1.divisor) * 32;
        const unsigned int q_high = q_above_low * 32;
        const T* q_at_x = q_data_x;
        T q_lanes_x[4];
        const T* q_at_y = q_data_y;
        T* q_at_z = q_data_z;
        T q_lanes_z[4];
        #pragma unroll
        for (int q_round = 0; q_round < 4; ++q_round) {
            const unsigned int q_turn = q_line + q_round * 8;
            const unsigned int q_tq = q_high + q_column, q_tp = q_low + q_turn;
            if (q_tq < q_nest.extent_0 && q_tp < q_nest.extent_1) {
                q_tile_y[q_turn][q_column] = quern::at_byte(q_at_y, static_cast<int>(q_tp) * q_nest.y_stride_1)[q_tq];
            }
            const unsigned int q_q = q_high + q_turn, q_p = q_low + q_column;
            if (q_q < q_nest.extent_0 && q_p < q_nest.extent_1) {
                q_lanes_x[q_round] = quern::at_byte(q_at_x, static_cast<int>(q_q) * q_nest.x_stride_0)[q_p];
            }
        }
        __syncthreads();
        #pragma unroll
        for (int q_round = 0; q_round < 4; ++q_round) {
            const unsigned int q_turn = q_line + q_round * 8;
            const unsigned int q_q = q_high + q_turn, q_p = q_low + q_column;
            if (q_q < q_nest.extent_0 && q_p < q_nest.extent_1) {
                const T& x = q_lanes_x[q_round];
                const T& y = q_tile_y[q_column][q_turn];
                T& z = q_lanes_z[q_round];
                {
#line 1 "operation"
z = x + y
#line 55 "transposed.cu"
                    ;
                }
                quern::at_byte(q_at_z, static_cast<int>(q_q) * q_nest.z_stride_0)[q_p] = z;
            }
        }
        __syncthreads();
    }
}
