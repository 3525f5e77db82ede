// Inverse hyperbolic functions for the CPU, as near.cuh has its functions: at most 1.2 units off.
#pragma once
#include "quern/near_tables_cpu.cuh"

namespace quern {
namespace near {

template <class T> struct Far; // so far x^2 has room, and 1 beside it is nothing
template <> struct Far<double> { static constexpr double value = 0x1p500; };
template <> struct Far<float> { static constexpr float value = 0x1p60f; };

// 1 / w within a 64th, within a quarter of (w - 1)^2 from 1 on: the bits of 1 / w are nearly those of w turned around 1.
template <class T> __device__ inline T near_inverse(T w) {
    typedef Bits<T> B;
    const T guess = B::value((typename B::Int(2 * B::bias) << B::mantissa) - B::of(w));
    return guess * ::fma(-w, guess, T(2));
}
// rest / w, of which few digits count but where w is close to 1, without a division.
template <class T> __device__ inline T share(T rest, T w) { return rest * near_inverse(w); }
template <class T> __device__ inline T infinite_at(T x) { return ::copysign(Infinite<T>::value(), x); }
template <class T> __device__ inline T none() { return Infinite<T>::value() - Infinite<T>::value(); }

template <class T> struct OneAnd { // 1 + u + rest
    T w, rest;
    __device__ OneAnd(T u, T u_rest) {
        w = T(1) + u;
        const T back = w - T(1);
        rest = (T(1) - (w - back)) + (u - back) + u_rest;
    }
};

// Those of `all` numbers, or of those alone that are close enough to 0, or 1, and have a result.
template <bool all, class T> __device__ inline T asinh_of(T x) {
    const T size = ::fabs(x);
    const bool close = !all || size < Far<T>::value;
    const T kept = close ? size : T(1), root = ::sqrt(::fma(kept, kept, T(1)));
    const T more = kept * kept / (T(1) + root), u = kept + more;
    const OneAnd<T> sum(u, more - (u - kept));
    const T found = log_of_sum(close ? sum.w : size, close ? share(sum.rest, sum.w) : T(0), close ? T(0) : T(1));
    return !all || size - size == T(0) ? ::copysign(found, x) : x;
}
template <bool all, class T> __device__ inline T acosh_of(T x) {
    const bool close = !all || x < Far<T>::value;
    const T kept = !all || (close & (x > T(1))) ? x : T(2), t = kept - T(1), sum = t + T(2), sum_rest = t - (sum - T(2));
    const T square = t * sum, root = ::sqrt(square);
    const T lost = share(::fma(-root, root, square) + ::fma(t, sum_rest, ::fma(t, sum, -square)), root + root);
    const T u = root + t;
    const OneAnd<T> one(u, lost + (t - (u - root)));
    const T found = log_of_sum(close ? one.w : x, close ? share(one.rest, one.w) : T(0), close ? T(0) : T(1));
    const T above = !all || x - x == T(0) ? found : x; // infinity and NaN are themselves
    return !all || x > T(1) ? above : x == T(1) ? T(0) : none<T>();
}
QUERN_SELDOM_OF_ONE(asinh, asinh_of<true>(x))
QUERN_SELDOM_OF_ONE(acosh, acosh_of<true>(x))
template <class T> __device__ inline T asinh(T x) {
    return seldom_asinh(asinh_of<false>(x), x, !(::fabs(x) < Far<T>::value));
}
template <class T> __device__ inline T acosh(T x) {
    return seldom_acosh(acosh_of<false>(x), x, !((x > T(1)) & (x < Far<T>::value)));
}
template <class T> __device__ inline T any_atanh(T x) {
    const T size = ::fabs(x), kept = size < T(1) ? size : T(0);
    const T below = T(1) - kept, below_rest = (T(1) - below) - kept, twice = kept + kept, u = twice / below;
    const OneAnd<T> sum(u, share(::fma(-u, below, twice) - u * below_rest, below));
    const T found = ::copysign(T(0.5) * log_of_sum(sum.w, share(sum.rest, sum.w), T(0)), x);
    const T end = size == T(1) ? infinite_at(x) : none<T>();
    return size < T(1) ? found : end;
}

template <class T> __device__ inline T atanh_of_float(T x) { // near 0 by its own series, else half of log(2 / b - 1)
    const float size = ::fabs(x), b = 1.0f - size, z = size * size;
    const float c[] = {0.333332986f, 0.200025871f, 0.142214924f, 0.118339218f, 0.0509869568f, 0.177194476f};
    const float d[] = { // -log(1 - b / 2) / b
        0.499999642f, 0.125013754f, 0.0414958633f, 0.0165865608f, 0.00359293097f, 0.00594502268f};
    const PartOf<float> part(b);
    const float far = -0.5f * log_of(part, b * polynomial(b, d), -1.0f);
    const float found = ::copysign(size < 0.5f ? ::fma(z * size, polynomial(z, c), size) : far, x);
    return size < 1.0f ? found : size == 1.0f ? infinite_at(x) : none<T>();
}
template <class T> __device__ inline T atanh(T x) { return sizeof(T) == 4 ? T(atanh_of_float(float(x))) : any_atanh(x); }

} // namespace near
} // namespace quern
