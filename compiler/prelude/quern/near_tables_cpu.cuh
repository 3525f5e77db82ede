// Logarithms by a table of sixteen, for the CPU: loops of vectors hold tables in registers, where a look into one is a
// single instruction, and what is left for the polynomial needs few terms. At most 0.8 units off.
#pragma once
#include "quern/near.cuh"

namespace quern {
namespace near {

// name(index) by the last four bits of the index. The host compiler knows the functions (compiler/host/tables.h).
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

__device__ inline bool is_positive_normal(float x) { // as unsigned numbers the others are above
    return static_cast<unsigned int>(__float_as_int(x)) - 0x00800000u < 0x7f000000u;
}
__device__ inline bool is_positive_normal(double x) {
    return static_cast<unsigned long long>(__double_as_longlong(x)) - 0x0010000000000000ull < 0x7fe0000000000000ull;
}

// Fractions from 45/64 to 90/64 in sixteen parts of one width as bits, the one with 1 in its middle: 1/c of a number c in
// each, with so few digits that m/c - 1 is exact.
#define QUERN_INVERSES                                                                                                     \
    1.375, 1.34375, 1.28125, 1.21875, 1.1875, 1.15625, 1.09375, 1.0625, 1.03125, 1.0, 0.9375, 0.890625, 0.84375, 0.796875, \
        0.765625, 0.71875
QUERN_TABLE(inverse_of_part, double, long long, QUERN_INVERSES)
QUERN_TABLE(inverse_of_part, float, int, QUERN_INVERSES)
#undef QUERN_INVERSES

// x = 2^power * c * (1 + r), x > 0 and normal, r from -0.0342 to 0.0313. Of other bits r is as small.
template <class T> struct PartOf;
template <> struct PartOf<double> {
    double power, r;
    long long index;
    __device__ explicit PartOf(double x) {
        const long long start = 0x3fe6800000000000ll, ones = (1ll << 52) - 1;
        const unsigned long long moved = __double_as_longlong(x) + (0x8000000000000000ull - start); // 2048 powers up
        power = __longlong_as_double((moved >> 52) | 0x4330000000000000ll) - (0x1p52 + 2048);
        index = moved >> 48;
        r = ::fma(__longlong_as_double((moved & ones) + start), inverse_of_part(index), -1.0);
    }
};
template <> struct PartOf<float> {
    float power, r;
    int index;
    __device__ explicit PartOf(float x) {
        const int start = 0x3f340000, moved = __float_as_int(x) - start;
        power = static_cast<float>(moved >> 23);
        index = moved >> 19;
        r = ::fma(__int_as_float((moved & 0x7fffff) + start), inverse_of_part(index), -1.0f);
    }
};

// log2(c) to 41 places, or 15, so that the sum with a power of two is exact, and the rest of it.
QUERN_TABLE(log2_of_part, double, long long, -0.4594316186371543, -0.4262647547020606, -0.3575520046179008,
            -0.2854022188621457, -0.24792751344375574, -0.20945336562908778, -0.12928301694500988, -0.0874628412502716,
            -0.04439411935845783, 0.0, 0.0931094043912708, 0.1671099858353955, 0.2451124978365442, 0.3275746580284249,
            0.3852901558848316, 0.47643804394283507)
QUERN_TABLE(log2_rest_of_part, double, long long, -1.4294083388465032e-13, -3.733907276649932e-14, -1.82872716976671e-13,
            -1.02668366941445e-13, 1.7024883460791358e-13, 1.3800246976244608e-13, 4.3421195976986995e-14,
            -6.781363655020842e-14, 4.390985973169353e-15, 0.0, 2.1067041511468125e-13, -1.3716669642073087e-13,
            -1.275189131300513e-14, 7.951818330761124e-14, -3.983479855974919e-14, 1.520621696507556e-13)
QUERN_TABLE(log2_of_part, float, int, -0.459442138671875f, -0.42626953125f, -0.3575439453125f, -0.285400390625f,
            -0.2479248046875f, -0.209442138671875f, -0.1292724609375f, -0.08746337890625f, -0.044403076171875f, 0.0f,
            0.093109130859375f, 0.1671142578125f, 0.2451171875f, 0.32757568359375f, 0.385284423828125f, 0.4764404296875f)
QUERN_TABLE(log2_rest_of_part, float, int, 1.05200343e-05f, 4.77654794e-06f, -8.0593054e-06f, -1.82823726e-06f,
            -2.70875603e-06f, -1.12269572e-05f, -1.05560075e-05f, 5.37655922e-07f, 8.95681387e-06f, 0.0f, 2.73532095e-07f,
            -4.2719771e-06f, -4.68966346e-06f, -1.02556521e-06f, 5.73205671e-06f, -2.38574444e-06f)

// log(c) and log10(c), as those of log2.
QUERN_TABLE(log_of_part, double, long long, -0.31845373111855224, -0.2954642128938758, -0.2478361639045943,
            -0.19782574332975855, -0.17185025692651834, -0.14518200984457508, -0.08961215868976069,
            -0.060624621816259605, -0.03077165866670839, 0.0, 0.06453852113736502, 0.11583181552532551,
            0.16989903679541385, 0.2270574506351295, 0.2670627852489815, 0.33024168687052224)
QUERN_TABLE(log_rest_of_part, double, long long, 1.7625431312172662e-14, 3.993416384387844e-14, 1.3029797173308663e-14,
            -1.6132822667240823e-13, -1.4088127937111135e-13, 7.718001336828099e-14, 7.355770219435029e-14,
            -1.7523746905186702e-13, -4.529814257790929e-14, 0.0, 2.0614806739842207e-13, -2.0380485326119331e-13,
            -1.6376276414097503e-14, 2.1658630794451516e-13, 6.371947269815667e-14, 5.4612144489920215e-14)
QUERN_TABLE(log_of_part, float, int, -0.318450928f, -0.295471191f, -0.247833252f, -0.1978302f, -0.171844482f,
            -0.145187378f, -0.0896148682f, -0.0606231689f, -0.0307769775f, 0.0f, 0.0645446777f, 0.115829468f,
            0.169906616f, 0.227050781f, 0.267059326f, 0.330245972f)
QUERN_TABLE(log_rest_of_part, float, int, -2.80338418e-06f, 6.97851237e-06f, -2.91195147e-06f, 4.45686555e-06f,
            -5.77450464e-06f, 5.36808511e-06f, 2.7094743e-06f, -1.45287117e-06f, 5.31887235e-06f, 0.0f, -6.15659701e-06f,
            2.34775166e-06f, -7.57941552e-06f, 6.66938513e-06f, 3.45907711e-06f, -4.28480917e-06f)
QUERN_TABLE(log10_of_part, double, long long, -0.13830269816617147, -0.12831847725965417, -0.1076338783996107,
            -0.08591462870663236, -0.07463361829695714, -0.06305174574708872, -0.03891806603041914,
            -0.026328938722144812, -0.01336396155784314, 0.0, 0.028028723600073135, 0.05030511831137119,
            0.07378621416091846, 0.09860979788572877, 0.11598389395521735, 0.14342214230237005)
QUERN_TABLE(log10_rest_of_part, double, long long, -1.0998794445193693e-13, -2.6376941728557574e-14,
            -2.1882440855494843e-13, 3.912619221171875e-14, 5.295754592095892e-14, -3.0414152859579186e-16,
            4.948115870926483e-14, -2.043353397095547e-13, -1.3836165009306655e-13, 0.0, 1.704033157336213e-13,
            2.45838402798293e-14, 2.023262471821997e-16, 2.2203830553577981e-13, 1.5615562555549193e-13,
            -5.695092715108574e-14)
QUERN_TABLE(log10_of_part, float, int, -0.138305664f, -0.128318787f, -0.107635498f, -0.0859146118f, -0.0746307373f,
            -0.0630493164f, -0.0389175415f, -0.0263290405f, -0.0133666992f, 0.0f, 0.0280303955f, 0.0503082275f,
            0.0737838745f, 0.0986099243f, 0.115982056f, 0.143424988f)
QUERN_TABLE(log10_rest_of_part, float, int, 2.96589633e-06f, 3.09361411e-07f, 1.61964704e-06f, -1.6890187e-08f,
            -2.88099227e-06f, -2.42934084e-06f, -5.24526456e-07f, 1.01804993e-07f, 2.73766068e-06f, 0.0f,
            -1.67190763e-06f, -3.10922769e-06f, 2.3396492e-06f, -1.2643045e-07f, 1.83829127e-06f, -2.8454906e-06f)
#undef QUERN_TABLE
template <class T> struct TwosLog; // of 2 in two parts of that kind; 1 / log(10) in two
template <> struct TwosLog<double> {
    static constexpr double value = 0.6931471805601177, rest = -1.7239444525614835e-13, tens = 0.3010299956640665,
                            tens_rest = -8.532344317057107e-14, ten = 0.4342944819032518, ten_rest = 1.098319650216765e-17;
};
template <> struct TwosLog<float> {
    static constexpr float value = 0.693145752f, rest = 1.42860677e-06f, tens = 0.30103302f, tens_rest = -3.02435546e-06f,
                           ten = 0.434294492f, ten_rest = -1.010305e-08f;
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
// log(part * (1 + rest) * 2^more)
template <class T> __device__ inline T log_of(const PartOf<T>& part, T rest, T more) {
    const T power = part.power + more, r = part.r;
    const T small = ::fma(power, TwosLog<T>::rest, log_rest_of_part(part.index) + rest);
    const T start = ::fma(power, TwosLog<T>::value, log_of_part(part.index)), value = start + r;
    return value + ((start - value) + r + ::fma(r * r, log_terms(r), small));
}
// log(w * (1 + rest) * 2^more), w normal, `rest` less than its last place.
template <class T> __device__ inline T log_of_sum(T w, T rest, T more) { return log_of(PartOf<T>(w), rest, more); }

// Of what has no logarithm, and of numbers too small to be normal.
template <class T> __device__ inline T scaled_up(T x) { return x * two_to<T>(Bits<T>::mantissa + 2); }
template <class T> __device__ inline T any_log(T x) {
    const bool tiny = x < two_to<T>(1 - Bits<T>::bias);
    return log_ends(x, log_of_sum(tiny ? scaled_up(x) : x, T(0), tiny ? T(-Bits<T>::mantissa - 2) : T(0)));
}
QUERN_SELDOM_OF_ONE(log, any_log(x))
template <class T> __device__ inline T log(T x) {
    return sizeof(T) == 4 ? any_log(x) : seldom_log(log_of_sum(x, T(0), T(0)), x, !is_positive_normal(x)); // both are fast
}

template <class T> __device__ inline T log10_of_part(T x, T more) {
    const PartOf<T> part(x);
    const T power = part.power + more, r = part.r;
    const T rest = ::fma(power, TwosLog<T>::tens_rest, log10_rest_of_part(part.index));
    const T tail = ::fma(r * r, TwosLog<T>::ten * log_terms(r), ::fma(r, TwosLog<T>::ten_rest, rest));
    return ::fma(power, TwosLog<T>::tens, log10_of_part(part.index)) + ::fma(r, TwosLog<T>::ten, tail);
}
template <class T> __device__ inline T any_log10(T x) {
    const bool tiny = x < two_to<T>(1 - Bits<T>::bias);
    return log_ends(x, log10_of_part(tiny ? scaled_up(x) : x, tiny ? T(-Bits<T>::mantissa - 2) : T(0)));
}
QUERN_SELDOM_OF_ONE(log10, any_log10(x))
template <class T> __device__ inline T log10(T x) { return seldom_log10(log10_of_part(x, T(0)), x, !is_positive_normal(x)); }

} // namespace near
} // namespace quern
