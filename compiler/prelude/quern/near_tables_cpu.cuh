// Logarithms for the CPU by the parts of near_parts.cuh: at most 0.8 units off.
#pragma once
#include "quern/near_parts.cuh"

namespace quern {
namespace near {

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
template <class T> struct TwosLog; // of 2 in two parts of that kind; 1 / log(10) in two
template <> struct TwosLog<double> {
    static constexpr double value = 0.6931471805601177, rest = -1.7239444525614835e-13, tens = 0.3010299956640665,
                            tens_rest = -8.532344317057107e-14, ten = 0.4342944819032518, ten_rest = 1.098319650216765e-17;
};
template <> struct TwosLog<float> {
    static constexpr float value = 0.693145752f, rest = 1.42860677e-06f, tens = 0.30103302f, tens_rest = -3.02435546e-06f,
                           ten = 0.434294492f, ten_rest = -1.010305e-08f;
};
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
