// Logarithms of sums of powers for floats on GPUs, by as many terms in double as a float needs.
#pragma once
#include "quern/near_powers.cuh"

namespace quern {
namespace near {

// log2(1 + 2^-t), t >= 0, to 34 places.
__device__ inline double log2_of_one_and_power(double t) {
    const double kept = t < 1000 ? -t : -1000;
    const Whole<double> whole(kept);
    const double e[] = {
        0.9999999999616821, 0.6931471807284628, 0.24022651198155248, 0.0555041035339825, 0.009618027253914616,
        0.0013333922603489836, 0.00015469291077636148, 1.5201912458192056e-05};
    const double part = polynomial(kept - whole.value, e);
    const double power = __longlong_as_double(__double_as_longlong(part) + (whole.integer << 52));
    const double sum = 1 + power, lost = power - (sum - 1);
    const PartOf<double> parts(sum);
    const double c[] = { // log2(1 + r) / r
        1.4426950408969705, -0.721347520862503, 0.4808982139364821, -0.3606716354760599, 0.28886898378248854,
        -0.24258963271903772};
    return parts.power + log2_of_part(parts.index) + ::fma(parts.r, polynomial(parts.r, c), lost * Binary<double>::turns);
}
// log(e^a + e^b), and of powers of 2. Where the parts cancel little of that is left, of NaN and infinities nothing.
struct SumOfPowers {
    double value;
    bool usual;
    __device__ SumOfPowers(float a, float b, double turns, double unit) {
        const double apart = ::fabs(static_cast<double>(a) - static_cast<double>(b)), top = a > b ? a : b;
        value = ::fma(unit, log2_of_one_and_power(apart * turns), top);
        usual = (::fabs(value) >= ::fabs(top) * 0x1p-8) & (apart == apart);
    }
};
__device__ inline SumOfPowers sum_of_powers_of_e(float a, float b) {
    return SumOfPowers(a, b, Binary<double>::turns, Binary<double>::ln2);
}
__device__ inline SumOfPowers sum_of_powers_of_2(float a, float b) { return SumOfPowers(a, b, 1.0, 1.0); }

} // namespace near
} // namespace quern
