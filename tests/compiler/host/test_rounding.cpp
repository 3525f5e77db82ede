// Arithmetic with a named rounding, bit for bit what the processor gives under that rounding mode.
#include "host_compiler.h"
#include <cfenv>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace quern::test {
namespace {

// Operands of every exponent, close to cancellation and to the ends of the range.
template <class T, class Bits> std::vector<T> operands(std::size_t count) {
    std::mt19937_64 engine(5);
    const T limits[] = {0,
                        -T(0),
                        1,
                        -1,
                        3,
                        std::numeric_limits<T>::denorm_min(),
                        std::numeric_limits<T>::min(),
                        std::numeric_limits<T>::max(),
                        -std::numeric_limits<T>::max(),
                        std::numeric_limits<T>::infinity(),
                        std::numeric_limits<T>::epsilon(),
                        -std::numeric_limits<T>::denorm_min()};
    std::vector<T> x;
    while (x.size() < count) {
        const Bits bits = static_cast<Bits>(engine());
        T value;
        std::memcpy(&value, &bits, sizeof value);
        const auto choice = engine() % 8;
        if (choice == 0)
            value = limits[engine() % std::size(limits)];
        else if (choice < 4)
            value = std::ldexp(static_cast<T>(static_cast<std::int64_t>(engine())), -60);
        else if (choice == 4 && !x.empty())
            value =
                -x.back() * (1 + static_cast<T>(engine() % 3) * std::numeric_limits<T>::epsilon());
        if (!std::isnan(value))
            x.push_back(value);
    }
    return x;
}

template <class T> bool same(T a, T b) {
    return (std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, sizeof a) == 0;
}

struct Mode {
    const char* suffix;
    int rounding;
};
const Mode modes[] = {
    {"rn", FE_TONEAREST}, {"rz", FE_TOWARDZERO}, {"ru", FE_UPWARD}, {"rd", FE_DOWNWARD}};

template <class T, class Bits>
void compare(const std::string& letter, const std::string& type, const std::string& fused) {
    std::string text;
    for (const auto& mode : modes) {
        const std::string r = mode.suffix, f = "__" + letter;
        text += "extern \"C\" __global__ void ops_" + r +
                "(const T* a, const T* b, const T* c, T* y, int n) { "
                "int i = threadIdx.x + blockIdx.x * blockDim.x; if (i >= n) return; "
                "y[i] = " +
                f + "add_" + r + "(a[i], b[i]); y[i + n] = " + f + "sub_" + r +
                "(a[i], b[i]); "
                "y[i + 2 * n] = " +
                f + "mul_" + r + "(a[i], b[i]); y[i + 3 * n] = " + f + "div_" + r +
                "(a[i], b[i]); "
                "y[i + 4 * n] = " +
                f + "rcp_" + r + "(a[i]); y[i + 5 * n] = " + f + "sqrt_" + r +
                "(a[i]); "
                "y[i + 6 * n] = " +
                fused + "_" + r + "(a[i], b[i], c[i]); }\n";
    }
    const Program program({"typedef " + type + " T;\n" + text});
    constexpr int n = 40000;
    const auto a = operands<T, Bits>(n);
    auto b = a, c = a;
    std::mt19937 engine(11);
    for (int i = 0; i < n; ++i) {
        b[i] = engine() % 3 ? a[engine() % n] : a[(i + 1) % n];
        c[i] = engine() % 2
                   ? -a[i] * b[i] *
                         (1 + static_cast<T>(engine() % 2) * std::numeric_limits<T>::epsilon())
                   : a[engine() % n];
        if (std::isnan(c[i]))
            c[i] = 1;
    }
    const char* names[] = {"add", "sub", "mul", "div", "rcp", "sqrt", "fma"};
    for (const auto& mode : modes) {
        std::vector<T> y(7 * n);
        program.launch(std::string("ops_") + mode.suffix, {(n + 127) / 128}, {128}, a.data(),
                       b.data(), c.data(), y.data(), n);
        for (int i = 0; i < n; ++i) {
            volatile T p = a[i], q = b[i], r = c[i];
            std::fesetround(mode.rounding);
            volatile T wanted[] = {
                p + q, p - q, p * q, p / q, 1 / p, std::sqrt(p), std::fma(p, q, r)};
            std::fesetround(FE_TONEAREST);
            for (int k = 0; k < 7; ++k) {
                const T w = wanted[k];
                ASSERT_TRUE(same<T>(y[i + k * n], w))
                    << names[k] << "_" << mode.suffix << std::hexfloat << " of " << p << ", " << q
                    << ", " << r << " is " << w << ", not " << y[i + k * n];
            }
        }
    }
}

TEST(Rounding, FloatArithmeticIsExact) { compare<float, std::uint32_t>("f", "float", "__fmaf"); }
TEST(Rounding, DoubleArithmeticIsExact) { compare<double, std::uint64_t>("d", "double", "__fma"); }

TEST(Rounding, Conversions) {
    std::string text;
    for (const auto& mode : modes) {
        const std::string r = mode.suffix;
        text += "extern \"C\" __global__ void to_" + r +
                "(const double* x, const long long* l, float* f, double* d, int n) { "
                "int i = threadIdx.x + blockIdx.x * blockDim.x; if (i >= n) return; f[i] = "
                "__double2float_" +
                r + "(x[i]); f[i + n] = __ll2float_" + r + "(l[i]); f[i + 2 * n] = __int2float_" +
                r +
                "((int)l[i]); "
                "f[i + 3 * n] = __ull2float_" +
                r + "((unsigned long long)l[i]); d[i] = __ll2double_" + r +
                "(l[i]); d[i + n] = __ull2double_" + r +
                "((unsigned long long)l[i]); f[i + 4 * n] = __uint2float_" + r +
                "((unsigned)l[i]); }\n"
                "extern \"C\" __global__ void whole_" +
                r +
                "(const double* x, long long* y, int n) { "
                "int i = threadIdx.x + blockIdx.x * blockDim.x; if (i >= n) return; y[i] = "
                "__double2int_" +
                r + "(x[i]); y[i + n] = __double2ll_" + r + "(x[i]); y[i + 2 * n] = __float2int_" +
                r + "((float)x[i]); y[i + 3 * n] = __float2ll_" + r +
                "((float)x[i]); y[i + 4 * n] = __double2uint_" + r +
                "(fabs(x[i])); y[i + 5 * n] = (long long)__float2ull_" + r +
                "(fabsf((float)x[i])); }\n";
    }
    const Program program({text});
    constexpr int n = 4000;
    const auto x = operands<double, std::uint64_t>(n);
    std::mt19937_64 engine(3);
    std::vector<long long> l(n);
    std::vector<double> small(n);
    for (int i = 0; i < n; ++i) {
        l[i] = static_cast<long long>(engine()) >> (engine() % 64);
        small[i] = std::ldexp(static_cast<double>(static_cast<std::int64_t>(engine())),
                              -40 - static_cast<int>(engine() % 30));
    }
    for (const auto& mode : modes) {
        std::vector<float> f(5 * n);
        std::vector<double> d(2 * n);
        std::vector<long long> y(6 * n);
        program.launch(std::string("to_") + mode.suffix, {32}, {128}, x.data(), l.data(), f.data(),
                       d.data(), n);
        program.launch(std::string("whole_") + mode.suffix, {32}, {128}, small.data(), y.data(), n);
        for (int i = 0; i < n; ++i) {
            volatile double v = x[i], s = small[i];
            volatile float t = static_cast<float>(small[i]);
            volatile long long w = l[i];
            std::fesetround(mode.rounding);
            volatile float floats[] = {static_cast<float>(v), static_cast<float>(w),
                                       static_cast<float>(static_cast<int>(w)),
                                       static_cast<float>(static_cast<unsigned long long>(w)),
                                       static_cast<float>(static_cast<unsigned>(w))};
            volatile double doubles[] = {static_cast<double>(w),
                                         static_cast<double>(static_cast<unsigned long long>(w))};
            volatile double whole = std::nearbyint(s),
                            whole_single = std::nearbyint(static_cast<double>(t)),
                            size = std::nearbyint(std::fabs(s)),
                            size_single = std::nearbyint(std::fabs(static_cast<double>(t)));
            std::fesetround(FE_TONEAREST);
            for (int k = 0; k < 5; ++k) {
                const float wanted = floats[k];
                ASSERT_TRUE(same<float>(f[i + k * n], wanted))
                    << k << mode.suffix << " of " << v << " or " << w;
            }
            for (int k = 0; k < 2; ++k) {
                const double wanted = doubles[k];
                ASSERT_TRUE(same<double>(d[i + k * n], wanted)) << k << mode.suffix << " of " << w;
            }
            const long long wanted[] = {
                static_cast<int>(whole),        static_cast<long long>(whole),
                static_cast<int>(whole_single), static_cast<long long>(whole_single),
                static_cast<unsigned>(size),    static_cast<long long>(size_single)};
            for (int k = 0; k < 6; ++k)
                ASSERT_EQ(y[i + k * n], wanted[k]) << k << mode.suffix << " of " << s;
        }
    }
}

// Every significand, in two binades: all that a reciprocal root can see.
TEST(Rounding, ReciprocalRootIsCorrectlyRounded) {
    const Program program(
        {"extern \"C\" __global__ void roots(const float* x, float* y) { int i = threadIdx.x + "
         "blockIdx.x * blockDim.x; y[i] = __frsqrt_rn(x[i]); }"});
    constexpr std::uint32_t n = 1u << 24;
    std::vector<float> x(n), y(n);
    for (std::uint32_t i = 0; i < n; ++i) {
        const std::uint32_t bits = 0x3f800000u + i;
        std::memcpy(&x[i], &bits, 4);
    }
    program.launch("roots", {n / 256}, {256}, x.data(), y.data());
    int wrong = 0;
    for (std::uint32_t i = 0; i < n; ++i)
        wrong += y[i] != static_cast<float>(1 / std::sqrt(static_cast<long double>(x[i])));
    EXPECT_EQ(wrong, 0);
}

} // namespace
} // namespace quern::test
