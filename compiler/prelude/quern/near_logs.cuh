// Inverse hyperbolic functions, as near.cuh has its functions: at most 1.2 units off; and logarithms of doubles for the CPU.
#pragma once
#include "quern/near.cuh"

namespace quern {
namespace near {

// (log(1 + f) - 2s) / s^3 as a function of s^2, s = f / (2 + f), from sqrt(1/2) to sqrt(2).
__device__ inline double log_tail(double z) {
    const double c[] = {
        0.666666666666674, 0.3999999999937794, 0.28571428751309486, 0.22222197586824083, 0.18183619010448335,
        0.15312569390538439, 0.14811544563707552};
    return polynomial(z, c);
}
__device__ inline float log_tail(float z) {
    const float c[] = {0.66666782f, 0.3997708f, 0.29885197f};
    return polynomial(z, c);
}
template <class T> struct Middle; // sqrt(1/2), from where on fractions are counted; from `far` on 1 beside x^2 is nothing
template <> struct Middle<double> { static constexpr double value = 0.7071067811865476, far = 0x1p30; };
template <> struct Middle<float> { static constexpr float value = 0.70710678f, far = 0x1p14f; };

// log(w * (1 + rest) * 2^more), w normal, `rest` less than its last place.
template <class T> __device__ inline T log_of_sum(T w, T rest, T more) {
    typedef Bits<T> B;
    typedef typename B::Int Int;
    const Int middle = B::of(Middle<T>::value), ones = (Int(1) << B::mantissa) - 1, moved = B::of(w) - middle;
    const T shift = T(3ll << (B::mantissa - 1)), power = (B::value((moved >> B::mantissa) + B::of(shift)) - shift) + more;
    const T f = B::value((moved & ones) + middle) - T(1), s = f / (T(2) + f), z = s * s, half = T(0.5) * f * f;
    const T small = ::fma(s, ::fma(z, log_tail(z), half), ::fma(power, ExpRange<T>::rest, rest));
    return ::fma(power, ExpRange<T>::ln2, f - (half - small));
}
template <class T> struct OneAnd { // 1 + u + rest
    T w, rest;
    __device__ OneAnd(T u, T u_rest) {
        w = T(1) + u;
        const T back = w - T(1);
        rest = (T(1) - (w - back)) + (u - back) + u_rest;
    }
};

template <class T> __device__ inline T asinh(T x) {
    const T size = ::fabs(x);
    const bool close = size < Middle<T>::far;
    const T kept = close ? size : T(1), root = ::sqrt(::fma(kept, kept, T(1)));
    const T more = kept * kept / (T(1) + root), u = kept + more;
    const OneAnd<T> sum(u, more - (u - kept));
    const T found = log_of_sum(close ? sum.w : size, close ? sum.rest / sum.w : T(0), close ? T(0) : T(1));
    return size - size == T(0) ? ::copysign(found, x) : x;
}
template <class T> __device__ inline T acosh(T x) {
    const bool close = x < Middle<T>::far;
    const T kept = close & (x > T(1)) ? x : T(2), t = kept - T(1), sum = t + T(2), sum_rest = t - (sum - T(2));
    const T square = t * sum, root = ::sqrt(square);
    const T lost = (::fma(-root, root, square) + ::fma(t, sum_rest, ::fma(t, sum, -square))) / (root + root);
    const T u = root + t;
    const OneAnd<T> one(u, lost + (t - (u - root)));
    const T found = log_of_sum(close ? one.w : x, close ? one.rest / one.w : T(0), close ? T(0) : T(1));
    const T above = x - x == T(0) ? found : x; // infinity and NaN are themselves
    return x > T(1) ? above : x == T(1) ? T(0) : (x - x) / T(0);
}
template <class T> __device__ inline T atanh(T x) {
    const T size = ::fabs(x), kept = size < T(1) ? size : T(0);
    const T below = T(1) - kept, below_rest = (T(1) - below) - kept, twice = kept + kept, u = twice / below;
    const OneAnd<T> sum(u, (::fma(-u, below, twice) - u * below_rest) / below);
    const T found = ::copysign(T(0.5) * log_of_sum(sum.w, sum.rest / sum.w, T(0)), x), end = size == T(1) ? x / T(0) : (x - x) / (x - x);
    return size < T(1) ? found : end;
}

__device__ inline double log(double x) {
    const bool tiny = x < 0x1p-1022;
    return log_ends(x, log_of_sum(tiny ? x * 0x1p54 : x, 0.0, tiny ? -54.0 : 0.0));
}
// The vector library leaves its vectors for numbers that have no logarithm: they are kept from it.
__device__ inline double log10_of(double x) {
    return log_ends(x, ::log10((x > 0) & (x < Infinite<double>::value()) ? x : 1.0));
}

} // namespace near
} // namespace quern
