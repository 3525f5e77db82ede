// Instructions of inline PTX that are easier said in CUDA C++ than in IR. No part of builtins.cuh: compiled only for a
// program that needs one of them (compiler/host/ptx/library.cpp).
#pragma once
#define __quern_named(MODE, SPELLED)                                                                                   \
    __quern_two(float, f32, __f, MODE, SPELLED) __quern_two(double, f64, __d, MODE, SPELLED)                           \
    __quern_fused(float, f32, __fmaf, MODE, SPELLED) __quern_fused(double, f64, __fma, MODE, SPELLED)
#define __quern_entry extern "C" __attribute__((device, used))
#define __quern_two(T, S, X, MODE, SPELLED)                                                                            \
    __quern_entry T __quern_ptx_add_##MODE##_##S(T a, T b) { return X##add_##SPELLED(a, b); }                          \
    __quern_entry T __quern_ptx_sub_##MODE##_##S(T a, T b) { return X##sub_##SPELLED(a, b); }                          \
    __quern_entry T __quern_ptx_mul_##MODE##_##S(T a, T b) { return X##mul_##SPELLED(a, b); }                          \
    __quern_entry T __quern_ptx_div_##MODE##_##S(T a, T b) { return X##div_##SPELLED(a, b); }                          \
    __quern_entry T __quern_ptx_rcp_##MODE##_##S(T a) { return X##rcp_##SPELLED(a); }                                  \
    __quern_entry T __quern_ptx_sqrt_##MODE##_##S(T a) { return X##sqrt_##SPELLED(a); }
#define __quern_fused(T, S, F, MODE, SPELLED)                                                                          \
    __quern_entry T __quern_ptx_fma_##MODE##_##S(T a, T b, T c) { return F##_##SPELLED(a, b, c); }
__quern_named(rz, rz) __quern_named(rm, rd) __quern_named(rp, ru)
__quern_entry unsigned __quern_ptx_fns(unsigned mask, unsigned base, int offset) { return __fns(mask, base, offset); }

// Floats of eight bits: `digits` bits of fraction, `least` the exponent of the smallest normal number. The nearest, ties to
// even; what is too large becomes the largest finite one, NaN all ones but the sign. Near a power of two the fraction's
// carry counts the exponent up by itself.
template <int digits, int least, unsigned greatest> static __device__ unsigned char __quern_to_eight(float x) {
    const unsigned bits = __float_as_uint(x), sign = bits >> 24 & 0x80u;
    if (x != x) return 0x7f;
    int exponent = (int)(bits >> 23 & 0xffu) - 127;
    if (exponent > 15) return (unsigned char)(sign | greatest);
    if (exponent < least) exponent = least;
    const float step = __uint_as_float((unsigned)(127 + digits - exponent) << 23);
    const unsigned fraction = (unsigned)rintf(fabsf(x) * step);
    const unsigned made = ((unsigned)(exponent - least) << digits) + fraction;
    return (unsigned char)(sign | (made > greatest ? greatest : made));
}
template <int digits, int least> static __device__ float __quern_from_eight(unsigned char bits) {
    const unsigned magnitude = bits & 0x7fu;
    const int exponent = (int)(magnitude >> digits);
    const unsigned fraction = magnitude & ((1u << digits) - 1u);
    const int place = (exponent ? exponent - 1 : 0) + least - digits;
    const float size = (float)(fraction + (exponent ? 1u << digits : 0u)) * __uint_as_float((unsigned)(127 + place) << 23);
    return bits & 0x80u ? -size : size;
}
__quern_entry unsigned char __quern_ptx_to_e4m3(float x) { return __quern_to_eight<3, -6, 0x7eu>(x); }
__quern_entry unsigned char __quern_ptx_to_e5m2(float x) { return __quern_to_eight<2, -14, 0x7bu>(x); }
__quern_entry float __quern_ptx_from_e4m3(unsigned char bits) { // no infinity, one NaN of each sign
    return (bits & 0x7fu) == 0x7fu ? __uint_as_float(0x7fffffffu) : __quern_from_eight<3, -6>(bits);
}
__quern_entry float __quern_ptx_from_e5m2(unsigned char bits) { // the upper byte of a half
    if ((bits & 0x7fu) < 0x7cu) return __quern_from_eight<2, -14>(bits);
    return __uint_as_float((bits & 0x80u) << 24 | ((bits & 3u) ? 0x7fffffffu : 0x7f800000u));
}
