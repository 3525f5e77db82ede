// Functions of floats for GPUs, as near.cuh has its functions, in float alone: most GPUs have few units for doubles.
#pragma once
#include "quern/near.cuh"

namespace quern {
namespace near {

// x = 2^power * m, x > 0, m from sqrt(1/2) to sqrt(2).
struct PowerParts {
    bool tiny;
    int moved;
    float m;
    __device__ explicit PowerParts(float x)
        : tiny(x < 1.17549435e-38f), moved(__float_as_int(tiny ? x * 16777216.0f : x) - 0x3f3504f3), // sqrt(1/2)
          m(__int_as_float((moved & 0x7fffff) + 0x3f3504f3)) {}
    __device__ float power() const { return static_cast<float>((moved >> 23) - (tiny ? 24 : 0)); }
};
// log2 of a positive number as the sum of two, 36 bits of it: of what is left by the nearest of 3/4, 1 and 5/4.
struct Log2Parts {
    float head, rest;
    __device__ explicit Log2Parts(float x) {
        const PowerParts parts(x);
        const float m = parts.m;
        const bool low = m < 0.8660254f, high = m > 1.1180340f;
        const float c = low ? 0.75f : high ? 1.25f : 1.0f, log_c = low ? -0.4150390625f : high ? 0.3218994140625f : 0.0f;
        const float log_c_rest = low ? 1.56322116e-6f : high ? 2.86808249e-5f : 0.0f;
        const float whole = parts.power() + log_c; // exact
        // (s + lost) * below = f
        const float f = m - c, below = m + c, below_rest = m - (below - c), inverse = __fdividef(1.0f, below), s = f * inverse;
        const float lost = ::fma(-s, below_rest, ::fma(-s, below, f)) * inverse, z = s * s;
        const float tail[] = {0.333333334f, 0.199998233f, 0.143744805f}; // (atanh(s) / s - 1) / z
        const float two_turns = 2.88539004f, two_turns_rest = 3.8519259e-8f; // 2 / ln(2)
        const float first = s * two_turns, small = ::fma(z * s, polynomial(z, tail), lost);
        const float first_rest = ::fma(s, two_turns_rest, ::fma(s, two_turns, -first)) + log_c_rest, start = whole + first;
        const float more = (whole - start) + first + ::fma(two_turns, small, first_rest);
        head = start + more;
        rest = start - head + more;
    }
};
__device__ inline float power(float x, float y) {
    const float most = 200.0f; // far out of range
    const Log2Parts log(::fabs(x));
    const float turns = log.head * y, rest = ::fma(log.rest, y, ::fma(log.head, y, -turns));
    const bool within = ::fabs(turns) < most;
    const float kept = within ? turns : ::copysign(most, turns);
    const Whole<float> whole(kept);
    const float f = (kept - whole.value) + (within ? rest : 0.0f);
    const float c[] = {0.240226509f, 0.0555032723f, 0.00961805668f, 0.00134004282f, 0.000154614447f};
    const float found = scaled(1.0f + ::fma(f, 0.693147182f, f * f * polynomial(f, c)), whole.integer);
    return power_of(found, x, y);
}

__device__ inline float sinh(float x) { // near 0 by its own series, else (e^|x| - e^-|x|) / 2
    const float size = ::fabs(x), kept = size < 1.0f ? size : 0.0f, z = kept * kept;
    const float c[] = {0.166666666f, 0.00833333968f, 0.00019838102f, 2.80628026e-6f};
    const ExpParts<float> parts(size);
    const float half = scaled(1.0f + parts.head, parts.power - 1);
    return ::copysign(size < 1.0f ? ::fma(z * kept, polynomial(z, c), kept) : half - 0.25f / half, x);
}

} // namespace near
} // namespace quern
