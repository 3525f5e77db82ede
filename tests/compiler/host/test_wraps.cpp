// Indices that wrap around: loops over them are cut into stretches, whatever the ring, the place
// they begin at, and how many rings one loop goes around in.
#include "driver_program.h"
#include <gtest/gtest.h>

namespace quern::test {
namespace {

class Wraps : public testing::TestWithParam<const char*> {
  protected:
    static DriverProgram program(std::string text) {
        return DriverProgram({std::move(text), {std::string("--quern-waiting=") + GetParam()}});
    }
};
INSTANTIATE_TEST_SUITE_P(Tiers, Wraps, testing::Values("fibers", "regions"),
                         [](const auto& tier) { return std::string(tier.param); });

TEST_P(Wraps, ThreadsThatReadAroundSharedMemory) {
    for (const unsigned places : {32u, 64u, 128u, 1024u}) {
        const auto text =
            R"(extern "C" __global__ void around(const int* x, int* y, int rounds, int from) {
            __shared__ int kept[PLACES];
            unsigned t = threadIdx.x;
            for (unsigned k = t; k < PLACES; k += blockDim.x) kept[k] = x[k];
            int sum = 0;
            for (int round = 0; round < rounds; ++round) {
                __syncthreads();
                sum += kept[(t + round + from) % PLACES] - 3 * kept[(t + from) & (PLACES - 1)];
            }
            y[t] = sum;
        })";
        const DriverProgram around =
            program("#define PLACES " + std::to_string(places) + "u\n" + text);
        for (const unsigned threads : {1u, 31u, 96u, 256u, 1000u})
            for (const int from : {0, 1, -1, 77, 2147483600, -2147483647}) {
                constexpr int rounds = 70;
                std::vector<int> x(places), y(threads), expected(threads);
                for (unsigned k = 0; k < places; ++k)
                    x[k] = static_cast<int>(k * 2654435761u >> 12);
                for (unsigned t = 0; t < threads; ++t)
                    for (unsigned round = 0; round < rounds; ++round) {
                        const unsigned base = t + static_cast<unsigned>(from);
                        expected[t] += x[(base + round) % places] - 3 * x[base % places];
                    }
                ASSERT_EQ(
                    around.launch("around", {{1}, {threads}}, x.data(), y.data(), rounds, from),
                    CUDA_SUCCESS);
                ASSERT_EQ(y, expected) << places << " places from " << from;
            }
    }
}

// Also backwards, with signed remainders, several rings in one loop, and along a loop of one
// thread.
TEST_P(Wraps, SeveralRingsInOneLoop) {
    const DriverProgram rings = program(R"(
        extern "C" __global__ void threads(const float* x, float* y, int a, int b) {
            int t = blockIdx.x * blockDim.x + threadIdx.x;
            y[t] = x[(t + a) & 63] + 2 * x[(t + b) & 255] + 4 * x[(t - a) & 127] + 8 * x[(b - t) & 511] +
                   16 * x[((t + a) % 256 + 256) % 256] + 32 * x[(3 * t) & 255];
        }
        extern "C" __global__ void loops(const float* x, float* y, int a, int b, int n) {
            float sum = 0;
            for (int k = 0; k < n; ++k) {
                sum += x[(k + a) & 255];
                y[(k + b) & 1023] = 3 * x[k & 127];
            }
            y[1024] = sum;
        })");
    std::vector<float> x(512);
    for (std::size_t k = 0; k < x.size(); ++k)
        x[k] = static_cast<float>(k * k % 101);
    for (const int a : {0, 5, 63, 100, -3})
        for (const int b : {0, 17, 200, -1000}) {
            std::vector<float> y(4 * 100), z(1025), expected(1025);
            ASSERT_EQ(rings.launch("threads", {{4}, {100}}, x.data(), y.data(), a, b),
                      CUDA_SUCCESS);
            for (int t = 0; t < 400; ++t)
                ASSERT_EQ(y[t], x[(t + a) & 63] + 2 * x[(t + b) & 255] + 4 * x[(t - a) & 127] +
                                    8 * x[(b - t) & 511] + 16 * x[(t + a) & 255] +
                                    32 * x[(3 * t) & 255])
                    << t << " " << a << " " << b;
            for (const int n : {0, 1, 64, 999, 1500}) {
                ASSERT_EQ(rings.launch("loops", {{1}, {1}}, x.data(), z.data(), a, b, n),
                          CUDA_SUCCESS);
                float sum = 0;
                for (int k = 0; k < n; ++k) {
                    sum += x[(k + a) & 255];
                    expected[(k + b) & 1023] = 3 * x[k & 127];
                }
                expected[1024] = sum;
                ASSERT_EQ(z, expected) << n << " " << a << " " << b;
            }
        }
}

} // namespace
} // namespace quern::test
