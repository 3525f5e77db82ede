// The scalar functions of NumPy's ufuncs, where CUDA's operators and functions of that name do something else: signs of
// integer division, shifts beyond the width, NaN, signed zeros, and float functions that CUDA rounds by more than 2 ulp.
#pragma once
#include "quern/ufunc_plain.cuh"
#include "quern/division.cuh"
#include "quern/near_turns.cuh"
#include "quern/near_powers.cuh"
#ifdef __QUERN_HOST__
#include "quern/near_logs_cpu.cuh"
#include "quern/near_roots_cpu.cuh"
#include "quern/whole_division_cpu.cuh"
#else
#include "quern/near_logs_gpu.cuh"
#include "quern/near_sums_gpu.cuh"
#endif

namespace quern {
namespace ufunc {

// Division of integers: 0 by 0.
#ifdef __QUERN_HOST__
using whole::Floored;
template <class T> struct Division { // in full before it is asked whether b is 0, so that what b needs leaves the loop
    static __device__ T floored(T a, T b) {
        const Floored<T> found(a, b == T(0) ? T(1) : b);
        return b == T(0) ? T(0) : found.quotient;
    }
    static __device__ T remainder(T a, T b) {
        const Floored<T> found(a, b == T(0) ? T(1) : b);
        return b == T(0) ? T(0) : found.rest;
    }
    static __device__ T left(T a, T b) { // with the sign of a
        const T rest = remainder(a, b);
        const bool other = Integer<T>::is_signed & (rest != T(0)) & (((a ^ b) >> (8 * sizeof(T) - 1)) != 0);
        return static_cast<T>(other ? rest - b : rest);
    }
};
#else
// GPUs have no integer division: of 8 and 16 bits a float does it. Half a unit more keeps what is whole from being rounded
// below it, and is less than what any other quotient lacks. Conversions take as long as four sums there, so that numbers go
// to a float and back beside 1.5 * 2^23, whose last bits are an integer's.
__device__ inline float near_float(int a) { return __int_as_float(a + 0x4b400000) - 12582912.0f; }
__device__ inline int short_quotient(int a, int b) { // floored; b is not 0
    const float inverse = near::rough_inverse(near_float(b));
    return __float_as_int(__fadd_rd(::fma(near_float(a), inverse, 0.5f * ::fabs(inverse)), 12582912.0f)) - 0x4b400000;
}
// What cutting leaves, with the sign of a, from what flooring does.
__device__ inline int cut_rest(int rest, int a, int b) { return rest != 0 && (a ^ b) < 0 ? rest - b : rest; }
#define QUERN_IF_SHORT(result) if (sizeof(T) <= 2) return b == T(0) ? T(0) : static_cast<T>(result);
template <class T> struct Division {
    static __device__ T floored(T a, T b) {
        QUERN_IF_SHORT(short_quotient(a, b))
        if (b == T(0)) return T(0);
        if (Integer<T>::is_signed && b == T(-1)) return wrapped_minus(a);
        const T quotient = static_cast<T>(a / b);
        return static_cast<T>(Integer<T>::is_signed && a % b != 0 && ((a ^ b) >> (8 * sizeof(T) - 1)) != 0 ? quotient - 1 : quotient);
    }
    static __device__ T left(T a, T b) {
        QUERN_IF_SHORT(cut_rest(a - short_quotient(a, b) * b, a, b))
        return b == T(0) || (Integer<T>::is_signed && b == T(-1)) ? T(0) : static_cast<T>(a % b);
    }
    static __device__ T remainder(T a, T b) {
        QUERN_IF_SHORT(a - short_quotient(a, b) * b)
        const T rest = left(a, b);
        return static_cast<T>(Integer<T>::is_signed && rest != T(0) && ((rest ^ b) >> (8 * sizeof(T) - 1)) != 0 ? rest + b : rest);
    }
};
#undef QUERN_IF_SHORT
#endif
template <> struct Division<float> : division::OfFloats<float> {};
template <> struct Division<double> : division::OfFloats<double> {};
template <class T> __device__ inline T floor_divide(T a, T b) { return Division<T>::floored(a, b); }
template <class T> __device__ inline T fmod(T a, T b) { return Division<T>::left(a, b); }
template <class T> __device__ inline T remainder(T a, T b) { return Division<T>::remainder(a, b); }
template <class T> __device__ inline T left_shift(T a, T b) {
    if (sizeof(T) < 8) { // in as many lanes of a vector
        const unsigned int by = static_cast<unsigned int>(b);
        return by < 8 * sizeof(T) ? static_cast<T>(static_cast<unsigned int>(a) << by) : T(0);
    }
    const unsigned long long by = static_cast<unsigned long long>(b);
    return by < 64 ? static_cast<T>(static_cast<unsigned long long>(a) << by) : T(0);
}
template <class T> __device__ inline T right_shift(T a, T b) {
    const unsigned long long by = static_cast<unsigned long long>(b), last = 8 * sizeof(T) - 1;
    if (Integer<T>::is_signed) return static_cast<T>(a >> (by < last ? by : last));
    return by <= last ? static_cast<T>(a >> by) : T(0);
}
template <bool wide> struct Unsigned { typedef unsigned int type; }; // what integers are computed in
template <> struct Unsigned<true> { typedef unsigned long long type; };
template <class T> struct Power { // wraps; a negative power is the inverse, cut
    static __device__ T of(T a, T b) {
        if (Integer<T>::is_signed && (b >> (8 * sizeof(T) - 1)) != 0) {
            if (a == T(1)) return a;
            return a == T(-1) ? (b & 1 ? a : T(1)) : T(0);
        }
        typedef typename Unsigned<(sizeof(T) > 4)>::type U;
        U result = 1, factor = static_cast<U>(a);
        for (U left = static_cast<U>(b); left != 0; left >>= 1) {
            if (left & 1) result *= factor;
            factor *= factor;
        }
        return static_cast<T>(result);
    }
};
template <> struct Power<float> : near::PowerOf<float> {};
template <> struct Power<double> : near::PowerOf<double> {};
template <class T> __device__ inline T power(T a, T b) { return Power<T>::of(a, b); }
template <class T, class U> struct Steps { // of unsigned numbers of that type, b not 0
    static __device__ U quotient(U a, U b) { return a / b; }
    static __device__ U left(U a, U b) { return a % b; }
};
#ifndef __QUERN_HOST__
#define QUERN_SHORT_STEPS(T)                                                                                               \
    template <> struct Steps<T, unsigned int> {                                                                            \
        static __device__ unsigned int quotient(unsigned int a, unsigned int b) { return short_quotient(a, b); }            \
        static __device__ unsigned int left(unsigned int a, unsigned int b) { return a - short_quotient(a, b) * b; }        \
    };
QUERN_SHORT_STEPS(signed char) QUERN_SHORT_STEPS(unsigned char) QUERN_SHORT_STEPS(short) QUERN_SHORT_STEPS(unsigned short)
#undef QUERN_SHORT_STEPS
#endif
template <class T, class U> __device__ inline U common_divisor(U a, U b) {
    while (b != 0) {
        const U left = Steps<T, U>::left(a, b);
        a = b;
        b = left;
    }
    return a;
}
template <class T, class U> __device__ inline U in_lowest_terms(U a, U b) { // the numerator of a / b; 0 of 0 by 0
    const U divisor = common_divisor<T>(a, b);
    return divisor == 0 ? U(0) : Steps<T, U>::quotient(a, divisor);
}
// Numbers of 8 bytes that are short are divided in less time as such.
template <class T> __device__ inline bool is_short(unsigned long long bits) { return sizeof(T) > 4 && bits >> 32 == 0; }
template <class T> __device__ inline T gcd(T a, T b) {
    typedef typename Unsigned<(sizeof(T) > 4)>::type U;
    const U x = static_cast<U>(magnitude(a)), y = static_cast<U>(magnitude(b));
    if (is_short<T>(x | y)) return static_cast<T>(common_divisor<T>(static_cast<unsigned int>(x), static_cast<unsigned int>(y)));
    return static_cast<T>(common_divisor<T>(x, y));
}
template <class T> __device__ inline T lcm(T a, T b) {
    typedef typename Unsigned<(sizeof(T) > 4)>::type U;
    const U x = static_cast<U>(magnitude(a)), y = static_cast<U>(magnitude(b));
    if (is_short<T>(x | y)) return static_cast<T>(in_lowest_terms<T>(static_cast<unsigned int>(x), static_cast<unsigned int>(y)) * y);
    return static_cast<T>(in_lowest_terms<T>(x, y) * y);
}
template <class T> __device__ inline unsigned char bitwise_count(T a) {
    return static_cast<unsigned char>(sizeof(T) > 4 ? __popcll(magnitude(a)) : __popc(static_cast<unsigned int>(magnitude(a))));
}

#ifdef __QUERN_HOST__
#define QUERN_BITS near
#else
#define QUERN_BITS bits
namespace bits {
template <class F> __device__ inline F ldexp(F a, int b) { return ::ldexp(a, b); }
template <class F> __device__ inline void frexp(F a, F& r, int& s) {
    s = 0;
    r = ::isfinite(a) ? ::frexp(a, &s) : a;
}
template <class F> __device__ inline F spacing(F a) {
    const F end = F(1) / F(0);
    return ::isfinite(a) ? ::nextafter(a, a < 0 ? -end : end) - a : a - a;
}
template <class F> __device__ inline F nextafter(F a, F b) { return ::nextafter(a, b); }
} // namespace bits
#endif
// Templates, so that only what a kernel asks for takes the compiler's time.
template <class F> __device__ inline F ldexp(F a, int b) { return QUERN_BITS::ldexp(a, b); }
template <class F> __device__ inline F ldexp(F a, long long b) {
    return QUERN_BITS::ldexp(a, static_cast<int>(b > 100000 ? 100000 : b < -100000 ? -100000 : b));
}
template <class F> __device__ inline void frexp(F a, F& r, int& s) { QUERN_BITS::frexp(a, r, s); }
template <class F> __device__ inline F spacing(F a) { return QUERN_BITS::spacing(a); }
template <class F> __device__ inline F nextafter(F a, F b) { return QUERN_BITS::nextafter(a, b); }
#undef QUERN_BITS

__device__ inline double any_logaddexp(double a, double b) {
    const double apart = ::fabs(a - b), top = a > b ? a : b;
    const double sum = top + ::log1p(::exp(-apart)), same = a + 0.693147180559945309417232121458176568;
    return a == b ? same : apart != apart ? apart : sum; // equal: infinities too
}
__device__ inline double any_logaddexp2(double a, double b) {
    const double apart = ::fabs(a - b), top = a > b ? a : b, turn = 1.442695040888963407359924681001892137;
    const double sum = top + turn * ::log1p(::exp2(-apart));
    return a == b ? a + 1 : apart != apart ? apart : sum;
}
// In double: near 0 the parts cancel, and in float little would be left.
#ifdef __QUERN_HOST__
#define QUERN_SUM_OF_POWERS(name, quick)                                    \
    template <class T> __device__ inline T name(T a, T b) {                 \
        return static_cast<T>(any_##name(static_cast<double>(a), static_cast<double>(b))); \
    }
#else
#define QUERN_SUM_OF_POWERS(name, quick)                                                                    \
    template <class T> __device__ inline T quick_##name(T a, T b, bool& usual) { return quick(a, b, usual); } \
    template <class T> __device__ inline T name(T a, T b)                                                   \
        QUERN_QUICK_OR(quick(a, b, usual), static_cast<T>(any_##name(static_cast<double>(a), static_cast<double>(b))))
using near::quick_asinh; using near::quick_acosh; using near::quick_atanh; using near::quick_tan; using near::quick_log1p;
#endif
QUERN_SUM_OF_POWERS(logaddexp, near::sum_of_powers_of_e)
QUERN_SUM_OF_POWERS(logaddexp2, near::sum_of_powers_of_2)
#undef QUERN_SUM_OF_POWERS

// Within 2 units in the last place: near.cuh's where the toolchain's own is off by more. CUDA's is in some of them, the
// vector library of the CPU in others.
#define QUERN_IN_FLOAT(name, function) __device__ inline float name(float a) { return ::function(a); }
#define QUERN_IN_DOUBLE(name, function) __device__ inline double name(double a) { return ::function(a); }
#ifdef __QUERN_HOST__
#define QUERN_NEAR(name) template <class T> __device__ inline T name(T a) { return near::name(a); }
QUERN_NEAR(exp) QUERN_NEAR(exp2) QUERN_NEAR(expm1) QUERN_NEAR(cosh) QUERN_NEAR(tanh)
QUERN_NEAR(sin) QUERN_NEAR(cos) QUERN_NEAR(tan) QUERN_NEAR(asin) QUERN_NEAR(acos)
QUERN_NEAR(asinh) QUERN_NEAR(acosh) QUERN_NEAR(atanh) QUERN_NEAR(cbrt) QUERN_NEAR(log) QUERN_NEAR(log10)
#undef QUERN_NEAR
QUERN_IN_FLOAT(sinh, sinh) QUERN_IN_DOUBLE(sinh, quern::near::sinh)
QUERN_IN_FLOAT(log2, quern::near::log2) QUERN_IN_DOUBLE(log2, log2) QUERN_IN_FLOAT(log1p, log1p) QUERN_IN_DOUBLE(log1p, log1p)
QUERN_IN_FLOAT(atan, atan) QUERN_IN_DOUBLE(atan, atan)
template <class T> __device__ inline T arctan2(T a, T b) { return near::atan2(a, b); }
#else
QUERN_IN_FLOAT(cosh, quern::near::cosh) QUERN_IN_FLOAT(sinh, quern::near::sinh) QUERN_IN_FLOAT(tan, quern::near::tan)
QUERN_IN_FLOAT(asinh, quern::near::asinh) QUERN_IN_FLOAT(acosh, quern::near::acosh) QUERN_IN_FLOAT(atanh, quern::near::atanh)
QUERN_IN_DOUBLE(cosh, cosh) QUERN_IN_DOUBLE(sinh, quern::near::sinh) QUERN_IN_DOUBLE(tan, quern::near::tan)
QUERN_IN_DOUBLE(asinh, quern::near::asinh) QUERN_IN_DOUBLE(acosh, quern::near::acosh) QUERN_IN_DOUBLE(atanh, quern::near::atanh)
QUERN_IN_FLOAT(asin, asin) QUERN_IN_FLOAT(acos, acos) QUERN_IN_FLOAT(atan, atan) QUERN_IN_FLOAT(log1p, quern::near::log1p)
QUERN_IN_DOUBLE(asin, quern::near::asin) QUERN_IN_DOUBLE(acos, quern::near::acos) QUERN_IN_DOUBLE(atan, quern::near::atan)
QUERN_IN_DOUBLE(log1p, quern::near::log1p)
__device__ inline float arctan2(float a, float b) { return near::atan2(a, b); }
__device__ inline double arctan2(double a, double b) { return ::atan2(a, b); }
#endif
#undef QUERN_IN_DOUBLE
#undef QUERN_IN_FLOAT
// CUDA's is infinite or NaN near the ends of double's range. Scaled by powers of two the squares stay within it.
__device__ inline double hypot(double a, double b) {
    const double size = ::fmax(::fabs(a), ::fabs(b));
    const double scale = size > 0x1p500 ? 0x1p-600 : size < 0x1p-450 ? 0x1p600 : 1.0;
    const double back = size > 0x1p500 ? 0x1p600 : size < 0x1p-450 ? 0x1p-600 : 1.0;
    const double x = a * scale, y = b * scale, root = ::sqrt(::fma(x, x, y * y)) * back;
    return ::isinf(a) | ::isinf(b) ? __longlong_as_double(0x7ff0000000000000ll) : root;
}
__device__ inline float hypot(float a, float b) {
    const double x = a, y = b;
    const float root = static_cast<float>(::sqrt(x * x + y * y)); // neither too large nor too small for double
    return ::isinf(a) | ::isinf(b) ? __int_as_float(0x7f800000) : root;
}

template <class T> __device__ inline void divmod(T a, T b, T& r, T& s) {
    r = floor_divide(a, b);
    s = remainder(a, b);
}

#if defined QUERN_HAS_HALF || defined QUERN_HAS_BFLOAT16
template <class Format> __device__ inline SmallFloat<Format> spacing_to(unsigned int next, SmallFloat<Format> a) {
    const float x = a, nothing = x - x; // NaN of infinities
    return SmallFloat<Format>((Format::widen(static_cast<unsigned short>(next)) - x) + nothing);
}
#endif
#ifdef QUERN_HAS_HALF
__device__ inline float16 nextafter(float16 a, float16 b) { return ::nextafter(a, b); }
__device__ inline float16 spacing(float16 a) { // upwards, as NumPy's
    const unsigned int bits = a.bits, below_0 = bits > 0x8000u ? bits - 1u : 1u;
    return spacing_to(bits < 0x8000u ? bits + 1u : below_0, a);
}
#endif
#ifdef QUERN_HAS_BFLOAT16
__device__ inline bfloat16 nextafter(bfloat16 a, bfloat16 b) { return ::nextafter(a, b); }
__device__ inline bfloat16 spacing(bfloat16 a) { return spacing_to(a.bits + 1u, a); }
#endif

#ifdef QUERN_HAS_COMPLEX
#define QUERN_OF template <class T> __device__ inline
#define QUERN_Z const complex<T>&
QUERN_OF complex<T> divide(QUERN_Z a, QUERN_Z b) { return a / b; }
QUERN_OF T absolute(QUERN_Z a) { return hypot(a.real(), a.imag()); }
__device__ inline float absolute(const complex<float>& a) { // by a power of two its square is neither too large nor nothing
    const float x = ::fabs(a.real()), y = ::fabs(a.imag()), larger = ::fmax(x, y);
    const bool large = larger > 0x1p60f, small = larger < 0x1p-60f;
    const float scale = large ? 0x1p-70f : small ? 0x1p90f : 1.0f, back = large ? 0x1p70f : small ? 0x1p-90f : 1.0f;
    const float u = x * scale, v = y * scale, found = ::sqrt(::fma(u, u, v * v)) * back;
    return larger == near::Infinite<float>::value() ? larger : found;
}
QUERN_OF complex<T> sign(QUERN_Z a) {
    const T size = hypot(a.real(), a.imag());
    if (size != size || (::isinf(a.real()) && ::isinf(a.imag()))) return complex<T>(size - size, size - size);
    if (::isinf(size)) return complex<T>(::isinf(a.real()) ? ::copysign(T(1), a.real()) : T(0), ::isinf(a.imag()) ? ::copysign(T(1), a.imag()) : T(0));
    return size == 0 ? complex<T>(T(0), T(0)) : complex<T>(a.real() / size, a.imag() / size);
}
QUERN_OF complex<T> reciprocal(QUERN_Z a) {
    if (::fabs(a.imag()) <= ::fabs(a.real())) {
        const T ratio = a.imag() / a.real(), scale = a.real() + a.imag() * ratio;
        return complex<T>(T(1) / scale, -ratio / scale);
    }
    const T ratio = a.real() / a.imag(), scale = a.real() * ratio + a.imag();
    return complex<T>(ratio / scale, T(-1) / scale);
}
QUERN_OF complex<T> conjugate(QUERN_Z a) { return complex<T>(a.real(), -a.imag()); }
QUERN_OF complex<T> rint(QUERN_Z a) { return complex<T>(::rint(a.real()), ::rint(a.imag())); }
QUERN_OF bool is_infinite(QUERN_Z a) { return ::isinf(a.real()) | ::isinf(a.imag()); }
QUERN_OF bool is_finite(QUERN_Z a) { return ::isfinite(a.real()) & ::isfinite(a.imag()); }
QUERN_OF bool has_nan(QUERN_Z a, QUERN_Z b) { return (a.imag() != a.imag()) | (b.imag() != b.imag()); }
QUERN_OF bool less(QUERN_Z a, QUERN_Z b) {
    return ((a.real() < b.real()) & !has_nan(a, b)) | ((a.real() == b.real()) & (a.imag() < b.imag()));
}
QUERN_OF bool less_equal(QUERN_Z a, QUERN_Z b) {
    return ((a.real() < b.real()) & !has_nan(a, b)) | ((a.real() == b.real()) & (a.imag() <= b.imag()));
}
QUERN_OF complex<T> power(QUERN_Z a, QUERN_Z b) { return ::pow(a, b); }
QUERN_OF complex<T> exp2(QUERN_Z a) {
    const bool far = a.real() > T(sizeof(T) == 4 ? 127 : 1023);
    const T size = ::exp2(far ? a.real() / 2 : a.real());
    return turned(a.real(), size, far ? size : T(1), a.imag() * T(0.69314718055994530942));
}
QUERN_OF complex<T> expm1(QUERN_Z a) { // cos(y) = 1 - 2 sin(y/2)^2
    const T x = a.real(), most = near::ExpRange<T>::most;
    const near::ExpParts<T> parts(x > most ? most : x);
    const T size = near::scaled(T(1) + parts.head, parts.power);
    const T less = ::copysign(x < T(-50) ? T(-1) : near::expm1_of(parts), x);
    T sine, cosine;
    sin_and_cos(a.imag() / 2, sine, cosine);
    const T twice = 2 * sine * sine;
    return complex<T>(less * (1 - twice) - twice, size * (2 * sine * cosine));
}
QUERN_OF complex<T> log1p(QUERN_Z a) { return ::log(complex<T>(a.real() + 1, a.imag())); }
QUERN_OF complex<T> exp(QUERN_Z a) { return ::exp(a); }
QUERN_OF complex<T> sin(QUERN_Z a) { return ::sin(a); }
QUERN_OF complex<T> cos(QUERN_Z a) { return ::cos(a); }
QUERN_OF complex<T> asin(QUERN_Z a) { return ::asin(a); }
QUERN_OF complex<T> atan(QUERN_Z a) { return ::atan(a); }
QUERN_OF complex<T> acos(QUERN_Z a) { return ::acos(a); }
QUERN_OF complex<T> cosh(QUERN_Z a) { return ::cosh(a); }
QUERN_OF complex<T> log(QUERN_Z a) { return ::log(a); }
QUERN_OF complex<T> log2(QUERN_Z a) { return ::log2(a); }
QUERN_OF complex<T> log10(QUERN_Z a) { return ::log10(a); }
QUERN_OF complex<T> tan(QUERN_Z a) { return ::tan(a); }
QUERN_OF complex<T> sinh(QUERN_Z a) { return ::sinh(a); }
QUERN_OF complex<T> tanh(QUERN_Z a) { return ::tanh(a); }
QUERN_OF complex<T> asinh(QUERN_Z a) { return ::asinh(a); }
QUERN_OF complex<T> acosh(QUERN_Z a) { return ::acosh(a); }
QUERN_OF complex<T> atanh(QUERN_Z a) { return ::atanh(a); }
#undef QUERN_OF
#undef QUERN_Z
#endif

} // namespace ufunc
} // namespace quern
