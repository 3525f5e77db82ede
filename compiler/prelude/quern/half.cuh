// float16: two bytes in memory, float in arithmetic. Every operation runs in float and rounds once when it is stored.
#pragma once
#define QUERN_HAS_HALF 1

#include "quern/small_float.cuh"

namespace quern {
__device__ inline float half_to_float(unsigned short bits) {
#ifdef __QUERN_HOST__
    return static_cast<float>(__builtin_bit_cast(_Float16, bits));
#else
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
#endif
}
__device__ inline unsigned short float_to_half(float value) {
#ifdef __QUERN_HOST__
    return __builtin_bit_cast(unsigned short, static_cast<_Float16>(value));
#else
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
#endif
}
__device__ inline unsigned short double_to_half(double value) { // one rounding, not two
#ifdef __QUERN_HOST__
    return float_to_half(odd_float(value));
#else
    unsigned short bits;
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(value));
    return bits;
#endif
}
struct Half {
    static const unsigned short exponent_mask = 0x7c00;
    static __device__ float widen(unsigned short bits) { return half_to_float(bits); }
    static __device__ unsigned short round(float value) { return float_to_half(value); }
    static __device__ unsigned short round(double value) { return double_to_half(value); }
#ifdef __QUERN_HOST__
    QUERN_STEPS_BY_FLOAT
#else
    QUERN_OWN_STEPS("f16")
#endif
};
} // namespace quern
typedef quern::SmallFloat<quern::Half> float16;

#ifndef QUERN_CUDA_FP16 // the user's preamble includes cuda_fp16.h itself
// The names of cuda_fp16.h, for bodies that use them.
typedef float16 half;
typedef float16 __half;
__device__ inline float __half2float(float16 x) { return x; }
__device__ inline float16 __float2half(float x) { return x; }
__device__ inline float16 __float2half_rn(float x) { return x; }
__device__ inline float16 __double2half(double x) { return x; }
__device__ inline float16 __int2half_rn(int x) { return x; }
__device__ inline int __half2int_rz(float16 x) { return static_cast<int>(float(x)); }
__device__ inline int __half2int_rn(float16 x) { return __float2int_rn(x); }
__device__ inline unsigned short __half_as_ushort(float16 x) { return x.bits; }
__device__ inline float16 __ushort_as_half(unsigned short x) { return float16::from_bits(x); }
__device__ inline float16 __hadd(float16 a, float16 b) { return float(a) + float(b); }
__device__ inline float16 __hsub(float16 a, float16 b) { return float(a) - float(b); }
__device__ inline float16 __hmul(float16 a, float16 b) { return float(a) * float(b); }
__device__ inline float16 __hdiv(float16 a, float16 b) { return float(a) / float(b); }
__device__ inline float16 __hneg(float16 a) { return -a; }
__device__ inline float16 __habs(float16 a) { return abs(a); }
__device__ inline float16 __hfma(float16 a, float16 b, float16 c) { return float16(double(float(a)) * double(float(b)) + double(float(c))); }
__device__ inline float16 __hmin(float16 a, float16 b) { return fminf(a, b); }
__device__ inline float16 __hmax(float16 a, float16 b) { return fmaxf(a, b); }
__device__ inline bool __heq(float16 a, float16 b) { return float(a) == float(b); }
__device__ inline bool __hne(float16 a, float16 b) { return float(a) != float(b); }
__device__ inline bool __hlt(float16 a, float16 b) { return float(a) < float(b); }
__device__ inline bool __hle(float16 a, float16 b) { return float(a) <= float(b); }
__device__ inline bool __hgt(float16 a, float16 b) { return float(a) > float(b); }
__device__ inline bool __hge(float16 a, float16 b) { return float(a) >= float(b); }
__device__ inline bool __hisnan(float16 a) { return a.isnan(); }
__device__ inline int __hisinf(float16 a) { return a.isinf() ? (a.signbit() ? -1 : 1) : 0; }
#define QUERN_HALF_FUNCTION(name, function) \
    __device__ inline float16 name(float16 x) { return function(float(x)); }
QUERN_HALF_FUNCTION(hsqrt, sqrtf)
QUERN_HALF_FUNCTION(hrsqrt, rsqrtf)
QUERN_HALF_FUNCTION(hrcp, 1.0f /)
QUERN_HALF_FUNCTION(hexp, expf)
QUERN_HALF_FUNCTION(hexp2, exp2f)
QUERN_HALF_FUNCTION(hlog, logf)
QUERN_HALF_FUNCTION(hlog2, log2f)
QUERN_HALF_FUNCTION(hlog10, log10f)
QUERN_HALF_FUNCTION(hsin, sinf)
QUERN_HALF_FUNCTION(hcos, cosf)
QUERN_HALF_FUNCTION(hfloor, floorf)
QUERN_HALF_FUNCTION(hceil, ceilf)
QUERN_HALF_FUNCTION(htrunc, truncf)
QUERN_HALF_FUNCTION(hrint, rintf)
#undef QUERN_HALF_FUNCTION
#endif
