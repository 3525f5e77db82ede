// quern | elementwise | transposed_half(x: float16[n], y: float16[n]) -> z: float16[n]
// plan: tile x2 in packs | 2 axes | contiguous tiled contiguous | 32-bit
#include "quern/half.cuh"
#include "quern/elementwise.cuh"

typedef float16 T;

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

extern "C" __global__ void __launch_bounds__(256, 6) transposed_half(const T* q_data_x, const T* q_data_y, T* q_data_z, const q_nest_type q_nest) {
    alignas(16) __shared__ T q_tile_y[quern::TilePlaces<T, 64>::count];
    const unsigned int q_column = threadIdx.x % 32 * 2, q_line = threadIdx.x / 32;
    for (unsigned int q_tile = blockIdx.x; q_tile < q_nest.steps; q_tile += gridDim.x) {
        const unsigned int q_above_low = q_nest.by_tiles_1.divide(q_tile);
        const unsigned int q_low = (q_tile - q_above_low * q_nest.by_tiles_1.divisor) * 64;
        const unsigned int q_high = q_above_low * 64;
        const bool q_whole = q_high + 64 <= q_nest.extent_0 && q_low + 64 <= q_nest.extent_1;
        const T* q_at_x = q_data_x;
        quern::Pack<T, 2> q_pack_x[8];
        const T* q_at_y = q_data_y;
        quern::Pack<T, 2> q_pack_y[8];
        T* q_at_z = q_data_z;
        quern::Pack<T, 2> q_pack_z[8];
        if (q_whole) {
            #pragma unroll
            for (int q_round = 0; q_round < 8; ++q_round) {
                q_pack_y[q_round].load(&quern::at_byte(q_at_y, static_cast<int>(q_low + q_line + q_round * 8) * q_nest.y_stride_1)[q_high + q_column], 0, 2);
            }
        }
        else {
            #pragma unroll
            for (int q_round = 0; q_round < 8; ++q_round) {
                #pragma unroll
                for (int q_lane = 0; q_lane < 2; ++q_lane) {
                    if (q_high + q_column + q_lane < q_nest.extent_0 && q_low + q_line + q_round * 8 < q_nest.extent_1) {
                        q_pack_y[q_round][q_lane] = quern::at_byte(q_at_y, static_cast<int>(q_low + q_line + q_round * 8) * q_nest.y_stride_1)[q_high + q_column + q_lane];
                    }
                }
            }
        }
        if (q_whole) {
            #pragma unroll
            for (int q_round = 0; q_round < 8; ++q_round) {
                q_pack_x[q_round].load(&quern::at_byte(q_at_x, static_cast<int>(q_high + q_line + q_round * 8) * q_nest.x_stride_0)[q_low + q_column], 0, 2);
            }
        }
        else {
            #pragma unroll
            for (int q_round = 0; q_round < 8; ++q_round) {
                #pragma unroll
                for (int q_lane = 0; q_lane < 2; ++q_lane) {
                    if (q_high + q_line + q_round * 8 < q_nest.extent_0 && q_low + q_column + q_lane < q_nest.extent_1) {
                        q_pack_x[q_round][q_lane] = quern::at_byte(q_at_x, static_cast<int>(q_high + q_line + q_round * 8) * q_nest.x_stride_0)[q_low + q_column + q_lane];
                    }
                }
            }
        }
        #pragma unroll
        for (int q_round = 0; q_round < 8; ++q_round) {
            q_pack_y[q_round].store(q_tile_y + quern::TilePlaces<T, 64>::at(q_line + q_round * 8, q_column), 0, 2);
        }
        __syncthreads();
        if (q_whole) {
            #pragma unroll
            for (int q_round = 0; q_round < 8; ++q_round) {
                #pragma unroll
                for (int q_lane = 0; q_lane < 2; ++q_lane) {
                    const T& x = q_pack_x[q_round][q_lane];
                    const T& y = q_tile_y[quern::TilePlaces<T, 64>::at(q_column + q_lane, q_line + q_round * 8)];
                    T& z = q_pack_z[q_round][q_lane];
                    {
#line 1 "operation"
z = x + y
#line 84 "transposed_half.cu"
                        ;
                    }
                }
            }
        }
        else {
            #pragma unroll
            for (int q_round = 0; q_round < 8; ++q_round) {
                #pragma unroll
                for (int q_lane = 0; q_lane < 2; ++q_lane) {
                    if (q_high + q_line + q_round * 8 < q_nest.extent_0 && q_low + q_column + q_lane < q_nest.extent_1) {
                        const T& x = q_pack_x[q_round][q_lane];
                        const T& y = q_tile_y[quern::TilePlaces<T, 64>::at(q_column + q_lane, q_line + q_round * 8)];
                        T& z = q_pack_z[q_round][q_lane];
                        {
#line 1 "operation"
z = x + y
#line 102 "transposed_half.cu"
                            ;
                        }
                    }
                }
            }
        }
        if (q_whole) {
            #pragma unroll
            for (int q_round = 0; q_round < 8; ++q_round) {
                q_pack_z[q_round].store(&quern::at_byte(q_at_z, static_cast<int>(q_high + q_line + q_round * 8) * q_nest.z_stride_0)[q_low + q_column], 0, 2);
            }
        }
        else {
            #pragma unroll
            for (int q_round = 0; q_round < 8; ++q_round) {
                #pragma unroll
                for (int q_lane = 0; q_lane < 2; ++q_lane) {
                    if (q_high + q_line + q_round * 8 < q_nest.extent_0 && q_low + q_column + q_lane < q_nest.extent_1) {
                        quern::at_byte(q_at_z, static_cast<int>(q_high + q_line + q_round * 8) * q_nest.z_stride_0)[q_low + q_column + q_lane] = q_pack_z[q_round][q_lane];
                    }
                }
            }
        }
        __syncthreads();
    }
}
