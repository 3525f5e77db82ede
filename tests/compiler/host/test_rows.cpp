// Rows of threads run without their masks where sums of the thread index do not wrap; a sum that
// does wrap, at a row's end or all along it, keeps its meaning.
#include "host_compiler.h"
#include <algorithm>
#include <gtest/gtest.h>

namespace quern::test {
namespace {

constexpr std::uint32_t blocks = 5, threads = 16;
constexpr int count = blocks * threads - 3;

std::vector<int> run(const std::string& expression, int offset) {
    const Program program({"extern \"C\" __global__ void k(int* out, int n, int offset) {\n"
                           "    int x = blockIdx.x * blockDim.x + threadIdx.x;\n"
                           "    if (x >= n) return;\n"
                           "    out[x] = " +
                           expression + ";\n}\n"});
    std::vector<int> out(count, -99);
    program.launch("k", {blocks}, {threads}, out.data(), count, offset);
    return out;
}

TEST(Rows, NeighboursBehind) {
    const auto behind = run("x - 1 < 0 ? 0 : x - 1", 0);
    const auto clamped = run("min(max(x - 1, 0), n - 1)", 0);
    const auto compared = run("(unsigned)(x - 2) < 5u", 0);
    for (int x = 0; x < count; ++x) {
        ASSERT_EQ(behind[x], std::max(x - 1, 0)) << x;
        ASSERT_EQ(clamped[x], std::max(x - 1, 0)) << x;
        ASSERT_EQ(compared[x], x >= 2 && x < 7) << x;
    }
}

TEST(Rows, OffsetsThatOnlyTheLaunchKnows) {
    for (const int offset : {0, 1, -1, -1000, 2147483640}) {
        const auto signed_sums = run("x + offset > 10 ? 1 : x + offset < -5 ? 2 : 3", offset);
        const auto wide = run("(int)((long long)(x + offset) >> 7)", offset);
        const auto unsigned_sums = run("(unsigned)x + (unsigned)offset < 40u", offset);
        for (int x = 0; x < count; ++x) {
            const auto sum =
                static_cast<int>(static_cast<unsigned>(x) + static_cast<unsigned>(offset));
            ASSERT_EQ(signed_sums[x], sum > 10 ? 1 : sum < -5 ? 2 : 3) << x << " + " << offset;
            ASSERT_EQ(wide[x], sum >> 7) << x << " + " << offset;
            ASSERT_EQ(unsigned_sums[x], static_cast<unsigned>(sum) < 40u) << x << " + " << offset;
        }
    }
}

} // namespace
} // namespace quern::test
