// Kernels run from C++ on the CPU device, without Python; threads that miss together compile once;
// more than 2^31 elements.
#include "compiler/base/carrier.h"
#include "compiler/base/error.h"
#include "compiler/ops/line_kernel.h"
#include "runtime/array/views.h"
#include "runtime/kernel/elementwise.h"
#include "runtime/kernel/fill.h"
#include "tests/runtime/elements.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <thread>

#include <unistd.h>

#if QUERN_HAS_LLVM

namespace quern {
namespace {

ElementwiseText text_of(const char* in, const char* out, const char* operation,
                        const char* name = "kernel") {
    ElementwiseText text;
    text.name = name;
    text.in_params = in;
    text.out_params = out;
    text.operation = operation;
    return text;
}

TEST(OnCpu, AKernelStringBecomesAResult) {
    Device& cpu = find_device("cpu");
    Array x = Array::empty(cpu, DType::float64, {1000}, nullptr);
    std::mt19937 random(1);
    for (double& value : elements<double>(x))
        value = std::uniform_real_distribution(-3.0, 3.0)(random);
    ElementwiseKernel kernel(text_of("T x, T a", "T y", "y = a * x * x - x"));
    const Argument args[] = {Argument::of(x), Argument::of(Scalar::of(1.5))};
    const std::vector<Array> made = kernel(args);
    for (std::size_t k = 0; k < 1000; ++k) {
        const double value = elements<double>(x)[k];
        ASSERT_EQ(elements<double>(made.at(0))[k], 1.5 * value * value - value);
    }
}

// Every way to write lines, those of GPUs too, gives one line from each array.
TEST(OnCpu, LinesOfElements) {
    Device& cpu = find_device("cpu");
    std::mt19937 random(2);
    for (const std::int64_t bytes : {1, 2, 4, 8})
        for (const std::size_t parts : {2, 3, 4, 8}) {
            const std::int64_t count = 137, many = static_cast<std::int64_t>(parts);
            std::vector<Array> arrays;
            for (std::size_t k = 0; k < parts; ++k) {
                arrays.push_back(Array::empty(cpu, *carrier_of(bytes), {count}, nullptr));
                auto* const own = reinterpret_cast<unsigned char*>(arrays.back().address());
                std::generate_n(own, count * bytes,
                                [&] { return static_cast<unsigned char>(random()); });
            }
            for (const LineWay way : {LineWay::words, LineWay::stored, LineWay::found}) {
                const auto line = line_type(parts, bytes);
                if (way == LineWay::words && !line)
                    continue;
                const Array lines =
                    way == LineWay::words
                        ? Array::empty(cpu, *line, {count}, nullptr)
                        : Array::empty(cpu, *carrier_of(bytes), {count * many}, nullptr);
                std::vector<Argument> args;
                for (const Array& array : arrays)
                    args.push_back(Argument::of(array));
                args.push_back(Argument::of(lines));
                ElementwiseKernel kernel(line_spec({way, parts, bytes}));
                kernel(args);
                for (std::int64_t k = 0; k < count * many; ++k)
                    ASSERT_EQ(
                        std::memcmp(reinterpret_cast<char*>(lines.address()) + k * bytes,
                                    reinterpret_cast<char*>(
                                        arrays[static_cast<std::size_t>(k % many)].address()) +
                                        k / many * bytes,
                                    static_cast<std::size_t>(bytes)),
                        0)
                        << parts << " parts of " << bytes << " bytes, element " << k;
            }
        }
}

TEST(OnCpu, PiecesOfLinesComeFromTheirArrays) {
    Device& cpu = find_device("cpu");
    std::mt19937 random(8);
    for (const std::int64_t bytes : {1, 2, 4, 8, 16})
        for (const std::size_t parts : {2, 3, 8})
            for (const std::int64_t lines : {1, 5}) {
                std::vector<Array> arrays;
                std::vector<Argument> args;
                std::vector<std::int64_t> ends;
                arrays.reserve(parts + 1);
                for (std::size_t k = 0; k < parts; ++k) {
                    const std::int64_t count = 1 + static_cast<std::int64_t>(random() % 40);
                    ends.push_back((k ? ends.back() : 0) + count);
                    arrays.push_back(
                        Array::empty(cpu, *carrier_of(bytes), {lines * count}, nullptr));
                    auto* const own = reinterpret_cast<unsigned char*>(arrays.back().address());
                    std::generate_n(own, lines * count * bytes,
                                    [&] { return static_cast<unsigned char>(random()); });
                    args.push_back(Argument::of(arrays.back()));
                }
                for (const std::int64_t end : ends)
                    args.push_back(Argument::of(Scalar::of(end)));
                arrays.push_back(
                    Array::empty(cpu, *carrier_of(bytes), {lines * ends.back()}, nullptr));
                args.push_back(Argument::of(arrays.back()));
                ElementwiseKernel kernel(piece_spec({parts, bytes, lines > 1}));
                kernel(args);
                const auto* made = reinterpret_cast<const char*>(arrays.back().address());
                for (std::int64_t line = 0; line < lines; ++line)
                    for (std::size_t k = 0; k < parts; ++k) {
                        const auto own = static_cast<std::size_t>(arrays[k].nbytes() / lines);
                        ASSERT_EQ(std::memcmp(made,
                                              reinterpret_cast<const char*>(arrays[k].address()) +
                                                  static_cast<std::size_t>(line) * own,
                                              own),
                                  0)
                            << parts << " parts of " << bytes << " bytes, line " << line
                            << ", part " << k;
                        made += own;
                    }
            }
}

TEST(OnCpu, ThreadsThatMissTogetherCompileOnce) {
    Device& cpu = find_device("cpu");
    const std::string name = "together_" + std::to_string(getpid());
    ElementwiseKernel kernel(text_of("T x", "T y", "y = x * 3 + 1", name.c_str()));
    Array x = Array::empty(cpu, DType::int32, {64}, nullptr);
    for (int& value : elements<int>(x))
        value = 7;
    const std::uint64_t before = process_cache().stats().compiles;
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (int k = 0; k < 8; ++k)
        threads.emplace_back([&] {
            const Argument args[] = {Argument::of(x)};
            const std::vector<Array> made = kernel(args);
            for (const int value : elements<int>(made.at(0)))
                wrong += value != 22;
        });
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(process_cache().stats().compiles, before + 1);
}

TEST(OnCpu, CopiesCastAndBroadcast) {
    Device& cpu = find_device("cpu");
    Array row = Array::empty(cpu, DType::float32, {5}, nullptr),
          target = Array::empty(cpu, DType::int16, {3, 5}, nullptr);
    for (std::size_t k = 0; k < 5; ++k)
        elements<float>(row)[k] = static_cast<float>(k) * -1.75f;
    copy_into(target, row, nullptr);
    for (std::size_t k = 0; k < 15; ++k)
        EXPECT_EQ(elements<std::int16_t>(target)[k],
                  static_cast<std::int16_t>(static_cast<float>(k % 5) * -1.75f));
    // Overlapping views are read before they are written.
    Array line = Array::empty(cpu, DType::int32, {10}, nullptr);
    for (std::size_t k = 0; k < 10; ++k)
        elements<int>(line)[k] = static_cast<int>(k);
    copy_into(slice(line, 0, {1, 1, 9}), slice(line, 0, {0, 1, 9}), nullptr);
    for (std::size_t k = 0; k < 10; ++k)
        EXPECT_EQ(elements<int>(line)[k], k == 0 ? 0 : static_cast<int>(k) - 1);
}

TEST(OnCpu, MoreThanTwoToTheThirtyFirstElements) {
    constexpr std::int64_t size = (std::int64_t{1} << 31) + 4099;
    if (static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
            static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) <
        (12ull << 30))
        GTEST_SKIP() << "this needs 12 GiB of memory";
    Device& cpu = find_device("cpu");
    Array x = Array::empty(cpu, DType::int8, {size}, nullptr);
    fill(x, Scalar::of(std::int64_t{3}), nullptr);
    ElementwiseKernel kernel(text_of("T x", "T y", "y = x + T(i >> 24)"));
    const Argument args[] = {Argument::of(x)};
    const std::vector<Array> made = kernel(args);
    const auto result = elements<std::int8_t>(made.at(0));
    for (const std::int64_t at :
         {std::int64_t{0}, (std::int64_t{1} << 24) - 1, std::int64_t{1} << 24,
          (std::int64_t{1} << 31) - 1, std::int64_t{1} << 31, size - 1})
        EXPECT_EQ(result[static_cast<std::size_t>(at)], static_cast<std::int8_t>(3 + (at >> 24)))
            << at;
    // A reversed view of it, too.
    const Array back = slice(x, 0, {size - 1, -1, size});
    elements<std::int8_t>(x)[0] = 100;
    const Argument reversed[] = {Argument::of(back)};
    ElementwiseKernel same(text_of("T x", "T y", "y = x"));
    const std::vector<Array> copied = same(reversed);
    EXPECT_EQ(elements<std::int8_t>(copied.at(0))[static_cast<std::size_t>(size - 1)], 100);
    EXPECT_EQ(elements<std::int8_t>(copied.at(0))[0], 3);
}

TEST(OnCpu, BadArgumentsAreRefusedBeforeAnythingIsCompiled) {
    Device& cpu = find_device("cpu");
    Array x = Array::empty(cpu, DType::float32, {3}, nullptr),
          y = Array::empty(cpu, DType::float32, {4}, nullptr);
    ElementwiseKernel kernel(text_of("T x, T y", "T z", "this is not C++"));
    const Argument args[] = {Argument::of(x), Argument::of(y)};
    try {
        static_cast<void>(kernel(args));
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::value);
        EXPECT_NE(std::string(error.what()).find("(3,) (4,)"), std::string::npos) << error.what();
    }
}

} // namespace
} // namespace quern

#endif
