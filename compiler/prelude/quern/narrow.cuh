// What ufuncs of two-byte floats call with a float: on the CPU the same functions as floats have. GPUs approximate exponentials,
// logarithms and reciprocals in one instruction, to 22 bits, of which a half keeps 11 and a bfloat16 8: where half as many bytes
// move, functions of 24 bits would take longer than the memory.
#pragma once
#include "quern/swift.cuh"
#include "quern/ufunc.cuh"

namespace quern {
namespace narrow {

using namespace quern::ufunc;

#ifndef __QUERN_HOST__
using near::polynomial;

__device__ inline float exp2_of(float x) {
    float y;
    asm("ex2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
constexpr float log_2 = 0.693147181f, turns = 1.44269504f, tens = 0.301029996f; // ln(2), its inverse, log10(2)

// log(1 + f), of a small f.
__device__ inline float log_near_one(float f) {
    const float c[] = {1.0f, -0.499999202f, 0.33333265f, -0.250816193f, 0.20069967f};
    return f * polynomial(f, c);
}
__device__ inline float scaled_log(float x, float log2_of_x, float scale) {
    const float f = x - 1.0f;
    return ::fabs(f) < 0.0625f ? log_near_one(f) * (scale * turns) : log2_of_x * scale;
}
__device__ inline float log(float x) { return scaled_log(x, __log2f(x), log_2); }
__device__ inline float log2(float x) { return scaled_log(x, __log2f(x), 1.0f); }
__device__ inline float log10(float x) { return scaled_log(x, __log2f(x), tens); }
__device__ inline float quick_scaled_log(float x, float scale, bool& usual) {
    usual = usual & (!(::fabs(x) < 1.17549435e-38f) | (x == 0.0f));
    return scaled_log(x, approximate::log2(x), scale);
}
__device__ inline float quick_log(float x, bool& usual) { return quick_scaled_log(x, log_2, usual); }
__device__ inline float quick_log2(float x, bool& usual) { return quick_scaled_log(x, 1.0f, usual); }
__device__ inline float quick_log10(float x, bool& usual) { return quick_scaled_log(x, tens, usual); }
__device__ inline float log1p(float x) { return ::fabs(x) < 0.0625f ? log_near_one(x) : approximate::log2(1.0f + x) * log_2; }
__device__ inline float exp(float x) { return exp2_of(x * turns); }
__device__ inline float exp2(float x) { return exp2_of(x); }
__device__ inline float expm1(float x) {
    const float c[] = {1.0f, 0.499998302f, 0.166666424f, 0.0417752948f, 0.00834884779f};
    return ::fabs(x) < 0.25f ? x * polynomial(x, c) : approximate::exp2(x * turns) - 1.0f;
}

// x = quarter * pi/2 + r, while two parts of pi/2 are enough.
struct Rest {
    int quarter;
    float r;
    __device__ explicit Rest(float x) {
        const near::Whole<float> whole(x * 0.636619772f);
        quarter = whole.integer;
        r = ::fma(-whole.value, near::Quarter<float>::rest, ::fma(-whole.value, near::Quarter<float>::value, x));
    }
};
__device__ inline bool is_few_turns(float x) { return !(::fabs(x) > near::Turn<float>::most); } // also what is none
// sin(x - halves * pi), to 20 bits, its sign turned where `flips` is odd.
__device__ inline float turned_sine(float x, float halves, unsigned int flips) {
    const float r = ::fma(-halves, 2.0f * near::Quarter<float>::rest, ::fma(-halves, 2.0f * near::Quarter<float>::value, x));
    const float c[] = {1.0f, -0.166658476f, 0.00831419788f, -0.000185396319f};
    return __int_as_float(__float_as_int(r * polynomial(r * r, c)) ^ static_cast<int>(flips << 31));
}
__device__ inline float quick_sin(float x, bool& usual) {
    const near::Whole<float> whole(x * 0.318309886f);
    usual = usual & is_few_turns(x);
    return x == 0.0f ? x : turned_sine(x, whole.value, whole.integer);
}
__device__ inline float quick_cos(float x, bool& usual) {
    const near::Whole<float> whole(::fma(x, 0.318309886f, -0.5f));
    usual = usual & is_few_turns(x);
    return turned_sine(x, whole.value + 0.5f, whole.integer + 1);
}
__device__ inline float quick_tan(float x, bool& usual) {
    usual = usual & is_few_turns(x);
    const Rest rest(x);
    const float z = rest.r * rest.r;
    const float c[] = {1.0f, 0.333083898f, 0.136483456f, 0.0404870707f, 0.0437481438f};
    const float y = rest.r * polynomial(z, c);
    return x == 0.0f ? x : rest.quarter & 1 ? -approximate::inverse(y) : y;
}
#define QUERN_BY_QUICK(name) \
    __device__ inline float name(float x) QUERN_QUICK_OR(quick_##name(x, usual), quern::ufunc::name(x))
QUERN_BY_QUICK(sin) QUERN_BY_QUICK(cos) QUERN_BY_QUICK(tan)
#undef QUERN_BY_QUICK

__device__ inline float asin(float x) {
    const float size = ::fabs(x);
    const bool wide = size > 0.5f;
    const float z = wide ? 0.5f - 0.5f * size : size * size, s = wide ? approximate::root(z) : size;
    const float c[] = {1.0f, 0.166652196f, 0.0754534558f, 0.0397944433f, 0.0503576819f};
    const float part = s * polynomial(z, c);
    return ::copysign(wide ? near::Quarter<float>::value - 2.0f * part : part, x);
}
__device__ inline float acos(float x) { return near::Quarter<float>::value - asin(x); }

__device__ inline float tanh(float x) {
    const float size = ::fabs(x), z = size * size;
    const float c[] = {1.0f, -0.333262842f, 0.131899394f, -0.0443927384f};
    return ::copysign(size < 0.5f ? size * polynomial(z, c) : ::fma(-2.0f, approximate::inverse(approximate::exp2(size * (2 * turns)) + 1.0f), 1.0f), x);
}
__device__ inline float sinh(float x) {
    const float size = ::fabs(x), z = size * size, half = approximate::exp2(size * turns - 1.0f);
    const float c[] = {1.0f, 0.166666754f, 0.00833176273f, 0.000202588849f};
    return ::copysign(size < 1.0f ? size * polynomial(z, c) : ::fma(-0.25f, approximate::inverse(half), half), x);
}
__device__ inline float cosh(float x) {
    const float half = approximate::exp2(::fabs(x) * turns - 1.0f);
    return ::fma(0.25f, approximate::inverse(half), half);
}
__device__ inline float asinh(float x) {
    const float size = ::fabs(x), z = size * size;
    const bool large = size > 1e9f;
    const float c[] = {1.0f, -0.16663f};
    const float far = ::fma(approximate::log2(large ? size : size + approximate::root(z + 1.0f)), log_2, large ? log_2 : 0.0f);
    return ::copysign(size < 0.03125f ? size * polynomial(z, c) : far, x);
}
__device__ inline float acosh(float x) { // the first one beyond 1 has 0.04 already
    const float none = near::Infinite<float>::value() - near::Infinite<float>::value();
    const bool large = x > 1e9f;
    const float t = x - 1.0f, sum = x + approximate::root(t * (x + 1.0f));
    const float found = ::fma(approximate::log2(large ? x : sum), log_2, large ? log_2 : 0.0f);
    return x < 1.0f ? none : found;
}
__device__ inline float atanh(float x) { // beyond 1 of a negative number
    const float size = ::fabs(x), z = size * size;
    const float c[] = {1.0f, 0.33343f};
    const float far = 0.5f * log_2 * approximate::log2(::fma(2.0f, approximate::inverse(1.0f - size), -1.0f));
    return ::copysign(size < 0.03125f ? size * polynomial(z, c) : far, x);
}
__device__ inline float cbrt(float x) { return ::copysign(exp2_of(__log2f(::fabs(x)) * 0.333333333f), x); }
#define QUERN_IN_ONE_STEP(name) __device__ inline float quick_##name(float x, bool&) { return name(x); }
QUERN_IN_ONE_STEP(asinh) QUERN_IN_ONE_STEP(acosh) QUERN_IN_ONE_STEP(atanh) QUERN_IN_ONE_STEP(log1p)
#undef QUERN_IN_ONE_STEP

__device__ inline float quick_hypot(float a, float b, bool& usual) {
    const float square = ::fma(a, a, b * b);
    usual = usual & (((square > 0x1p-100f) & (square < 0x1p100f)) | (::fabs(a) + ::fabs(b) == 0.0f));
    return approximate::root(square);
}
// log(e^a + e^b), and of powers of 2, to 22 places after the point: not where that is close to 0.
__device__ inline float sum_of_powers(float a, float b, float turns, float unit, bool& usual) {
    const float apart = near::distance(a, b), top = a > b ? a : b;
    const float sum = ::fma(unit, approximate::log2(1.0f + approximate::exp2(-turns * apart)), top);
    usual = usual & (::fabs(sum) >= 0x1p-9f);
    return sum;
}
__device__ inline float quick_logaddexp(float a, float b, bool& usual) { return sum_of_powers(a, b, turns, log_2, usual); }
__device__ inline float quick_logaddexp2(float a, float b, bool& usual) { return sum_of_powers(a, b, 1.0f, 1.0f, usual); }
#define QUERN_BY_QUICK(name) \
    __device__ inline float name(float a, float b) QUERN_QUICK_OR(quick_##name(a, b, usual), quern::ufunc::name(a, b))
QUERN_BY_QUICK(logaddexp) QUERN_BY_QUICK(logaddexp2)
#undef QUERN_BY_QUICK

__device__ inline float log2_of_normal(float x) {
    const int power = near::power_bits(x);
    const float f = __int_as_float(__float_as_int(x) - power) - 1.0f, s = f * approximate::inverse(2.0f + f), z = s * s;
    const float c[] = {0.333334744f, 0.199789122f, 0.151802823f}; // (atanh(s) / s - 1) / z
    return ::fma(static_cast<float>(power), 1.1920929e-7f, 2 * turns * ::fma(z * s, polynomial(z, c), s));
}
__device__ inline float any_power(float x, float y) {
    const float size = ::fabs(x);
    const bool tiny = size < 1.17549435e-38f;
    const float log = log2_of_normal(tiny ? size * 16777216.0f : size) - (tiny ? 24.0f : 0.0f);
    return near::power_of(exp2_of(log * y), x, y);
}
__device__ inline float power(float x, float y) { // as near_powers.cuh has that of floats
    const float exponent = log2_of_normal(::fabs(x)) * y, found = approximate::exp2(exponent);
    const bool fits = ::fabs(exponent) < 126.0f;
    if (near::is_positive_normal(x) & fits) return found;
    return near::is_positive_normal(::fabs(x)) & fits ? near::power_of(found, x, y) : any_power(x, y);
}
// The angle of a quotient up to 1, or of its inverse.
__device__ inline float angle_of(float q, bool steep) {
    const float c[] = {0.999999226f, -0.33325678f, 0.198720403f, -0.134478641f, 0.083126453f, -0.0363604309f, 0.00764835393f};
    const float flat = q * polynomial(q * q, c);
    return steep ? near::Quarter<float>::value - flat : flat;
}
__device__ inline float atan(float x) {
    const float size = ::fabs(x);
    const bool steep = size > 1.0f;
    return ::copysign(angle_of(steep ? approximate::inverse(size) : size, steep), x);
}
__device__ inline float arctan2(float y, float x) {
    const float up = ::fabs(y), along = ::fabs(x);
    const bool steep = up > along;
    const float far = steep ? up : along, close = steep ? along : up;
    // A quotient's divisor is to have a reciprocal.
    const float scale = far > 1e30f ? 1e-30f : far < 1e-30f ? 1e30f : 1.0f, same = far == 0.0f ? 0.0f : 1.0f;
    const float first = angle_of(close == far ? same : __fdividef(close * scale, far * scale), steep);
    const float angle = __float_as_int(x) < 0 ? 2 * near::Quarter<float>::value - first : first;
    return x != x || y != y ? x + y : ::copysign(angle, y);
}
#endif

} // namespace narrow
} // namespace quern
