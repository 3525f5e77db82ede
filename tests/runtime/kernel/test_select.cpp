// Selection from C++ on the CPU device, in the layouts of both kinds of device, against a sort.
#include "runtime/kernel/plan_options.h"
#include "runtime/kernel/select.h"
#include "tests/runtime/elements.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#if QUERN_HAS_LLVM

namespace quern {
namespace {

struct Selection : testing::TestWithParam<bool> {
    void SetUp() override { plan_options().gpu_layout = GetParam(); }
    void TearDown() override { plan_options() = {}; }
};

TEST_P(Selection, RanksAreThoseOfASort) {
    Device& cpu = find_device("cpu");
    std::mt19937 random(3);
    for (const std::int64_t length : {1, 30, 700, 5'000, 20'000})
        for (const int splits : {0, 4}) {
            constexpr std::int64_t count = 3;
            const Array rows = Array::empty(cpu, DType::int32, {count, length}, nullptr);
            for (int& value : elements<int>(rows))
                value = static_cast<int>(random()) >> (random() % 31);
            std::vector<double> ranks{0, static_cast<double>(length - 1),
                                      static_cast<double>(length / 2),
                                      static_cast<double>(length / 3)};
            const Array q = Array::empty(cpu, DType::float64, {4}, nullptr);
            std::ranges::copy(ranks, elements<double>(q).begin());
            const Array out = Array::empty(cpu, DType::int32, {4, count}, nullptr);
            SelectCall call;
            call.splits = std::min(splits, static_cast<int>(length));
            select(rows, q, out, call);
            cpu.synchronize();
            for (std::size_t r = 0; r < count; ++r) {
                const auto row = elements<int>(rows).subspan(r * static_cast<std::size_t>(length),
                                                             static_cast<std::size_t>(length));
                std::vector<int> sorted(row.begin(), row.end());
                std::ranges::sort(sorted);
                for (std::size_t k = 0; k < ranks.size(); ++k)
                    EXPECT_EQ(elements<int>(out)[k * count + r],
                              sorted[static_cast<std::size_t>(ranks[k])])
                        << explain_select(rows, q, call);
            }
        }
}

// A graph keeps the room of a split selection, and counts from zero each time.
TEST_P(Selection, CapturedItRunsAgainOnOtherValues) {
    Device& cpu = find_device("cpu");
    const Stream stream(cpu);
    constexpr std::int64_t length = 30'000;
    const Array rows = Array::empty(cpu, DType::float32, {1, length}, stream.handle());
    const Array q = Array::empty(cpu, DType::float64, {2}, stream.handle());
    elements<double>(q)[0] = 0.25, elements<double>(q)[1] = 0.5;
    const Array out = Array::empty(cpu, DType::float32, {2, 1}, stream.handle());
    SelectCall call;
    call.method = QuantileMethod::lower;
    call.stream = stream.handle();
    call.splits = 3;
    select(rows, q, out, call); // compiles
    stream.begin_capture();
    select(rows, q, out, call);
    const Graph graph = stream.end_capture();
    std::vector<Array> others; // whatever the selection gave back is handed out now
    for (int k = 0; k < 32; ++k) {
        others.push_back(Array::empty(cpu, DType::uint8, {1024 << k % 6}, stream.handle()));
        std::ranges::fill(elements<unsigned char>(others.back()), 77);
    }
    for (const float scale : {1.0F, -2.5F}) {
        for (std::int64_t k = 0; k < length; ++k)
            elements<float>(rows)[static_cast<std::size_t>(k)] =
                scale * static_cast<float>((k * 7919) % length);
        graph.launch(stream.handle());
        stream.synchronize();
        std::vector<float> sorted(elements<float>(rows).begin(), elements<float>(rows).end());
        std::ranges::sort(sorted);
        EXPECT_EQ(elements<float>(out)[0], sorted[(length - 1) / 4]);
        EXPECT_EQ(elements<float>(out)[1], sorted[(length - 1) / 2]);
    }
    for (const Array& other : others)
        EXPECT_TRUE(std::ranges::all_of(elements<unsigned char>(other),
                                        [](unsigned char v) { return v == 77; }));
}

INSTANTIATE_TEST_SUITE_P(Layouts, Selection, testing::Bool(),
                         [](const auto& info) { return info.param ? "OfGpus" : "OfCpus"; });

} // namespace
} // namespace quern

#endif
