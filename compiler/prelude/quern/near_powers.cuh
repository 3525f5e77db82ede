// Powers of floats, as near.cuh has its functions: at most 0.9 units off.
#pragma once
#include "quern/near_parts.cuh"

namespace quern {
namespace near {

template <class T> struct Binary; // 1 / ln(2) and what it lacks, ln(2)
template <> struct Binary<double> {
    static constexpr double turns = 1.4426950408889634, turns_rest = 2.0355273740931033e-17, ln2 = 0.6931471805599453;
};
template <> struct Binary<float> {
    static constexpr float turns = 1.44269502f, turns_rest = 1.92596303e-08f, ln2 = 0.693147182f;
};
// log2(1 + r) less its first two terms, by r^3, for the r of PartOf.
__device__ inline double log2_tail(double r) {
    const double c[] = {
        0.4808983469629879, -0.3606737602222254, 0.2885390081767883, -0.24044917359965343, 0.2060992951281983,
        -0.18033657665695996, 0.1602945938164775, -0.1445902904141276, 0.13348324389050079};
    return polynomial(r, c);
}
__device__ inline float log2_tail(float r) {
    const float c[] = {0.480898261f, -0.360672474f, 0.288832784f, -0.24227263f};
    return polynomial(r, c);
}
// log2(x) in two numbers, x > 0, of its bits: to 64 places of double, 33 of float.
template <class T> struct LogOfTwo {
    T value, rest;
    __device__ explicit LogOfTwo(typename Bits<T>::Int bits) {
        typedef Binary<T> B;
        const PartOf<T> part(bits);
        const T r = part.r, tail = log2_tail(r), half = T(-0.5) * B::turns;
        const T second = ::fma(r, tail, half), second_rest = ::fma(r, tail, half - second) - T(0.5) * B::turns_rest;
        const T first = ::fma(r, second, B::turns);
        const T first_rest = ::fma(r, second, B::turns - first) + ::fma(r, second_rest, B::turns_rest);
        const T start = part.power + log2_of_part(part.index);
        value = ::fma(r, first, start);
        rest = ::fma(r, first, start - value) + ::fma(r, first_rest, log2_rest_of_part(part.index));
    }
};
// (2^f - 1 - f * ln(2)) / f^2 for |f| <= 1/2.
__device__ inline double exp2_tail(double f) {
    const double c[] = {
        0.24022650695910122, 0.055504108664820716, 0.00961812910759649, 0.0013333558146690085, 0.0001540353045478029,
        1.5252733543909612e-05, 1.3215436215158908e-06, 1.017818540278394e-07, 7.0736526470648425e-09,
        4.4362706805015375e-10};
    return polynomial(f, c);
}
__device__ inline float exp2_tail(float f) {
    const float c[] = {0.240226477f, 0.055503618f, 0.00961852912f, 0.00133903872f, 0.000153208632f};
    return polynomial(f, c);
}
template <class T> __device__ inline T exp2_of_part(T f) { return ::fma(f, ::fma(f, exp2_tail(f), Binary<T>::ln2), T(1)); }
// The bits of |x| as PartOf takes them.
template <class T> __device__ inline typename Bits<T>::Int bits_of_size(T x) {
    typedef Bits<T> B;
    typedef typename B::Int Int;
    const Int sign = B::of(T(-0.0)), one = Int(1) << B::mantissa, size = B::of(x) & ~sign;
    return size < one ? (B::of(scaled_up(x)) & ~sign) - (B::mantissa + 2) * one : size;
}
// x^y = 2^exponent, x > 0, of its bits; and as fraction * 2^whole.
template <class T> struct PowerParts {
    T exponent, fraction, power; // power: where that is a normal number
    bool normal;
    __device__ PowerParts(typename Bits<T>::Int bits, T y) {
        typedef Bits<T> B;
        typedef typename B::Int Int;
        const LogOfTwo<T> log(bits);
        exponent = log.value * y;
        const T rest = ::fma(log.rest, y, ::fma(log.value, y, -exponent));
        const Whole<T> whole(exponent);
        fraction = exp2_of_part(exponent - whole.value + rest);
        power = B::value(B::of(fraction) + Int(whole.integer << B::mantissa));
        normal = (B::of(exponent) & ~B::of(T(-0.0))) < B::of(T(B::bias - 2));
    }
    // Of a number of any sign, and where the result is 0, tiny or infinite.
    __device__ T of_any(T x, T y) const {
        const T most = T(Bits<T>::bias + Bits<T>::mantissa + 10); // far out of range
        const bool within = ::fabs(exponent) < most;
        const Whole<T> whole(within ? exponent : ::copysign(most, exponent));
        return power_of(scaled(within ? fraction : T(1), whole.integer), x, y);
    }
};
// Most numbers are positive and normal, and so are most powers. On the CPU a vector that has others goes the long way.
#ifdef __QUERN_HOST__
QUERN_SELDOM_OF_ANY(power, (T usual, T x, T y, bool wanted), (usual, x, y, wanted),
                    PowerParts<T>(bits_of_size(x), y).of_any(x, y))
template <class T> struct PowerOf {
    static __device__ T of(T x, T y) {
        const PowerParts<T> parts(Bits<T>::of(x), y);
        return seldom_power(parts.power, x, y, !(is_positive_normal(x) & parts.normal));
    }
};
#else
template <class T> struct PowerOf {
    static __device__ T of(T x, T y) {
        const PowerParts<T> parts(bits_of_size(x), y);
        if (is_positive_normal(x) & parts.normal) return parts.power;
        return parts.of_any(x, y);
    }
};
// In two steps: of packs of elements one question is asked for all. The first one leaves NaN where it has not found |x|^y.
template <class T> __device__ inline T quick_power(T x, T y, bool& usual) {
    const PowerParts<T> parts(bits_of_size(x), y);
    usual = usual & is_positive_normal(x) & parts.normal;
    return parts.normal ? parts.power : Infinite<T>::value() - Infinite<T>::value();
}
template <class T> __device__ inline T mended_power(T quick, T x, T y) {
    return (quick == quick) | (x == T(0)) ? power_of(quick, x, y) : PowerParts<T>(bits_of_size(x), y).of_any(x, y);
}
#endif

} // namespace near
} // namespace quern
