// `if (thread index ... limit)` between barriers: threads with nothing to do are left out of the
// loop over threads. Limits at, next to and far from the ends of a row, and sums that wrap.
#include "driver_program.h"
#include <climits>
#include <gtest/gtest.h>

namespace quern::test {
namespace {

struct Values {
    int x, y, n;
    unsigned u;
    long long w;
};
struct Case {
    const char* text;
    bool (*holds)(Values);
};
// The same words for both compilers. They wrap as unsigned: the other way has no meaning in C++.
#define CASE(...)                                                                                  \
    {                                                                                              \
#__VA_ARGS__, [](Values values) {                                                             \
         [[maybe_unused]] const auto [x, y, n, u, w] = values;                                     \
         return static_cast<bool>(__VA_ARGS__);                                                    \
     }    \
    }
const Case cases[] = {
    CASE(x < n),
    CASE(x <= n),
    CASE(n < x),
    CASE(n <= x),
    CASE(x == n),
    CASE(x != n),
    CASE((unsigned)x < u),
    CASE((unsigned)x > u),
    CASE((unsigned)x - 1 < u),
    CASE((unsigned)x - 3 >= u),
    CASE((unsigned)x - 5 <= 7u),
    CASE(x > 2 && x <= 40),
    CASE((unsigned)x + u == (unsigned)n),
    CASE((int)((unsigned)x + u) < n),
    CASE((int)((unsigned)x + u) >= n),
    CASE((unsigned)x + u < (unsigned)n),
    CASE((unsigned)x + u > (unsigned)n),
    CASE((int)((unsigned)x - u) < n),
    CASE((long long)x < w),
    CASE((long long)(int)((unsigned)x + u) <= w),
    CASE((unsigned long long)((unsigned)x + u) < (unsigned long long)w),
    CASE((unsigned long long)(long long)(int)((unsigned)x + u) < (unsigned long long)w),
    CASE((unsigned long long)x + (unsigned long long)w < 20),
    CASE((long long)((unsigned long long)x + (unsigned long long)w) > n),
    CASE(x<n && y> 0),
    CASE(x < n || y == 1),
    CASE(!(x < n) && (unsigned)x < u),
    CASE(x < n + y * 3),
    CASE(u > (unsigned)(x + y)),
};
#undef CASE

class Idle : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Tiers, Idle, testing::Values("fibers", "regions"),
                         [](const auto& tier) { return std::string(tier.param); });

TEST_P(Idle, ThreadsBesideALimit) {
    std::string text;
    for (std::size_t i = 0; i < std::size(cases); ++i)
        text += "extern \"C\" __global__ void k" + std::to_string(i) +
                "(int* out, int n, unsigned u, long long w) {\n"
                "    __shared__ int kept[1024];\n"
                "    int x = threadIdx.x, y = threadIdx.y, t = y * blockDim.x + x, own = t * 7;\n"
                "    kept[t] = t;\n"
                "    __syncthreads();\n"
                "    if (" +
                std::string(cases[i].text) +
                ") { kept[t] += 1000 + (n & 15); own += kept[t] & 3; }\n"
                "    __syncthreads();\n"
                "    out[t] = kept[blockDim.x * blockDim.y - 1 - t] * 3 + own;\n"
                "}\n";
    const DriverProgram program(Source{text, {std::string("--quern-waiting=") + GetParam()}});
    struct Block {
        int x, y;
    };
    for (const auto& [wide, high] : {Block{1, 1}, {5, 3}, {16, 2}, {33, 2}, {100, 1}, {256, 1}})
        for (const int n : {0, 1, 4, wide - 1, wide, wide + 1, 50, -1, -6, INT_MAX, INT_MIN})
            for (const unsigned u : {0U, 3U, 90U, ~0U, ~0U - 8, 0x7fffffffU, 0x80000000U})
                for (const long long w : {17LL, -4LL, -1LL, 0x7fffffffLL, LLONG_MAX}) {
                    const std::size_t threads = static_cast<std::size_t>(wide * high);
                    for (std::size_t i = 0; i < std::size(cases); ++i) {
                        if (w != 17 && !std::strchr(cases[i].text, 'w'))
                            continue;
                        std::vector<int> out(threads), kept(threads), own(threads);
                        ASSERT_EQ(program.launch(
                                      "k" + std::to_string(i),
                                      {{1},
                                       {static_cast<unsigned>(wide), static_cast<unsigned>(high)},
                                       0},
                                      out.data(), n, u, w),
                                  CUDA_SUCCESS);
                        for (int t = 0; t < wide * high; ++t) {
                            const bool holds = cases[i].holds({t % wide, t / wide, n, u, w});
                            kept[t] = t + holds * (1000 + (n & 15));
                            own[t] = t * 7 + holds * (kept[t] & 3);
                        }
                        for (std::size_t t = 0; t < threads; ++t)
                            ASSERT_EQ(out[t], kept[threads - 1 - t] * 3 + own[t])
                                << cases[i].text << " in " << wide << "x" << high << " thread " << t
                                << " n " << n << " u " << u << " w " << w;
                    }
                }
}

} // namespace
} // namespace quern::test
