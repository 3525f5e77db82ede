// cuda::barrier and cuda::pipeline, run by the host driver.
#include "kernels.h"
#include "random_ints.h"
#include <gtest/gtest.h>
#include <numeric>
#include <random>

namespace quern::test {
namespace {

class Barriers : public Tiers {
  protected:
    const DriverProgram& barriers() const { return program("barriers.cu"); }
};
INSTANTIATE_TEST_SUITE_P(Tiers, Barriers, testing::Values("fibers", "regions"),
                         [](const auto& tier) { return std::string(tier.param); });

class Pipelines : public Tiers {
  protected:
    const DriverProgram& barriers() const { return program("barriers.cu"); }
};
INSTANTIATE_TEST_SUITE_P(Tiers, Pipelines, testing::Values("fibers", "regions"),
                         [](const auto& tier) { return std::string(tier.param); });

TEST_P(Barriers, ArriveWaitAndDrop) {
    for (unsigned n : {1U, 32U, 77U, 256U}) {
        const auto x = random_ints(n, n, 0, 1000), lives = random_ints(n, n + 1, 1, 12);
        auto value = x;
        for (int round = 0; round < 12; ++round) {
            const auto before = value;
            for (unsigned t = 0; t < n; ++t) {
                if (round >= lives[t])
                    continue;
                const unsigned next = (t + 1) % n;
                const int other = round < lives[next] ? before[next] : 0;
                value[t] = (before[t] + static_cast<int>(t % 7) * round + other) & 0xffff;
            }
        }
        std::vector<int> out(n);
        ASSERT_EQ(
            barriers().launch("arrive_and_wait", {{1}, {n}}, x.data(), lives.data(), out.data()),
            CUDA_SUCCESS);
        EXPECT_EQ(out, value) << n;
    }
}

TEST_P(Barriers, ProducersAndConsumers) {
    const auto x = random_ints(64 * 9, 3, -100, 100);
    for (int chunks : {0, 1, 2, 9}) {
        std::vector<int> out(96), expected(96);
        for (unsigned t = 32; t < 128; ++t)
            for (int chunk = 0; chunk < chunks; ++chunk)
                for (unsigned i = 0; i < 64; ++i)
                    expected[t - 32] += 3 * x[64 * static_cast<unsigned>(chunk) + (i + t) % 64] *
                                        static_cast<int>(i + 1);
        ASSERT_EQ(barriers().launch("two_buffers", {{1}, {128}}, x.data(), out.data(), chunks),
                  CUDA_SUCCESS);
        EXPECT_EQ(out, expected) << chunks;
    }
}

unsigned mixed(const std::vector<int>& x, int chunks, unsigned t) {
    unsigned sum = 0;
    for (unsigned chunk = 0; chunk < static_cast<unsigned>(chunks); ++chunk)
        for (unsigned i = 0; i < 64; ++i)
            sum = sum * 3 + static_cast<unsigned>(x[64 * chunk + (i + t) % 64]);
    return sum;
}

TEST_P(Pipelines, StagesOfABlock) {
    const auto x = random_ints(64 * 11, 4, -100, 100);
    for (int chunks : {0, 1, 3, 4, 11})
        for (unsigned threads : {1U, 64U, 100U}) {
            std::vector<unsigned> out(threads);
            ASSERT_EQ(barriers().launch("staged", {{1}, {threads}}, x.data(), out.data(), chunks),
                      CUDA_SUCCESS);
            for (unsigned t = 0; t < threads; ++t)
                ASSERT_EQ(out[t], mixed(x, chunks, t)) << t << " " << chunks;
        }
}

TEST_P(Pipelines, RolesOfThreads) {
    const auto x = random_ints(64 * 8, 5, -100, 100);
    for (int chunks : {1, 2, 8})
        for (int by_count : {0, 1}) {
            std::vector<unsigned> out(64);
            ASSERT_EQ(
                barriers().launch("roles", {{1}, {128}}, x.data(), out.data(), chunks, by_count),
                CUDA_SUCCESS);
            for (unsigned t = 64; t < 128; ++t)
                ASSERT_EQ(out[t - 64], mixed(x, chunks, t)) << t << " " << chunks;
        }
}

TEST_P(Pipelines, CopiesAreThereWhenWaitedFor) {
    const auto x = random_ints(64, 6, -100, 100);
    std::vector<int> out(256);
    ASSERT_EQ(barriers().launch("copies", {{1}, {64}}, x.data(), out.data()), CUDA_SUCCESS);
    for (unsigned i = 0; i < 256; ++i) {
        const unsigned from = 63 - i % 64;
        EXPECT_EQ(out[i], i >= 192 && from % 2 != 0 ? 0 : x[from]) << i;
    }
}

TEST_P(Barriers, AcrossBlocks) {
    const int blocks = 9;
    unsigned long long memory[8] = {};
    std::vector<int> of_block(blocks), out(blocks);
    ASSERT_EQ(barriers().launch("begin_device", {}, &memory[0], blocks), CUDA_SUCCESS);
    ASSERT_EQ(barriers().launch("across_blocks", {{blocks}, {64}, 0, true}, &memory[0],
                                of_block.data(), out.data()),
              CUDA_SUCCESS);
    EXPECT_EQ(out, std::vector<int>(blocks, 4 * 10 * 36 + blocks * 6));
}

} // namespace
} // namespace quern::test
