// quern | elementwise | cpu_gathered(x: float32[n], y: uint8[n], far: float32[n]) -> z: float32[n]
// plan: range x1 | 1 axis | gathered gathered strided contiguous | 64-bit
#include "quern/elementwise.cuh"

typedef float T;
typedef unsigned char U;

struct q_nest_type {
    unsigned long long count;
    unsigned long long share;
    long long x_stride_0;
    long long y_stride_0;
    long long far_stride_0;
};

extern "C" __global__ void cpu_gathered(const T* q_data_x, const U* q_data_y, const T* q_data_far, T* q_data_z, const q_nest_type q_nest) {
    const long long q_first = static_cast<long long>(blockIdx.x * q_nest.share);
    const long long q_limit = static_cast<long long>(q_nest.count), q_end = q_first + static_cast<long long>(q_nest.share);
    const long long q_last = q_end < q_limit ? q_end : q_limit;
    const T* const q_row_x = q_data_x;
    const U* const q_row_y = q_data_y;
    const T* const q_row_far = q_data_far;
    T* const q_row_z = q_data_z;
    const long long q_by_x = q_nest.x_stride_0 + blockIdx.y;
    const long long q_by_y = q_nest.y_stride_0 + blockIdx.y;
    const long long q_by_far = q_nest.far_stride_0 + blockIdx.y;
    for (long long q_begin = q_first; q_begin < q_last; q_begin += 512) {
        const long long q_past = q_begin + 512 < q_last ? q_begin + 512 : q_last;
        alignas(64) unsigned char q_near_x_bytes[512 * sizeof(T)];
        T* const q_near_x = reinterpret_cast<T*>(q_near_x_bytes);
        quern::gather_row(q_near_x, quern::at_byte(q_row_x, (q_begin) * q_by_x), q_by_x, q_past - (q_begin));
        alignas(64) unsigned char q_near_y_bytes[512 * sizeof(U)];
        U* const q_near_y = reinterpret_cast<U*>(q_near_y_bytes);
        quern::gather_row(q_near_y, quern::at_byte(q_row_y, (q_begin) * q_by_y), q_by_y, q_past - (q_begin));
        QUERN_INDEPENDENT
        for (long long q_j = q_begin; q_j < q_past; ++q_j) {
            const T x = q_near_x[q_j - q_begin];
            const U y = q_near_y[q_j - q_begin];
            const T far = *quern::at_byte(q_row_far, q_j * q_by_far);
            T& z = q_row_z[q_j];
            {
#line 1 "operation"
z = x + T(y) + far
#line 45 "cpu_gathered.cu"
                ;
            }
        }
    }
}
