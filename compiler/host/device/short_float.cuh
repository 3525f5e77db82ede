// Floats of two bytes as bit patterns: widening, rounding once in each direction, one fused multiply-add. For cuda_fp16.h
// and cuda_bf16.h. All is integer and float arithmetic without branches, so that loops vectorise.
#pragma once

// A double rounded to odd in float: rounding that once more is as if it were the first time.
__quern_fn float __quern_odd_float(double x) {
    float y = (float)x;
    unsigned bits = __builtin_bit_cast(unsigned, y);
    const double back = y;
    const bool off = (back > x || back < x) && !(bits & 1u) && (bits & 0x7fffffffu) < 0x7f800000u;
    return __builtin_bit_cast(float, off ? ((back > x) == (x > 0) ? bits - 1u : bits + 1u) : bits);
}
// 64-bit integers in double: what falls off is remembered in the last bit, which no format of two bytes reaches.
__quern_fn double __quern_odd_double(unsigned long long x) {
    return x >> 53 ? (double)(x >> 11 | (unsigned long long)((x & 0x7ffu) != 0)) * 2048.0 : (double)x;
}
__quern_fn double __quern_odd_double(long long x) {
    return x < 0 ? -__quern_odd_double(0ull - (unsigned long long)x) : __quern_odd_double((unsigned long long)x);
}

struct __quern_f16 { // 5 bits of exponent
    static constexpr unsigned short infinity = 0x7c00;
    __quern_fn float widen(unsigned short bits) { return (float)__builtin_bit_cast(_Float16, bits); }
    __quern_fn unsigned short round(float x) { return __builtin_bit_cast(unsigned short, (_Float16)x); }
    // The product is exact in float; the sum's error says which way its last bit must lie.
    __quern_fn unsigned short fused(unsigned short a, unsigned short b, unsigned short c) {
        __quern_exact const float product = widen(a) * widen(b), addend = widen(c), sum = product + addend;
        const float part = sum - product, error = (product - (sum - part)) + (addend - part);
        unsigned bits = __builtin_bit_cast(unsigned, sum);
        if ((error > 0 || error < 0) && !(bits & 1u))
            bits = (error > 0) == (sum > 0) ? bits + 1u : bits - 1u;
        return round(__builtin_bit_cast(float, bits));
    }
};

struct __quern_bf16 { // the upper half of a float
    static constexpr unsigned short infinity = 0x7f80;
    __quern_fn float widen(unsigned short bits) { return __builtin_bit_cast(float, (unsigned)bits << 16); }
    __quern_fn unsigned short round(float x) { // integers: the machine's own instruction flushes denormals
        const unsigned bits = __builtin_bit_cast(unsigned, x);
        const unsigned near = bits + 0x7fffu + (bits >> 16 & 1u);
        return (unsigned short)(x != x ? 0x7fffu : near >> 16);
    }
    // As above in double: float's exponents are too few for a product of two.
    __quern_fn unsigned short fused(unsigned short a, unsigned short b, unsigned short c) {
        __quern_exact const double product = (double)widen(a) * (double)widen(b), addend = widen(c);
        const double sum = product + addend;
        const double part = sum - product, error = (product - (sum - part)) + (addend - part);
        unsigned long long bits = __builtin_bit_cast(unsigned long long, sum);
        if ((error > 0 || error < 0) && !(bits & 1u))
            bits = (error > 0) == (sum > 0) ? bits + 1u : bits - 1u;
        return round(__quern_odd_float(__builtin_bit_cast(double, bits)));
    }
};

// To nearest (0), towards zero (1), up (2), down (3): the nearest one, then one place further when that is the wrong side.
template <class F, int direction = 0> __quern_fn unsigned short __quern_to_short_float(double x) {
    unsigned short bits = F::round(__quern_odd_float(x));
    if constexpr (direction != 0) {
        const double back = F::widen(bits);
        const bool negative = bits >> 15;
        if (back < x && (direction == 2 || (direction == 1 && x < 0)))
            bits = negative ? (unsigned short)(bits == 0x8000 ? 1 : bits - 1) : (unsigned short)(bits + 1);
        else if (back > x && (direction == 3 || (direction == 1 && x > 0)))
            bits = negative ? (unsigned short)(bits + 1) : (unsigned short)(bits == 0 ? 0x8001 : bits - 1);
    }
    return bits;
}
// A number of either sign against a NaN, +0 above -0; NaN only of two.
template <class F, bool greatest> __quern_fn unsigned short __quern_extreme(unsigned short a, unsigned short b) {
    const float x = F::widen(a), y = F::widen(b);
    if (x != x) return y != y ? 0x7fff : b;
    if (y != y) return a;
    if (x == y) return greatest ? (unsigned short)(a & b) : (unsigned short)(a | b);
    return (x > y) == greatest ? a : b;
}
template <class F, bool greatest> __quern_fn unsigned short __quern_extreme_nan(unsigned short a, unsigned short b) {
    return F::widen(a) != F::widen(a) || F::widen(b) != F::widen(b) ? 0x7fff : __quern_extreme<F, greatest>(a, b);
}
template <class T> __quern_fn T __quern_saturate(float x, int least, int greatest) { // NaN is 0
    return x != x ? (T)0 : x < (float)least ? (T)least : x > (float)greatest ? (T)greatest : (T)(int)x;
}
