// Where CUDA's arithmetic differs from C++ on x86: division by zero, shifts, casts, fused
// operations, half, bfloat16.
#include "host_compiler.h"
#include <cfenv>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace quern::test {
namespace {

// One kernel per expression of x and y, run over all pairs.
template <class R, class A>
std::vector<R> evaluate(const std::string& result, const std::string& operand,
                        const std::string& expression, const std::vector<A>& xs,
                        const std::vector<A>& ys, std::vector<std::string> options = {}) {
    const Program program(
        {"extern \"C\" __global__ void f(const " + operand + "* xs, const " + operand + "* ys, " +
             result +
             "* out, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) { " +
             operand + " x = xs[i], y = ys[i]; out[i] = " + expression + "; } }",
         options});
    std::vector<A> x, y;
    for (A a : xs)
        for (A b : ys)
            x.push_back(a), y.push_back(b);
    std::vector<R> out(x.size());
    const auto blocks = static_cast<std::uint32_t>((x.size() + 63) / 64);
    program.launch("f", {blocks}, {64}, x.data(), y.data(), out.data(), static_cast<int>(x.size()));
    return out;
}

template <class T> void check_division(const std::string& type) {
    using U = std::make_unsigned_t<T>;
    const T least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
    const std::vector<T> values = {0,     1,   2, 3, 7, 100, static_cast<T>(-1), static_cast<T>(-5),
                                   least, most};
    const auto quotients = evaluate<T, T>(type, type, "x / y", values, values);
    const auto remainders = evaluate<T, T>(type, type, "x % y", values, values);
    std::size_t i = 0;
    for (T x : values)
        for (T y : values) {
            T q, r;
            if (y == 0)
                q = r = static_cast<T>(~U{0});
            else if (std::is_signed_v<T> && y == static_cast<T>(-1))
                q = static_cast<T>(U{0} - static_cast<U>(x)), r = 0;
            else
                q = x / y, r = x % y;
            ASSERT_EQ(quotients[i], q) << type << " " << x << " / " << y;
            ASSERT_EQ(remainders[i], r) << type << " " << x << " % " << y;
            ++i;
        }
}

// Sums of ints wrap, and comparisons see what wrapped.
TEST(Semantics, SignedSumsWrap) {
    const Program program({R"(extern "C" __global__ void wrap(const int* x, int* y, int offset) {
        int i = blockIdx.x * blockDim.x + threadIdx.x, v = x[i] * 1024 + offset;
        y[i] = (v > 0) + 2 * (x[i] + 1 > x[i]) + 4 * (v / 2 * 2 == v) + 8 * (-x[i] > 0);
    })"});
    std::mt19937 random(3);
    std::vector<int> x(256), y(256);
    for (auto& value : x)
        value = static_cast<int>(random());
    x[0] = std::numeric_limits<int>::max();
    x[1] = std::numeric_limits<int>::min();
    const int offset = 0x7ffffc00;
    program.launch("wrap", {2}, {128}, x.data(), y.data(), offset);
    for (int i = 0; i < 256; ++i) {
        const auto bits = static_cast<unsigned>(x[i]);
        const int v = static_cast<int>(bits * 1024U + offset), next = static_cast<int>(bits + 1),
                  minus = static_cast<int>(0U - bits);
        EXPECT_EQ(y[i], (v > 0) + 2 * (next > x[i]) + 4 * (v % 2 == 0) + 8 * (minus > 0)) << x[i];
    }
}

TEST(Semantics, DivisionNeverTraps) {
    check_division<std::int32_t>("int");
    check_division<std::uint32_t>("unsigned int");
    check_division<std::int64_t>("long long");
    check_division<std::uint64_t>("unsigned long long");
}

TEST(Semantics, ShiftsPastTheWidthShiftEverythingOut) {
    const std::vector<int> values = {0, 1, -1, 5, 31, 32, 33, 63, 64, 1000, -7};
    const auto left = evaluate<int, int>("int", "int", "x << y", values, values);
    const auto right = evaluate<int, int>("int", "int", "x >> y", values, values);
    const auto logical =
        evaluate<unsigned, int>("unsigned", "int", "(unsigned)x >> y", values, values);
    const auto wide =
        evaluate<std::int64_t, int>("long long", "int", "(long long)x << y", values, values);
    std::size_t i = 0;
    for (int x : values)
        for (int y : values) {
            const bool past = y < 0 || y > 31;
            ASSERT_EQ(left[i], past ? 0 : static_cast<int>(static_cast<unsigned>(x) << y))
                << x << " << " << y;
            ASSERT_EQ(right[i], x >> (past ? 31 : y)) << x << " >> " << y;
            ASSERT_EQ(logical[i], past ? 0u : static_cast<unsigned>(x) >> y);
            ASSERT_EQ(wide[i], y < 0 || y > 63
                                   ? 0
                                   : static_cast<std::int64_t>(static_cast<std::uint64_t>(x) << y));
            ++i;
        }
    EXPECT_EQ((evaluate<int, int>("int", "int", "x << 32", {5}, {0})[0]), 0);
}

template <class F, class I> I saturated(F x) {
    if (std::isnan(x))
        return sizeof(F) == 8 || sizeof(I) == 8 ? static_cast<I>(I{1} << (sizeof(I) * 8 - 1))
                                                : I{0};
    const auto wide = static_cast<long double>(x);
    if (wide <= static_cast<long double>(std::numeric_limits<I>::min()))
        return std::numeric_limits<I>::min();
    if (wide >= static_cast<long double>(std::numeric_limits<I>::max()))
        return std::numeric_limits<I>::max();
    return static_cast<I>(x);
}

template <class F, class I> void check_casts(const std::string& from, const std::string& to) {
    const F inf = std::numeric_limits<F>::infinity();
    const std::vector<F> values = {0,
                                   F(-0.9),
                                   F(1.5),
                                   F(-1.5),
                                   F(2147483647.0),
                                   F(2147483648.0),
                                   F(-2147483649.0),
                                   F(4294967296.0),
                                   F(1e30),
                                   F(-1e30),
                                   F(9.3e18),
                                   F(1.9e19),
                                   inf,
                                   -inf,
                                   std::numeric_limits<F>::quiet_NaN()};
    const auto cast = evaluate<I, F>(to, from, "(" + to + ")x", values, {0});
    for (std::size_t i = 0; i < values.size(); ++i)
        ASSERT_EQ(cast[i], (saturated<F, I>(values[i])))
            << from << " to " << to << " of " << values[i];
}

TEST(Semantics, CastsToIntegersSaturate) {
    check_casts<float, std::int32_t>("float", "int");
    check_casts<float, std::uint32_t>("float", "unsigned int");
    check_casts<float, std::int64_t>("float", "long long");
    check_casts<float, std::uint64_t>("float", "unsigned long long");
    check_casts<double, std::int32_t>("double", "int");
    check_casts<double, std::uint32_t>("double", "unsigned int");
    check_casts<double, std::int64_t>("double", "long long");
    check_casts<double, std::uint64_t>("double", "unsigned long long");
    EXPECT_EQ((evaluate<std::uint8_t, float>("unsigned char", "float", "(unsigned char)x",
                                             {300.0f, -1.0f}, {0})),
              (std::vector<std::uint8_t>{44, 255}));
    EXPECT_EQ((evaluate<std::int16_t, float>("short", "float", "(short)x", {70000.0f, -1e9f}, {0})),
              (std::vector<std::int16_t>{32767, -32768}));
}

TEST(Semantics, ContractionFollowsFmad) {
    const float a = 1.0f + 0x1p-12f, b = a;
    const std::vector<float> xs = {a}, ys = {b};
    const std::string kernel = "x * y - 1.0f";
    const volatile float product = a * b;
    const float apart = product - 1.0f, fused = std::fma(a, b, -1.0f);
    ASSERT_NE(apart, fused);
    if (this_cpu() != "x86-64-v2") {
        EXPECT_EQ((evaluate<float, float>("float", "float", kernel, xs, ys)[0]), fused);
        EXPECT_EQ((evaluate<float, float>("float", "float", kernel, xs, ys, {"--fmad=true"})[0]),
                  fused);
    }
    EXPECT_EQ((evaluate<float, float>("float", "float", kernel, xs, ys, {"--fmad=false"})[0]),
              apart);
    EXPECT_EQ((evaluate<float, float>("float", "float", "__fmul_rn(x, y) - 1.0f", xs, ys)[0]),
              apart);
    EXPECT_EQ((evaluate<float, float>("float", "float", "__fadd_rn(x * y, -1.0f)", xs, ys)[0]),
              apart);
    EXPECT_EQ((evaluate<float, float>("float", "float", "__fmaf_rn(x, y, -1.0f)", xs, ys,
                                      {"-fmad=false"})[0]),
              fused);
}

// Keeps the compiler from computing at another time, under another rounding.
template <class T> T hide(T x) {
    volatile T hidden = x;
    return hidden;
}

template <class T, class Op>
void check_rounding(const std::string& type, const std::string& name, Op operation) {
    std::mt19937 engine(7);
    std::uniform_real_distribution<double> exponents(-20, 20), signs(-1, 1);
    std::vector<T> values = {T(0),
                             T(1),
                             T(-1),
                             T(3),
                             T(0.1),
                             std::numeric_limits<T>::max(),
                             std::numeric_limits<T>::infinity()};
    for (int i = 0; i < 20; ++i)
        values.push_back(
            static_cast<T>(std::copysign(std::exp2(exponents(engine)), signs(engine))));
    const std::pair<const char*, int> modes[] = {
        {"rn", FE_TONEAREST}, {"ru", FE_UPWARD}, {"rd", FE_DOWNWARD}, {"rz", FE_TOWARDZERO}};
    for (auto [suffix, mode] : modes) {
        const bool unary = name.find("sqrt") != name.npos || name.find("rcp") != name.npos;
        const bool fused = name.find("fma") != name.npos;
        const auto got = evaluate<T, T>(type, type,
                                        name + "_" + suffix +
                                            (unary   ? "(x)"
                                             : fused ? "(x, y, x)"
                                                     : "(x, y)"),
                                        values, values);
        std::size_t i = 0;
        for (T x : values)
            for (T y : values) {
                std::fesetround(mode);
                const volatile T wanted = operation(x, y);
                std::fesetround(FE_TONEAREST);
                if (std::isnan(wanted))
                    ASSERT_TRUE(std::isnan(got[i])) << name << suffix << " " << x << " " << y;
                else
                    ASSERT_EQ(got[i], wanted)
                        << name << "_" << suffix << "(" << x << ", " << y << ")";
                ++i;
            }
    }
}

TEST(Semantics, NamedRoundingsAreExact) {
    check_rounding<float>("float", "__fadd", [](float x, float y) { return hide(x) + hide(y); });
    check_rounding<float>("float", "__fsub", [](float x, float y) { return hide(x) - hide(y); });
    check_rounding<float>("float", "__fmul", [](float x, float y) { return hide(x) * hide(y); });
    check_rounding<float>("float", "__fdiv", [](float x, float y) { return hide(x) / hide(y); });
    check_rounding<float>("float", "__frcp", [](float x, float) { return hide(1.0f) / hide(x); });
    check_rounding<float>("float", "__fsqrt", [](float x, float) { return std::sqrt(hide(x)); });
    check_rounding<float>("float", "__fmaf",
                          [](float x, float y) { return std::fma(hide(x), hide(y), hide(x)); });
    check_rounding<double>("double", "__dadd",
                           [](double x, double y) { return hide(x) + hide(y); });
    check_rounding<double>("double", "__dmul",
                           [](double x, double y) { return hide(x) * hide(y); });
    check_rounding<double>("double", "__ddiv",
                           [](double x, double y) { return hide(x) / hide(y); });
    check_rounding<double>("double", "__dsqrt",
                           [](double x, double) { return std::sqrt(hide(x)); });
}

std::uint16_t half_bits(double x) { // to nearest even, by arithmetic on the exact value
    if (std::isnan(x))
        return 0x7e00;
    const std::uint16_t sign = std::signbit(x) ? 0x8000 : 0;
    x = std::fabs(x);
    if (x >= 65520.0)
        return sign | 0x7c00;
    int exponent;
    std::frexp(x, &exponent);
    const int step = std::max(exponent - 11, -24); // weight of the last bit
    const double scaled = std::nearbyint(std::ldexp(x, -step));
    const double rounded = std::ldexp(scaled, step);
    if (rounded == 0)
        return sign;
    std::frexp(rounded, &exponent);
    if (exponent < -13)
        return static_cast<std::uint16_t>(sign | static_cast<int>(std::ldexp(rounded, 24)));
    const int field = static_cast<int>(std::ldexp(rounded, 11 - exponent)) - 1024;
    return static_cast<std::uint16_t>(sign | ((exponent + 14) << 10) | field);
}

std::uint16_t bfloat_bits(double x) {
    if (std::isnan(x))
        return 0x7fc0;
    int exponent;
    std::frexp(x, &exponent);
    const int step = std::max(exponent - 8, -133);
    const auto rounded = static_cast<float>(std::ldexp(std::nearbyint(std::ldexp(x, -step)), step));
    std::uint32_t code;
    std::memcpy(&code, &rounded, 4);
    return static_cast<std::uint16_t>(code >> 16);
}

TEST(Semantics, HalfAndBfloatRoundOnce) {
    std::mt19937 engine(5);
    std::uniform_real_distribution<double> exponents(-26, 17);
    std::vector<double> values = {0.0,
                                  -0.0,
                                  1.0,
                                  65519.999,
                                  65520.0,
                                  -65504.0,
                                  1.0 + 0x1p-11 + 0x1p-40,
                                  1.0 + 0x1p-8 + 0x1p-40,
                                  1.0 + 0x1p-11,
                                  0x1p-25,
                                  0x1p-25 + 0x1p-60,
                                  5e-8,
                                  std::numeric_limits<double>::infinity()};
    for (int i = 0; i < 300; ++i)
        values.push_back(std::exp2(exponents(engine)) * (i % 2 ? -1 : 1));
    const auto half = evaluate<std::uint16_t, double>(
        "unsigned short", "double", "__builtin_bit_cast(unsigned short, (_Float16)x)", values, {0});
    const auto brain = evaluate<std::uint16_t, double>(
        "unsigned short", "double", "__builtin_bit_cast(unsigned short, (__bf16)x)", values, {0});
    for (std::size_t i = 0; i < values.size(); ++i) {
        ASSERT_EQ(half[i], half_bits(values[i])) << values[i];
        ASSERT_EQ(brain[i], bfloat_bits(values[i])) << values[i];
    }
}

TEST(Semantics, HalfAndBfloatArithmeticOnEveryLevel) {
    for (const std::string arch : {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
        if (arch > this_cpu())
            continue;
        for (const std::string type : {"_Float16", "__bf16"}) {
            Source source{
                "extern \"C\" __global__ void h(const float* x, float* y, int* k, int n) {\n"
                " int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;\n " +
                type + " a = (" + type + ")x[i], b = a * a + (" + type +
                ")1; b = b / a - a; b += (" + type +
                ")k[i];\n y[i] = (float)b; k[i] = (int)b + (b < a) + (int)(" + type +
                ")(long long)k[i]; }"};
            source.arch = arch;
            const Program program(source);
            std::vector<float> x(100), y(100);
            std::vector<int> k(100, 2);
            for (int i = 0; i < 100; ++i)
                x[i] = 0.25f * static_cast<float>(i + 1);
            program.launch("h", {2}, {64}, x.data(), y.data(), k.data(), 100);
            for (int i = 0; i < 100; ++i)
                ASSERT_NEAR(y[i], 1 / x[i] + 2, type == "__bf16" ? 0.3 : 0.03) << arch << type;
        }
    }
}

} // namespace
} // namespace quern::test
