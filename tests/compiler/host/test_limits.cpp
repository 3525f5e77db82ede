// How compile time grows with a program, and what happens where it would be too long.
#include "compiler/base/kernel_facts.h"
#include "driver_program.h"
#include "random_ints.h"
#include <algorithm>
#include <ctime>
#include <functional>
#include <gtest/gtest.h>

namespace quern::test {
namespace {

std::string repeated(int count, const std::function<std::string(const std::string&)>& part) {
    std::string text;
    for (int k = 1; k <= count; ++k)
        text += part(std::to_string(k));
    return text;
}

// Barriers in straight code, with branches on which threads differ between them.
std::string phases(int count) {
    return R"(extern "C" __global__ void k(int* x, int n) {
        __shared__ int kept[128];
        int t = threadIdx.x, a = x[t], b = a * 3;
        )" +
           repeated(count,
                    [](const std::string& k) {
                        return "kept[t] = a * " + k + " + b; __syncthreads();\n" + "if (t > " + k +
                               " % 7) a = kept[t - " + k + " % 7] + b; else b = kept[(t + " + k +
                               ") % 128]; __syncthreads();\n";
                    }) +
           "x[t] = a + b; }";
}
std::string branches(int count) {
    return R"(extern "C" __global__ void k(int* x, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i >= n) return;
        int a = x[i], b = 1;
        )" +
           repeated(count,
                    [](const std::string& k) {
                        return "if ((a >> (" + k + " % 5)) & 1) a += b * " + k +
                               "; else b ^= a + " + k + ";\n";
                    }) +
           "x[i] = a + b; }";
}
std::string loops(int count) {
    return R"(extern "C" __global__ void k(int* x, int n) {
        int t = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
        )" +
           repeated(count,
                    [](const std::string& k) {
                        return "for (int i = t; i < n; i += all) x[i] = x[i] * " + k + " + i;\n";
                    }) +
           "}";
}
// A number that all threads share, each step of which uses the one before three times.
std::string chain(int count) {
    return R"(extern "C" __global__ void k(int* x, int n) {
        unsigned h = n;
        for (int i = threadIdx.x; i < n; i += blockDim.x) {
            unsigned g = h + (i - threadIdx.x);
            )" +
           repeated(count,
                    [](const std::string& k) { return "g = (g ^ " + k + "u) * g + (g >> 3);\n"; }) +
           "x[i] += x[g & 7]; } }";
}

double compile_ms(const std::string& text) {
    const auto now = [] {
        timespec time{};
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
        return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
    };
    const double start = now();
    const auto made = compile(
        {text, {"--quern-waiting=regions", "--quern-optimise-limit=0"}, {}, {}, this_cpu()});
    EXPECT_EQ(made.status, QUERN_CC_OK) << made.log;
    return now() - start;
}

struct Family {
    const char* name;
    std::string (*text)(int);
    int smallest;
};
class Growth : public testing::TestWithParam<Family> {};
INSTANTIATE_TEST_SUITE_P(Families, Growth,
                         testing::Values(Family{"phases", phases, 6},
                                         Family{"branches", branches, 10},
                                         Family{"loops", loops, 10}, Family{"chain", chain, 3}),
                         [](const auto& family) { return std::string(family.param.name); });

TEST_P(Growth, EightTimesTheProgramTakesNoMoreThanSixteenTimes) {
    const auto& family = GetParam();
    (void)compile_ms(family.text(1)); // what the process does once
    double little = compile_ms(family.text(family.smallest));
    for (int again = 0; again < 2; ++again)
        little = std::min(little, compile_ms(family.text(family.smallest)));
    EXPECT_LT(compile_ms(family.text(8 * family.smallest)), 16 * little);
}

KernelFacts facts_of(const Compiled& made) {
    const auto list = read_kernel_facts(made.facts);
    EXPECT_EQ(list.size(), 1U) << made.facts;
    return list.empty() ? KernelFacts{} : list.front();
}

TEST(Limits, WhatTakesTooLongStaysFibersAndSaysSo) {
    const std::vector<std::string> quick = {"--quern-waiting=regions", "--quern-optimise-limit=60"};
    const auto given_up = compile({phases(24), quick, {}, {}, this_cpu()});
    ASSERT_EQ(given_up.status, QUERN_CC_OK) << given_up.log;
    EXPECT_NE(given_up.log.find("takes more than 0.06 s"), std::string::npos) << given_up.log;
    EXPECT_NE(given_up.log.find("stay fibers"), std::string::npos) << given_up.log;
    EXPECT_EQ(facts_of(given_up).tier, "fibers");
    EXPECT_EQ(facts_of(given_up).level, 1U);
    EXPECT_FALSE(facts_of(given_up).reason.empty());

    const auto waited = compile({phases(24), {"--quern-waiting=regions"}, {}, {}, this_cpu()});
    EXPECT_EQ(waited.log, "");
    EXPECT_EQ(facts_of(waited).tier, "regions");
    EXPECT_EQ(facts_of(waited).regions, 49U);
    EXPECT_GE(facts_of(waited).vector_bits, 128U);

    auto x = random_ints(128, 3), y = x;
    const DriverProgram slow({phases(24), quick}), fast({phases(24), {"--quern-waiting=regions"}});
    ASSERT_EQ(slow.launch("k", {{1}, {128}}, x.data(), 0), CUDA_SUCCESS);
    ASSERT_EQ(fast.launch("k", {{1}, {128}}, y.data(), 0), CUDA_SUCCESS);
    EXPECT_EQ(x, y);
}

TEST(Limits, LoopsOverThreadsAreMadePlainly) {
    const auto text = branches(30);
    const auto made = compile({text, {"--quern-optimise-limit=1"}, {}, {}, this_cpu()});
    ASSERT_EQ(made.status, QUERN_CC_OK) << made.log;
    EXPECT_NE(made.log.find("without the vectorisers"), std::string::npos) << made.log;
    EXPECT_NE(made.log.find("to write the machine code"), std::string::npos) << made.log;
    EXPECT_EQ(facts_of(made).tier, "loops");
    EXPECT_EQ(facts_of(made).vector_bits, 0U);
    auto x = random_ints(300, 4), y = x;
    const Program slow({text, {"--quern-optimise-limit=1"}}), fast({text});
    slow.launch("k", {2}, {160}, x.data(), 300);
    fast.launch("k", {2}, {160}, y.data(), 300);
    EXPECT_EQ(x, y);
}

TEST(Limits, AnyNumberOfMillisecondsMayBeAsked) {
    const std::string text = R"(extern "C" __global__ void k(int* x) { x[threadIdx.x] = 1; })";
    for (const char* good : {"0", "1", "3600000"})
        EXPECT_EQ(compile({text, {std::string("--quern-optimise-limit=") + good}}).status,
                  QUERN_CC_OK);
    for (const char* bad : {"", "-1", "2s", "1e3", "4000000"})
        EXPECT_EQ(compile({text, {std::string("--quern-optimise-limit=") + bad}}).status,
                  QUERN_CC_ERROR);
}

TEST(Facts, AKernelThatCannotBeCutTellsWhy) {
    const auto made = compile({R"(
    __device__ __noinline__ int down(int n) {
        if (n == 0) return 0;
        __syncthreads();
        return down(n - 1) + 1;
    }
    extern "C" __global__ void k(int* x, int n) { x[threadIdx.x] = down(n); })",
                               {"--quern-waiting=regions"}});
    EXPECT_EQ(facts_of(made).tier, "fibers");
    EXPECT_NE(facts_of(made).reason.find("a function that is not part of it"), std::string::npos)
        << made.facts;
}

} // namespace
} // namespace quern::test
