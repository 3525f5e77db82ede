// Logarithms to base 2 and cube roots for the CPU, as near.cuh has its functions.
#pragma once
#include "quern/near_powers.cuh"
#include "quern/near_tables_cpu.cuh"

namespace quern {
namespace near {

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
    return seldom_cbrt(size < Infinite<T>::value() ? root : x, x, (size > T(0)) & !normal); // infinity and NaN are themselves
}

} // namespace near
} // namespace quern
