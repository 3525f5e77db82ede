// Division of floats with remainder, as NumPy has it, exact. On the CPU without a call, so that loops of it become vectors.
#pragma once
#ifdef __QUERN_HOST__
#include "quern/near.cuh"
#endif

namespace quern {
namespace division {

// From what fmod leaves: a remainder that is 0 has the divisor's sign, that of a division by 0 is NaN.
template <class T> __device__ inline T remainder_of(T left, T b) {
    const T moved = (b < 0) != (left < 0) ? left + b : left;
    return b == 0 ? left : left == 0 ? ::copysign(T(0), b) : moved;
}
template <class T> __device__ inline T quotient_of(T left, T a, T b) {
    const T cut = (a - left) / b, quotient = left != 0 && (b < 0) != (left < 0) ? cut - T(1) : cut;
    const T whole = ::floor(quotient), near = quotient - whole > T(0.5) ? whole + T(1) : whole;
    const T ratio = a / b;
    return b == 0 ? ratio : quotient == 0 ? ::copysign(T(0), ratio) : near;
}
#ifdef __QUERN_HOST__
template <class T> struct Ends; // exact: so far all whole numbers are numbers of the type
template <> struct Ends<double> { static constexpr double exact = 0x1p53, huge = 1.7976931348623157e308; };
template <> struct Ends<float> { static constexpr float exact = 0x1p24f, huge = 3.40282347e38f; };

QUERN_SELDOM_OF_TWO(fmod, double, ::fmod(x, y)) QUERN_SELDOM_OF_TWO(fmod, float, ::fmod(x, y))
template <class T> __device__ inline T fmod(T a, T b) {
    const T above = ::fabs(a), below = ::fabs(b);
    const T whole = ::trunc(above / below), rest = ::fma(-whole, below, above); // the division may have rounded up
    const T left = above < below ? above : rest < T(0) ? rest + below : rest;
    const bool large = (whole >= Ends<T>::exact) & (above <= Ends<T>::huge) & (below > T(0));
    return seldom_fmod(::copysign(left, a), a, b, large);
}
#else
template <class T> __device__ inline T fmod(T a, T b) { return ::fmod(a, b); }
#endif
template <class T> struct OfFloats {
    static __device__ T left(T a, T b) { return division::fmod(a, b); }
    static __device__ T remainder(T a, T b) { return remainder_of(left(a, b), b); }
    static __device__ T floored(T a, T b) { return quotient_of(left(a, b), a, b); }
};

} // namespace division
} // namespace quern
