// quern | elementwise | positions(x: complex64[n]) -> y: complex64[n]
// plan: vector x2 | 2 axes | contiguous contiguous | 32-bit
#include "quern/complex.cuh"
#include "quern/elementwise.cuh"

typedef complex<float> T;

struct q_nest_type {
    unsigned int steps;
    unsigned int extent_1;
    quern::Divisor<unsigned int> by_row;
    int x_stride_0;
    int y_stride_0;
};

extern "C" __global__ void positions(const T* q_data_x, T* q_data_y, const CIndexer<2> q_indexer, const q_nest_type q_nest) {
    CIndexer<2> _ind = q_indexer;
    for (unsigned int q_step = static_cast<unsigned int>(blockIdx.x) * blockDim.x + threadIdx.x; q_step < q_nest.steps; q_step += static_cast<unsigned int>(gridDim.x) * blockDim.x) {
        const unsigned int q_row = q_nest.by_row.divide(q_step);
        const unsigned int q_at_0 = q_row;
        const int q_base = static_cast<int>((q_step - q_row * q_nest.by_row.divisor) * 2);
        const int q_begin = 0, q_end = static_cast<int>(q_nest.extent_1) - q_base;
        const T* q_at_x = quern::at_byte(q_data_x, static_cast<int>(q_at_0) * q_nest.x_stride_0) + q_base;
        quern::Pack<T, 2> q_pack_x;
        T* q_at_y = quern::at_byte(q_data_y, static_cast<int>(q_at_0) * q_nest.y_stride_0) + q_base;
        quern::Pack<T, 2> q_pack_y;
        q_pack_x.load(q_at_x, q_begin, q_end);
        #pragma unroll
        for (int q_lane = 0; q_lane < 2; ++q_lane) {
            if (q_lane >= q_begin && q_lane < q_end) {
                const T& x = q_pack_x[q_lane];
                T& y = q_pack_y[q_lane];
                const ptrdiff_t i = static_cast<ptrdiff_t>(q_row) * q_nest.extent_1 + static_cast<ptrdiff_t>(q_base) + q_lane;
                _ind.set(i);
                {
#line 1 "operation"
y = x + _ind.get()[0]
#line 39 "positions.cu"
                    ;
                }
            }
        }
        q_pack_y.store(q_at_y, q_begin, q_end);
    }
}
