// Fractions by a table of sixteen: what is left of a logarithm then takes few terms, and no division. Loops of vectors on
// the CPU hold tables in registers, where a look into one is a single instruction; on a GPU a table is one line of the cache.
#pragma once
#include "quern/near.cuh"

namespace quern {
namespace near {

// name(index) by the last four bits of the index. The host compiler knows the functions (compiler/host/tables.h).
#ifdef __QUERN_HOST__
#define QUERN_TABLE(name, T, Int, ...)                                                                                     \
    extern "C" __device__ __attribute__((const, noinline)) inline T __quern_table_##name##_##T(Int index) {                 \
        static const T values[16] = {__VA_ARGS__};                                                                         \
        return values[index & 15];                                                                                         \
    }                                                                                                                      \
    __device__ inline T name(Int index) { return __quern_table_##name##_##T(index); }

// As QUERN_SELDOM, of any type, so that only what a kernel asks for takes the compiler's time.
#define QUERN_SELDOM_OF_ANY(name, operands, given, expression)                                                             \
    template <class T> __device__ __attribute__((const, noinline)) T __quern_seldom_##name operands {                       \
        return wanted ? expression : usual;                                                                                \
    }                                                                                                                      \
    template <class T> __device__ inline T seldom_##name operands { return __quern_seldom_##name given; }
#define QUERN_SELDOM_OF_ONE(name, expression)                                                                              \
    QUERN_SELDOM_OF_ANY(name, (T usual, T x, bool wanted), (usual, x, wanted), expression)
#endif

__device__ inline bool is_positive_normal(float x) { // as unsigned numbers the others are above
    return static_cast<unsigned int>(__float_as_int(x)) - 0x00800000u < 0x7f000000u;
}
__device__ inline bool is_positive_normal(double x) {
    return static_cast<unsigned long long>(__double_as_longlong(x)) - 0x0010000000000000ull < 0x7fe0000000000000ull;
}

template <class T> __device__ inline T scaled_up(T x) { return x * two_to<T>(Bits<T>::mantissa + 2); } // to a normal number

// Fractions from 45/64 to 90/64 in sixteen parts of one width as bits, the one with 1 in its middle: 1/c of a number c in
// each, with so few digits that m/c - 1 is exact.
#define QUERN_INVERSES                                                                                                     \
    1.375, 1.34375, 1.28125, 1.21875, 1.1875, 1.15625, 1.09375, 1.0625, 1.03125, 1.0, 0.9375, 0.890625, 0.84375, 0.796875, \
        0.765625, 0.71875
// log2(c) to 41 places, or 15, so that the sum with a power of two is exact, and the rest of it.
#define QUERN_LOGS                                                                                                         \
    -0.4594316186371543, -0.4262647547020606, -0.3575520046179008, -0.2854022188621457, -0.24792751344375574,              \
        -0.20945336562908778, -0.12928301694500988, -0.0874628412502716, -0.04439411935845783, 0.0,                        \
        0.0931094043912708, 0.1671099858353955, 0.2451124978365442, 0.3275746580284249, 0.3852901558848316,                \
        0.47643804394283507
#define QUERN_LOG_RESTS                                                                                                    \
    -1.4294083388465032e-13, -3.733907276649932e-14, -1.82872716976671e-13, -1.02668366941445e-13,                         \
        1.7024883460791358e-13, 1.3800246976244608e-13, 4.3421195976986995e-14, -6.781363655020842e-14,                    \
        4.390985973169353e-15, 0.0, 2.1067041511468125e-13, -1.3716669642073087e-13, -1.275189131300513e-14,               \
        7.951818330761124e-14, -3.983479855974919e-14, 1.520621696507556e-13
#define QUERN_FLOAT_LOGS                                                                                                   \
    -0.459442138671875f, -0.42626953125f, -0.3575439453125f, -0.285400390625f, -0.2479248046875f,                          \
        -0.209442138671875f, -0.1292724609375f, -0.08746337890625f, -0.044403076171875f, 0.0f, 0.093109130859375f,         \
        0.1671142578125f, 0.2451171875f, 0.32757568359375f, 0.385284423828125f, 0.4764404296875f
#define QUERN_FLOAT_LOG_RESTS                                                                                              \
    1.05200343e-05f, 4.77654794e-06f, -8.0593054e-06f, -1.82823726e-06f, -2.70875603e-06f, -1.12269572e-05f,               \
        -1.05560075e-05f, 5.37655922e-07f, 8.95681387e-06f, 0.0f, 2.73532095e-07f, -4.2719771e-06f, -4.68966346e-06f,      \
        -1.02556521e-06f, 5.73205671e-06f, -2.38574444e-06f
#ifdef __QUERN_HOST__
QUERN_TABLE(inverse_of_part, double, long long, QUERN_INVERSES)
QUERN_TABLE(inverse_of_part, float, int, QUERN_INVERSES)
QUERN_TABLE(log2_of_part, double, long long, QUERN_LOGS)
QUERN_TABLE(log2_of_part, float, int, QUERN_FLOAT_LOGS)
QUERN_TABLE(log2_rest_of_part, double, long long, QUERN_LOG_RESTS)
QUERN_TABLE(log2_rest_of_part, float, int, QUERN_FLOAT_LOG_RESTS)
#else // side by side, for one address
#define QUERN_TABLES(T, Int, ...)                                                                                          \
    __device__ inline T table_of_part(Int index, int table, T) {                                                           \
        static const T values[48] = {QUERN_INVERSES, __VA_ARGS__};                                                         \
        return values[(static_cast<int>(index) & 15) + 16 * table];                                                        \
    }                                                                                                                      \
    __device__ inline T inverse_of_part(Int index) { return table_of_part(index, 0, T()); }                                \
    __device__ inline T log2_of_part(Int index) { return table_of_part(index, 1, T()); }                                   \
    __device__ inline T log2_rest_of_part(Int index) { return table_of_part(index, 2, T()); }
QUERN_TABLES(double, long long, QUERN_LOGS, QUERN_LOG_RESTS)
QUERN_TABLES(float, int, QUERN_FLOAT_LOGS, QUERN_FLOAT_LOG_RESTS)
#undef QUERN_TABLES
#endif
#undef QUERN_INVERSES
#undef QUERN_LOGS
#undef QUERN_LOG_RESTS
#undef QUERN_FLOAT_LOGS
#undef QUERN_FLOAT_LOG_RESTS

// x = 2^power * c * (1 + r), x > 0 and normal, r from -0.0342 to 0.0313; or of a smaller number the bits that it has with more
// of them for the exponent. Of other bits r is as small.
template <class T> struct PartOf;
template <> struct PartOf<double> {
    double power, r;
    long long index;
    __device__ explicit PartOf(double x) : PartOf(__double_as_longlong(x)) {}
    __device__ explicit PartOf(long long bits) {
        const long long start = 0x3fe6800000000000ll, ones = (1ll << 52) - 1;
        const unsigned long long moved = bits + (0x8000000000000000ull - start); // 2048 powers up
        power = __longlong_as_double((moved >> 52) | 0x4330000000000000ll) - (0x1p52 + 2048);
        index = moved >> 48;
        r = ::fma(__longlong_as_double((moved & ones) + start), inverse_of_part(index), -1.0);
    }
};
template <> struct PartOf<float> {
    float power, r;
    int index;
    __device__ explicit PartOf(float x) : PartOf(__float_as_int(x)) {}
    __device__ explicit PartOf(int bits) {
        const int start = 0x3f340000, moved = bits - start;
        power = static_cast<float>(moved >> 23);
        index = moved >> 19;
        r = ::fma(__int_as_float((moved & 0x7fffff) + start), inverse_of_part(index), -1.0f);
    }
};

// (log(1 + r) - r) / r^2 for the r of PartOf.
__device__ inline double log_terms(double r) {
    const double c[] = {
        -0.5, 0.3333333333333257, -0.2499999999995281, 0.2000000000698616, -0.16666666868565003, 0.14285694219268175,
        -0.12499691373791025, 0.11134031041152247, -0.10160990245990995};
    return polynomial(r, c);
}
__device__ inline float log_terms(float r) {
    const float c[] = {-0.49999994f, 0.333332449f, -0.250215113f, 0.201369494f};
    return polynomial(r, c);
}

} // namespace near
} // namespace quern
