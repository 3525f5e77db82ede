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
