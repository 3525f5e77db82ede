// What complex numbers ask for of their parts. Functions that come in pairs are on GPUs made in the same steps.
#pragma once
#include "quern/near.cuh"
#ifndef __QUERN_HOST__
#include "quern/near_logs_gpu.cuh"
#endif

namespace quern {

#ifdef __QUERN_HOST__
template <class T> __device__ inline void sin_and_cos(T x, T& sine, T& cosine) {
    sine = ::sin(x);
    cosine = ::cos(x);
}
template <class T> __device__ inline void sinh_and_cosh(T x, T& sine, T& cosine) {
    sine = ::sinh(x);
    cosine = ::cosh(x);
}
template <class T> __device__ inline T angle(T y, T x) { return ::atan2(y, x); }
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
template <class T> __device__ inline T angle(T y, T x) { return near::atan2(y, x); }
template <class T> __device__ inline T part_asinh(T x) { return near::asinh(x); }
template <class T> __device__ inline T part_log1p(T x) { return near::log1p(x); }
using near::log_of_size;
#endif

} // namespace quern
