// Sines, cosines and tangents, as near.cuh has its functions: at most 1.2 units off, tangents of floats 1.8.
#pragma once
#include "quern/near.cuh"

namespace quern {
namespace near {

// (sin(r) / r - 1) / r^2 and (cos(r) - 1 + r^2 / 2) / r^4 as functions of r^2, |r| <= an eighth of a turn.
__device__ inline double sine_tail(double z) {
    const double c[] = {
        -0.16666666666666627, 0.008333333333320947, -0.00019841269828623677, 2.7557313277723187e-06,
        -2.5050692743301754e-08, 1.5892977333260879e-10};
    return polynomial(z, c);
}
__device__ inline float sine_tail(float z) {
    const float c[] = {-0.16666653752326965f, 0.008332113735377789f, -0.0001950877340277657f};
    return polynomial(z, c);
}
__device__ inline double cosine_tail(double z) {
    const double c[] = {
        0.04166666666666658, -0.0013888888888871384, 2.480158728778784e-05, -2.755731386695085e-07,
        2.087565776242927e-09, -1.1356276430858922e-11};
    return polynomial(z, c);
}
__device__ inline float cosine_tail(float z) {
    const float c[] = {0.04166664555668831f, -0.0013887251261621714f, 2.4425718947895803e-05f};
    return polynomial(z, c);
}

template <class T> struct Turn; // last: what both parts of Quarter lack; most: so far three parts are enough
template <> struct Turn<double> {
    static constexpr double quarters = 0.6366197723675814, last = -1.4973849048591833e-33, most = 1e12,
                            huge = 1.7976931348623157e308;
};
template <> struct Turn<float> {
    static constexpr float quarters = 0.636619747f, last = -1.71512451e-15f, most = 1e5f, huge = 3.40282347e38f;
};
template <class T> __device__ inline bool is_many_turns(T x) {
    return (::fabs(x) > Turn<T>::most) & (::fabs(x) <= Turn<T>::huge);
}

// x = quarter * pi/2 + r + lost
template <class T> struct TurnRest {
    typename Bits<T>::Int quarter;
    T r, lost;
    __device__ explicit TurnRest(T x) {
        const Whole<T> whole(x * Turn<T>::quarters);
        quarter = whole.integer;
        const T start = ::fma(-whole.value, Quarter<T>::value, x); // exact
        const T moved = whole.value * Quarter<T>::rest;
        r = start - moved;
        const T back = r - start, rounding = (start - (r - back)) - (moved + back);
        lost = ::fma(-whole.value, Turn<T>::last, rounding - ::fma(whole.value, Quarter<T>::rest, -moved));
    }
};
// Sine and cosine of the rest, each with what its sum had to round away.
template <class T> struct TurnParts : TurnRest<T> {
    T sine, sine_rest, cosine, cosine_rest;
    __device__ explicit TurnParts(T x) : TurnRest<T>(x) {
        const T r = this->r, lost = this->lost;
        const T z = r * r, half = T(0.5) * z, top = T(1) - half;
        const T sine_small = ::fma(z * r, sine_tail(z), lost);
        const T cosine_small = ((T(1) - top) - half) + ::fma(z * z, cosine_tail(z), -r * lost);
        sine = r + sine_small;
        sine_rest = sine_small - (sine - r);
        cosine = top + cosine_small;
        cosine_rest = cosine_small - (cosine - top);
    }
};
template <class T> __device__ inline T turned(T y, typename Bits<T>::Int quarter) { // by half a turn where it says so
    typedef typename Bits<T>::Int Int;
    const int top = 8 * sizeof(T) - 1;
    return Bits<T>::value(Bits<T>::of(y) ^ ((quarter >> 1 & Int(1)) << top));
}
template <class T> __device__ inline T sin_of(T x) { // of not many turns, as those below
    const TurnParts<T> parts(x);
    const T y = turned(parts.quarter & 1 ? parts.cosine : parts.sine, parts.quarter);
    return x == T(0) ? x : y;
}
template <class T> __device__ inline T cos_of(T x) {
    const TurnParts<T> parts(x);
    return turned(parts.quarter & 1 ? parts.sine : parts.cosine, parts.quarter + 1);
}
template <class T> __device__ inline T tan_of(T x) {
    const TurnParts<T> parts(x);
    const bool odd = parts.quarter & 1;
    const T above = odd ? -parts.cosine : parts.sine, above_rest = odd ? -parts.cosine_rest : parts.sine_rest;
    const T below = odd ? parts.sine : parts.cosine, below_rest = odd ? parts.sine_rest : parts.cosine_rest;
    const T inverse = rough_inverse(below), near = above * inverse;
    const T left = ::fma(-near, below, above) + (above_rest - near * below_rest);
    return x == T(0) ? x : ::fma(left, inverse, near);
}
__device__ inline float tan_of(float x) {
    const TurnRest<float> rest(x);
    const float z = rest.r * rest.r;
    const float c[] = {0.33333352f, 0.13332605f, 0.054066136f, 0.021251831f, 0.010910679f, -1.2428252e-06f, 0.0044192960f};
    const float y = rest.r + ::fma(z * rest.r, polynomial(z, c), ::fma(z, rest.lost, rest.lost));
    return x == 0.0f ? x : rest.quarter & 1 ? -inverse(y) : y;
}
#ifndef __QUERN_HOST__
__device__ inline double tan_of(double x) { // as above, of a rest that is rounded once: 1.8 units at most
    const Whole<double> whole(x * Turn<double>::quarters);
    const double start = ::fma(-whole.value, Quarter<double>::value, x), r = ::fma(-whole.value, Quarter<double>::rest, start);
    const double z = r * r, half = 0.5 * z, top = 1.0 - half;
    const double sine_small = ::fma(z * r, sine_tail(z), -whole.value * Turn<double>::last);
    const double cosine_small = ::fma(z * z, cosine_tail(z), (1.0 - top) - half);
    const double sine = r + sine_small, sine_rest = sine_small - (sine - r);
    const double cosine = top + cosine_small, cosine_rest = cosine_small - (cosine - top);
    const bool odd = whole.integer & 1;
    const double above = odd ? -cosine : sine, above_rest = odd ? -cosine_rest : sine_rest;
    const double below = odd ? sine : cosine, below_rest = odd ? sine_rest : cosine_rest;
    const double inverse = rough_inverse(below), near = above * inverse;
    const double left = ::fma(-near, below, above) + ::fma(-near, below_rest, above_rest);
    return x == 0.0 ? x : ::fma(left, inverse, near);
}
#endif

QUERN_SELDOM(sin, double, ::sin(x)) QUERN_SELDOM(cos, double, ::cos(x)) QUERN_SELDOM(tan, double, ::tan(x))
#ifdef __QUERN_HOST__ // floats of many turns are doubles of not so many
#define QUERN_TURNED(name)                                                                                              \
    __device__ inline float name##_of_many(double x) {                                                                  \
        return static_cast<float>(is_many_turns(x) ? ::name(x) : name##_of(x));                                         \
    }                                                                                                                   \
    QUERN_SELDOM(name, float, name##_of_many(x))
QUERN_TURNED(sin) QUERN_TURNED(cos) QUERN_TURNED(tan)
#undef QUERN_TURNED
#else
QUERN_SELDOM(sin, float, ::sin(x)) QUERN_SELDOM(cos, float, ::cos(x))
QUERN_SELDOM(tan, float, static_cast<float>(::tan(static_cast<double>(x))))
#endif
template <class T> __device__ inline T sin(T x) { return seldom_sin(sin_of(x), x, is_many_turns(x)); }
template <class T> __device__ inline T cos(T x) { return seldom_cos(cos_of(x), x, is_many_turns(x)); }
template <class T> __device__ inline T tan(T x) { return seldom_tan(tan_of(x), x, is_many_turns(x)); }
#ifndef __QUERN_HOST__
template <class T> __device__ inline T quick_tan(T x, bool& usual) { // of packs
    usual = usual & !is_many_turns(x);
    return tan_of(x);
}
#endif

} // namespace near
} // namespace quern
