// Tables that vectors hold in registers, on CPUs with and without permutations for them; and work
// for few lanes that is done for all of a vector.
#include "host_compiler.h"
#include <bit>
#include <cmath>
#include <gtest/gtest.h>

namespace quern::test {
namespace {

constexpr const char* source = R"(
#define TABLE(T, Int)                                                                                                  \
    extern "C" __device__ __attribute__((const, noinline)) inline T __quern_table_square_##T(Int index) {              \
        static const T values[16] = {0, 1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121, 144, 169, 196, 225};                \
        return values[index & 15];                                                                                     \
    }
TABLE(double, long long)
TABLE(float, int)
extern "C" __global__ void doubles(const double* x, double* y, long long n) {
#pragma clang loop vectorize(assume_safety)
    for (long long i = 0; i < n; ++i) y[i] = __quern_table_square_double((__double_as_longlong(x[i]) >> 48) + 1) + x[i];
}
extern "C" __global__ void floats(const int* x, float* y, long long n) {
#pragma clang loop vectorize(assume_safety)
    for (long long i = 0; i < n; ++i) y[i] = __quern_table_square_float(x[i]) * 0.5f;
}
extern "C" __global__ void both(const int* x, double* y, long long n) {
#pragma clang loop vectorize(assume_safety)
    for (long long i = 0; i < n; ++i) y[i] = __quern_table_square_float(x[i]) + __quern_table_square_double(x[i] * 7ll);
}
extern "C" __device__ __attribute__((const, noinline)) inline double __quern_seldom_by_table(double usual, double x, int i, bool wanted) {
    return wanted ? fma(x, __quern_table_square_double(i), x < 0 ? -x : trunc(x)) : usual;
}
extern "C" __global__ void few(const double* x, const int* by, double* y, long long n) {
#pragma clang loop vectorize(assume_safety)
    for (long long i = 0; i < n; ++i) y[i] = __quern_seldom_by_table(x[i], x[i], by[i], x[i] < -20);
}
)";

// The plainest, SSE4, AVX2, AVX-512 in 256 bits and in 512, and what is here; no more than this
// machine can run.
std::vector<std::string> archs() {
    std::vector<std::string> found{"", "x86-64", this_cpu()};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        found.insert(found.end(), {"x86-64-v2", "x86-64-v3"});
    if (__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw"))
        found.emplace_back("x86-64-v4");
    return found;
}

double square(long long index) { return static_cast<double>((index & 15) * (index & 15)); }

TEST(Tables, EveryLaneFindsItsOwn) {
    for (const auto& arch : archs()) {
        SCOPED_TRACE(arch);
        const Program program({source, {}, {}, {}, arch});
        for (const long long n : {1LL, 7LL, 64LL, 1003LL}) {
            const auto count = static_cast<std::size_t>(n);
            std::vector<double> x(count), y(count), z(count), w(count);
            std::vector<int> by(count);
            std::vector<float> f(count);
            for (std::size_t i = 0; i < count; ++i) {
                x[i] =
                    std::ldexp(static_cast<double>(i * 37 % 113) - 50.5, static_cast<int>(i % 5));
                by[i] = static_cast<int>(i * 29) - 300;
            }
            program.launch("doubles", {}, {}, x.data(), y.data(), n);
            program.launch("floats", {}, {}, by.data(), f.data(), n);
            program.launch("both", {}, {}, by.data(), z.data(), n);
            program.launch("few", {}, {}, x.data(), by.data(), w.data(), n);
            for (std::size_t i = 0; i < count; ++i) {
                EXPECT_EQ(y[i], square((std::bit_cast<long long>(x[i]) >> 48) + 1) + x[i]);
                EXPECT_EQ(f[i], static_cast<float>(square(by[i]) * 0.5));
                EXPECT_EQ(z[i], square(by[i]) + square(by[i] * 7LL));
                EXPECT_EQ(w[i], x[i] < -20 ? std::fma(x[i], square(by[i]), -x[i]) : x[i]);
            }
        }
    }
}

TEST(Tables, NothingOfThemIsLeftInTheObject) {
    const auto made = compile({source, {}, {}, {}, "x86-64-v4+avx512vpopcntdq"});
    ASSERT_EQ(made.status, QUERN_CC_OK) << made.log;
    EXPECT_EQ(made.object.find("__quern_seldom"), std::string::npos);
    EXPECT_EQ(made.object.find("__quern_lanes"), std::string::npos);
}

} // namespace
} // namespace quern::test
