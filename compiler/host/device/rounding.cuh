// Arithmetic with a named rounding. _rn is the machine's own, never fused. The others take the nearest result and its
// exact error (TwoSum, fma residuals) and step one place when the error points the other way: no fesetround, so that
// loops still vectorise. Exact as long as the error itself does not underflow.
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

#define __quern_operations(T, X, F, FMA, SQRT)                                                                         \
    __quern_fn T X##add_rn(T a, T b) { __quern_exact return a + b; }                                                   \
    __quern_fn T X##sub_rn(T a, T b) { __quern_exact return a - b; }                                                   \
    __quern_fn T X##mul_rn(T a, T b) { __quern_exact return a * b; }                                                   \
    __quern_fn T X##div_rn(T a, T b) { __quern_exact return a / b; }                                                   \
    __quern_fn T X##rcp_rn(T a) { __quern_exact return 1 / a; }                                                        \
    __quern_fn T X##sqrt_rn(T a) { return SQRT(a); }                                                                   \
    __quern_fn T F##_rn(T a, T b, T c) { return FMA(a, b, c); }                                                        \
    __quern_fn T __quern_sum_error(T a, T b, T s) {                                                                    \
        __quern_exact T t = s - a;                                                                                     \
        return (a - (s - t)) + (b - t);                                                                                \
    }                                                                                                                  \
    __quern_fn bool __quern_overflow(T r, T a, T b) {                                                                  \
        return __builtin_isinf(r) && __builtin_isfinite(a) && __builtin_isfinite(b);                                   \
    }                                                                                                                  \
    __quern_fn bool __quern_zero_sum(T a, T b) { __quern_exact return a + b == 0 && a != 0; }
__quern_operations(float, __f, __fmaf, __builtin_fmaf, __builtin_sqrtf)
__quern_operations(double, __d, __fma, __builtin_fma, __builtin_sqrt)
#undef __quern_operations

#define __quern_mode(T, X, F, FMA, MODE, PICK)                                                                         \
    __quern_fn T X##add_##MODE(T a, T b) {                                                                             \
        T s = X##add_rn(a, b);                                                                                         \
        if (__quern_zero_sum(a, b)) return #PICK[8] == 'd' ? -(T)0 : (T)0; /* x - x is -0 when rounding down */        \
        return PICK(s, __quern_sum_error(a, b, s), __quern_overflow(s, a, b));                                         \
    }                                                                                                                  \
    __quern_fn T X##sub_##MODE(T a, T b) { return X##add_##MODE(a, -b); }                                              \
    __quern_fn T X##mul_##MODE(T a, T b) {                                                                             \
        T p = X##mul_rn(a, b);                                                                                         \
        return PICK(p, FMA(a, b, -p), __quern_overflow(p, a, b));                                                      \
    }                                                                                                                  \
    __quern_fn T X##div_##MODE(T a, T b) {                                                                             \
        T q = X##div_rn(a, b);                                                                                         \
        if (!__builtin_isfinite(b) || b == 0) return q;                                                                \
        T r = FMA(-q, b, a);                                                                                           \
        return PICK(q, b < 0 ? -r : r, __quern_overflow(q, a, b));                                                     \
    }                                                                                                                  \
    __quern_fn T X##rcp_##MODE(T a) { return X##div_##MODE((T)1, a); }                                                 \
    __quern_fn T X##sqrt_##MODE(T a) {                                                                                 \
        T s = X##sqrt_rn(a);                                                                                           \
        return __builtin_isinf(s) ? s : PICK(s, FMA(-s, s, a), false);                                                 \
    }
#define __quern_modes(T, X, F, FMA)                                                                                    \
    __quern_mode(T, X, F, FMA, ru, __quern_up) __quern_mode(T, X, F, FMA, rd, __quern_down)                            \
    __quern_mode(T, X, F, FMA, rz, __quern_zero)
__quern_modes(float, __f, __fmaf, __builtin_fmaf)
__quern_modes(double, __d, __fma, __builtin_fma)
#undef __quern_modes
#undef __quern_mode

// fma: a*b = p + e exactly, p + c = s + t exactly, and the sign of (e + t) is the sign of what was lost from s; the
// rounded fma differs from s by at most a place, so compare with it.
#define __quern_fused(T, F, FMA, MODE, PICK)                                                                           \
    __quern_fn T F##_##MODE(T a, T b, T c) {                                                                           \
        __quern_exact T r = FMA(a, b, c), p = a * b, e = FMA(a, b, -p);                                                \
        T s = p + c, t = __quern_sum_error(p, c, s);                                                                   \
        T lost = ((s - r) + t) + e;                                                                                    \
        bool over = __builtin_isinf(r) && __builtin_isfinite(a) && __builtin_isfinite(b) && __builtin_isfinite(c);     \
        return __builtin_isfinite(r) && __builtin_isfinite(s) ? PICK(r, lost, false) : PICK(r, (T)0, over);            \
    }
#define __quern_fused_modes(T, F, FMA)                                                                                 \
    __quern_fused(T, F, FMA, ru, __quern_up) __quern_fused(T, F, FMA, rd, __quern_down)                                \
    __quern_fused(T, F, FMA, rz, __quern_zero)
__quern_fused_modes(float, __fmaf, __builtin_fmaf)
__quern_fused_modes(double, __fma, __builtin_fma)
#undef __quern_fused_modes
#undef __quern_fused
