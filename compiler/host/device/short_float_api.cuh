// NVIDIA's names for one format of two bytes, written once for both: cuda_fp16.h and cuda_bf16.h set QUERN_FORMAT (its
// arithmetic, short_float.cuh), QUERN_WORD (half in __float2half), QUERN_TYPE, the same of pairs, and include this.
#include "/quern/short_float.cuh"
#define QUERN_PASTE_(a, b, c) a##b##c
#define QUERN_PASTE(a, b, c) QUERN_PASTE_(a, b, c)
#define QUERN_FROM(prefix, suffix) QUERN_PASTE(prefix, QUERN_WORD, suffix)    // __float2half_rn
#define QUERN_PAIR(prefix, suffix) QUERN_PASTE(prefix, QUERN_WORD2, suffix)   // __floats2half2_rn
#define QUERN_MAKE(bits) __builtin_bit_cast(QUERN_TYPE, (unsigned short)(bits))
#define QUERN_BITS(x) __builtin_bit_cast(unsigned short, x)
#define QUERN_WIDE(x) QUERN_FORMAT::widen(QUERN_BITS(x))
#define QUERN_ROUND(x) QUERN_MAKE(QUERN_FORMAT::round(x))

typedef struct __CUDA_ALIGN__(2) { unsigned short x; } QUERN_RAW;
typedef struct __CUDA_ALIGN__(4) { unsigned short x, y; } QUERN_RAW2;

struct __CUDA_ALIGN__(2) QUERN_TYPE {
  protected:
    unsigned short __x;

  public:
    QUERN_TYPE() = default;
    __quern_member constexpr QUERN_TYPE(const QUERN_RAW& raw) : __x(raw.x) {}
    __quern_member QUERN_TYPE& operator=(const QUERN_RAW& raw) { __x = raw.x; return *this; }
    __quern_member volatile QUERN_TYPE& operator=(const QUERN_RAW& raw) volatile { __x = raw.x; return *this; }
    __quern_member volatile QUERN_TYPE& operator=(const volatile QUERN_RAW& raw) volatile { __x = raw.x; return *this; }
    __quern_member operator QUERN_RAW() const { return {__x}; }
    __quern_member operator QUERN_RAW() const volatile { return {__x}; }
#ifndef QUERN_NO_CONVERSIONS
    explicit __quern_member QUERN_TYPE(const QUERN_OTHER x);
    __quern_member QUERN_TYPE(const float x) : __x(QUERN_FORMAT::round(x)) {}
    __quern_member QUERN_TYPE(const double x) : __x(__quern_to_short_float<QUERN_FORMAT>(x)) {}
#define QUERN_CONVERT(T, EXACT)                                                                                        \
    __quern_member QUERN_TYPE(const T x) : __x(__quern_to_short_float<QUERN_FORMAT>(EXACT)) {}                         \
    __quern_member QUERN_TYPE& operator=(const T x) { return *this = QUERN_TYPE(x); }                                  \
    __quern_member operator T() const { return (T)QUERN_FORMAT::widen(__x); }
    QUERN_CONVERT(int, (double)x) QUERN_CONVERT(unsigned int, (double)x)
    QUERN_CONVERT(long long, __quern_odd_double(x)) QUERN_CONVERT(unsigned long long, __quern_odd_double(x))
#undef QUERN_CONVERT
    __quern_member QUERN_TYPE(const short x) : __x(QUERN_FORMAT::round((float)x)) {}
    __quern_member QUERN_TYPE(const unsigned short x) : __x(QUERN_FORMAT::round((float)x)) {}
    __quern_member QUERN_TYPE(const long x) : QUERN_TYPE((long long)x) {}
    __quern_member QUERN_TYPE(const unsigned long x) : QUERN_TYPE((unsigned long long)x) {}
    __quern_member QUERN_TYPE& operator=(const float x) { return *this = QUERN_TYPE(x); }
    __quern_member QUERN_TYPE& operator=(const double x) { return *this = QUERN_TYPE(x); }
    __quern_member QUERN_TYPE& operator=(const short x) { return *this = QUERN_TYPE(x); }
    __quern_member QUERN_TYPE& operator=(const unsigned short x) { return *this = QUERN_TYPE(x); }
    __quern_member operator float() const { return QUERN_FORMAT::widen(__x); }
    __quern_member operator long() const { return (long)(long long)*this; }
    __quern_member operator unsigned long() const { return (unsigned long)(unsigned long long)*this; }
    __quern_member operator short() const { return __quern_saturate<short>(*this, -32768, 32767); }
    __quern_member operator unsigned short() const { return __quern_saturate<unsigned short>(*this, 0, 65535); }
    __quern_member operator signed char() const { return __quern_saturate<signed char>(*this, -128, 127); }
    __quern_member operator unsigned char() const { return __quern_saturate<unsigned char>(*this, 0, 255); }
    __quern_member operator char() const { return __quern_saturate<char>(*this, -128, 127); }
    __quern_member constexpr operator bool() const { return (__x & 0x7fffu) != 0; }
#endif
};

struct __CUDA_ALIGN__(4) QUERN_TYPE2 {
    QUERN_TYPE x, y;
    QUERN_TYPE2() = default;
    __quern_member constexpr QUERN_TYPE2(const QUERN_TYPE& low, const QUERN_TYPE& high) : x(low), y(high) {}
    __quern_member QUERN_TYPE2(const QUERN_RAW2& raw) : x(QUERN_RAW{raw.x}), y(QUERN_RAW{raw.y}) {}
    template <class Raw, class = __quern_when<__is_same(Raw, QUERN_RAW2)>> // no Raw for `pair = {}`
    __quern_member QUERN_TYPE2& operator=(const Raw& raw) {
        return *this = QUERN_TYPE2(raw);
    }
    __quern_member operator QUERN_RAW2() const { return {QUERN_BITS(x), QUERN_BITS(y)}; }
};

// Conversions.
__quern_fn unsigned short QUERN_FROM(__, _as_ushort)(const QUERN_TYPE a) { return QUERN_BITS(a); }
__quern_fn short QUERN_FROM(__, _as_short)(const QUERN_TYPE a) { return (short)QUERN_BITS(a); }
__quern_fn QUERN_TYPE QUERN_FROM(__ushort_as_, )(const unsigned short a) { return QUERN_MAKE(a); }
__quern_fn QUERN_TYPE QUERN_FROM(__short_as_, )(const short a) { return QUERN_MAKE(a); }
__quern_fn float QUERN_FROM(__, 2float)(const QUERN_TYPE a) { return QUERN_WIDE(a); }
__quern_fn QUERN_TYPE QUERN_FROM(__float2, )(const float a) { return QUERN_ROUND(a); }
__quern_fn QUERN_TYPE QUERN_FROM(__float2, _rn)(const float a) { return QUERN_ROUND(a); }
__quern_fn QUERN_TYPE QUERN_FROM(__double2, )(const double a) {
    return QUERN_MAKE(__quern_to_short_float<QUERN_FORMAT>(a));
}
#define QUERN_DIRECTED(T, NAME, MODE, direction, EXACT)                                                                \
    __quern_fn QUERN_TYPE QUERN_FROM(__##NAME##2, _##MODE)(const T a) {                                                \
        return QUERN_MAKE((__quern_to_short_float<QUERN_FORMAT, direction>(EXACT)));                                   \
    }
#define QUERN_DIRECTED3(T, NAME, EXACT)                                                                                \
    QUERN_DIRECTED(T, NAME, rz, 1, EXACT) QUERN_DIRECTED(T, NAME, ru, 2, EXACT) QUERN_DIRECTED(T, NAME, rd, 3, EXACT)
QUERN_DIRECTED3(float, float, a)
#define QUERN_INTEGER(T, NAME, EXACT, TO)                                                                       \
    QUERN_DIRECTED3(T, NAME, EXACT) QUERN_DIRECTED(T, NAME, rn, 0, EXACT)                                              \
    __quern_fn T QUERN_FROM(__, 2##NAME##_rn)(const QUERN_TYPE a) { return TO(__builtin_rintf(QUERN_WIDE(a))); }       \
    __quern_fn T QUERN_FROM(__, 2##NAME##_rz)(const QUERN_TYPE a) { return TO(QUERN_WIDE(a)); }                        \
    __quern_fn T QUERN_FROM(__, 2##NAME##_ru)(const QUERN_TYPE a) { return TO(__builtin_ceilf(QUERN_WIDE(a))); }       \
    __quern_fn T QUERN_FROM(__, 2##NAME##_rd)(const QUERN_TYPE a) { return TO(__builtin_floorf(QUERN_WIDE(a))); }
#define QUERN_TO_SHORT(x) __quern_saturate<short>(x, -32768, 32767)
#define QUERN_TO_USHORT(x) __quern_saturate<unsigned short>(x, 0, 65535)
QUERN_INTEGER(short, short, (double)a, QUERN_TO_SHORT)
QUERN_INTEGER(unsigned short, ushort, (double)a, QUERN_TO_USHORT)
QUERN_INTEGER(int, int, (double)a, (int))
QUERN_INTEGER(unsigned int, uint, (double)a, (unsigned int))
QUERN_INTEGER(long long, ll, __quern_odd_double(a), (long long))
QUERN_INTEGER(unsigned long long, ull, __quern_odd_double(a), (unsigned long long))
__quern_fn signed char QUERN_FROM(__, 2char_rz)(const QUERN_TYPE a) {
    return __quern_saturate<signed char>(QUERN_WIDE(a), -128, 127);
}
__quern_fn unsigned char QUERN_FROM(__, 2uchar_rz)(const QUERN_TYPE a) {
    return __quern_saturate<unsigned char>(QUERN_WIDE(a), 0, 255);
}

// Pairs: making, taking apart.
__quern_fn QUERN_TYPE2 QUERN_PAIR(make_, )(const QUERN_TYPE x, const QUERN_TYPE y) { return QUERN_TYPE2(x, y); }
__quern_fn QUERN_TYPE2 QUERN_PAIR(__halves2, )(const QUERN_TYPE a, const QUERN_TYPE b) { return QUERN_TYPE2(a, b); }
__quern_fn QUERN_TYPE2 QUERN_PAIR(QUERN_FROM(__, 2), )(const QUERN_TYPE a) { return QUERN_TYPE2(a, a); }
__quern_fn QUERN_TYPE2 QUERN_PAIR(__float2, _rn)(const float a) { return QUERN_TYPE2(QUERN_ROUND(a), QUERN_ROUND(a)); }
__quern_fn QUERN_TYPE2 QUERN_PAIR(__floats2, _rn)(const float a, const float b) {
    return QUERN_TYPE2(QUERN_ROUND(a), QUERN_ROUND(b));
}
__quern_fn QUERN_TYPE2 QUERN_PAIR(__float22, _rn)(const float2 a) { return QUERN_PAIR(__floats2, _rn)(a.x, a.y); }
__quern_fn float2 QUERN_PAIR(__, 2float2)(const QUERN_TYPE2 a) { return {QUERN_WIDE(a.x), QUERN_WIDE(a.y)}; }
__quern_fn float __low2float(const QUERN_TYPE2 a) { return QUERN_WIDE(a.x); }
__quern_fn float __high2float(const QUERN_TYPE2 a) { return QUERN_WIDE(a.y); }
__quern_fn QUERN_TYPE QUERN_FROM(__low2, )(const QUERN_TYPE2 a) { return a.x; }
__quern_fn QUERN_TYPE QUERN_FROM(__high2, )(const QUERN_TYPE2 a) { return a.y; }
__quern_fn QUERN_TYPE2 QUERN_PAIR(__low2, )(const QUERN_TYPE2 a) { return QUERN_TYPE2(a.x, a.x); }
__quern_fn QUERN_TYPE2 QUERN_PAIR(__high2, )(const QUERN_TYPE2 a) { return QUERN_TYPE2(a.y, a.y); }
__quern_fn QUERN_TYPE2 QUERN_PAIR(__lows2, )(const QUERN_TYPE2 a, const QUERN_TYPE2 b) { return QUERN_TYPE2(a.x, b.x); }
__quern_fn QUERN_TYPE2 QUERN_PAIR(__highs2, )(const QUERN_TYPE2 a, const QUERN_TYPE2 b) { return QUERN_TYPE2(a.y, b.y); }
__quern_fn QUERN_TYPE2 __lowhigh2highlow(const QUERN_TYPE2 a) { return QUERN_TYPE2(a.y, a.x); }

// Arithmetic. The plain forms may be fused with a sum that uses them, as on the GPU; the _rn forms never are.
#define QUERN_BINARY(NAME, EXPRESSION, EXACTLY)                                                                        \
    __quern_fn QUERN_TYPE __h##NAME(const QUERN_TYPE a, const QUERN_TYPE b) {                                          \
        EXACTLY const float x = QUERN_WIDE(a), y = QUERN_WIDE(b);                                                      \
        return QUERN_ROUND(EXPRESSION);                                                                                \
    }
#define QUERN_PAIRWISE2(NAME, ONE)                                                                                     \
    __quern_fn QUERN_TYPE2 NAME(const QUERN_TYPE2 a, const QUERN_TYPE2 b) { return {ONE(a.x, b.x), ONE(a.y, b.y)}; }
#define QUERN_PAIRWISE1(NAME, ONE)                                                                                     \
    __quern_fn QUERN_TYPE2 NAME(const QUERN_TYPE2 a) { return {ONE(a.x), ONE(a.y)}; }
#define QUERN_ARITHMETIC(NAME, SIGN)                                                                                   \
    QUERN_BINARY(NAME, x SIGN y, ) QUERN_BINARY(NAME##_rn, x SIGN y, __quern_exact)                                    \
    __quern_fn QUERN_TYPE __h##NAME##_sat(const QUERN_TYPE a, const QUERN_TYPE b) {                                    \
        return __quern_unit(__h##NAME(a, b));                                                                          \
    }                                                                                                                  \
    QUERN_PAIRWISE2(__h##NAME##2, __h##NAME) QUERN_PAIRWISE2(__h##NAME##2_rn, __h##NAME##_rn)                          \
    QUERN_PAIRWISE2(__h##NAME##2_sat, __h##NAME##_sat)
__quern_fn QUERN_TYPE __quern_unit(const QUERN_TYPE a) { // between 0 and 1; NaN is 0
    const float x = QUERN_WIDE(a);
    return x > 0.0f ? (x < 1.0f ? a : QUERN_ROUND(1.0f)) : QUERN_MAKE(0);
}
QUERN_ARITHMETIC(add, +) QUERN_ARITHMETIC(sub, -) QUERN_ARITHMETIC(mul, *)
QUERN_BINARY(div, x / y, )
QUERN_PAIRWISE2(__h2div, __hdiv)
__quern_fn QUERN_TYPE __hneg(const QUERN_TYPE a) { return QUERN_MAKE(QUERN_BITS(a) ^ 0x8000u); }
__quern_fn QUERN_TYPE __habs(const QUERN_TYPE a) { return QUERN_MAKE(QUERN_BITS(a) & 0x7fffu); }
QUERN_PAIRWISE1(__hneg2, __hneg) QUERN_PAIRWISE1(__habs2, __habs)
#define QUERN_EXTREME(NAME, FUNCTION, greatest)                                                                        \
    __quern_fn QUERN_TYPE NAME(const QUERN_TYPE a, const QUERN_TYPE b) {                                               \
        return QUERN_MAKE((FUNCTION<QUERN_FORMAT, greatest>(QUERN_BITS(a), QUERN_BITS(b))));                           \
    }
QUERN_EXTREME(__hmin, __quern_extreme, false) QUERN_EXTREME(__hmin_nan, __quern_extreme_nan, false)
QUERN_EXTREME(__hmax, __quern_extreme, true) QUERN_EXTREME(__hmax_nan, __quern_extreme_nan, true)
QUERN_PAIRWISE2(__hmin2, __hmin) QUERN_PAIRWISE2(__hmin2_nan, __hmin_nan)
QUERN_PAIRWISE2(__hmax2, __hmax) QUERN_PAIRWISE2(__hmax2_nan, __hmax_nan)
__quern_fn QUERN_TYPE __hfma(const QUERN_TYPE a, const QUERN_TYPE b, const QUERN_TYPE c) {
    return QUERN_MAKE(QUERN_FORMAT::fused(QUERN_BITS(a), QUERN_BITS(b), QUERN_BITS(c)));
}
__quern_fn QUERN_TYPE __hfma_sat(const QUERN_TYPE a, const QUERN_TYPE b, const QUERN_TYPE c) {
    return __quern_unit(__hfma(a, b, c));
}
__quern_fn QUERN_TYPE __hfma_relu(const QUERN_TYPE a, const QUERN_TYPE b, const QUERN_TYPE c) {
    return __hmax_nan(__hfma(a, b, c), QUERN_MAKE(0));
}
#define QUERN_PAIRWISE3(NAME, ONE)                                                                                     \
    __quern_fn QUERN_TYPE2 NAME(const QUERN_TYPE2 a, const QUERN_TYPE2 b, const QUERN_TYPE2 c) {                       \
        return {ONE(a.x, b.x, c.x), ONE(a.y, b.y, c.y)};                                                               \
    }
QUERN_PAIRWISE3(__hfma2, __hfma) QUERN_PAIRWISE3(__hfma2_sat, __hfma_sat) QUERN_PAIRWISE3(__hfma2_relu, __hfma_relu)
__quern_fn QUERN_TYPE2 __hcmadd(const QUERN_TYPE2 a, const QUERN_TYPE2 b, const QUERN_TYPE2 c) { // as complex numbers
    return {__hfma(__hneg(a.y), b.y, __hfma(a.x, b.x, c.x)), __hfma(a.y, b.x, __hfma(a.x, b.y, c.y))};
}

// Comparisons: no NaN compares; the u forms say yes to one. Of pairs: 1.0 or 0.0 each, both at once (b), masks.
#define QUERN_COMPARE_AS(NAME, EXPRESSION)                                                                          \
    __quern_fn bool __h##NAME(const QUERN_TYPE a, const QUERN_TYPE b) {                                                \
        const float x = QUERN_WIDE(a), y = QUERN_WIDE(b);                                                              \
        return EXPRESSION;                                                                                             \
    }                                                                                                                  \
    __quern_fn QUERN_TYPE2 __h##NAME##2(const QUERN_TYPE2 a, const QUERN_TYPE2 b) {                                    \
        return {QUERN_ROUND((float)__h##NAME(a.x, b.x)), QUERN_ROUND((float)__h##NAME(a.y, b.y))};                     \
    }                                                                                                                  \
    __quern_fn bool __hb##NAME##2(const QUERN_TYPE2 a, const QUERN_TYPE2 b) {                                          \
        return __h##NAME(a.x, b.x) && __h##NAME(a.y, b.y);                                                             \
    }                                                                                                                  \
    __quern_fn unsigned int __h##NAME##2_mask(const QUERN_TYPE2 a, const QUERN_TYPE2 b) {                              \
        return (__h##NAME(a.x, b.x) ? 0xffffu : 0u) | (__h##NAME(a.y, b.y) ? 0xffff0000u : 0u);                        \
    }
#define QUERN_COMPARE(NAME, SIGN)                                                                                      \
    QUERN_COMPARE_AS(NAME, x == x && y == y && x SIGN y) QUERN_COMPARE_AS(NAME##u, x != x || y != y || x SIGN y)
QUERN_COMPARE(eq, ==) QUERN_COMPARE(ne, !=) QUERN_COMPARE(lt, <)
QUERN_COMPARE(le, <=) QUERN_COMPARE(gt, >) QUERN_COMPARE(ge, >=)
__quern_fn bool __hisnan(const QUERN_TYPE a) { return (QUERN_BITS(a) & 0x7fffu) > QUERN_FORMAT::infinity; }
__quern_fn int __hisinf(const QUERN_TYPE a) {
    return (QUERN_BITS(a) & 0x7fffu) == QUERN_FORMAT::infinity ? (QUERN_BITS(a) >> 15 ? -1 : 1) : 0;
}
__quern_fn QUERN_TYPE2 __hisnan2(const QUERN_TYPE2 a) {
    return {QUERN_ROUND((float)__hisnan(a.x)), QUERN_ROUND((float)__hisnan(a.y))};
}

// Functions, in float and rounded.
#define QUERN_FUNCTION(NAME, EXPRESSION)                                                                               \
    __quern_fn QUERN_TYPE h##NAME(const QUERN_TYPE a) {                                                                \
        const float x = QUERN_WIDE(a);                                                                                 \
        return QUERN_ROUND(EXPRESSION);                                                                                \
    }                                                                                                                  \
    QUERN_PAIRWISE1(h2##NAME, h##NAME)
QUERN_FUNCTION(sqrt, sqrtf(x)) QUERN_FUNCTION(rsqrt, 1.0f / sqrtf(x)) QUERN_FUNCTION(rcp, 1.0f / x)
QUERN_FUNCTION(exp, expf(x)) QUERN_FUNCTION(exp2, exp2f(x)) QUERN_FUNCTION(exp10, exp10f(x))
QUERN_FUNCTION(log, logf(x)) QUERN_FUNCTION(log2, log2f(x)) QUERN_FUNCTION(log10, log10f(x))
QUERN_FUNCTION(sin, sinf(x)) QUERN_FUNCTION(cos, cosf(x))
QUERN_FUNCTION(tanh, tanhf(x)) QUERN_FUNCTION(tanh_approx, tanhf(x))
QUERN_FUNCTION(ceil, ceilf(x)) QUERN_FUNCTION(floor, floorf(x)) QUERN_FUNCTION(trunc, truncf(x)) QUERN_FUNCTION(rint, rintf(x))

#ifndef QUERN_NO_OPERATORS
#define QUERN_OPERATOR(SIGN, FUNCTION)                                                                                 \
    __quern_fn QUERN_TYPE operator SIGN(const QUERN_TYPE& a, const QUERN_TYPE& b) { return FUNCTION(a, b); }           \
    __quern_fn QUERN_TYPE& operator SIGN##=(QUERN_TYPE& a, const QUERN_TYPE& b) { return a = FUNCTION(a, b); }
QUERN_OPERATOR(+, __hadd) QUERN_OPERATOR(-, __hsub) QUERN_OPERATOR(*, __hmul) QUERN_OPERATOR(/, __hdiv)
#undef QUERN_OPERATOR
#define QUERN_COUNT(SIGN, FUNCTION)                                                                                    \
    __quern_fn QUERN_TYPE& operator SIGN(QUERN_TYPE& a) { return a = FUNCTION(a, QUERN_ROUND(1.0f)); }                 \
    __quern_fn QUERN_TYPE operator SIGN(QUERN_TYPE& a, int) {                                                          \
        const QUERN_TYPE old = a;                                                                                      \
        SIGN a;                                                                                                        \
        return old;                                                                                                    \
    }
QUERN_COUNT(++, __hadd) QUERN_COUNT(--, __hsub)
#undef QUERN_COUNT
__quern_fn QUERN_TYPE operator+(const QUERN_TYPE& a) { return a; }
__quern_fn QUERN_TYPE operator-(const QUERN_TYPE& a) { return __hneg(a); }
#define QUERN_OPERATOR(SIGN, FUNCTION)                                                                                 \
    __quern_fn bool operator SIGN(const QUERN_TYPE& a, const QUERN_TYPE& b) { return FUNCTION(a, b); }
QUERN_OPERATOR(==, __heq) QUERN_OPERATOR(!=, __hneu) QUERN_OPERATOR(<, __hlt)
QUERN_OPERATOR(<=, __hle) QUERN_OPERATOR(>, __hgt) QUERN_OPERATOR(>=, __hge)
#undef QUERN_OPERATOR
#endif
#ifndef QUERN_NO_OPERATORS2
#define QUERN_OPERATOR(SIGN, FUNCTION)                                                                                 \
    __quern_fn QUERN_TYPE2 operator SIGN(const QUERN_TYPE2& a, const QUERN_TYPE2& b) { return FUNCTION(a, b); }        \
    __quern_fn QUERN_TYPE2& operator SIGN##=(QUERN_TYPE2& a, const QUERN_TYPE2& b) { return a = FUNCTION(a, b); }
QUERN_OPERATOR(+, __hadd2) QUERN_OPERATOR(-, __hsub2) QUERN_OPERATOR(*, __hmul2) QUERN_OPERATOR(/, __h2div)
#undef QUERN_OPERATOR
#define QUERN_COUNT(SIGN, FUNCTION)                                                                                    \
    __quern_fn QUERN_TYPE2& operator SIGN(QUERN_TYPE2& a) { return a = FUNCTION(a, QUERN_PAIR(__float2, _rn)(1.0f)); } \
    __quern_fn QUERN_TYPE2 operator SIGN(QUERN_TYPE2& a, int) {                                                        \
        const QUERN_TYPE2 old = a;                                                                                     \
        SIGN a;                                                                                                        \
        return old;                                                                                                    \
    }
QUERN_COUNT(++, __hadd2) QUERN_COUNT(--, __hsub2)
#undef QUERN_COUNT
__quern_fn QUERN_TYPE2 operator+(const QUERN_TYPE2& a) { return a; }
__quern_fn QUERN_TYPE2 operator-(const QUERN_TYPE2& a) { return __hneg2(a); }
#define QUERN_OPERATOR(SIGN, FUNCTION)                                                                                 \
    __quern_fn bool operator SIGN(const QUERN_TYPE2& a, const QUERN_TYPE2& b) { return FUNCTION(a, b); }
QUERN_OPERATOR(==, __hbeq2) QUERN_OPERATOR(!=, __hbneu2) QUERN_OPERATOR(<, __hblt2)
QUERN_OPERATOR(<=, __hble2) QUERN_OPERATOR(>, __hbgt2) QUERN_OPERATOR(>=, __hbge2)
#undef QUERN_OPERATOR
#endif

// Memory and lanes: as words of bits.
#define QUERN_MEMORY(T, BITS)                                                                                          \
    __quern_fn T __ldcv(const T* p) { return __builtin_bit_cast(T, *(const volatile BITS*)p); }                        \
    __quern_fn T __shfl_sync(unsigned mask, const T v, const int lane, const int width = warpSize) {                   \
        return __builtin_bit_cast(T, (BITS)::__shfl_sync(mask, (unsigned)__builtin_bit_cast(BITS, v), lane, width));   \
    }                                                                                                                  \
    __quern_fn T __shfl_up_sync(unsigned mask, const T v, const unsigned delta, const int width = warpSize) {          \
        return __builtin_bit_cast(T, (BITS)::__shfl_up_sync(mask, (unsigned)__builtin_bit_cast(BITS, v), delta, width)); \
    }                                                                                                                  \
    __quern_fn T __shfl_down_sync(unsigned mask, const T v, const unsigned delta, const int width = warpSize) {        \
        return __builtin_bit_cast(T,                                                                                   \
                                  (BITS)::__shfl_down_sync(mask, (unsigned)__builtin_bit_cast(BITS, v), delta, width));\
    }                                                                                                                  \
    __quern_fn T __shfl_xor_sync(unsigned mask, const T v, const int lanes, const int width = warpSize) {              \
        return __builtin_bit_cast(T, (BITS)::__shfl_xor_sync(mask, (unsigned)__builtin_bit_cast(BITS, v), lanes, width)); \
    }                                                                                                                  \
    __quern_fn T atomicAdd(T* const p, const T v) {                                                                    \
        BITS seen = __atomic_load_n((BITS*)p, __ATOMIC_RELAXED);                                                       \
        for (;;) {                                                                                                     \
            const T old = __builtin_bit_cast(T, seen);                                                                 \
            if (__atomic_compare_exchange_n((BITS*)p, &seen, __builtin_bit_cast(BITS, __quern_sum(old, v)), true,      \
                                            __ATOMIC_RELAXED, __ATOMIC_RELAXED))                                       \
                return old;                                                                                            \
        }                                                                                                              \
    }                                                                                                                  \
    __quern_fn T atomicAdd_block(T* const p, const T v) { return atomicAdd(p, v); }                                    \
    __quern_fn T atomicAdd_system(T* const p, const T v) { return atomicAdd(p, v); }
__quern_fn QUERN_TYPE __quern_sum(const QUERN_TYPE a, const QUERN_TYPE b) { return __hadd(a, b); }
__quern_fn QUERN_TYPE2 __quern_sum(const QUERN_TYPE2 a, const QUERN_TYPE2 b) { return __hadd2(a, b); }
QUERN_MEMORY(QUERN_TYPE, unsigned short) QUERN_MEMORY(QUERN_TYPE2, unsigned int)

#undef QUERN_PASTE_
#undef QUERN_PASTE
#undef QUERN_FROM
#undef QUERN_PAIR
#undef QUERN_MAKE
#undef QUERN_BITS
#undef QUERN_WIDE
#undef QUERN_ROUND
#undef QUERN_DIRECTED
#undef QUERN_DIRECTED3
#undef QUERN_INTEGER
#undef QUERN_TO_SHORT
#undef QUERN_TO_USHORT
#undef QUERN_BINARY
#undef QUERN_PAIRWISE1
#undef QUERN_PAIRWISE2
#undef QUERN_PAIRWISE3
#undef QUERN_ARITHMETIC
#undef QUERN_EXTREME
#undef QUERN_COMPARE_AS
#undef QUERN_COMPARE
#undef QUERN_FUNCTION
#undef QUERN_MEMORY
#undef QUERN_FORMAT
#undef QUERN_WORD
#undef QUERN_WORD2
#undef QUERN_TYPE
#undef QUERN_TYPE2
#undef QUERN_RAW
#undef QUERN_RAW2
#undef QUERN_OTHER
#undef QUERN_NO_CONVERSIONS
#undef QUERN_NO_OPERATORS
#undef QUERN_NO_OPERATORS2
