// CUDA's math functions over libm: NAME (double, and float and integers by overload) and NAMEf, as CUDA declares them.
#pragma once
// Integers go to double, as in <cmath>; anything else is no overload.
template <class T> struct __quern_integral {};
#define __quern_promotes(T) template <> struct __quern_integral<T> { typedef double type; };
__quern_promotes(bool) __quern_promotes(char) __quern_promotes(signed char) __quern_promotes(unsigned char)
__quern_promotes(short) __quern_promotes(unsigned short) __quern_promotes(int) __quern_promotes(unsigned int)
__quern_promotes(long) __quern_promotes(unsigned long) __quern_promotes(long long) __quern_promotes(unsigned long long)
#undef __quern_promotes
// Two operands: an integer beside a float becomes float, every other mix of arithmetic types is double.
template <class T> struct __quern_real : __quern_integral<T> {};
template <> struct __quern_real<float> { typedef float type; };
template <> struct __quern_real<double> { typedef double type; };
template <class A, class B, class = typename __quern_real<A>::type, class = typename __quern_real<B>::type>
struct __quern_mixed { typedef double type; };
template <class A> struct __quern_mixed<A, float, double, float> { typedef float type; };
template <class B> struct __quern_mixed<float, B, float, double> { typedef float type; };
template <> struct __quern_mixed<double, float, double, float> { typedef double type; };
template <> struct __quern_mixed<float, double, float, double> { typedef double type; };
template <> struct __quern_mixed<float, float, float, float> {};
template <> struct __quern_mixed<double, double, double, double> {};

#define __quern_overload1(R, N)                                                                                        \
    template <class T> __quern_fn R N(T x, typename __quern_integral<T>::type = 0) { return N((double)x); }
#define __quern_overload2(N)                                                                                           \
    template <class A, class B> __quern_fn typename __quern_mixed<A, B>::type N(A a, B b) {                             \
        typedef typename __quern_mixed<A, B>::type T;                                                                  \
        return N((T)a, (T)b);                                                                                          \
    }
#define __quern_float_twin1(N) __quern_fn float N(float x) { return N##f(x); }
#define __quern_float_twin2(N) __quern_fn float N(float a, float b) { return N##f(a, b); }

#define __quern_math1(N)                                                                                               \
    __quern_fn double N(double x) { return __builtin_##N(x); }                                                         \
    __quern_fn float N##f(float x) { return __builtin_##N##f(x); }                                                     \
    __quern_float_twin1(N) __quern_overload1(double, N)
#define __quern_math2(N)                                                                                               \
    __quern_fn double N(double a, double b) { return __builtin_##N(a, b); }                                            \
    __quern_fn float N##f(float a, float b) { return __builtin_##N##f(a, b); }                                         \
    __quern_float_twin2(N) __quern_overload2(N)

__quern_math1(sqrt) __quern_math1(exp) __quern_math1(exp2) __quern_math1(expm1)
__quern_math1(log) __quern_math1(log2) __quern_math1(log10) __quern_math1(log1p) __quern_math1(logb)
__quern_math1(sin) __quern_math1(cos) __quern_math1(tan) __quern_math1(asin) __quern_math1(acos) __quern_math1(atan)
__quern_math1(sinh) __quern_math1(cosh) __quern_math1(tanh) __quern_math1(asinh) __quern_math1(acosh)
__quern_math1(atanh) __quern_math1(erf) __quern_math1(erfc) __quern_math1(tgamma)
__quern_math1(floor) __quern_math1(ceil) __quern_math1(trunc) __quern_math1(rint) __quern_math1(nearbyint)
__quern_math1(round) __quern_math1(fabs)
__quern_math2(pow) __quern_math2(atan2) __quern_math2(fmod) __quern_math2(remainder) __quern_math2(hypot)
__quern_math2(fdim) __quern_math2(fmin) __quern_math2(fmax) __quern_math2(copysign) __quern_math2(nextafter)
#undef __quern_math1
#undef __quern_math2

// glibc declares these; Clang has no builtin for some, and lgamma must not write signgam from many threads.
extern "C" {
__device__ __host__ __attribute__((const, nothrow)) double exp10(double);
__device__ __host__ __attribute__((const, nothrow)) float exp10f(float);
__device__ __host__ __attribute__((nothrow)) double lgamma_r(double, int*);
__device__ __host__ __attribute__((nothrow)) float lgammaf_r(float, int*);
__device__ __host__ __attribute__((const, nothrow)) double j0(double);
__device__ __host__ __attribute__((const, nothrow)) double j1(double);
__device__ __host__ __attribute__((const, nothrow)) double __quern_jn(int, double) __asm__("jn");
__device__ __host__ __attribute__((const, nothrow)) double y0(double);
__device__ __host__ __attribute__((const, nothrow)) double y1(double);
__device__ __host__ __attribute__((const, nothrow)) double __quern_yn(int, double) __asm__("yn");
__device__ __host__ __attribute__((const, nothrow)) float j0f(float);
__device__ __host__ __attribute__((const, nothrow)) float j1f(float);
__device__ __host__ __attribute__((const, nothrow)) float __quern_jnf(int, float) __asm__("jnf");
__device__ __host__ __attribute__((const, nothrow)) float y0f(float);
__device__ __host__ __attribute__((const, nothrow)) float y1f(float);
__device__ __host__ __attribute__((const, nothrow)) float __quern_ynf(int, float) __asm__("ynf");
}
// CUDA has no Bessel functions of negative order.
__quern_fn double jn(int n, double x) { return n < 0 ? __builtin_nan("") : __quern_jn(n, x); }
__quern_fn double yn(int n, double x) { return n < 0 ? __builtin_nan("") : __quern_yn(n, x); }
__quern_fn float jnf(int n, float x) { return n < 0 ? __builtin_nanf("") : __quern_jnf(n, x); }
__quern_fn float ynf(int n, float x) { return n < 0 ? __builtin_nanf("") : __quern_ynf(n, x); }
__quern_float_twin1(exp10) __quern_overload1(double, exp10)
__quern_fn double lgamma(double x) { int sign; return lgamma_r(x, &sign); }
__quern_fn float lgammaf(float x) { int sign; return lgammaf_r(x, &sign); }
__quern_float_twin1(lgamma) __quern_overload1(double, lgamma)

__quern_fn long lround(double x) { return (long)__builtin_round(x); }
__quern_fn long lroundf(float x) { return (long)__builtin_roundf(x); }
__quern_fn long long llround(double x) { return (long long)__builtin_round(x); }
__quern_fn long long llroundf(float x) { return (long long)__builtin_roundf(x); }
__quern_fn long lrint(double x) { return (long)__builtin_rint(x); }
__quern_fn long lrintf(float x) { return (long)__builtin_rintf(x); }
__quern_fn long long llrint(double x) { return (long long)__builtin_rint(x); }
__quern_fn long long llrintf(float x) { return (long long)__builtin_rintf(x); }
__quern_fn long lround(float x) { return lroundf(x); }
__quern_fn long long llround(float x) { return llroundf(x); }
__quern_fn long lrint(float x) { return lrintf(x); }
__quern_fn long long llrint(float x) { return llrintf(x); }

__quern_fn double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
__quern_fn float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
__quern_fn float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
__quern_fn double ldexp(double x, int e) { return __builtin_ldexp(x, e); }
__quern_fn float ldexpf(float x, int e) { return __builtin_ldexpf(x, e); }
__quern_fn float ldexp(float x, int e) { return __builtin_ldexpf(x, e); }
__quern_fn double scalbn(double x, int e) { return __builtin_ldexp(x, e); }
__quern_fn float scalbnf(float x, int e) { return __builtin_ldexpf(x, e); }
__quern_fn float scalbn(float x, int e) { return __builtin_ldexpf(x, e); }
__quern_fn double scalbln(double x, long e) { return __builtin_scalbln(x, e); }
__quern_fn float scalblnf(float x, long e) { return __builtin_scalblnf(x, e); }
__quern_fn float scalbln(float x, long e) { return __builtin_scalblnf(x, e); }
__quern_fn double frexp(double x, int* e) { return __builtin_frexp(x, e); }
__quern_fn float frexpf(float x, int* e) { return __builtin_frexpf(x, e); }
__quern_fn float frexp(float x, int* e) { return __builtin_frexpf(x, e); }
__quern_fn double modf(double x, double* i) { *i = __builtin_trunc(x); return __builtin_copysign(__builtin_isinf(x) ? 0.0 : x - *i, x); }
__quern_fn float modff(float x, float* i) { *i = __builtin_truncf(x); return __builtin_copysignf(__builtin_isinf(x) ? 0.0f : x - *i, x); }
__quern_fn float modf(float x, float* i) { return modff(x, i); }
__quern_fn int ilogb(double x) { return __builtin_ilogb(x); }
__quern_fn int ilogbf(float x) { return __builtin_ilogbf(x); }
__quern_fn int ilogb(float x) { return __builtin_ilogbf(x); }
__quern_fn double remquo(double a, double b, int* q) { return __builtin_remquo(a, b, q); }
__quern_fn float remquof(float a, float b, int* q) { return __builtin_remquof(a, b, q); }
__quern_fn float remquo(float a, float b, int* q) { return __builtin_remquof(a, b, q); }
__quern_fn double nan(const char*) { return __builtin_nan(""); }
__quern_fn float nanf(const char*) { return __builtin_nanf(""); }
__quern_fn float pow(float x, int n) { return __builtin_powf(x, (float)n); }
__quern_fn double pow(double x, int n) { return __builtin_pow(x, (double)n); }

#define __quern_classify(R, N, EXPRESSION)                                                                             \
    __quern_fn R N(float x) { return EXPRESSION; }                                                           \
    __quern_fn R N(double x) { return EXPRESSION; }                                                          \
    template <class T> __quern_fn R N(T x, typename __quern_integral<T>::type = 0) { return N((double)x); }
__quern_classify(int, isnan, __builtin_isnan(x)) __quern_classify(int, isinf, __builtin_isinf(x))
__quern_classify(int, isfinite, __builtin_isfinite(x)) __quern_classify(int, signbit, __builtin_signbit(x))
__quern_classify(int, isnormal, __builtin_isnormal(x))
#undef __quern_classify
__quern_fn int __isnan(double x) { return __builtin_isnan(x); }
__quern_fn int __isnanf(float x) { return __builtin_isnan(x); }
__quern_fn int __isinf(double x) { return __builtin_isinf(x); }
__quern_fn int __isinff(float x) { return __builtin_isinf(x); }
__quern_fn int __finite(double x) { return __builtin_isfinite(x); }
__quern_fn int __finitef(float x) { return __builtin_isfinite(x); }
__quern_fn int __signbit(double x) { return __builtin_signbit(x); }
__quern_fn int __signbitf(float x) { return __builtin_signbit(x); }

#define __quern_minmax(T)                                                                                              \
    __quern_fn constexpr T min(T a, T b) { return a < b ? a : b; }                                                     \
    __quern_fn constexpr T max(T a, T b) { return a > b ? a : b; }
#define __quern_minmax_mixed(U, S)                                                                                     \
    __quern_fn constexpr U min(U a, S b) { return min(a, (U)b); }                                                      \
    __quern_fn constexpr U min(S a, U b) { return min((U)a, b); }                                                      \
    __quern_fn constexpr U max(U a, S b) { return max(a, (U)b); }                                                      \
    __quern_fn constexpr U max(S a, U b) { return max((U)a, b); }
__quern_minmax(int) __quern_minmax(unsigned int) __quern_minmax(long) __quern_minmax(unsigned long)
__quern_minmax(long long) __quern_minmax(unsigned long long)
__quern_minmax_mixed(unsigned int, int) __quern_minmax_mixed(unsigned long, long)
__quern_minmax_mixed(unsigned long long, long long)
__quern_fn float min(float a, float b) { return fminf(a, b); }
__quern_fn float max(float a, float b) { return fmaxf(a, b); }
__quern_fn double min(double a, double b) { return fmin(a, b); }
__quern_fn double max(double a, double b) { return fmax(a, b); }
__quern_fn double min(float a, double b) { return fmin((double)a, b); }
__quern_fn double min(double a, float b) { return fmin(a, (double)b); }
__quern_fn double max(float a, double b) { return fmax((double)a, b); }
__quern_fn double max(double a, float b) { return fmax(a, (double)b); }
#undef __quern_minmax
#undef __quern_minmax_mixed
__quern_fn constexpr unsigned int umin(unsigned int a, unsigned int b) { return min(a, b); }
__quern_fn constexpr unsigned int umax(unsigned int a, unsigned int b) { return max(a, b); }
__quern_fn constexpr long long llmin(long long a, long long b) { return min(a, b); }
__quern_fn constexpr long long llmax(long long a, long long b) { return max(a, b); }
__quern_fn constexpr unsigned long long ullmin(unsigned long long a, unsigned long long b) { return min(a, b); }
__quern_fn constexpr unsigned long long ullmax(unsigned long long a, unsigned long long b) { return max(a, b); }
// As unsigned numbers, so that the least integer has an answer: itself.
__quern_fn constexpr int abs(int x) { return x < 0 ? (int)(0u - (unsigned)x) : x; }
__quern_fn constexpr long abs(long x) { return x < 0 ? (long)(0ul - (unsigned long)x) : x; }
__quern_fn constexpr long long abs(long long x) { return x < 0 ? (long long)(0ull - (unsigned long long)x) : x; }
__quern_fn constexpr long labs(long x) { return abs(x); }
__quern_fn constexpr long long llabs(long long x) { return abs(x); }
__quern_fn float abs(float x) { return __builtin_fabsf(x); }
__quern_fn double abs(double x) { return __builtin_fabs(x); }
