// Conversions with a named rounding, and reinterpretation of bits. Casts saturate as on the GPU: a pass sees to it.
#pragma once
#define __quern_to_integer(FROM, S, NAME, T)                                                                           \
    __quern_fn T __##NAME##_rn(FROM x) { return (T)__builtin_rint##S(x); }                                             \
    __quern_fn T __##NAME##_rz(FROM x) { return (T)x; }                                                                \
    __quern_fn T __##NAME##_ru(FROM x) { return (T)__builtin_ceil##S(x); }                                             \
    __quern_fn T __##NAME##_rd(FROM x) { return (T)__builtin_floor##S(x); }
__quern_to_integer(float, f, float2int, int) __quern_to_integer(float, f, float2uint, unsigned int)
__quern_to_integer(float, f, float2ll, long long) __quern_to_integer(float, f, float2ull, unsigned long long)
__quern_to_integer(double, , double2int, int) __quern_to_integer(double, , double2uint, unsigned int)
__quern_to_integer(double, , double2ll, long long) __quern_to_integer(double, , double2ull, unsigned long long)
#undef __quern_to_integer

// The nearest float and which side of the integer it fell on, compared without loss.
#define __quern_from_integer(FROM, WIDE, NAME, T)                                                                      \
    __quern_fn int __quern_side_##NAME(FROM x, T y) {                                                                  \
        WIDE back = (WIDE)y;                                                                                           \
        return (WIDE)x > back ? 1 : (WIDE)x < back ? -1 : 0;                                                           \
    }                                                                                                                  \
    __quern_fn T __##NAME##_rn(FROM x) { return (T)x; }                                                                \
    __quern_fn T __##NAME##_ru(FROM x) { T y = (T)x; return __quern_up(y, (T)__quern_side_##NAME(x, y), false); }      \
    __quern_fn T __##NAME##_rd(FROM x) { T y = (T)x; return __quern_down(y, (T)__quern_side_##NAME(x, y), false); }    \
    __quern_fn T __##NAME##_rz(FROM x) { T y = (T)x; return __quern_zero(y, (T)__quern_side_##NAME(x, y), false); }
__quern_from_integer(int, long long, int2float, float)
__quern_from_integer(unsigned int, long long, uint2float, float)
__quern_from_integer(long long, __int128, ll2float, float)
__quern_from_integer(unsigned long long, __int128, ull2float, float)
__quern_from_integer(long long, __int128, ll2double, double)
__quern_from_integer(unsigned long long, __int128, ull2double, double)
#undef __quern_from_integer
__quern_fn double __int2double_rn(int x) { return (double)x; }
__quern_fn double __uint2double_rn(unsigned int x) { return (double)x; }
__quern_fn int __quern_side(double x, float y) { return x > (double)y ? 1 : x < (double)y ? -1 : 0; }
#define __quern_narrow(MODE, PICK)                                                                                     \
    __quern_fn float __double2float_##MODE(double x) {                                                                 \
        float y = (float)x;                                                                                            \
        return PICK(y, (float)__quern_side(x, y), __builtin_isinf(y) && !__builtin_isinf(x));                          \
    }
__quern_fn float __double2float_rn(double x) { return (float)x; }
__quern_narrow(ru, __quern_up) __quern_narrow(rd, __quern_down) __quern_narrow(rz, __quern_zero)
#undef __quern_narrow

#define __quern_bits(FROM, TO, NAME) __quern_fn constexpr TO __##NAME(FROM x) { return __builtin_bit_cast(TO, x); }
__quern_bits(float, int, float_as_int) __quern_bits(float, unsigned int, float_as_uint)
__quern_bits(int, float, int_as_float) __quern_bits(unsigned int, float, uint_as_float)
__quern_bits(double, long long, double_as_longlong) __quern_bits(long long, double, longlong_as_double)
__quern_bits(double, unsigned long long, double_as_ulonglong)
__quern_bits(unsigned long long, double, ulonglong_as_double)
#undef __quern_bits
__quern_fn int __double2hiint(double x) { return (int)(__double_as_longlong(x) >> 32); }
__quern_fn int __double2loint(double x) { return (int)__double_as_longlong(x); }
__quern_fn double __hiloint2double(int hi, int lo) {
    return __longlong_as_double((long long)((unsigned long long)(unsigned)hi << 32 | (unsigned)lo));
}
