// Arithmetic with a named rounding. _rn is the machine's own, never fused. The others take the nearest result and the
// sign of its exact error, and step one place when the error points the other way: no fesetround, so that loops still
// vectorise. float's errors are compared in double, which holds its products; double's come from TwoSum and fma,
// scaled by powers of two where they would underflow or overflow.
#pragma once
#define __quern_exact _Pragma("clang fp contract(off)")
__quern_fn float __quern_next(float x, bool up) {
    int i = __builtin_bit_cast(int, x);
    if (x != x || x == (up ? __builtin_inff() : -__builtin_inff())) return x;
    if (x == 0.0f) return up ? 1.4e-45f : -1.4e-45f;
    return __builtin_bit_cast(float, i + ((x > 0.0f) == up ? 1 : -1));
}
__quern_fn double __quern_next(double x, bool up) {
    long long i = __builtin_bit_cast(long long, x);
    if (x != x || x == (up ? __builtin_inf() : -__builtin_inf())) return x;
    if (x == 0.0) return up ? 4.9406564584124654e-324 : -4.9406564584124654e-324;
    return __builtin_bit_cast(double, i + ((x > 0.0) == up ? 1 : -1));
}
// `near` is the rounded result; `error` has the sign of (exact - near), or is 0.
#define __quern_directed(T, HUGE)                                                                                      \
    __quern_fn T __quern_up(T near, T error, bool overflowed) {                                                        \
        if (overflowed) return near > 0 ? near : -HUGE;                                                                \
        return error > 0 ? __quern_next(near, true) : near;                                                            \
    }                                                                                                                  \
    __quern_fn T __quern_down(T near, T error, bool overflowed) {                                                      \
        if (overflowed) return near > 0 ? HUGE : near;                                                                 \
        return error < 0 ? __quern_next(near, false) : near;                                                           \
    }                                                                                                                  \
    __quern_fn T __quern_zero(T near, T error, bool overflowed) {                                                      \
        if (overflowed) return near > 0 ? HUGE : -HUGE;                                                                \
        return near > 0 ? (error < 0 ? __quern_next(near, false) : near)                                               \
                        : (error > 0 && near != 0 ? __quern_next(near, true) : near);                                  \
    }
__quern_directed(float, 3.402823466e+38f)
__quern_directed(double, 1.7976931348623157e308)
#undef __quern_directed

#define __quern_nearest(T, X, F, FMA, SQRT)                                                                            \
    __quern_fn T X##add_rn(T a, T b) { __quern_exact return a + b; }                                                   \
    __quern_fn T X##sub_rn(T a, T b) { __quern_exact return a - b; }                                                   \
    __quern_fn T X##mul_rn(T a, T b) { __quern_exact return a * b; }                                                   \
    __quern_fn T X##div_rn(T a, T b) { __quern_exact return a / b; }                                                   \
    __quern_fn T X##rcp_rn(T a) { __quern_exact return 1 / a; }                                                        \
    __quern_fn T X##sqrt_rn(T a) { return SQRT(a); }                                                                   \
    __quern_fn T F##_rn(T a, T b, T c) { return FMA(a, b, c); }                                                        \
    __quern_fn T __quern_sum_error(T a, T b, T s) { /* by size, so that no step overflows */                           \
        __quern_exact bool first = __builtin_fabs(a) > __builtin_fabs(b);                                              \
        return (first ? b : a) - (s - (first ? a : b));                                                                \
    }                                                                                                                  \
    __quern_fn bool __quern_overflow(T r, T a, T b, T c) {                                                             \
        return __builtin_isinf(r) && __builtin_isfinite(a) && __builtin_isfinite(b) && __builtin_isfinite(c);          \
    }
__quern_nearest(float, __f, __fmaf, __builtin_fmaf, __builtin_sqrtf)
__quern_nearest(double, __d, __fma, __builtin_fma, __builtin_sqrt)
#undef __quern_nearest

// Errors have the sign of (exact - near); their size means nothing.
__quern_fn float __quern_product_error(float a, float b, float p) {
    double exact = (double)a * (double)b;
    return (float)(exact > p) - (float)(exact < p);
}
__quern_fn float __quern_quotient_error(float a, float b, float q) {
    __quern_exact double back = (double)q * (double)b;
    return ((float)((double)a > back) - (float)((double)a < back)) * (b < 0 ? -1.0f : 1.0f);
}
__quern_fn float __quern_root_error(float a, float s) {
    __quern_exact double back = (double)s * (double)s;
    return (float)((double)a > back) - (float)((double)a < back);
}
__quern_fn float __quern_fused_error(float a, float b, float c, float r) {
    __quern_exact double p = (double)a * (double)b, s = p + (double)c;
    double lost = (s - (double)r) + __quern_sum_error(p, (double)c, s);
    return (float)(lost > 0) - (float)(lost < 0);
}
__quern_fn double __quern_product_error(double a, double b, double p) {
    __quern_exact bool small = __builtin_fabs(p) < 0x1p-900;
    double ka = small && __builtin_fabs(a) < 0x1p-300 ? 0x1p600 : 1.0;
    double kb = small && __builtin_fabs(b) < 0x1p-300 ? 0x1p600 : 1.0;
    return __builtin_fma(a * ka, b * kb, -(p * ka * kb));
}
__quern_fn double __quern_quotient_error(double a, double b, double q) {
    __quern_exact double k = __builtin_fabs(a) < 0x1p-300 ? 0x1p600 : 1.0;
    bool large = __builtin_fabs(b) >= 1.0;
    double r = __builtin_fma(-(large ? q * k : q), large ? b : b * k, a * k);
    return b < 0 ? -r : r;
}
__quern_fn double __quern_root_error(double a, double s) {
    __quern_exact bool small = a < 0x1p-700;
    double k = small ? 0x1p300 : 1.0;
    return __builtin_fma(-(s * k), s * k, a * (small ? 0x1p600 : 1.0));
}
__quern_fn double __quern_fused_error(double a, double b, double c, double r) {
    __quern_exact double p = a * b;
    bool small = __builtin_fabs(p) < 0x1p-900, large = !__builtin_isfinite(p) || !__builtin_isfinite(p + c);
    if (small && __builtin_fabs(c) >= 0x1p-300) // far below c's last place: only the sign counts
        return a == 0 || b == 0 || __builtin_isinf(c) ? 0.0 : __builtin_copysign(1.0, a) * __builtin_copysign(1.0, b);
    bool first = __builtin_fabs(a) > __builtin_fabs(b);
    double ka = small && __builtin_fabs(a) < 0x1p-300 ? 0x1p600 : large && first ? 0x1p-100 : 1.0;
    double kb = small && __builtin_fabs(b) < 0x1p-300 ? 0x1p600 : large && !first ? 0x1p-100 : 1.0;
    a *= ka; b *= kb; c = c * ka * kb; r = r * ka * kb;
    p = a * b;
    double e = __builtin_fma(a, b, -p), s = p + c, t = __quern_sum_error(p, c, s), d = s - r;
    double u = d + t, v = __quern_sum_error(d, t, u), w = u + e, z = __quern_sum_error(u, e, w);
    return w + (z + v);
}

// A sum of zero from terms of opposite signs is -0 when rounding down.
#define __quern_mode(T, X, F, FMA, MODE, PICK, ZERO)                                                                   \
    __quern_fn T X##add_##MODE(T a, T b) {                                                                             \
        T s = X##add_rn(a, b);                                                                                         \
        T r = PICK(s, __quern_sum_error(a, b, s), __quern_overflow(s, a, b, (T)0));                                    \
        return s == 0 && __builtin_signbit(a) != __builtin_signbit(b) ? ZERO : r;                                      \
    }                                                                                                                  \
    __quern_fn T X##sub_##MODE(T a, T b) { return X##add_##MODE(a, -b); }                                              \
    __quern_fn T X##mul_##MODE(T a, T b) {                                                                             \
        T p = X##mul_rn(a, b);                                                                                         \
        return PICK(p, __quern_product_error(a, b, p), __quern_overflow(p, a, b, (T)0));                               \
    }                                                                                                                  \
    __quern_fn T X##div_##MODE(T a, T b) {                                                                             \
        T q = X##div_rn(a, b);                                                                                         \
        if (!__builtin_isfinite(b) || b == 0) return q;                                                                \
        return PICK(q, __quern_quotient_error(a, b, q), __quern_overflow(q, a, b, (T)0));                              \
    }                                                                                                                  \
    __quern_fn T X##rcp_##MODE(T a) { return X##div_##MODE((T)1, a); }                                                 \
    __quern_fn T X##sqrt_##MODE(T a) {                                                                                 \
        T s = X##sqrt_rn(a);                                                                                           \
        return __builtin_isinf(s) ? s : PICK(s, __quern_root_error(a, s), false);                                      \
    }                                                                                                                  \
    __quern_fn T F##_##MODE(T a, T b, T c) {                                                                           \
        T r = FMA(a, b, c), error = __quern_fused_error(a, b, c, r);                                                   \
        bool opposite = (__builtin_signbit(a) != __builtin_signbit(b)) != (bool)__builtin_signbit(c);                  \
        return r == 0 && error == 0 && opposite ? ZERO : PICK(r, error, __quern_overflow(r, a, b, c));                 \
    }
#define __quern_modes(T, X, F, FMA)                                                                                    \
    __quern_mode(T, X, F, FMA, ru, __quern_up, (T)0) __quern_mode(T, X, F, FMA, rd, __quern_down, -(T)0)               \
    __quern_mode(T, X, F, FMA, rz, __quern_zero, (T)0)
__quern_modes(float, __f, __fmaf, __builtin_fmaf)
__quern_modes(double, __d, __fma, __builtin_fma)
#undef __quern_modes
#undef __quern_mode
#define __quern_ieee(MODE) __quern_fn float __fmaf_ieee_##MODE(float a, float b, float c) { return __fmaf_##MODE(a, b, c); }
__quern_ieee(rn) __quern_ieee(rz) __quern_ieee(ru) __quern_ieee(rd)
#undef __quern_ieee
