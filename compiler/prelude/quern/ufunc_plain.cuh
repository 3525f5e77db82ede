// Those of ufunc.cuh's functions that a toolchain reads at once: most kernels need no others.
#pragma once
#include "quern/convert.cuh"
#include "quern/order.cuh"
#ifndef __QUERN_HOST__
    #include "quern/near_log.cuh"
#endif

namespace quern {
namespace ufunc {

using quern::is_nan;
using quern::maximum;
using quern::minimum;

template <class T> struct Integer { static const bool is_signed = T(-1) < T(1); };
template <class T> __device__ inline T wrapped_minus(T a) { return static_cast<T>(0ull - static_cast<unsigned long long>(a)); }
// The magnitude of the least integer is what it wraps to; as an unsigned number it is right.
template <class T> __device__ inline unsigned long long magnitude(T a) {
    return a < T(1) && a != T(0) ? 0ull - static_cast<unsigned long long>(a) : static_cast<unsigned long long>(a);
}

template <class T> __device__ inline T invert(T a) { return static_cast<T>(~a); }
__device__ inline bool invert(bool a) { return !a; }

// What has overloads for integers (and bool), floats and complex numbers. Integers:
template <class T> __device__ inline double divide(T a, T b) { return static_cast<double>(a) / static_cast<double>(b); }
template <class T> __device__ inline T absolute(T a) { return a < T(0) ? wrapped_minus(a) : a; }
__device__ inline bool absolute(bool a) { return a; }
template <class T> __device__ inline T sign(T a) {
    const T low = a < T(1) ? a : T(1);
    return !Integer<T>::is_signed || low > T(-1) ? low : T(-1);
}
template <class T> __device__ inline T reciprocal(T a) { // of 0, what NumPy's cast of infinity leaves
    const T end = Integer<T>::is_signed && sizeof(T) > 2 ? static_cast<T>(1ull << (8 * sizeof(T) - 1)) : T(0);
    const bool one = (a == T(1)) | (Integer<T>::is_signed & (a == T(-1)));
    const T cut = one ? a : T(0);
    return a == T(0) ? end : cut;
}
template <class T> __device__ inline T conjugate(T a) { return a; }
template <class T> __device__ inline T floor(T a) { return a; }
template <class T> __device__ inline T ceil(T a) { return a; }
template <class T> __device__ inline T trunc(T a) { return a; }
template <class T> __device__ inline bool is_infinite(T) { return false; }
template <class T> __device__ inline bool is_finite(T) { return true; }
template <class T> __device__ inline T fmax(const T& a, const T& b) { return chosen(is_nan(b) | !(above(b, a) | is_nan(a)), a, b); }
template <class T> __device__ inline T fmin(const T& a, const T& b) { return chosen(is_nan(b) | !(above(a, b) | is_nan(a)), a, b); }
template <class T> __device__ inline bool equal(const T& a, const T& b) { return a == b; }
template <class T> __device__ inline bool less(const T& a, const T& b) { return a < b; }
template <class T> __device__ inline bool less_equal(const T& a, const T& b) { return a <= b; }
#define QUERN_MIXED_SIGNS(name, op, negative)                                                                              \
    __device__ inline bool name(long long a, unsigned long long b) {                                                       \
        return a < 0 ? negative : static_cast<unsigned long long>(a) op b;                                                 \
    }
QUERN_MIXED_SIGNS(equal, ==, false) QUERN_MIXED_SIGNS(less, <, true) QUERN_MIXED_SIGNS(less_equal, <=, true)
#undef QUERN_MIXED_SIGNS
__device__ inline bool equal(unsigned long long a, long long b) { return equal(b, a); }
__device__ inline bool less(unsigned long long a, long long b) { return !less_equal(b, a); }
__device__ inline bool less_equal(unsigned long long a, long long b) { return !less(b, a); }

// Floats.
#define QUERN_OF_FLOATS(F)                                                                                                 \
    __device__ inline F divide(F a, F b) { return a / b; }                                                                 \
    __device__ inline F fmax(F a, F b) { return a != a ? b : b > a ? b : a; }                                              \
    __device__ inline F fmin(F a, F b) { return a != a ? b : b < a ? b : a; }                                              \
    __device__ inline F absolute(F a) { return ::fabs(a); }                                                                \
    __device__ inline F sign(F a) { return a > 0 ? F(1) : a < 0 ? F(-1) : a == 0 ? F(0) : a; }                             \
    __device__ inline F reciprocal(F a) { return F(1) / a; }                                                               \
    __device__ inline F floor(F a) { return ::floor(a); }                                                                  \
    __device__ inline F ceil(F a) { return ::ceil(a); }                                                                    \
    __device__ inline F trunc(F a) { return ::trunc(a); }                                                                  \
    __device__ inline F rint(F a) { return ::rint(a); }                                                                    \
    __device__ inline bool is_infinite(F a) { return ::isinf(a); }                                                         \
    __device__ inline bool is_finite(F a) { return ::isfinite(a); }                                                        \
    __device__ inline F heaviside(F a, F b) { return a != a ? a : a == 0 ? b : a < 0 ? F(0) : F(1); }                      \
    __device__ inline void modf(F a, F& r, F& s) {                                                                         \
        s = ::trunc(a);                                                                                                    \
        r = ::copysign(::isinf(a) ? F(0) : a - s, a);                                                                      \
    }                                                                                                                      \
    __device__ inline F degrees(F a) { return a * (F(180) / F(3.141592653589793238462643383279502884)); }                  \
    __device__ inline F radians(F a) { return a * (F(3.141592653589793238462643383279502884) / F(180)); }
QUERN_OF_FLOATS(float)
QUERN_OF_FLOATS(double)
#undef QUERN_OF_FLOATS

#ifndef __QUERN_HOST__
// Within 2 units in the last place: CUDA's own, except of a float's logarithm, which swift.cuh shortens.
#define QUERN_OF_CUDA(name)                                                                                                \
    __device__ inline float name(float a) { return ::name(a); }                                                            \
    __device__ inline double name(double a) { return ::name(a); }
QUERN_OF_CUDA(exp) QUERN_OF_CUDA(exp2) QUERN_OF_CUDA(expm1) QUERN_OF_CUDA(log2) QUERN_OF_CUDA(log10)
QUERN_OF_CUDA(sin) QUERN_OF_CUDA(cos) QUERN_OF_CUDA(tanh) QUERN_OF_CUDA(cbrt)
__device__ inline float log(float a) { return near::log(a); }
__device__ inline double log(double a) { return ::log(a); }
#undef QUERN_OF_CUDA
#endif

} // namespace ufunc
} // namespace quern

#ifdef __QUERN_HOST__
#include "quern/ufunc.cuh" // whose functions are the CPU's
#endif
