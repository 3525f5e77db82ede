// The modified Bessel function of order 0; on the CPU without branches or calls, within 5 units, so that loops of it
// become vectors.
#pragma once
#ifdef __QUERN_HOST__
#include "quern/near.cuh"
#endif

namespace quern {
namespace bessel {

#ifdef __QUERN_HOST__
__device__ inline double i0(double x) {
    const double size = ::fabs(x), t = 0.25 * size * size, u = 1 / size;
    const double close[] = { // (I0 - 1) / t up to 11
        1.0, 0.25, 0.02777777777777773, 0.0017361111111111715, 6.944444444439892e-05, 1.9290123457007655e-06,
        3.9367598884392854e-08, 6.151187342729061e-10, 7.594058164914974e-12, 7.594061647529295e-14,
        6.276051796148166e-16, 4.358594543183733e-18, 2.577859354048901e-20, 1.3199568027834584e-22,
        5.728314335524324e-25, 2.52661627629667e-27, 4.656821593405411e-30, 4.933281364802171e-32};
    const double far[] = { // I0 * sqrt(x) / e^x from there on
        0.39894228040143276, 0.049867785049972045, 0.028050629254605254, 0.029219345167454176, 0.04475456421386581,
        0.08902079869251803, 0.3637308451992702, -7.387516566192695, 348.3476629045387, -10799.638841665772,
        248102.70169167666, -4167282.6483924356, 50521651.15668059, -428716088.859183, 2406454180.8016243,
        -7983866246.6275, 11791499993.498516};
    const double half = near::exp(0.5 * size); // e^x itself would be infinite first
    const double end = near::polynomial(u, far) * ::sqrt(u) * half * half;
    // What rounding took from t counts more the larger it is; of the derivative a rough idea is enough.
    const double first = ::fma(t, near::polynomial(t, close), 1.0), lost = ::fma(0.25 * size, size, -t);
    const double start = ::fma(first, 2 * lost / (size + 1), first);
    return size <= 11 ? start : size > 1e4 ? size * 1e308 : end;
}
#else
__device__ inline double i0(double x) { return ::cyl_bessel_i0(x); }
#endif

} // namespace bessel
} // namespace quern
