// Logarithms of sums of two powers on GPUs; those of floats by as many terms in double as a float needs.
#pragma once
#include "quern/near_logs_gpu.cuh"

namespace quern {
namespace near {

// Where they are normal numbers.
template <class T> __device__ inline T normal_exp2_of(const Whole<T>& whole, T part) {
    return Bits<T>::value(Bits<T>::of(part) + (whole.integer << Bits<T>::mantissa));
}
template <class T> __device__ inline T normal_exp(T x) {
    const Whole<T> whole(x * ExpRange<T>::turns);
    const T r = ::fma(-whole.value, ExpRange<T>::rest, ::fma(-whole.value, ExpRange<T>::ln2, x));
    return normal_exp2_of(whole, ::fma(r * r, exp_tail(r), r) + T(1));
}
template <class T> __device__ inline T normal_exp2(T x) {
    const Whole<T> whole(x);
    return normal_exp2_of(whole, exp2_of_part(x - whole.value));
}
// log2(1 + 2^-t), t >= 0, to 34 places.
__device__ inline double log2_of_one_and_power(double t) {
    const double kept = t < 1000 ? -t : -1000;
    const Whole<double> whole(kept);
    const double e[] = {
        0.9999999999616821, 0.6931471807284628, 0.24022651198155248, 0.0555041035339825, 0.009618027253914616,
        0.0013333922603489836, 0.00015469291077636148, 1.5201912458192056e-05};
    const double part = polynomial(kept - whole.value, e);
    const double power = __longlong_as_double(__double_as_longlong(part) + (whole.integer << 52));
    const double sum = 1 + power, lost = power - (sum - 1);
    const PartOf<double> parts(sum);
    return parts.power + log2_of_part(parts.index) + ::fma(parts.r, log2_share(parts.r), lost * Binary<double>::turns);
}
// |a - b|, also of one infinity.
template <class T> __device__ inline T distance(T a, T b) {
    const T apart = ::fabs(a - b);
    return a == b ? T(0) : apart;
}
// log(e^a + e^b), and of powers of 2. Where the parts cancel little of that is left, of NaN nothing.
__device__ inline float sum_of_powers(float a, float b, double turns, double unit, bool& usual) {
    const double apart = distance<double>(a, b), top = a > b ? a : b;
    const double value = ::fma(unit, log2_of_one_and_power(apart * turns), top);
    usual = usual & (::fabs(value) >= ::fabs(top) * 0x1p-8) & (apart == apart);
    return static_cast<float>(value);
}
// In float from 1/2 on.
__device__ inline float sum_of_powers_of_e(float a, float b, bool& usual) {
    const float apart = distance(a, b), power = normal_exp(-apart), small = apart < 87.0f ? power : 0.0f;
    const float sum = LogOfSum<float>::of_one_and(small, 0.0f).beside(a > b ? a : b);
    if ((::fabs(sum) >= 0.5f) & (apart == apart)) return sum;
    return sum_of_powers(a, b, Binary<double>::turns, Binary<double>::ln2, usual);
}
__device__ inline float sum_of_powers_of_2(float a, float b, bool& usual) {
    const float apart = distance(a, b), power = normal_exp2(-apart), small = apart < 126.0f ? power : 0.0f;
    const float sum = LogOfSum<float>::of_one_and(small, 0.0f).twos_beside(a > b ? a : b);
    if ((::fabs(sum) >= 0.5f) & (apart == apart)) return sum;
    return sum_of_powers(a, b, 1.0, 1.0, usual);
}

// Of doubles, as log(1 + e^-apart) beside the larger one; not where that power is a subnormal number.
__device__ inline double sum_of_powers_of_e(double a, double b, bool& usual) {
    const double apart = distance(a, b), top = a > b ? a : b;
    usual = usual & ((apart < 708.0) | (apart > 746.0));
    const double power = normal_exp(-apart), small = apart < 708.0 ? power : 0.0;
    return top + LogOfSum<double>::of_one_and(small, 0.0).value();
}
__device__ inline double sum_of_powers_of_2(double a, double b, bool& usual) {
    const double apart = distance(a, b), top = a > b ? a : b;
    usual = usual & ((apart < 1022.0) | (apart > 1076.0));
    const double power = normal_exp2(-apart), small = apart < 1022.0 ? power : 0.0;
    return top + LogOfSum<double>::of_one_and(small, 0.0).in_twos();
}

} // namespace near
} // namespace quern
