// A float of two bytes: its format says how bits widen and round, everything else is the same. Arithmetic happens in float,
// which every expression reaches by conversion, and rounds once when it is stored.
#pragma once

namespace quern {

// A format's steps of arithmetic, of bits and rounded: by way of float, or by instructions of PTX for its kind.
#define QUERN_STEP_BY_FLOAT(name, sign) \
    static __device__ unsigned short name(unsigned short a, unsigned short b) { return round(widen(a) sign widen(b)); }
#define QUERN_STEPS_BY_FLOAT QUERN_STEP_BY_FLOAT(add, +) QUERN_STEP_BY_FLOAT(subtract, -) QUERN_STEP_BY_FLOAT(multiply, *)
#define QUERN_OWN_STEP(name, instruction)                                       \
    static __device__ unsigned short name(unsigned short a, unsigned short b) { \
        unsigned short result;                                                  \
        asm(instruction " %0, %1, %2;" : "=h"(result) : "h"(a), "h"(b));        \
        return result;                                                          \
    }
#define QUERN_OWN_STEPS(kind) \
    QUERN_OWN_STEP(add, "add.rn." kind) QUERN_OWN_STEP(subtract, "sub.rn." kind) QUERN_OWN_STEP(multiply, "mul.rn." kind)

// A double rounded to odd in float, so that a second rounding is as if it were the first.
__device__ inline float odd_float(double value) {
    const float near = static_cast<float>(value);
    unsigned int bits = __float_as_uint(near);
    const double back = near;
    if (back != value && value == value && !(bits & 1u) && (bits & 0x7fffffffu) < 0x7f800000u)
        bits = (back > value) == (value > 0) ? bits - 1u : bits + 1u;
    return __uint_as_float(bits);
}

template <class Format> struct SmallFloat {
    unsigned short bits;

    SmallFloat() = default;
    __device__ SmallFloat(float value) : bits(Format::round(value)) {}
    __device__ SmallFloat(double value) : bits(Format::round(value)) {}
#define QUERN_FROM(Integer, Wide) \
    __device__ SmallFloat(Integer value) : SmallFloat(static_cast<Wide>(value)) {}
    QUERN_FROM(bool, float) QUERN_FROM(signed char, float) QUERN_FROM(unsigned char, float) QUERN_FROM(short, float)
    QUERN_FROM(unsigned short, float) QUERN_FROM(int, double) QUERN_FROM(unsigned int, double) QUERN_FROM(long, float)
    QUERN_FROM(unsigned long, float) QUERN_FROM(long long, float) QUERN_FROM(unsigned long long, float)
#undef QUERN_FROM
    __device__ operator float() const { return Format::widen(bits); }

    template <class U> __device__ SmallFloat& operator+=(const U& other) { return *this = SmallFloat(float(*this) + other); }
    template <class U> __device__ SmallFloat& operator-=(const U& other) { return *this = SmallFloat(float(*this) - other); }
    template <class U> __device__ SmallFloat& operator*=(const U& other) { return *this = SmallFloat(float(*this) * other); }
    template <class U> __device__ SmallFloat& operator/=(const U& other) { return *this = SmallFloat(float(*this) / other); }
    __device__ SmallFloat& operator++() { return *this += 1.0f; }
    __device__ SmallFloat& operator--() { return *this -= 1.0f; }
    __device__ SmallFloat operator++(int) { const SmallFloat old = *this; *this += 1.0f; return old; }
    __device__ SmallFloat operator--(int) { const SmallFloat old = *this; *this -= 1.0f; return old; }
    __device__ SmallFloat operator-() const { return from_bits(bits ^ 0x8000); }
    __device__ bool signbit() const { return bits >> 15; }
    __device__ bool isnan() const { return (bits & 0x7fff) > Format::exponent_mask; }
    __device__ bool isinf() const { return (bits & 0x7fff) == Format::exponent_mask; }
    __device__ bool isfinite() const { return (bits & Format::exponent_mask) != Format::exponent_mask; }
    static __device__ SmallFloat from_bits(unsigned short bits) {
        SmallFloat value;
        value.bits = bits;
        return value;
    }
};

// One step of arithmetic, rounded: by an instruction of its own where there is one, which spares going by way of float. A float
// holds more than twice as many digits, so the bits are the same.
namespace small {
#define QUERN_STEP(name)                                                                                         \
    template <class Format> __device__ inline SmallFloat<Format> name(SmallFloat<Format> a, SmallFloat<Format> b) { \
        return SmallFloat<Format>::from_bits(Format::name(a.bits, b.bits));                                      \
    }
QUERN_STEP(add)
QUERN_STEP(subtract)
QUERN_STEP(multiply)
#undef QUERN_STEP
} // namespace small

} // namespace quern

#define QUERN_OF template <class Format> __device__ inline
#define QUERN_SMALL quern::SmallFloat<Format>
QUERN_OF bool isnan(QUERN_SMALL x) { return x.isnan(); }
QUERN_OF bool isinf(QUERN_SMALL x) { return x.isinf(); }
QUERN_OF bool isfinite(QUERN_SMALL x) { return x.isfinite(); }
QUERN_OF bool signbit(QUERN_SMALL x) { return x.signbit(); }
QUERN_OF QUERN_SMALL abs(QUERN_SMALL x) { return QUERN_SMALL::from_bits(x.bits & 0x7fff); }
QUERN_OF QUERN_SMALL fabs(QUERN_SMALL x) { return QUERN_SMALL::from_bits(x.bits & 0x7fff); }
// Neighbours are neighbours as integers.
QUERN_OF QUERN_SMALL nextafter(QUERN_SMALL x, QUERN_SMALL y) {
    if (x.isnan() || y.isnan()) return x.isnan() ? x : y;
    if (float(x) == float(y)) return y;
    if (!(x.bits & 0x7fff)) return QUERN_SMALL::from_bits(static_cast<unsigned short>((y.bits & 0x8000) | 1));
    const bool away = (float(x) < float(y)) == !x.signbit();
    return QUERN_SMALL::from_bits(static_cast<unsigned short>(away ? x.bits + 1 : x.bits - 1));
}
#undef QUERN_OF
#undef QUERN_SMALL
