// quern | elementwise | swift_pairs(x: float32[n], y: float32[n]) -> z: float32[n]
// plan: vector x4 | 1 axis | contiguous contiguous contiguous | 32-bit | peeled | swift, in pairs
#include "quern/elementwise.cuh"
#include "quern/swift.cuh"

typedef float T;

struct q_nest_type {
    unsigned int steps;
    unsigned int extent_0;
    unsigned int share;
    unsigned int shift;
};

extern "C" __global__ void swift_pairs(const T* q_data_x, const T* q_data_y, T* q_data_z, const q_nest_type q_nest) {
    const unsigned int q_past = static_cast<unsigned int>(blockIdx.x + 1) * q_nest.share, q_stop = q_past < q_nest.steps ? q_past : q_nest.steps;
    #pragma unroll 1
    for (unsigned int q_step = static_cast<unsigned int>(blockIdx.x) * q_nest.share + threadIdx.x; q_step < q_stop; q_step += 2 * blockDim.x) {
        const int q_base = static_cast<int>(q_step * 4 - q_nest.shift);
        const int q_begin = q_base < 0 ? -q_base : 0, q_end = static_cast<int>(q_nest.extent_0) - q_base;
        const T* q_at_x = q_data_x + q_base;
        quern::Pack<T, 4> q_pack_x[2];
        const T* q_at_y = q_data_y + q_base;
        quern::Pack<T, 4> q_pack_y[2];
        T* q_at_z = q_data_z + q_base;
        quern::Pack<T, 4> q_pack_z[2];
        bool quern_usual = q_begin == 0 && q_end >= 4;
        const int q_apart = static_cast<int>(blockDim.x) * 4, q_next = q_end >= q_apart + 4 ? q_apart : 0;
        if (quern_usual) {
            q_pack_x[0].load(q_at_x, 0, 4);
            q_pack_y[0].load(q_at_y, 0, 4);
            q_pack_x[1].load(q_at_x + q_next, 0, 4);
            q_pack_y[1].load(q_at_y + q_next, 0, 4);
            #pragma unroll
            for (int q_pack = 0; q_pack < 2; ++q_pack) {
                #pragma unroll
                for (int q_lane = 0; q_lane < 4; ++q_lane) {
                    const T& x = q_pack_x[q_pack][q_lane];
                    const T& y = q_pack_y[q_pack][q_lane];
                    T& z = q_pack_z[q_pack][q_lane];
                    const ptrdiff_t i = static_cast<ptrdiff_t>(q_base) + q_lane + q_pack * q_next;
                    {
#line 1 "operation"
z = quern::swift::divide(quern::swift::divide(x, y, quern_usual), T(i + 1), quern_usual)
#line 46 "swift_pairs.cu"
                        ;
                    }
                }
            }
            if (quern_usual) {
                q_pack_z[0].store(q_at_z, 0, 4);
                q_pack_z[1].store(q_at_z + q_next, 0, 4);
            }
        }
        #pragma unroll 1
        for (int q_lane = quern_usual ? q_next + q_apart : q_begin; q_lane < q_apart + 4 && q_lane < q_end; q_lane += q_lane == 3 ? q_apart - 3 : 1) {
            const T& x = q_at_x[q_lane];
            const T& y = q_at_y[q_lane];
            T& z = q_at_z[q_lane];
            const ptrdiff_t i = static_cast<ptrdiff_t>(q_base) + q_lane;
            {
#line 1 "operation"
z = x / y / (i + 1)
#line 65 "swift_pairs.cu"
                ;
            }
        }
    }
}
