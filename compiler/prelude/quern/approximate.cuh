// What GPUs approximate in one instruction: 22 bits of floats, 20 of doubles. Numbers below the normal range are taken for 0, and
// results there are 0, which saves steps. On the CPU the inverses are rounded ones.
#pragma once

namespace quern {
namespace approximate {

#ifdef __QUERN_HOST__
template <class T> __device__ inline T inverse(T x) { return T(1) / x; }
__device__ inline float inverse(float x) { return ::fabs(x) > 8.5070592e37f ? 0.0f : 1.0f / x; }
__device__ inline float inverse_root(float x) { return 1.0f / ::sqrt(x); }
#else
#define QUERN_APPROXIMATE(name, T, instruction, kind)               \
    __device__ inline T name(T x) {                                 \
        T y;                                                        \
        asm(instruction " %0, %1;" : "=" kind(y) : kind(x));        \
        return y;                                                   \
    }
QUERN_APPROXIMATE(inverse, float, "rcp.approx.ftz.f32", "f")
QUERN_APPROXIMATE(inverse, double, "rcp.approx.ftz.f64", "d")
QUERN_APPROXIMATE(inverse_root, float, "rsqrt.approx.ftz.f32", "f")
QUERN_APPROXIMATE(inverse_root, double, "rsqrt.approx.ftz.f64", "d")
QUERN_APPROXIMATE(root, float, "sqrt.approx.ftz.f32", "f")
QUERN_APPROXIMATE(exp2, float, "ex2.approx.ftz.f32", "f")
QUERN_APPROXIMATE(log2, float, "lg2.approx.ftz.f32", "f")
#undef QUERN_APPROXIMATE
#endif

} // namespace approximate
} // namespace quern
