// quern | elementwise | two_steps(x: float64[n], y: float64[n]) -> r: float64[n]
// plan: vector x2 | 1 axis | contiguous contiguous contiguous | 32-bit
#include "quern/elementwise.cuh"
#include "quern/ufunc.cuh"

typedef double T;

struct q_nest_type {
    unsigned int steps;
    unsigned int extent_0;
};

extern "C" __global__ void two_steps(const T* q_data_x, const T* q_data_y, T* q_data_r, const q_nest_type q_nest) {
    for (unsigned int q_step = static_cast<unsigned int>(blockIdx.x) * blockDim.x + threadIdx.x; q_step < q_nest.steps; q_step += static_cast<unsigned int>(gridDim.x) * blockDim.x) {
        const int q_base = static_cast<int>(q_step * 2);
        const int q_begin = 0, q_end = static_cast<int>(q_nest.extent_0) - q_base;
        const T* q_at_x = q_data_x + q_base;
        quern::Pack<T, 2> q_pack_x;
        const T* q_at_y = q_data_y + q_base;
        quern::Pack<T, 2> q_pack_y;
        T* q_at_r = q_data_r + q_base;
        quern::Pack<T, 2> q_pack_r;
        q_pack_x.load(q_at_x, q_begin, q_end);
        q_pack_y.load(q_at_y, q_begin, q_end);
        bool quern_usual = true;
        #pragma unroll
        for (int q_lane = 0; q_lane < 2; ++q_lane) {
            if (q_lane >= q_begin && q_lane < q_end) {
                const T& x = q_pack_x[q_lane];
                const T& y = q_pack_y[q_lane];
                T& r = q_pack_r[q_lane];
                {
#line 1 "operation"
r = quern::near::quick_power(x, y, quern_usual)
#line 36 "two_steps.cu"
                    ;
                }
            }
        }
        if (!quern_usual) {
            #pragma unroll
            for (int q_lane = 0; q_lane < 2; ++q_lane) {
                if (q_lane >= q_begin && q_lane < q_end) {
                    const T& x = q_pack_x[q_lane];
                    const T& y = q_pack_y[q_lane];
                    T& r = q_pack_r[q_lane];
                    {
#line 1 "operation"
r = quern::near::mended_power(r, x, y)
#line 51 "two_steps.cu"
                        ;
                    }
                }
            }
        }
        q_pack_r.store(q_at_r, q_begin, q_end);
    }
}
