// float16: two bytes in memory, float in arithmetic. Every operation runs in float and rounds once when it is stored.
#pragma once
#define QUERN_HAS_HALF 1

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
    // Round to odd in float first: then the second rounding is exact.
    float near = static_cast<float>(value);
    unsigned int bits = __float_as_uint(near);
    const double back = near;
    if (back != value && value == value && !(bits & 1u) && (bits & 0x7fffffffu) < 0x7f800000u) {
        const bool grew = (back > value) == (value > 0);
        bits = grew ? bits - 1u : bits + 1u;
        near = __uint_as_float(bits);
    }
    return float_to_half(near);
#else
    unsigned short bits;
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(value));
    return bits;
#endif
}
} // namespace quern

struct float16 {
    unsigned short bits;

    float16() = default;
    __device__ float16(float value) : bits(quern::float_to_half(value)) {}
    __device__ float16(double value) : bits(quern::double_to_half(value)) {}
    __device__ float16(bool value) : float16(static_cast<float>(value)) {}
    __device__ float16(signed char value) : float16(static_cast<float>(value)) {}
    __device__ float16(unsigned char value) : float16(static_cast<float>(value)) {}
    __device__ float16(short value) : float16(static_cast<float>(value)) {}
    __device__ float16(unsigned short value) : float16(static_cast<float>(value)) {}
    __device__ float16(int value) : float16(static_cast<double>(value)) {}
    __device__ float16(unsigned int value) : float16(static_cast<double>(value)) {}
    // Past 65520 everything is infinity, so a double of any 64-bit integer rounds to the right half.
    __device__ float16(long value) : float16(static_cast<double>(value)) {}
    __device__ float16(unsigned long value) : float16(static_cast<double>(value)) {}
    __device__ float16(long long value) : float16(static_cast<double>(value)) {}
    __device__ float16(unsigned long long value) : float16(static_cast<double>(value)) {}
    __device__ operator float() const { return quern::half_to_float(bits); }

    template <class U> __device__ float16& operator+=(const U& other) { return *this = float16(float(*this) + other); }
    template <class U> __device__ float16& operator-=(const U& other) { return *this = float16(float(*this) - other); }
    template <class U> __device__ float16& operator*=(const U& other) { return *this = float16(float(*this) * other); }
    template <class U> __device__ float16& operator/=(const U& other) { return *this = float16(float(*this) / other); }
    __device__ float16& operator++() { return *this += 1.0f; }
    __device__ float16& operator--() { return *this -= 1.0f; }
    __device__ float16 operator++(int) { const float16 old = *this; *this += 1.0f; return old; }
    __device__ float16 operator--(int) { const float16 old = *this; *this -= 1.0f; return old; }
    __device__ bool signbit() const { return bits >> 15; }
    __device__ bool isnan() const { return (bits & 0x7fff) > 0x7c00; }
    __device__ bool isinf() const { return (bits & 0x7fff) == 0x7c00; }
    __device__ bool isfinite() const { return (bits & 0x7c00) != 0x7c00; }
    static __device__ float16 from_bits(unsigned short bits) {
        float16 value;
        value.bits = bits;
        return value;
    }
};

__device__ inline bool isnan(float16 x) { return x.isnan(); }
__device__ inline bool isinf(float16 x) { return x.isinf(); }
__device__ inline bool isfinite(float16 x) { return x.isfinite(); }
__device__ inline bool signbit(float16 x) { return x.signbit(); }
__device__ inline float16 operator-(float16 x) { return float16::from_bits(x.bits ^ 0x8000); }
__device__ inline float16 abs(float16 x) { return float16::from_bits(x.bits & 0x7fff); }
__device__ inline float16 fabs(float16 x) { return float16::from_bits(x.bits & 0x7fff); }
// min and max of halves are those of float, which every conversion reaches.
__device__ inline float16 nextafter(float16 x, float16 y) {
    if (x.isnan() || y.isnan()) return x.isnan() ? x : y;
    if (float(x) == float(y)) return y;
    if (!(x.bits & 0x7fff)) return float16::from_bits(static_cast<unsigned short>((y.bits & 0x8000) | 1));
    const bool away = (float(x) < float(y)) == !x.signbit();
    return float16::from_bits(static_cast<unsigned short>(away ? x.bits + 1 : x.bits - 1));
}

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
