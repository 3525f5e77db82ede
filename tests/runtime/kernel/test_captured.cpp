// Operations that a graph may hold, replayed after what they were given is gone.
#include "runtime/kernel/concatenate.h"
#include "runtime/kernel/fill.h"
#include "runtime/kernel/partition.h"
#include "runtime/stream/stream.h"
#include "tests/runtime/elements.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#if QUERN_HAS_LLVM

namespace quern {
namespace {

// Writes over the frames of calls that are gone.
[[gnu::noinline]] void spoil_stack() {
    volatile unsigned char used[4096];
    for (unsigned char volatile& byte : used)
        byte = 0xa5;
}

TEST(Captured, FillsKeepTheirValue) {
    Device& cpu = find_device("cpu");
    const Stream stream(cpu);
    const Array one = Array::empty(cpu, DType::float64, Dims{}, stream.handle());
    fill(one, Scalar::of(1.0), stream.handle());
    stream.begin_capture();
    fill(one, Scalar::of(5.0), stream.handle());
    const Graph graph = stream.end_capture();
    spoil_stack();
    EXPECT_EQ(elements<double>(one)[0], 1.0);
    for (int turn = 0; turn < 2; ++turn) {
        elements<double>(one)[0] = 2.0;
        graph.launch(stream.handle());
        stream.synchronize();
        EXPECT_EQ(elements<double>(one)[0], 5.0);
    }
}

TEST(Captured, PartitionsKeepTheirPlaces) {
    Device& cpu = find_device("cpu");
    const Stream stream(cpu);
    constexpr std::int64_t length = 1000;
    const Array rows = Array::empty(cpu, DType::int32, Dims{1, length}, stream.handle());
    const Array out = Array::empty(cpu, DType::int32, Dims{1, length}, stream.handle());
    std::ranges::fill(elements<int>(rows), 0);
    const auto divide = [&](std::vector<std::int64_t> wanted) {
        partition_rows(rows, &out, nullptr, wanted, stream.handle());
    };
    divide({3}); // compiles
    stream.begin_capture();
    divide({100, 700});
    const Graph graph = stream.end_capture();
    std::mt19937 random(9);
    for (int turn = 0; turn < 3; ++turn) {
        for (int& value : elements<int>(rows))
            value = static_cast<int>(random());
        graph.launch(stream.handle());
        stream.synchronize();
        std::vector<int> sorted(elements<int>(rows).begin(), elements<int>(rows).end());
        std::ranges::sort(sorted);
        EXPECT_EQ(elements<int>(out)[100], sorted[100]);
        EXPECT_EQ(elements<int>(out)[700], sorted[700]);
    }
}

TEST(Captured, JoinsOfManyReadTheirParts) {
    Device& cpu = find_device("cpu");
    const Stream stream(cpu);
    set_current_stream(cpu, stream.handle());
    constexpr std::int64_t count = 40, length = 9;
    std::vector<Array> parts;
    for (int k = 0; k < count; ++k)
        parts.push_back(Array::empty(cpu, DType::int32, Dims{length, 1}, stream.handle()));
    for (const std::int64_t axis : {0, 1}) {
        ConcatenateCall call;
        call.axis = axis;
        static_cast<void>(concatenate(parts, call)); // compiles
        stream.begin_capture();
        const Array joined = concatenate(parts, call);
        const Graph graph = stream.end_capture();
        spoil_stack();
        for (int turn = 0; turn < 2; ++turn) {
            for (int k = 0; k < count; ++k)
                for (int i = 0; i < length; ++i)
                    elements<int>(parts[static_cast<std::size_t>(k)])[static_cast<std::size_t>(i)] =
                        100 * k + i + turn;
            graph.launch(stream.handle());
            stream.synchronize();
            for (int k = 0; k < count; ++k)
                for (int i = 0; i < length; ++i)
                    ASSERT_EQ(elements<int>(joined)[static_cast<std::size_t>(
                                  axis == 0 ? k * length + i : i * count + k)],
                              100 * k + i + turn);
        }
    }
    set_current_stream(cpu, nullptr);
}

} // namespace
} // namespace quern

#endif
