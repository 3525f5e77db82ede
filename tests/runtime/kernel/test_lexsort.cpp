// Orders by several keys from C++ on the CPU device, against a stable sort.
#include "runtime/kernel/lexsort.h"
#include "runtime/stream/stream.h"
#include "tests/runtime/elements.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#if QUERN_HAS_LLVM

namespace quern {
namespace {

// Keys of int64 of which the first few stand in order, each with many that are alike.
std::vector<Array> keys_of(std::int64_t rows, std::int64_t length, int count, int in_order) {
    std::mt19937 random(7);
    std::vector<Array> keys;
    for (int k = 0; k < count; ++k) {
        keys.push_back(Array::empty(find_device("cpu"), DType::int64, Dims{rows, length}, nullptr));
        const auto values = elements<std::int64_t>(keys.back());
        for (std::int64_t& value : values)
            value = static_cast<std::int64_t>(random() % 9);
        if (k < in_order)
            std::ranges::sort(values);
    }
    return keys;
}

void expect_order(const std::vector<Array>& keys, const Array& found) {
    const auto length = static_cast<std::size_t>(found.shape()[1]);
    for (std::size_t first = 0; first < elements<std::int64_t>(found).size(); first += length) {
        std::vector<std::int64_t> order(length);
        std::iota(order.begin(), order.end(), 0);
        for (const Array& key : keys)
            std::ranges::stable_sort(order, {}, [&](std::int64_t place) {
                return elements<std::int64_t>(key)[first + static_cast<std::size_t>(place)];
            });
        EXPECT_TRUE(
            std::ranges::equal(order, elements<std::int64_t>(found).subspan(first, length)));
    }
}

TEST(Lexsort, SortsRowsByTheLastKeyFirst) {
    for (const std::int64_t length : {1, 40, 3'000, 70'000})
        for (const std::int64_t rows : {1, 3})
            for (const int in_order : {0, 1, 3}) {
                const std::vector<Array> keys = keys_of(rows, length, 3, in_order);
                const Array found = lexsort(keys);
                find_device("cpu").synchronize();
                expect_order(keys, found);
            }
}

// What stands in order is looked for where the host may wait, which a capture forbids.
TEST(Lexsort, CapturedItRunsAgainOnOtherKeys) {
    Device& cpu = find_device("cpu");
    const Stream stream(cpu);
    set_current_stream(cpu, stream.handle());
    const std::vector<Array> keys = keys_of(1, 20'000, 2, 0), others = keys_of(1, 20'000, 2, 2);
    static_cast<void>(lexsort(keys)); // compiles
    stream.begin_capture();
    const Array found = lexsort(others);
    const Graph graph = stream.end_capture();
    set_current_stream(cpu, nullptr);
    for (std::size_t k = 0; k < keys.size(); ++k)
        std::ranges::copy(elements<std::int64_t>(keys[k]),
                          elements<std::int64_t>(others[k]).begin());
    graph.launch(stream.handle());
    stream.synchronize();
    expect_order(keys, found);
}

} // namespace
} // namespace quern

#endif
