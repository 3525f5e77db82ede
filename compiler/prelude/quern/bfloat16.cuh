// bfloat16: the upper half of a float. Every operation runs in float and rounds once when it is stored.
#pragma once
#define QUERN_HAS_BFLOAT16 1

namespace quern {
__device__ inline unsigned short float_to_bfloat16(float value) { // to nearest, ties to even
    unsigned int bits = __float_as_uint(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<unsigned short>((bits >> 16) | 0x0040u);
    bits += 0x7fffu + ((bits >> 16) & 1u);
    return static_cast<unsigned short>(bits >> 16);
}
__device__ inline float odd_float(double value) { // rounded to odd, so that a second rounding is exact
    const float near = static_cast<float>(value);
    unsigned int bits = __float_as_uint(near);
    const double back = near;
    if (back != value && value == value && !(bits & 1u) && (bits & 0x7fffffffu) < 0x7f800000u)
        bits = (back > value) == (value > 0) ? bits - 1u : bits + 1u;
    return __uint_as_float(bits);
}
} // namespace quern

struct bfloat16 {
    unsigned short bits;

    bfloat16() = default;
    __device__ bfloat16(float value) : bits(quern::float_to_bfloat16(value)) {}
    __device__ bfloat16(double value) : bfloat16(quern::odd_float(value)) {}
    __device__ bfloat16(bool value) : bfloat16(static_cast<float>(value)) {}
    __device__ bfloat16(signed char value) : bfloat16(static_cast<float>(value)) {}
    __device__ bfloat16(unsigned char value) : bfloat16(static_cast<float>(value)) {}
    __device__ bfloat16(short value) : bfloat16(static_cast<float>(value)) {}
    __device__ bfloat16(unsigned short value) : bfloat16(static_cast<float>(value)) {}
    __device__ bfloat16(int value) : bfloat16(static_cast<double>(value)) {}
    __device__ bfloat16(unsigned int value) : bfloat16(static_cast<double>(value)) {}
    __device__ bfloat16(long value) : bfloat16(static_cast<float>(value)) {}
    __device__ bfloat16(unsigned long value) : bfloat16(static_cast<float>(value)) {}
    __device__ bfloat16(long long value) : bfloat16(static_cast<float>(value)) {}
    __device__ bfloat16(unsigned long long value) : bfloat16(static_cast<float>(value)) {}
    __device__ operator float() const { return __uint_as_float(static_cast<unsigned int>(bits) << 16); }

    template <class U> __device__ bfloat16& operator+=(const U& other) { return *this = bfloat16(float(*this) + other); }
    template <class U> __device__ bfloat16& operator-=(const U& other) { return *this = bfloat16(float(*this) - other); }
    template <class U> __device__ bfloat16& operator*=(const U& other) { return *this = bfloat16(float(*this) * other); }
    template <class U> __device__ bfloat16& operator/=(const U& other) { return *this = bfloat16(float(*this) / other); }
    __device__ bool signbit() const { return bits >> 15; }
    __device__ bool isnan() const { return (bits & 0x7fff) > 0x7f80; }
    __device__ bool isinf() const { return (bits & 0x7fff) == 0x7f80; }
    __device__ bool isfinite() const { return (bits & 0x7f80) != 0x7f80; }
    static __device__ bfloat16 from_bits(unsigned short bits) {
        bfloat16 value;
        value.bits = bits;
        return value;
    }
};

__device__ inline bool isnan(bfloat16 x) { return x.isnan(); }
__device__ inline bool isinf(bfloat16 x) { return x.isinf(); }
__device__ inline bool isfinite(bfloat16 x) { return x.isfinite(); }
__device__ inline bool signbit(bfloat16 x) { return x.signbit(); }
__device__ inline bfloat16 operator-(bfloat16 x) { return bfloat16::from_bits(x.bits ^ 0x8000); }
__device__ inline bfloat16 abs(bfloat16 x) { return bfloat16::from_bits(x.bits & 0x7fff); }
__device__ inline bfloat16 fabs(bfloat16 x) { return bfloat16::from_bits(x.bits & 0x7fff); }

// The names of cuda_bf16.h, for bodies that use them.
typedef bfloat16 __nv_bfloat16;
typedef bfloat16 nv_bfloat16;
__device__ inline float __bfloat162float(bfloat16 x) { return x; }
__device__ inline bfloat16 __float2bfloat16(float x) { return x; }
__device__ inline bfloat16 __float2bfloat16_rn(float x) { return x; }
__device__ inline bfloat16 __double2bfloat16(double x) { return x; }
__device__ inline unsigned short __bfloat16_as_ushort(bfloat16 x) { return x.bits; }
__device__ inline bfloat16 __ushort_as_bfloat16(unsigned short x) { return bfloat16::from_bits(x); }
