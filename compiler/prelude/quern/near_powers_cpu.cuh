// Powers and cube roots for the CPU, as near.cuh has its functions: at most 0.9 units off.
#pragma once
#include "quern/near_tables_cpu.cuh"

namespace quern {
namespace near {

// Any floats: by logarithms in double, so that their product still has all that a float needs.
template <class T> __device__ inline T any_power_of_floats(T x, T y) {
    const PartOf<double> part(::fabs(x));
    const double c[] = {
        1.4426950408965968, -0.7213475208737261, 0.48089821815680706, -0.3606715755952829, 0.2888636613601384,
        -0.24265898169449834};
    const double log = ::fma(part.r, polynomial(part.r, c), part.power + log2_of_part(part.index));
    const double wide = log * y, low = wide < -200 ? -200 : wide, kept = low > 200 ? 200 : low;
    const Whole<double> whole(kept);
    const double e[] = {
        1.0000000005548684, 0.6931472057402119, 0.24022646889073312, 0.055503287737718426, 0.009618489068543325,
        0.001339993210146075, 0.00015345788418019075};
    const double found = polynomial(kept - whole.value, e);
    const long long bits = __double_as_longlong(found) + (whole.integer << 52);
    return power_of(static_cast<T>(__longlong_as_double(bits)), x, y);
}

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
// log2(x) in two numbers, x > 0 and normal: to 64 places of double, 33 of float.
template <class T> struct LogOfTwo {
    T value, rest;
    __device__ explicit LogOfTwo(T x) {
        typedef Binary<T> B;
        const PartOf<T> part(x);
        const T r = part.r, tail = log2_tail(r), half = T(-0.5) * B::turns;
        const T second = ::fma(r, tail, half), second_rest = ::fma(r, tail, half - second) - T(0.5) * B::turns_rest;
        const T first = ::fma(r, second, B::turns);
        const T first_rest = ::fma(r, second, B::turns - first) + ::fma(r, second_rest, B::turns_rest);
        const T start = part.power + log2_of_part(part.index);
        value = ::fma(r, first, start);
        rest = ::fma(r, first, start - value) + ::fma(r, first_rest, log2_rest_of_part(part.index));
    }
};
template <class T> __device__ inline T log2_of_part(T x, T more) { // of floats, at most 1.5 units off
    const PartOf<T> part(x);
    const T r = part.r, first = ::fma(r, ::fma(r, log2_tail(r), T(-0.5) * Binary<T>::turns), Binary<T>::turns);
    return part.power + more + log2_of_part(part.index) + ::fma(r, first, log2_rest_of_part(part.index));
}
template <class T> __device__ inline T any_log2(T x) {
    const bool tiny = x < two_to<T>(1 - Bits<T>::bias);
    return log_ends(x, log2_of_part(tiny ? scaled_up(x) : x, tiny ? T(-Bits<T>::mantissa - 2) : T(0)));
}
QUERN_SELDOM_OF_ONE(log2, any_log2(x))
__device__ inline float log2(float x) { return seldom_log2(log2_of_part(x, 0.0f), x, !is_positive_normal(x)); }
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
template <class T> __device__ inline T exp2_of_sum(T f, T rest) { // 2^(f + rest)
    const T sum = f + rest, lost = rest - (sum - f), top = ::fma(sum, Binary<T>::ln2, T(1));
    const T tail = ::fma(sum * sum, exp2_tail(sum), lost * Binary<T>::ln2);
    return top + (::fma(sum, Binary<T>::ln2, T(1) - top) + tail);
}
// x^y by log2(x).
template <class T> struct PowerBy {
    T exponent, rest;
    __device__ PowerBy(const LogOfTwo<T>& log, T y) {
        exponent = log.value * y;
        rest = ::fma(log.rest, y, ::fma(log.value, y, -exponent));
    }
};
template <class T> __device__ inline T any_power_of_doubles(T x, T y) {
    const T size = ::fabs(x);
    const bool tiny = size < 0x1p-1022;
    LogOfTwo<T> log(tiny ? size * 0x1p54 : size);
    const T value = tiny ? log.value - 54.0 : log.value;
    log.rest += tiny ? (log.value - value) - 54.0 : 0.0;
    log.value = value;
    const PowerBy<T> by(log, y);
    const T low = by.exponent < -1080 ? -1080 : by.exponent, kept = low > 1030 ? 1030 : low;
    const Whole<T> whole(kept);
    const T found = exp2_of_sum(kept - whole.value, by.exponent == kept ? by.rest : 0.0);
    return power_of(scaled(found, whole.integer), x, y);
}
template <class T> struct AnyPower {
    static __device__ T of(T x, T y) { return any_power_of_doubles(x, y); }
};
template <> struct AnyPower<float> {
    template <class T> static __device__ T of(T x, T y) { return any_power_of_floats(x, y); }
};
QUERN_SELDOM_OF_ANY(power, (T usual, T x, T y, bool wanted), (usual, x, y, wanted), AnyPower<T>::of(x, y))
// Of normal positive numbers with normal powers, which most are; a vector that has others goes the long way.
template <class T> struct PowerOf {
    static __device__ T of(T x, T y) {
        typedef Bits<T> B;
        typedef typename B::Int Int;
        const PowerBy<T> by(LogOfTwo<T>(x), y);
        const Whole<T> whole(by.exponent);
        const T found = exp2_of_sum(by.exponent - whole.value, by.rest);
        const T power = B::value(B::of(found) + Int(whole.integer << B::mantissa));
        return seldom_power(power, x, y, !(is_positive_normal(x) & (::fabs(by.exponent) < T(B::bias - 2))));
    }
};

// m^(-1/3) for 1 <= m < 2, to 12 bits and to 17.
__device__ inline double inverse_cube_root(double m) {
    const double c[] = {1.54188592586129, -0.809957896025964, 0.31775541513542205, -0.049936516412969104};
    const double z = polynomial(m, c), h = ::fma(-m * z, z * z, 1.0);
    return ::fma(z * h, ::fma(h, 0.2222222222222222, 0.3333333333333333), z);
}
__device__ inline float inverse_cube_root(float m) {
    const float c[] = {
        1.78105807f, -1.56602979f, 1.24378693f, -0.597873628f, 0.156071812f, -0.0170190614f};
    return polynomial(m, c);
}
template <class T> __device__ inline T any_cbrt(T x) {
    typedef Bits<T> B;
    typedef typename B::Int Int;
    const T size = ::fabs(x);
    const bool tiny = size < two_to<T>(1 - B::bias), plain = (size > T(0)) & (size < Infinite<T>::value());
    const Int bits = B::of(tiny ? size * two_to<T>(60) : size), ones = (Int(1) << B::mantissa) - 1;
    // The exponent as a number: its bits are the last ones of 2^mantissa.
    const T shift = two_to<T>(B::mantissa), biased = B::value((bits >> B::mantissa) | B::of(shift)) - shift;
    const T power = biased - T(B::bias + (tiny ? 60 : 0));
    const Whole<T> third(power * T(0.333333333333333333));
    const T left = power - T(3) * third.value; // -1, 0 or 1
    const T m = B::value((bits & ones) | B::of(T(1)));
    const T scale = left < T(0) ? T(0.5) : left > T(0) ? T(2) : T(1);
    const T turn = left < T(0) ? T(1.2599210498948732) : left > T(0) ? T(0.7937005259840998) : T(1);
    const T a = m * scale, z = inverse_cube_root(m) * turn; // a^(-1/3)
    const T square = z * z, near = a * square, of_near = near * near;
    const T wrong = ::fma(-of_near, near, a) - ::fma(near, near, -of_near) * near;
    const T root = ::fma(wrong, square * T(0.333333333333333333), near);
    return plain ? ::copysign(root * two_to<T>(third.integer), x) : x;
}
QUERN_SELDOM_OF_ONE(cbrt, any_cbrt(x))
// (1 - e)^(-1/3) for |e| <= 0.102.
__device__ inline double inverse_root_of_rest(double e) {
    const double c[] = {
        0.9999999999882955, 0.33333334600569503, 0.22222225446053323, 0.17282980452408178, 0.14401865205683687,
        0.12668189066708674, 0.11300798962808804};
    return polynomial(e, c);
}
__device__ inline float inverse_root_of_rest(float e) {
    const float c[] = {0.999998033f, 0.333328366f, 0.223736748f, 0.174574196f};
    return polynomial(e, c);
}
template <class T> struct Thirds; // what bits / -3 lack to be those of x^(-1/3), as whole numbers of 2^places
template <> struct Thirds<double> { static constexpr int places = 20; static constexpr double start = 5858043119220.0; };
template <> struct Thirds<float> { static constexpr int places = 8; static constexpr float start = 5546485.0f; };
template <class T> __device__ inline T cbrt(T x) {
    typedef Bits<T> B;
    const int places = Thirds<T>::places;
    const T size = ::fabs(x), shift = two_to<T>(B::mantissa), third = T(0.333333333333333333);
    // The first bits as a number, which counts in the last ones of 2^mantissa.
    const T bits = B::value((B::of(size) >> places) | B::of(shift));
    const T start = B::value(B::of(::fma(bits, -third, T(shift * T(4) * third + Thirds<T>::start))) << places);
    const T e = ::fma(-size * start, start * start, T(1)), z = start * inverse_root_of_rest(e);
    const T square = z * z, near = size * square, of_near = near * near;
    const T wrong = ::fma(-of_near, near, size) - ::fma(near, near, -of_near) * near;
    const T root = ::copysign(::fma(wrong, square * third, near), x);
    const bool normal = size > two_to<T>(B::mantissa + 4 - B::bias); // what is wrong is, too; all is right of 0
    return seldom_cbrt(root, x, !((normal | (x == T(0))) & (size < Infinite<T>::value())));
}

} // namespace near
} // namespace quern
