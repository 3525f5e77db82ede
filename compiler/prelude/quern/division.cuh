// Division of floats with remainder, as NumPy has it, exact. On the CPU without a call, so that loops of it become vectors.
#pragma once
#include "quern/near.cuh"

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

// |a| is reduced by multiples of |b| that are b times a power of two, such that quotients are exact.
__device__ inline double fmod_of_many(double a, double b) {
    const double below = ::fabs(b);
    const int least = ::ilogb(below), most = 50; // bits of a quotient
    double left = ::fabs(a);
    for (int apart; left >= below && (apart = ::ilogb(left) - least) >= 0;) {
        const double step = ::scalbn(below, apart > most ? apart - most : 0), rest = ::fma(-::trunc(left / step), step, left);
        left = rest < 0 ? rest + step : rest; // the division may have rounded up
    }
    return ::copysign(left, a);
}
template <class T> __device__ inline T fmod(T a, T b);
QUERN_SELDOM_OF_TWO(fmod, double, fmod_of_many(x, y))
QUERN_SELDOM_OF_TWO(fmod, float, static_cast<float>(fmod<double>(x, y))) // which is exact
template <class T> __device__ inline T fmod(T a, T b) {
    const T above = ::fabs(a), below = ::fabs(b);
    const T whole = ::trunc(above / below), rest = ::fma(-whole, below, above); // the division may have rounded up
    const T left = above < below ? above : rest < T(0) ? rest + below : rest;
    const bool large = (whole >= Ends<T>::exact) & (above <= Ends<T>::huge) & (below > T(0));
    return seldom_fmod(::copysign(left, a), a, b, large);
}
template <class T> struct OfFloats {
    static __device__ T left(T a, T b) { return division::fmod(a, b); }
    static __device__ T remainder(T a, T b) { return remainder_of(left(a, b), b); }
    static __device__ T floored(T a, T b) { return quotient_of(left(a, b), a, b); }
};
#else
// GPUs have no division either. The whole number nearest to a quotient that is roughly known leaves what one fused step has
// exactly, as long as it is small: so much less than 2^mantissa that it is the nearest one, or beside it where that is halfway.
using near::rough_inverse;
template <class T> struct Ends; // of quotients that are small, and of divisors by their bits, from where their inverses are numbers
template <> struct Ends<double> {
    static constexpr double small = 0x1p35;
    static constexpr long long low = 0x0170000000000000ll, high = 0x7e70000000000000ll; // 2^-1000, 2^1000
};
template <> struct Ends<float> {
    static constexpr float small = 0x1p20f;
    static constexpr int low = 0x0d800000, high = 0x71800000; // 2^-100, 2^100
};
template <class T> struct Nearest {
    T whole, left; // a = whole * b + left
    bool usual;
    __device__ Nearest(T a, T b) {
        typedef near::Bits<T> B;
        const T ratio = a * rough_inverse(b);
        const near::Whole<T> nearest(ratio);
        const typename B::Int size = B::of(::fabs(b));
        const bool inside = ::fabs(a) < ::fabs(b);
        whole = inside ? T(0) : nearest.value;
        left = inside ? a : ::fma(-nearest.value, b, a);
        usual = !(::fabs(ratio) >= Ends<T>::small) & (size >= Ends<T>::low) & (size < Ends<T>::high); // NaN is
    }
    __device__ bool is_past(T sign) const { return (left != T(0)) & ((left < T(0)) != (sign < T(0))); }
    __device__ T rest(T a, T b) const { // with the sign of a
        return ::copysign(is_past(a) ? ::fabs(left) - ::fabs(b) : left, a);
    }
    __device__ T remainder(T b) const {
        const T moved = is_past(b) ? left + b : left;
        return moved == T(0) ? ::copysign(moved, b) : moved;
    }
    __device__ T floored(T a, T b) const {
        const T found = is_past(b) ? whole - T(1) : whole;
        return found == T(0) ? ::copysign(found, b < T(0) ? -a : a) : found;
    }
};
// First steps for packs of elements, which ask one question for all of them.
template <class T> __device__ inline T quick_rest(T a, T b, bool& usual) {
    const Nearest<T> nearest(a, b);
    usual = usual & nearest.usual;
    return nearest.rest(a, b);
}
template <class T> __device__ inline T quick_remainder(T a, T b, bool& usual) {
    const Nearest<T> nearest(a, b);
    usual = usual & nearest.usual;
    return nearest.remainder(b);
}
template <class T> __device__ inline T quick_floored(T a, T b, bool& usual) {
    const Nearest<T> nearest(a, b);
    usual = usual & nearest.usual;
    return nearest.floored(a, b);
}
template <class T> __device__ inline void quick_divmod(T a, T b, T& r, T& s, bool& usual) {
    const Nearest<T> nearest(a, b);
    usual = usual & nearest.usual;
    r = nearest.floored(a, b);
    s = nearest.remainder(b);
}
template <class T> struct OfFloats {
    static __device__ T left(T a, T b) QUERN_QUICK_OR(quick_rest(a, b, usual), ::fmod(a, b))
    static __device__ T remainder(T a, T b) QUERN_QUICK_OR(quick_remainder(a, b, usual), remainder_of(::fmod(a, b), b))
    static __device__ T floored(T a, T b) QUERN_QUICK_OR(quick_floored(a, b, usual), quotient_of(::fmod(a, b), a, b))
};
#endif

} // namespace division
} // namespace quern
