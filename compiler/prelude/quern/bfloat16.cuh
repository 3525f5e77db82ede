// bfloat16: the upper half of a float. Every operation runs in float and rounds once when it is stored.
#pragma once
#define QUERN_HAS_BFLOAT16 1

#include "quern/small_float.cuh"

namespace quern {
__device__ inline unsigned short float_to_bfloat16(float value) { // to nearest, ties to even
#if !defined(__QUERN_HOST__) && __CUDA_ARCH__ >= 800
    unsigned short rounded; // an instruction of its own; as that of halves it has one NaN
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(rounded) : "f"(value));
    return rounded;
#else
    unsigned int bits = __float_as_uint(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<unsigned short>((bits >> 16) | 0x0040u);
    bits += 0x7fffu + ((bits >> 16) & 1u);
    return static_cast<unsigned short>(bits >> 16);
#endif
}
struct Bfloat16 {
    static const unsigned short exponent_mask = 0x7f80;
    static __device__ float widen(unsigned short bits) { return __uint_as_float(static_cast<unsigned int>(bits) << 16); }
    static __device__ unsigned short round(float value) { return float_to_bfloat16(value); }
    static __device__ unsigned short round(double value) { return float_to_bfloat16(odd_float(value)); }
#if !defined(__QUERN_HOST__) && __CUDA_ARCH__ >= 900
    QUERN_OWN_STEPS("bf16")
#else
    QUERN_STEPS_BY_FLOAT
#endif
};
} // namespace quern
typedef quern::SmallFloat<quern::Bfloat16> bfloat16;

// The names of cuda_bf16.h, for bodies that use them.
typedef bfloat16 __nv_bfloat16;
typedef bfloat16 nv_bfloat16;
__device__ inline float __bfloat162float(bfloat16 x) { return x; }
__device__ inline bfloat16 __float2bfloat16(float x) { return x; }
__device__ inline bfloat16 __float2bfloat16_rn(float x) { return x; }
__device__ inline bfloat16 __double2bfloat16(double x) { return x; }
__device__ inline unsigned short __bfloat16_as_ushort(bfloat16 x) { return x.bits; }
__device__ inline bfloat16 __ushort_as_bfloat16(unsigned short x) { return bfloat16::from_bits(x); }
