// Short loops that ask for vectors get them, and mean what they meant.
#include "compiler/base/kernel_facts.h"
#include "driver_program.h"
#include "host_compiler.h"
#include <gtest/gtest.h>

namespace quern::test {
namespace {

// Values of four lines meet in lanes, as sums and as sums of squares.
constexpr const char* lanes_text = R"(
    template <int lanes> __device__ void add_up(const float* x, double* y, int count) {
        double sum[lanes], squares[lanes];
        for (int l = 0; l < lanes; ++l) sum[l] = squares[l] = 0;
        for (int k = 0; k + 4 * lanes <= count; k += 4 * lanes) {
            PRAGMA
            for (int l = 0; l < lanes; ++l) {
                const double p = x[k + l] - 0.5, q = x[k + lanes + l] - 0.5;
                const double r = x[k + 2 * lanes + l] - 0.5, s = x[k + 3 * lanes + l] - 0.5;
                sum[l] += (p + q) + (r + s);
                squares[l] += (p * p + q * q) + (r * r + s * s);
            }
        }
        y[0] = y[1] = 0;
        for (int l = 0; l < lanes; ++l) y[0] += sum[l], y[1] += squares[l];
    }
    extern "C" __global__ void k(const float* x, double* y, int count) { add_up<LANES>(x, y, count); })";

std::string program_of(int lanes, const char* pragma) {
    return "#define LANES " + std::to_string(lanes) + "\n#define PRAGMA " + pragma + "\n" +
           lanes_text;
}

TEST(VectorsFirst, ShortLoopsThatAskForThem) {
    for (const int lanes : {4, 8, 16}) {
        const auto text = program_of(lanes, "_Pragma(\"clang loop vectorize(assume_safety)\")");
        const auto made = compile({text, {}, {}, {}, "x86-64-v3"});
        ASSERT_EQ(made.status, QUERN_CC_OK) << made.log;
        const auto facts = read_kernel_facts(made.facts);
        ASSERT_EQ(facts.size(), 1U);
        EXPECT_GE(facts.front().vector_bits, 256U) << lanes;

        std::vector<float> x(4096);
        std::vector<double> expected(2), y(2);
        for (std::size_t k = 0; k < x.size(); ++k) {
            x[k] = static_cast<float>(k * 2654435761u >> 8 & 0xffff) / 65536.0f;
            const double off = x[k] - 0.5;
            expected[0] += off;
            expected[1] += off * off;
        }
        const DriverProgram program({text});
        ASSERT_EQ(program.launch("k", {{1}, {1}}, x.data(), y.data(), 4096), CUDA_SUCCESS);
        EXPECT_NEAR(y[0], expected[0], 1e-9);
        EXPECT_NEAR(y[1], expected[1], 1e-9);
    }
}

// Who forbids to unroll is obeyed to the end: the loop is still one in the machine code.
TEST(VectorsFirst, WhatIsForbiddenStaysSo) {
    const auto text = program_of(4, "_Pragma(\"clang loop vectorize(disable) unroll(disable)\")");
    const auto made = compile({text, {}, {}, {}, this_cpu()});
    ASSERT_EQ(made.status, QUERN_CC_OK) << made.log;
    const auto free = compile({program_of(4, ""), {}, {}, {}, this_cpu()});
    EXPECT_LT(made.object.size(), free.object.size());
}

} // namespace
} // namespace quern::test
