// The logarithm of a float on GPUs, 1.05 units in the last place off at most: few instructions, and fewer where the number is
// known to be positive, normal and finite.
#pragma once

namespace quern {
namespace near {

// The power of such a number, which is 2^power times one from `least` on; times 2^23, as it stands in the bits of a float.
template <int least> __device__ inline int power_bits_from(float x) { return (__float_as_int(x) - least) & static_cast<int>(0xff800000u); }
__device__ inline int power_bits(float x) { return power_bits_from<0x3f2aaaab>(x); } // of 1 + f, f from -1/3 to 1/3
constexpr float ln2_of_power_bits = 8.26295832e-8f; // ln(2) times 2^-23
// (log(1 + f) - f) / f^2, of least relative error in log(1 + f): 2.6e-8
__device__ inline float log_tail_of_third(float f) {
    const float c[] = {-0.49999936f, 0.333331981f, -0.250078188f, 0.200111687f, -0.164159616f, 0.139958059f, -0.153885356f, 0.140263642f};
    float tail = c[7];
#pragma unroll
    for (int k = 6; k >= 0; --k) tail = ::fma(tail, f, c[k]);
    return tail;
}
// `below`, times 2^23 too, is taken from the power.
__device__ inline float log_of_normal(float x, int below = 0) {
    const int power = power_bits(x);
    const float f = __int_as_float(__float_as_int(x) - power) - 1.0f, tail = log_tail_of_third(f);
    return ::fma(static_cast<float>(power - below), ln2_of_power_bits, ::fma(f, tail * f, f));
}
__device__ inline float log(float x) {
    const bool tiny = x < 1.17549435e-38f;
    const float found = log_of_normal(tiny ? x * 16777216.0f : x, tiny ? 24 << 23 : 0);
    const float bound = __int_as_float(0x7f800000);
    return x > 0.0f && x < bound ? found : x == 0.0f ? -bound : x < 0.0f ? bound - bound : x;
}

} // namespace near
} // namespace quern
