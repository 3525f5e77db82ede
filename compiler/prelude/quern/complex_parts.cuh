// What complex numbers ask for of their parts. Functions that come in pairs are on GPUs made in the same steps.
#pragma once
#include "quern/near.cuh"
#ifndef __QUERN_HOST__
#include "quern/near_logs_gpu.cuh"
#endif

namespace quern {

// x^2 + y^2, x >= y >= 0, and what rounding took from it. With products the compiler might round less, and then not know.
template <class T> struct SquareOfSize {
    T sum, rest;
    __device__ SquareOfSize(T x, T y) {
        const T square = ::fma(x, x, T(0));
        sum = square + ::fma(y, y, T(0));
        rest = ::fma(y, y, square - sum) + ::fma(x, x, -square);
    }
};
// x^2 + y^2 - 1 near the unit circle; squares of floats are whole in double.
__device__ inline double square_less_one(double x, double y) {
    const SquareOfSize<double> square(x, y);
    return (square.sum - 1) + square.rest;
}
__device__ inline float square_less_one(float x, float y) {
    return static_cast<float>((static_cast<double>(x) * x - 1) + static_cast<double>(y) * y);
}
template <class T> __device__ inline T angle(T y, T x) { return near::atan2(y, x); }

#ifdef __QUERN_HOST__
template <class T> __device__ inline void sin_and_cos(T x, T& sine, T& cosine) {
    sine = ::sin(x);
    cosine = ::cos(x);
}
template <class T> __device__ inline void sinh_and_cosh(T x, T& sine, T& cosine) {
    sine = ::sinh(x);
    cosine = ::cosh(x);
}
template <class T> __device__ inline T part_asinh(T x) { return ::asinh(x); }
template <class T> __device__ inline T part_log1p(T x) { return ::log1p(x); }
template <class T> __device__ inline T log_of_size(T, T, bool& usual) {
    usual = false;
    return T(0);
}
#else
__device__ inline void sin_and_cos(double x, double& sine, double& cosine) { ::sincos(x, &sine, &cosine); }
__device__ inline void sin_and_cos(float x, float& sine, float& cosine) { ::sincosf(x, &sine, &cosine); }
// Where e^|x| is a number.
__device__ inline void sinh_and_cosh(double x, double& sine, double& cosine) {
    const near::HyperbolicParts parts(::fabs(x));
    sine = ::copysign(parts.sine(), x);
    cosine = parts.cosine();
}
__device__ inline void sinh_and_cosh(float x, float& sine, float& cosine) {
    const float size = ::fabs(x);
    const near::ExpParts<float> parts(size);
    const float half = (1.0f + parts.head) * near::two_to<float>(parts.power - 1), rest = 0.25f * near::inverse(half);
    sine = ::copysign(size < 1.0f ? near::sinh_near_0(size) : half - rest, x);
    cosine = half + rest;
}
template <class T> __device__ inline T part_asinh(T x) { return near::asinh(x); }
template <class T> __device__ inline T part_log1p(T x) { return near::log1p(x); }
// log(sqrt(x^2 + y^2)), x >= y >= 0, also where that is close to 0.
__device__ inline double log_of_size(double x, double y, bool& usual) {
    const SquareOfSize<double> square(x, y);
    usual = usual & (square.sum > 0x1p-900) & (square.sum < 0x1p900);
    return 0.5 * near::LogOfSum<double>(square.sum, square.rest).value();
}
__device__ inline float log_of_size_in_double(float x, float y, bool& usual) { // squares are whole there
    const double square = static_cast<double>(x) * x, other = static_cast<double>(y) * y, sum = square + other;
    const double rest = sum < 2.0 ? other - (sum - square) : 0.0;
    const near::PartOf<double> part(sum);
    usual = usual & (sum > 0.0) & (sum < near::Infinite<double>::value());
    const double twos = part.power + near::log2_of_part(part.index) + ::fma(part.r, near::log2_share(part.r), rest * near::Binary<double>::turns);
    return static_cast<float>(0.5 * near::Binary<double>::ln2 * twos);
}
__device__ inline float log_of_size(float x, float y, bool& usual) {
    const SquareOfSize<float> square(x, y);
    const float log = near::LogOfSum<float>::of(square.sum, square.rest).value();
    if ((square.sum > 0x1p-100f) & (square.sum < 0x1p100f) & (::fabs(log) >= 0x1p-20f)) return 0.5f * log;
    return log_of_size_in_double(x, y, usual);
}
#endif

} // namespace quern
