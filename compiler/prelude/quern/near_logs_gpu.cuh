// Logarithms of 1 and something on GPUs, by the tables of near_parts.cuh, and functions that are such: at most 1.8 units off.
// Without a branch, a division or a root of all places; the ends of their ranges are the toolchain's.
#pragma once
#include "quern/near_log.cuh"
#include "quern/near_powers.cuh"

namespace quern {
namespace near {

// As PartOf, and 1 / (2^power * c). The power is from -1000 to 1000.
struct ScaledPart {
    double power, inverse;
    long long index;
    __device__ explicit ScaledPart(double x) {
        const unsigned long long start = 0x3fe6800000000000ull, ones = (1ull << 52) - 1, wrap = 1ull << 63;
        const unsigned long long moved = __double_as_longlong(x) + (wrap - start); // 2048 powers up
        power = __longlong_as_double((moved >> 52) | 0x4330000000000000ll) - (0x1p52 + 2048);
        index = moved >> 48;
        inverse = __longlong_as_double(__double_as_longlong(inverse_of_part(index)) - ((moved & ~ones) ^ wrap));
    }
};
// log(sum + rest) = whole * ln(2) + r + tail, of a rest less than the last place of the sum. Floats have a polynomial of eight
// terms in place of tables, and are at most a third from 1.
template <class T> struct LogOfSum;
template <> struct LogOfSum<double> {
    double whole, r, tail;
    __device__ LogOfSum(double sum, double rest) {
        const ScaledPart part(sum);
        const double left = rest * part.inverse;
        whole = part.power + log2_of_part(part.index);
        r = ::fma(sum, part.inverse, -1.0);
        tail = ::fma(r * r, log_terms(r), ::fma(log2_rest_of_part(part.index), Binary<double>::ln2, ::fma(-r, left, left)));
    }
    static __device__ LogOfSum of_one_and(double u, double rest) {
        const double sum = 1.0 + u;
        return LogOfSum(sum, (u - (sum - 1.0)) + rest);
    }
    __device__ double value() const { return ::fma(whole, Binary<double>::ln2, r) + tail; }
    __device__ double in_twos() const { return ::fma(r + tail, Binary<double>::turns, whole); } // log2
};
template <> struct LogOfSum<float> {
    float power, f, tail;
    __device__ LogOfSum(int bits, float f, float rest)
        : power(static_cast<float>(bits)), f(f), tail(::fma(f * f, log_tail_of_third(f), rest)) {}
    static __device__ LogOfSum of(float sum, float rest) {
        const int power = power_bits(sum);
        const float scale = __int_as_float(0x3f800000 - power), f = ::fma(sum, scale, -1.0f), left = rest * scale;
        return LogOfSum(power, f, ::fma(-f, ::fma(-f, left, left), left)); // of left / (1 + f)
    }
    static __device__ LogOfSum of_one_and(float u, float rest) {
        const int power = power_bits(1.0f + u);
        const float scale = __int_as_float(0x3f800000 - power), f = ::fma(u, scale, scale - 1.0f);
        return LogOfSum(power, f, ::fma(rest, scale, ::fma(u, scale, (scale - 1.0f) - f)));
    }
    __device__ float value() const { return ::fma(power, ln2_of_power_bits, f + tail); }
    // A number and the logarithm; and that to base 2.
    __device__ float beside(float top) const {
        const float start = ::fma(power, ln2_of_power_bits, top), lost = top - ::fma(-power, ln2_of_power_bits, start);
        return start + (f + (tail + lost));
    }
    __device__ float twos_beside(float top) const {
        const float start = ::fma(power, 0x1p-23f, top), lost = top - ::fma(-power, 0x1p-23f, start);
        const float small = ::fma(tail, Binary<float>::turns, ::fma(f, Binary<float>::turns_rest, lost));
        return start + ::fma(f, Binary<float>::turns, small);
    }
};

// log2(1 + r) / r for the r of PartOf, to 34 places.
__device__ inline double log2_share(double r) {
    const double c[] = {
        1.4426950408969705, -0.721347520862503, 0.4808982139364821, -0.3606716354760599, 0.28886898378248854,
        -0.24258963271903772};
    return polynomial(r, c);
}

// sqrt(x + rest) = value + lost, to twice as many bits.
template <class T> struct RootOfTwo {
    T value, lost;
    __device__ RootOfTwo(T x, T rest) {
        const T inverse = rough_inverse_root(x);
        value = x * inverse;
        lost = (::fma(-value, value, x) + rest) * (T(0.5) * inverse);
    }
};

// most: its square is a number yet; square_alone: up to it sqrt(1 + x^2) - 1 is x^2 / 2 beside x.
template <class T> struct LogRange;
template <> struct LogRange<double> { static constexpr double most = 0x1p500, square_alone = 0x1p-18; };
template <> struct LogRange<float> { static constexpr float most = 0x1p50f, square_alone = 0x1p-9f; };
template <class T> __device__ inline T quick_asinh(T x, bool& usual) { // log(1 + |x| + (sqrt(1 + x^2) - 1))
    const T size = ::fabs(x), square = size * size, sum = T(1) + square;
    const RootOfTwo<T> root(sum, square - (sum - T(1)));
    const T more = size < LogRange<T>::square_alone ? T(0.5) * square : (root.value - T(1)) + root.lost, u = size + more;
    usual = usual & !(size >= LogRange<T>::most);
    return ::copysign(LogOfSum<T>::of_one_and(u, more - (u - size)).value(), x);
}
template <class T> __device__ inline T quick_acosh(T x, bool& usual) { // log(1 + t + sqrt(t * (t + 2))), t = x - 1
    const T t = x - T(1), sum = t + T(2), square = t * sum;
    const RootOfTwo<T> root(square, ::fma(t, t - (sum - T(2)), ::fma(t, sum, -square)));
    const T found = root.value + root.lost, u = found + t;
    usual = usual & !(x >= LogRange<T>::most);
    const T end = x == T(1) ? T(0) : Infinite<T>::value() - Infinite<T>::value();
    const T log = LogOfSum<T>::of_one_and(u, (root.lost - (found - root.value)) + (t - (u - found))).value();
    return x <= T(1) ? end : log;
}
template <class T> __device__ inline T below_one_or_nan(T size) { return size > T(1) ? Infinite<T>::value() - Infinite<T>::value() : size; }
__device__ inline double quick_atanh(double x, bool& usual) { // log(1 + 2|x| / (1 - |x|)) / 2
    const double size = below_one_or_nan(::fabs(x)), below = 1.0 - size, below_rest = (1.0 - below) - size, twice = size + size;
    const double inverse = rough_inverse(below), near = twice * inverse;
    const double lost = (::fma(-near, below, twice) - near * below_rest) * inverse, u = near + lost;
    usual = usual & (size != 1.0);
    return ::copysign(0.5 * LogOfSum<double>::of_one_and(u, lost - (u - near)).value(), x);
}
// Half of the logarithm of q = (1 + |x|) / (1 - |x|), that is atanh(t) + ln(2^power) / 2 of t = (q / 2^power - 1) / (q / 2^power + 1),
// which is at most 0.172. Both parts of t are rounded once, so that t is |x| where the power is 0.
__device__ inline float quick_atanh(float x, bool& usual) {
    const float size = below_one_or_nan(::fabs(x)), ratio = ::fma(2.0f, rough_inverse(1.0f - size), -1.0f);
    const int power = power_bits_from<0x3f3504f3>(ratio); // sqrt(1/2)
    const float scale = __int_as_float(0x3f800000 - power), less = scale - 1.0f, more = scale + 1.0f;
    const float t = quotient(::fma(size, more, less), ::fma(size, less, more)), z = t * t;
    const float c[] = {0.333333433f, 0.199943855f, 0.147901997f}; // (atanh(t) - t) / t^3
    usual = usual & !(size >= 0x1.fffff8p-1f); // a scale of 2^-24 is lost beside 1
    return ::copysign(::fma(static_cast<float>(power), 0.5f * ln2_of_power_bits, ::fma(t * z, polynomial(z, c), t)), x);
}
template <class T> __device__ inline T quick_log1p(T x, bool& usual) {
    usual = usual & (x != T(-1)) & !(x >= LogRange<T>::most);
    const T none = Infinite<T>::value() - Infinite<T>::value(), kept = x < T(-1) ? none : x;
    return ::copysign(LogOfSum<T>::of_one_and(kept, T(0)).value(), x);
}
#ifndef __QUERN_HOST__ // which has its own of these names
#define QUERN_BY_QUICK(name) \
    template <class T> __device__ inline T name(T x) \
        QUERN_QUICK_OR(quick_##name(x, usual), static_cast<T>(::name(static_cast<double>(x))))
QUERN_BY_QUICK(asinh)
QUERN_BY_QUICK(acosh)
QUERN_BY_QUICK(atanh)
QUERN_BY_QUICK(log1p)
#undef QUERN_BY_QUICK
#endif

} // namespace near
} // namespace quern
