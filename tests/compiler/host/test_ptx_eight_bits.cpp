// cvt between floats of eight bits and wider ones: every code, and random numbers against a search
// through all values of the format.
#include "ptx_cases.h"
#include <bit>

namespace quern::test {
namespace {

using u16 = std::uint16_t;
using u32 = std::uint32_t;

struct Format {
    std::string name;
    int digits, bias;
    unsigned greatest; // the largest finite code

    double value(unsigned code) const { // of a finite one
        const int exponent = static_cast<int>((code & 0x7f) >> digits);
        const int fraction = static_cast<int>(code & ((1U << digits) - 1));
        const double size = exponent
                                ? std::ldexp(fraction + (1 << digits), exponent - bias - digits)
                                : std::ldexp(fraction, 1 - bias - digits);
        return code & 0x80 ? -size : size;
    }
    // The nearest code by looking at all; of two equally near the even one.
    unsigned nearest(double x) const {
        if (std::isnan(x))
            return 0x7f;
        unsigned best = 0;
        for (unsigned code = 1; code <= greatest; ++code) {
            const double near = std::abs(std::abs(x) - value(code));
            const double before = std::abs(std::abs(x) - value(best));
            if (near < before || (near == before && code % 2 == 0))
                best = code;
        }
        if (std::abs(x) >= value(greatest))
            best = greatest;
        return best | (std::signbit(x) ? 0x80 : 0);
    }
    float wide(unsigned code) const {
        if ((code & 0x7f) <= greatest)
            return static_cast<float>(value(code));
        if (digits == 2 && (code & 0x7f) == 0x7c)
            return code & 0x80 ? -INFINITY : INFINITY;
        return NAN;
    }
};
const Format formats[] = {{"e4m3x2", 3, 7, 0x7e}, {"e5m2x2", 2, 15, 0x7b}};

float half(u32 bits) {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const float sign = bits & 0x8000 ? -1.0F : 1.0F;
    if (exponent == 31)
        return fraction ? NAN : sign * INFINITY;
    return sign * (exponent ? std::ldexp(static_cast<float>(fraction + 1024), exponent - 25)
                            : std::ldexp(static_cast<float>(fraction), -24));
}

TEST(PtxEightBits, FromSingle) {
    std::vector<PtxCase<u16, float, float>> cases;
    for (const auto& format : formats)
        for (bool relu : {false, true})
            cases.push_back({"cvt.rn.satfinite." + std::string(relu ? "relu." : "") + format.name +
                                 ".f32 %0, %1, %2;",
                             [=](float high, float low) {
                                 const auto one = [&](float x) {
                                     return format.nearest(relu && x <= 0 ? 0.0 : x);
                                 };
                                 return static_cast<u16>(one(high) << 8 | one(low));
                             }});
    check_ptx<u16, float, float>(cases, 4000);
}

TEST(PtxEightBits, FromPairsOfHalves) {
    std::vector<PtxCase<u16, u32>> cases;
    for (const auto& format : formats)
        cases.push_back({"cvt.rn.satfinite." + format.name + ".f16x2 %0, %1;", [=](u32 pair) {
                             return static_cast<u16>(format.nearest(half(pair >> 16)) << 8 |
                                                     format.nearest(half(pair & 0xffff)));
                         }});
    check_ptx<u16, u32>(cases, 4000);
}

TEST(PtxEightBits, ToPairsOfHalves) {
    for (const auto& format : formats) {
        const Program program({R"(extern "C" __global__ void widen(unsigned* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned short both = i << 8 | (255 - i);
    asm("cvt.rn.f16x2.)" + format.name +
                               R"( %0, %1;" : "=r"(out[i]) : "h"(both));
})"});
        std::vector<u32> out(256);
        program.launch("widen", {2}, {128}, out.data());
        for (unsigned i = 0; i < 256; ++i)
            for (unsigned part : {i, 255 - i}) {
                const u32 bits = part == i ? out[i] >> 16 : out[i] & 0xffff;
                EXPECT_TRUE(ptx_same(half(bits), format.wide(part))) << format.name << " " << part;
            }
    }
}

} // namespace
} // namespace quern::test
