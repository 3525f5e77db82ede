// Powers and cube roots for the CPU, as near.cuh has its functions: at most 0.6 units off.
#pragma once
#include "quern/near.cuh"

namespace quern {
namespace near {

// x^y from |x|^y: the sign, and what has no logarithm.
template <class T> __device__ inline T power_of(T found, T x, T y) {
    const T half = T(0.5) * y, size = ::fabs(x);
    const bool integer = ::trunc(y) == y, odd = integer & (::trunc(half) != half);
    const T positive = size == T(1) ? T(1) : found, real = odd ? ::copysign(positive, x) : positive;
    const bool none = (x < T(0)) & (size < Infinite<T>::value()) & !integer;
    const T number = none ? (x - x) / T(0) : real, either = ((x != x) | (y != y)) ? x + y : number;
    return ((x == T(1)) | (y == T(0))) ? T(1) : either;
}
// Of floats: by logarithms in double, so that their product still has all that a float needs.
template <class T> struct PowerOfFloats {
    static __device__ T of(T x, T y) {
        const T size = ::fabs(x);
        const double infinity = Infinite<double>::value();
        const LogParts parts(size);
        const double s = parts.s, q = s / (s + 2.0);
        const double c[] = {2.885390081790709, 0.9617966725001132, 0.5770837555944766, 0.4116619563162548, 0.3409379390438947};
        const double turns = ::fma(q, polynomial(q * q, c), static_cast<double>(parts.power)); // log2 of size
        const double end = size < Infinite<float>::value() ? turns : infinity, log = size == 0.0f ? -infinity : end;
        const double wide = log * y, low = wide < -200 ? -200 : wide, kept = low > 200 ? 200 : low;
        const Whole<double> whole(kept);
        const double e[] = {
            1.0000000005545417, 0.6931472057322747, 0.24022646886501076, 0.05550328781915183, 0.009618489365865134,
            0.0013399930169055952, 0.0001534571310181197};
        const double found = polynomial(kept - whole.value, e);
        const float by_logs = static_cast<float>(__longlong_as_double(__double_as_longlong(found) + (whole.integer << 52)));
        return power_of(by_logs, x, y);
    }
};
// The vector library leaves its vectors for zeros, infinities and negative numbers: they are kept from it.
template <class T> struct PowerOfDoubles {
    static __device__ T of(T x, T y) {
        const T size = ::fabs(x), infinity = Infinite<T>::value();
        const bool plain = (size > 0) & (size < infinity);
        const T found = ::pow(plain ? size : T(1), y), end = (size > 1) == (y > 0) ? infinity : 0.0;
        return power_of(plain ? found : end, x, y);
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
template <class T> __device__ inline T cbrt(T x) {
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

} // namespace near
} // namespace quern
