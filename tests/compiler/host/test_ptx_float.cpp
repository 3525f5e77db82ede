// Inline PTX: floating-point arithmetic and conversions in every rounding, against the machine's
// own rounding modes and against rounding spelled out in double.
#include "ptx_cases.h"
#include <algorithm>
#include <bit>
#include <cfenv>

namespace quern::test {
namespace {

using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s32 = std::int32_t;
using s64 = std::int64_t;

struct Mode {
    std::string ptx;
    int machine;
};
const Mode modes[] = {
    {"rn", FE_TONEAREST}, {"rz", FE_TOWARDZERO}, {"rm", FE_DOWNWARD}, {"rp", FE_UPWARD}};

// The machine's own operation in a rounding mode; volatile keeps it where it stands.
template <class T, class Op> T rounded(int mode, Op op, T a, T b = 0, T c = 0) {
    volatile T x = a, y = b, z = c;
    std::fesetround(mode);
    volatile T result = op(x, y, z);
    std::fesetround(FE_TONEAREST);
    return result;
}

template <class T> bool is_small(T x) { // where the directed forms promise nothing
    return x != 0 && std::abs(x) < std::numeric_limits<T>::min() * T(1e10);
}

template <class T> void check_directed(const std::string& type) {
    using Cases = std::vector<PtxCase<T, T, T, T>>;
    Cases cases;
    for (const auto& mode : modes) {
        const auto add = [&](const std::string& name, const std::string& operands, auto op) {
            const auto machine = mode.machine;
            cases.push_back({name + "." + mode.ptx + "." + type + " %0, " + operands + ";",
                             [=](T a, T b, T c) { return rounded<T>(machine, op, a, b, c); }});
        };
        add("add", "%1, %2", [](T a, T b, T) { return a + b; });
        add("sub", "%1, %2", [](T a, T b, T) { return a - b; });
        add("mul", "%1, %2", [](T a, T b, T) { return a * b; });
        add("div", "%1, %2", [](T a, T b, T) { return a / b; });
        add("fma", "%1, %2, %3", [](T a, T b, T c) { return std::fma(a, b, c); });
        add("rcp", "%1", [](T a, T, T) { return 1 / a; });
        add("sqrt", "%1", [](T a, T, T) { return std::sqrt(a); });
    }
    check_ptx<T, T, T, T>(cases, 1500, [](T got, T expected) {
        return ptx_same(got, expected) || is_small(expected) || is_small(got);
    });
}

TEST(PtxFloat, EveryRoundingOfSingle) { check_directed<float>("f32"); }
TEST(PtxFloat, EveryRoundingOfDouble) { check_directed<double>("f64"); }

float flushed(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }
float saturated(float x) { return x > 0 ? std::min(x, 1.0f) : 0.0f; }
float least(float a, float b) { // numbers before NaN, -0 before +0
    if (std::isnan(a) || std::isnan(b))
        return std::isnan(a) ? b : a;
    return a < b || (a == b && std::signbit(a)) ? a : b;
}

TEST(PtxFloat, ModifiersOfSingle) {
    check_ptx<float, float, float>({
        {"add.f32 %0, %1, %2;", [](float a, float b) { return a + b; }},
        {"mul.sat.f32 %0, %1, %2;", [](float a, float b) { return saturated(a * b); }},
        {"add.rn.ftz.sat.f32 %0, %1, %2;",
         [](float a, float b) { return saturated(flushed(flushed(a) + flushed(b))); }},
        {"add.ftz.f32 %0, %1, %2;",
         [](float a, float b) { return flushed(flushed(a) + flushed(b)); }},
        {"mul.ftz.f32 %0, %1, %2;",
         [](float a, float b) { return flushed(flushed(a) * flushed(b)); }},
        {"min.f32 %0, %1, %2;", least},
        {"max.f32 %0, %1, %2;", [](float a, float b) { return -least(-a, -b); }},
        {"min.NaN.f32 %0, %1, %2;",
         [](float a, float b) { return std::isnan(a) || std::isnan(b) ? NAN : least(a, b); }},
        {"max.xorsign.abs.f32 %0, %1, %2;",
         [](float a, float b) {
             const float size = -least(-std::abs(a), -std::abs(b));
             return std::signbit(a) != std::signbit(b) ? -size : size;
         }},
        {"abs.f32 %0, %1;", [](float a, float) { return std::abs(a); }},
        {"neg.ftz.f32 %0, %2;", [](float, float b) { return -flushed(b); }},
        {"copysign.f32 %0, %1, %2;", [](float a, float b) { return std::copysign(b, a); }},
        {"mad.rn.f32 %0, %1, %2, %1;", [](float a, float b) { return std::fma(a, b, a); }},
    });
    // The bits of what comes of two NaNs.
    check_ptx<u32, u32>({{"{ .reg .f32 n; mov.b32 n, 0xff800001; min.f32 n, n, n; mov.b32 %0, n; }",
                          [](u32) { return 0x7fffffffu; }}},
                        4);
}

TEST(PtxFloat, ApproximationsAreClose) {
    const auto close = [](float got, float expected) {
        return ptx_same(got, expected) || std::abs(got - expected) <= 4e-7f * std::abs(expected) ||
               std::abs(got - expected) < 1e-6f;
    };
    check_ptx<float, float>(
        {
            {"ex2.approx.ftz.f32 %0, %1;", [](float x) { return flushed(std::exp2(flushed(x))); }},
            {"lg2.approx.f32 %0, %1;", [](float x) { return std::log2(x); }},
            {"rcp.approx.f32 %0, %1;", [](float x) { return 1 / x; }},
            {"rcp.approx.ftz.f32 %0, %1;", [](float x) { return flushed(1 / flushed(x)); }},
            {"rsqrt.approx.f32 %0, %1;", [](float x) { return float(1 / std::sqrt(double{x})); }},
            {"sqrt.approx.f32 %0, %1;", [](float x) { return std::sqrt(x); }},
            {"sin.approx.f32 %0, %1;", [](float x) { return std::sin(x); }},
            {"cos.approx.f32 %0, %1;", [](float x) { return std::cos(x); }},
            {"tanh.approx.f32 %0, %1;", [](float x) { return std::tanh(x); }},
            {"div.full.f32 %0, %1, 0f40400000;", [](float x) { return x / 3; }},
            {"div.approx.f32 %0, %1, 0f40400000;", [](float x) { return x / 3; }},
        },
        1500, close);
}

TEST(PtxFloat, ComparisonsSelectionsTests) {
    std::vector<PtxCase<u32, float, float>> cases;
    const std::pair<std::string, bool (*)(float, float)> ordered[] = {
        {"eq", [](float a, float b) { return a == b; }},
        {"ne", [](float a, float b) { return a < b || a > b; }},
        {"lt", [](float a, float b) { return a < b; }},
        {"le", [](float a, float b) { return a <= b; }},
        {"gt", [](float a, float b) { return a > b; }},
        {"ge", [](float a, float b) { return a >= b; }}};
    for (const auto& [name, holds] : ordered) {
        cases.push_back({"set." + name + ".u32.f32 %0, %1, %2;",
                         [=, holds = holds](float a, float b) { return holds(a, b) ? ~0u : 0u; }});
        cases.push_back(
            {"{ .reg .pred p; setp." + name + "u.f32 p, %1, %2; selp.u32 %0, 1, 0, p; }",
             [=, holds = holds](float a, float b) {
                 return u32{std::isnan(a) || std::isnan(b) || holds(a, b)};
             }});
    }
    cases.push_back({"{ .reg .pred p; setp.nan.f32 p, %1, %2; selp.u32 %0, 1, 0, p; }",
                     [](float a, float b) { return u32{std::isnan(a) || std::isnan(b)}; }});
    cases.push_back({"{ .reg .f32 t; set.gt.ftz.f32.f32 t, %1, 0f00000000; mov.b32 %0, t; }",
                     [](float a, float) { return flushed(a) > 0 ? 0x3f800000u : 0u; }});
    cases.push_back(
        {"slct.u32.f32 %0, 5, 6, %1;", [](float a, float) { return a >= 0 ? 5u : 6u; }});
    const std::pair<std::string, std::function<bool(float)>> kinds[] = {
        {"finite", [](float x) { return std::isfinite(x); }},
        {"infinite", [](float x) { return std::isinf(x); }},
        {"number", [](float x) { return !std::isnan(x); }},
        {"notanumber", [](float x) { return std::isnan(x); }},
        {"normal", [](float x) { return std::isnormal(x); }},
        {"subnormal", [](float x) { return std::fpclassify(x) == FP_SUBNORMAL; }}};
    for (const auto& [name, is] : kinds)
        cases.push_back({"{ .reg .pred p; testp." + name + ".f32 p, %1; selp.u32 %0, 1, 0, p; }",
                         [is = is](float a, float) { return u32{is(a)}; }});
    check_ptx<u32, float, float>(cases);
    check_ptx<u32, u32, u32>({
        {"set.lo.u32.u32 %0, %1, %2;", [](u32 a, u32 b) { return a < b ? ~0u : 0u; }},
        {"set.lt.s32.s32 %0, %1, %2;", [](u32 a, u32 b) { return s32(a) < s32(b) ? ~0u : 0u; }},
        {"slct.s32.s32 %0, %1, %2, %1;", [](u32 a, u32 b) { return s32(a) >= 0 ? a : b; }},
    });
}

// --- conversions ---

struct Format {
    int digits, least_exponent;
    double greatest;
};
constexpr Format half{11, -14, 65504}, bfloat{8, -126, 0x1.fep127},
    single{24, -126, 0x1.fffffep127};

// `x` in a narrower format, rounded as `mode` says; only exact operations but for one nearbyint.
double round_to(const Format& format, double x, int mode) {
    if (x == 0 || !std::isfinite(x))
        return x;
    const int exponent = std::max(std::ilogb(x), format.least_exponent) - format.digits + 1;
    volatile double scaled = std::ldexp(x, -exponent);
    std::fesetround(mode);
    const double whole = std::nearbyint(scaled);
    std::fesetround(FE_TONEAREST);
    const double result = std::ldexp(whole, exponent);
    if (std::abs(result) <= format.greatest)
        return result;
    const bool stays =
        mode == FE_TOWARDZERO || (mode == FE_DOWNWARD && x > 0) || (mode == FE_UPWARD && x < 0);
    return std::copysign(stays ? format.greatest : INFINITY, x);
}

u16 half_bits(double x) { // of a value that a half holds
    const u16 sign = std::signbit(x) ? 0x8000 : 0;
    if (std::isnan(x))
        return 0x7fff;
    if (std::isinf(x))
        return sign | 0x7c00;
    if (x == 0)
        return sign;
    const int e = std::max(std::ilogb(x), -14);
    const int m = int(std::ldexp(std::abs(x), 10 - e));
    return static_cast<u16>(sign | (m >= 1024 ? ((e + 15) << 10 | (m - 1024)) : m));
}
double half_value(u16 bits) {
    const int e = bits >> 10 & 31, m = bits & 1023;
    const double size = e == 31  ? (m ? double(NAN) : double(INFINITY))
                        : e == 0 ? std::ldexp(m, -24)
                                 : std::ldexp(m + 1024, e - 25);
    return bits & 0x8000 ? -size : size;
}
u16 bfloat_bits(double x) {
    return std::isnan(x) ? 0x7fff : static_cast<u16>(std::bit_cast<u32>(float(x)) >> 16);
}
double bfloat_value(u16 bits) { return double{std::bit_cast<float>(u32{bits} << 16)}; }

bool same_half(u16 a, u16 b) {
    return a == b || (std::isnan(half_value(a)) && std::isnan(half_value(b)));
}
bool same_bfloat(u16 a, u16 b) {
    return a == b || (std::isnan(bfloat_value(a)) && std::isnan(bfloat_value(b)));
}
bool same_halves(u32 a, u32 b) {
    return same_half(u16(a), u16(b)) && same_half(u16(a >> 16), u16(b >> 16));
}

TEST(PtxConvert, ToNarrowerFloatsInEveryRounding) {
    std::vector<PtxCase<u16, float>> to_half, to_bfloat;
    std::vector<PtxCase<u16, double>> double_to_half;
    std::vector<PtxCase<float, double>> to_single;
    for (const auto& [name, mode] : modes) {
        to_half.push_back({"cvt." + name + ".f16.f32 %0, %1;", [mode = mode](float x) {
                               return half_bits(round_to(half, double{x}, mode));
                           }});
        double_to_half.push_back({"cvt." + name + ".f16.f64 %0, %1;", [mode = mode](double x) {
                                      return half_bits(round_to(half, x, mode));
                                  }});
        to_single.push_back({"cvt." + name + ".f32.f64 %0, %1;",
                             [mode = mode](double x) { return float(round_to(single, x, mode)); }});
        if (name == "rn" || name == "rz")
            to_bfloat.push_back({"cvt." + name + ".bf16.f32 %0, %1;", [mode = mode](float x) {
                                     return bfloat_bits(round_to(bfloat, double{x}, mode));
                                 }});
    }
    to_half.push_back({"cvt.rn.relu.f16.f32 %0, %1;", [](float x) {
                           return x <= 0 ? u16{0}
                                         : half_bits(round_to(half, double{x}, FE_TONEAREST));
                       }});
    check_ptx<u16, float>(to_half, 1500, same_half);
    check_ptx<u16, double>(double_to_half, 1500, same_half);
    check_ptx<u16, float>(to_bfloat, 1500, same_bfloat);
    check_ptx<float, double>(to_single);
    check_ptx<u32, float, float>(
        {{"cvt.rn.f16x2.f32 %0, %1, %2;",
          [](float a, float b) {
              return u32{half_bits(round_to(half, double{a}, FE_TONEAREST))} << 16 |
                     half_bits(round_to(half, double{b}, FE_TONEAREST));
          }}},
        1500, same_halves);
    check_ptx<float, u16>({
        {"cvt.f32.f16 %0, %1;", [](u16 x) { return float(half_value(x)); }},
        {"cvt.f32.bf16 %0, %1;", [](u16 x) { return float(bfloat_value(x)); }},
    });
    check_ptx<u32, float>({
        {"cvt.rna.tf32.f32 %0, %1;",
         [](float x) {
             const u32 bits = std::bit_cast<u32>(x);
             return std::isnan(x) ? 0x7fffffffu : std::isinf(x) ? bits : (bits + 0x1000) & ~0x1fffu;
         }},
    });
}

// Clamped; NaN as the hardware gives it.
template <class I, class F> I to_integer(F x, int mode) {
    if (std::isnan(x))
        return sizeof(I) == 8 || sizeof(F) == 8 ? static_cast<I>(I{1} << (sizeof(I) * 8 - 1))
                                                : I{0};
    std::fesetround(mode);
    volatile F y = x;
    const F whole = std::nearbyint(y);
    std::fesetround(FE_TONEAREST);
    const auto wide = static_cast<long double>(whole);
    if (wide <= static_cast<long double>(std::numeric_limits<I>::min()))
        return std::numeric_limits<I>::min();
    if (wide >= static_cast<long double>(std::numeric_limits<I>::max()))
        return std::numeric_limits<I>::max();
    return static_cast<I>(wide);
}

template <class I, class F>
void check_to_integer(const std::string& integer, const std::string& real) {
    using U = std::make_unsigned_t<I>;
    std::vector<PtxCase<U, F>> cases;
    for (const auto& [name, mode] : modes)
        cases.push_back({"cvt." + name + "i." + integer + "." + real + " %0, %1;",
                         [mode = mode](F x) { return static_cast<U>(to_integer<I>(x, mode)); }});
    check_ptx<U, F>(cases);
}

template <class F, class I>
void check_from_integer(const std::string& real, const std::string& integer) {
    using U = std::make_unsigned_t<I>;
    std::vector<PtxCase<F, U>> cases;
    for (const auto& [name, mode] : modes)
        cases.push_back(
            {"cvt." + name + "." + real + "." + integer + " %0, %1;", [mode = mode](U x) {
                 const I value = static_cast<I>(x);
                 std::fesetround(mode);
                 volatile I y = value;
                 volatile F result = static_cast<F>(y);
                 std::fesetround(FE_TONEAREST);
                 return F(result);
             }});
    check_ptx<F, U>(cases);
}

TEST(PtxConvert, BetweenIntegersAndFloats) {
    check_to_integer<s32, float>("s32", "f32");
    check_to_integer<u32, float>("u32", "f32");
    check_to_integer<s64, float>("s64", "f32");
    check_to_integer<u64, double>("u64", "f64");
    check_to_integer<s32, double>("s32", "f64");
    check_from_integer<float, s32>("f32", "s32");
    check_from_integer<float, u32>("f32", "u32");
    check_from_integer<float, s64>("f32", "s64");
    check_from_integer<float, u64>("f32", "u64");
    check_from_integer<double, s64>("f64", "s64");
    check_from_integer<double, u64>("f64", "u64");
    check_ptx<u32, float>({
        {"cvt.rni.u8.f32 %0, %1;", // into a register of 32 bits
         [](float x) { return u32{to_integer<std::uint8_t>(x, FE_TONEAREST)}; }},
        {"cvt.rzi.s16.f32 %0, %1;",
         [](float x) { return u32(s32{to_integer<std::int16_t>(x, FE_TOWARDZERO)}); }},
    });
    check_ptx<float, float>({
        {"cvt.rni.f32.f32 %0, %1;", [](float x) { return std::nearbyint(x); }},
        {"cvt.rmi.ftz.f32.f32 %0, %1;", [](float x) { return std::floor(flushed(x)); }},
        {"cvt.sat.f32.f32 %0, %1;", [](float x) { return saturated(x); }},
    });
    std::vector<PtxCase<u16, u64>> halves;
    for (const auto& [name, mode] : modes)
        halves.push_back({"cvt." + name + ".f16.s64 %0, %1;", [mode = mode](u64 x) {
                              return half_bits(round_to(half, double(s64(x)), mode));
                          }});
    check_ptx<u16, u64>(halves, 1500, same_half);
}

TEST(PtxConvert, BetweenIntegers) {
    check_ptx<u32, u32>({
        {"cvt.u32.u8 %0, %1;", [](u32 x) { return x & 0xff; }},
        {"cvt.s32.s8 %0, %1;", [](u32 x) { return u32(s32{std::int8_t(x)}); }},
        {"cvt.s8.s32 %0, %1;", [](u32 x) { return u32(s32{std::int8_t(x)}); }},
        {"cvt.sat.u8.s32 %0, %1;", [](u32 x) { return u32(std::clamp(s32(x), 0, 255)); }},
        {"cvt.sat.s8.s32 %0, %1;", [](u32 x) { return u32(std::clamp(s32(x), -128, 127)); }},
        {"cvt.sat.s16.u32 %0, %1;", [](u32 x) { return std::min(x, 32767u); }},
        {"cvt.sat.s32.u32 %0, %1;", [](u32 x) { return std::min(x, 2147483647u); }},
        {"cvt.pack.sat.u8.s32.b32 %0, %1, 300, %1;",
         [](u32 x) { return x << 16 | u32(std::clamp(s32(x), 0, 255)) << 8 | 255; }},
        {"cvt.pack.sat.s16.s32 %0, %1, -70000;",
         [](u32 x) { return u32(std::clamp(s32(x), -32768, 32767)) << 16 | 0x8000; }},
    });
    check_ptx<u64, u32>({
        {"cvt.u64.u32 %0, %1;", [](u32 x) { return u64{x}; }},
        {"cvt.s64.s32 %0, %1;", [](u32 x) { return u64(s64{s32(x)}); }},
        {"cvt.sat.u64.s32 %0, %1;", [](u32 x) { return u64(std::max(s32(x), 0)); }},
    });
    check_ptx<u32, u64>({
        {"cvt.u32.u64 %0, %1;", [](u64 x) { return u32(x); }},
        {"cvt.sat.s32.s64 %0, %1;",
         [](u64 x) { return u32(std::clamp<s64>(s64(x), INT32_MIN, INT32_MAX)); }},
    });
}

// --- half and bfloat ---

double exact_fma(double a, double b, double c, const Format& format) {
    const double product = a * b; // exact: at most 22 bits
    if (!std::isfinite(product) || !std::isfinite(c) || product == 0 || c == 0)
        return round_to(format, product + c, FE_TONEAREST);
    // What is far too small to show still breaks ties: let it be only just too small.
    double big = product, tiny = c;
    if (std::abs(big) < std::abs(tiny))
        std::swap(big, tiny);
    if (std::abs(tiny) < std::abs(big) * 0x1p-28)
        tiny = std::copysign(std::abs(big) * 0x1p-28, tiny);
    return round_to(format, big + tiny, FE_TONEAREST);
}

TEST(PtxHalf, Arithmetic) {
    const auto both = [](auto op, u32 a, u32 b) {
        const auto one = [&](u32 x, u32 y) {
            return u32{half_bits(
                round_to(half, op(half_value(u16(x)), half_value(u16(y))), FE_TONEAREST))};
        };
        return one(a, b) | one(a >> 16, b >> 16) << 16;
    };
    check_ptx<u32, u32, u32>(
        {
            {"add.f16x2 %0, %1, %2;",
             [=](u32 a, u32 b) { return both([](double x, double y) { return x + y; }, a, b); }},
            {"sub.rn.f16x2 %0, %1, %2;",
             [=](u32 a, u32 b) { return both([](double x, double y) { return x - y; }, a, b); }},
            {"mul.f16x2 %0, %1, %2;",
             [=](u32 a, u32 b) { return both([](double x, double y) { return x * y; }, a, b); }},
            {"mul.sat.f16x2 %0, %1, %2;",
             [=](u32 a, u32 b) {
                 return both(
                     [](double x, double y) { return x * y > 0 ? std::min(x * y, 1.0) : 0.0; }, a,
                     b);
             }},
            {"max.f16x2 %0, %1, %2;",
             [=](u32 a, u32 b) {
                 return both(
                     [](double x, double y) { return double{-least(float(-x), float(-y))}; }, a, b);
             }},
            {"neg.f16x2 %0, %1;", [](u32 a, u32) { return a ^ 0x80008000u; }},
        },
        1500, same_halves);
    check_ptx<u16, u16, u16, u16>(
        {{"fma.rn.f16 %0, %1, %2, %3;",
          [](u16 a, u16 b, u16 c) {
              return half_bits(exact_fma(half_value(a), half_value(b), half_value(c), half));
          }},
         {"add.ftz.f16 %0, %1, %2;",
          [](u16 a, u16 b, u16) {
              const auto flush = [](double x) {
                  return std::abs(x) < 0x1p-14 ? std::copysign(0, x) : x;
              };
              return half_bits(
                  flush(round_to(half, flush(half_value(a)) + flush(half_value(b)), FE_TONEAREST)));
          }}},
        4000, same_half);
    check_ptx<u16, u16, u16, u16>(
        {{"fma.rn.bf16 %0, %1, %2, %3;",
          [](u16 a, u16 b, u16 c) {
              return bfloat_bits(
                  exact_fma(bfloat_value(a), bfloat_value(b), bfloat_value(c), bfloat));
          }},
         {"add.rn.bf16 %0, %1, %2;",
          [](u16 a, u16 b, u16) {
              return bfloat_bits(exact_fma(bfloat_value(a), 1, bfloat_value(b), bfloat));
          }},
         {"mul.rn.bf16 %0, %1, %2;",
          [](u16 a, u16 b, u16) {
              return bfloat_bits(round_to(bfloat, bfloat_value(a) * bfloat_value(b), FE_TONEAREST));
          }}},
        4000, same_bfloat);
    check_ptx<u16, u16>(
        {{"ex2.approx.f16 %0, %1;",
          [](u16 a) { return half_bits(round_to(half, std::exp2(half_value(a)), FE_TONEAREST)); }},
         {"tanh.approx.f16 %0, %1;",
          [](u16 a) { return half_bits(round_to(half, std::tanh(half_value(a)), FE_TONEAREST)); }}},
        1500, [](u16 got, u16 expected) {
            return same_half(got, expected) || std::abs(got - expected) <= 1;
        });
}

} // namespace
} // namespace quern::test
