// What few lanes of a vector need: every lane has its own answer, whatever its neighbours want.
#include "host_compiler.h"
#include <cmath>
#include <gtest/gtest.h>

namespace quern::test {
namespace {

constexpr const char* source = R"(
extern "C" __device__ __attribute__((const, noinline)) inline double __quern_seldom_far(double usual, double x, double by,
                                                                                        bool wanted) {
    return wanted ? sqrt(x) * by : usual;
}
extern "C" __device__ __attribute__((const, noinline)) inline float __quern_seldom_close(float usual, float x, bool wanted) {
    return wanted ? -x : usual;
}
extern "C" __global__ void far(const double* x, double* y, long long n) {
#pragma clang loop vectorize(assume_safety)
    for (long long i = 0; i < n; ++i) y[i] = __quern_seldom_far(x[i] * 2, x[i], 3.0, x[i] > 100);
}
extern "C" __global__ void masked(const double* x, const bool* mask, double* y, long long n) {
#pragma clang loop vectorize(assume_safety)
    for (long long i = 0; i < n; ++i)
        if (mask[i]) y[i] = __quern_seldom_far(x[i] * 2, x[i], x[i], x[i] > 100);
}
extern "C" __global__ void close(const float* x, float* y, long long n) {
#pragma clang loop vectorize(assume_safety)
    for (long long i = 0; i < n; ++i) y[i] = __quern_seldom_close(x[i] + 1, x[i], x[i] < 3) + 1;
}
extern "C" __global__ void by_thread(const float* x, float* y) {
    y[threadIdx.x] = __quern_seldom_close(x[threadIdx.x] + 1, x[threadIdx.x], x[threadIdx.x] < 3);
}
)";

TEST(Seldom, EveryLaneHasItsOwnAnswer) {
    for (const std::string& arch : {std::string(), std::string("x86-64"), this_cpu()}) {
        const Program program({source, {}, {}, {}, arch});
        for (const long long n : {1LL, 7LL, 64LL, 1000LL}) {
            const auto count = static_cast<std::size_t>(n);
            std::vector<double> x(count), y(count), z(count, -1);
            std::vector<float> f(count), g(count), h(count);
            std::vector<char> mask(count);
            for (std::size_t i = 0; i < count; ++i) {
                x[i] = i % 37 == 5 ? 400.0 + static_cast<double>(i) : static_cast<double>(i % 90);
                f[i] = static_cast<float>(i % 50);
                mask[i] = i % 3 != 0;
            }
            program.launch("far", {}, {}, x.data(), y.data(), n);
            program.launch("masked", {}, {}, x.data(), mask.data(), z.data(), n);
            program.launch("close", {}, {}, f.data(), g.data(), n);
            program.launch("by_thread", {}, {static_cast<std::uint32_t>(n)}, f.data(), h.data());
            for (std::size_t i = 0; i < count; ++i) {
                const bool wanted = x[i] > 100;
                EXPECT_EQ(y[i], wanted ? std::sqrt(x[i]) * 3 : x[i] * 2);
                EXPECT_EQ(z[i], !mask[i] ? -1 : wanted ? std::sqrt(x[i]) * x[i] : x[i] * 2);
                const float found = f[i] < 3 ? -f[i] : f[i] + 1;
                EXPECT_EQ(g[i], found + 1);
                EXPECT_EQ(h[i], found);
            }
        }
    }
}

TEST(Seldom, NothingOfItIsLeftInTheObject) {
    for (const std::string& arch : {std::string("x86-64-v4+avx512vpopcntdq"), this_cpu()}) {
        const auto made = compile({source, {}, {}, {}, arch});
        ASSERT_EQ(made.status, QUERN_CC_OK) << made.log;
        EXPECT_EQ(made.object.find("__quern_seldom"), std::string::npos);
        EXPECT_EQ(made.object.find("__quern_lanes"), std::string::npos);
    }
}

} // namespace
} // namespace quern::test
