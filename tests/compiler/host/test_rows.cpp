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

// Neighbours along x run as one row where threads know their number alone; whatever the grid, each
// works once, with its own block and place in it.
TEST(Rows, NeighboursInAllKindsOfGrids) {
    const Program program({R"(
        extern "C" __global__ void count(int* out, int n, int pitch) {
            int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
            if (x < n) out[y * pitch + x] += 1 + 2 * x + 1000 * y;
        }
        extern "C" __global__ void where(int* out, int n, int pitch) {
            int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
            if (x < n) out[y * pitch + x] += 1 + threadIdx.x + 2000 * blockIdx.x + 7 * gridDim.x;
        })"});
    for (const std::uint32_t threads : {1u, 3u, 16u, 64u})
        for (const std::uint32_t blocks : {1u, 2u, 7u, 1500u})
            for (const std::uint32_t high : {1u, 3u})
                for (const int less : {0, 1, 5, 40, 1000000}) {
                    const int pitch = static_cast<int>(blocks * threads), n = pitch - less;
                    const std::uint32_t rows = 2 * high;
                    std::vector<int> counts(rows * pitch, 0), places = counts;
                    program.launch("count", {blocks, 2}, {threads, high}, counts.data(), n, pitch);
                    program.launch("where", {blocks, 2}, {threads, high}, places.data(), n, pitch);
                    for (int y = 0; y < static_cast<int>(rows); ++y)
                        for (int x = 0; x < pitch; ++x) {
                            const int at = y * pitch + x, side = static_cast<int>(threads);
                            ASSERT_EQ(counts[at], x < n ? 1 + 2 * x + 1000 * y : 0) << x;
                            ASSERT_EQ(places[at], x < n ? 1 + x % side + 2000 * (x / side) +
                                                              7 * static_cast<int>(blocks)
                                                        : 0)
                                << x;
                        }
                }
}

// A guard that holds in places only: rows fall apart into blocks, and blocks into threads.
TEST(Rows, GuardsThatHoldHereAndThere) {
    const Program program(
        {"extern \"C\" __global__ void k(int* out, unsigned low, unsigned high) {\n"
         "    unsigned x = blockIdx.x * blockDim.x + threadIdx.x;\n"
         "    if (x + low < high) out[x] = (int)x;\n}\n"});
    for (const std::uint32_t low : {0u, 3u, 0xffffff00u, 0xfffffff0u, 0x80000000u})
        for (const std::uint32_t high : {0u, 1u, 100u, 5000u, 0x80000040u, 0xffffff80u}) {
            std::vector<int> out(64 * 80, -1);
            program.launch("k", {80}, {64}, out.data(), low, high);
            for (std::uint32_t x = 0; x < out.size(); ++x)
                ASSERT_EQ(out[x], x + low < high ? static_cast<int>(x) : -1) << low << ' ' << high;
        }
}

} // namespace
} // namespace quern::test
