// Division, roots and logarithms of floats in the middle of their range, without a branch and with the bits of the functions for
// all floats. Of others they take `usual` away: then the elements are computed again, by those. They ask in every call, and what
// is behind the question waits for it: elements side by side are no longer computed in turns.
#pragma once
#include "quern/approximate.cuh"
#ifdef __QUERN_HOST__
    #include "quern/ufunc.cuh"
#else
    #include "quern/near_log.cuh"
#endif

namespace quern {
namespace swift {

__device__ inline float inverse(float x) {
    const float near = approximate::inverse(x);
    return ::fma(near, ::fma(-x, near, 1.0f), near);
}
// What leaves the range ends as NaN, 0 or too small; of a small `a` what a * r leaves would be rounded. With the rounded inverse
// one step rounds every quotient of two fractions of 24 bits rightly: all 2^46 were tried.
__device__ inline float divide(float a, float b, bool& usual) {
    const float r = inverse(b), first = a * r, quotient = ::fma(::fma(-b, first, a), r, first);
    usual = usual & (::fabs(quotient) >= 2.3509887e-38f) & (::fabs(a) >= 7.8886091e-31f); // 2^-125, 2^-100
    return quotient;
}
// What many numbers are divided by: its inverse is made once, and not again where registers are few. Quotients that are large
// enough are of dividends that are, too.
struct Divisor {
    float value, inverse, least;
    __device__ explicit Divisor(float x) : value(x), inverse(swift::inverse(x)) {
#ifndef __QUERN_HOST__
        asm volatile("" : "+f"(inverse));
#endif
        least = ::fmax(2.3509887e-38f, 7.8886091e-31f * ::fabs(inverse));
    }
};
__device__ inline float divide(float a, const Divisor& b, bool& usual) {
    const float first = a * b.inverse, quotient = ::fma(::fma(-b.value, first, a), b.inverse, first);
    usual = usual & (::fabs(quotient) >= b.least);
    return quotient;
}
__device__ inline float reciprocal(float x, bool& usual) {
    const float r = inverse(x);
    usual = usual & (::fabs(r) >= 2.3509887e-38f);
    return r;
}
__device__ inline float sqrt(float x, bool& usual) {
    const float r = approximate::inverse_root(x), near = x * r, root = ::fma(::fma(-near, near, x), 0.5f * r, near);
    usual = usual & (root >= 8.8817842e-16f); // 2^-50
    return root;
}
__device__ inline float log(float x, bool& usual) {
#ifdef __QUERN_HOST__
    return ufunc::log(x);
#else
    // Of whatever is not positive, normal and finite it is further off (all 2^32 were tried): one question, not two.
    usual = usual & (::fabs(static_cast<float>(near::power_bits(x))) <= 125.0f * 8388608.0f);
    return near::log_of_normal(x);
#endif
}

} // namespace swift
} // namespace quern
