// Scans from C++ on the CPU device: captured into a graph and run again, while others use the pool.
#include "runtime/kernel/cumulative.h"
#include "runtime/kernel/plan_options.h"
#include "tests/runtime/elements.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#if QUERN_HAS_LLVM

namespace quern {
namespace {

struct CapturedScan : testing::TestWithParam<bool> {
    void SetUp() override { plan_options().gpu_layout = GetParam(); }
    void TearDown() override { plan_options() = {}; }
};

TEST_P(CapturedScan, RunsAgainOnOtherValuesAndKeepsItsRoom) {
    constexpr std::int64_t count = 30'000;
    Device& cpu = find_device("cpu");
    const Stream stream(cpu);
    set_current_stream(cpu, stream.handle());
    const Array x = Array::empty(cpu, DType::int64, {count}, stream.handle());
    const Array y = Array::empty(cpu, DType::int64, {count}, stream.handle());
    CumulativeCall call;
    call.out = &y;
    call.split = 7;
    static_cast<void>(cumulative(ScanOp::sum, x, call)); // compiles

    stream.begin_capture();
    static_cast<void>(cumulative(ScanOp::sum, x, call));
    const Graph graph = stream.end_capture();
    // Whatever the scan gave back is handed out now, and must not be the graph's.
    std::vector<Array> others;
    for (int k = 0; k < 64; ++k) {
        others.push_back(Array::empty(cpu, DType::int64, {64 << k % 8}, stream.handle()));
        std::ranges::fill(elements<std::int64_t>(others.back()), 77);
    }
    for (const std::int64_t first : {1, 5, -3}) {
        std::iota(elements<std::int64_t>(x).begin(), elements<std::int64_t>(x).end(), first);
        std::ranges::fill(elements<std::int64_t>(y), 0);
        graph.launch(stream.handle());
        stream.synchronize();
        std::vector<std::int64_t> expected(count);
        std::partial_sum(elements<std::int64_t>(x).begin(), elements<std::int64_t>(x).end(),
                         expected.begin());
        EXPECT_TRUE(std::ranges::equal(elements<std::int64_t>(y), expected));
    }
    for (const Array& other : others)
        EXPECT_TRUE(std::ranges::all_of(elements<std::int64_t>(other),
                                        [](std::int64_t v) { return v == 77; }));
    set_current_stream(cpu, nullptr);
}

INSTANTIATE_TEST_SUITE_P(Layouts, CapturedScan, testing::Bool(),
                         [](const auto& info) { return info.param ? "OfGpus" : "OfCpus"; });

} // namespace
} // namespace quern

#endif
