// Contractions from C++ on the CPU device, by its library and as reductions, against plain loops.
#include "runtime/kernel/product.h"

#include "compiler/base/error.h"
#include "runtime/array/views.h"
#include "runtime/stream/stream.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#if QUERN_HAS_LLVM

namespace quern {
namespace {

double* elements(const Array& array) { return reinterpret_cast<double*>(array.address()); }

Array random_array(Device& device, const Dims& shape, std::uint32_t seed,
                   CUstream stream = nullptr) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> values(-1, 1);
    const Array made = Array::empty(device, DType::float64, shape, stream);
    for (std::int64_t k = 0; k < made.size(); ++k)
        elements(made)[k] = values(random);
    return made;
}

void expect_product(const Array& a, const Array& b, const Array& found) {
    const std::int64_t m = a.shape()[0], k = a.shape()[1], n = b.shape()[1];
    const auto at = [](const Array& array, std::int64_t i, std::int64_t j) {
        return *reinterpret_cast<const double*>(
            array.address() +
            static_cast<std::uint64_t>(i * array.strides()[0] + j * array.strides()[1]));
    };
    for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
            long double sum = 0;
            for (std::int64_t l = 0; l < k; ++l)
                sum += static_cast<long double>(at(a, i, l)) * at(b, l, j);
            ASSERT_NEAR(at(found, i, j), static_cast<double>(sum), 1e-13) << i << ", " << j;
        }
}

TEST(Product, OfMatricesInEveryLayoutIsThatOfLoops) {
    Device& cpu = find_device("cpu");
    for (const auto& [m, k, n] : {std::array{2, 3, 4}, {5, 1, 7}, {40, 30, 50}, {64, 64, 1}}) {
        const Array a = random_array(cpu, {m, k}, 1), b = random_array(cpu, {k, n}, 2),
                    at = random_array(cpu, {k, m}, 3), bt = random_array(cpu, {n, k}, 4);
        for (const Array& left : {a, transpose(at)})
            for (const Array& right : {b, transpose(bt)})
                expect_product(left, right, matmul(left, right));
        const Array wide = random_array(cpu, {m, 2 * k}, 5);
        const Array stepped = slice(wide, 1, {0, 2, k});
        expect_product(stepped, b, matmul(stepped, b));
        const Array turned = Array::empty(cpu, DType::float64, {n, m}, nullptr);
        ProductCall into;
        const Array out = transpose(turned);
        into.out = &out;
        static_cast<void>(matmul(a, b, into));
        expect_product(a, b, transpose(turned));
    }
}

TEST(Product, SumsOverAllLabelsThatTheResultLacks) {
    Device& cpu = find_device("cpu");
    const Array a = random_array(cpu, {3, 4, 5}, 6), b = random_array(cpu, {5, 3}, 7);
    constexpr std::array labels_a{0, 1, 2};
    constexpr std::array labels_b{2, 0};
    constexpr std::array labels{1};
    const Array found = contract(a, labels_a, b, labels_b, labels);
    for (std::int64_t j = 0; j < 4; ++j) {
        long double sum = 0;
        for (std::int64_t i = 0; i < 3; ++i)
            for (std::int64_t l = 0; l < 5; ++l)
                sum += static_cast<long double>(elements(a)[(i * 4 + j) * 5 + l]) *
                       elements(b)[l * 3 + i];
        EXPECT_NEAR(elements(found)[j], static_cast<double>(sum), 1e-13);
    }
}

TEST(Product, OfAllElementsInAnyLayout) {
    Device& cpu = find_device("cpu");
    const Array a = random_array(cpu, {30, 40}, 12), b = random_array(cpu, {40, 30}, 13),
                c = Array::empty(cpu, DType::complex128, {30, 40}, nullptr);
    long double sum = 0;
    for (std::int64_t i = 0; i < 30; ++i)
        for (std::int64_t j = 0; j < 40; ++j) {
            sum += static_cast<long double>(elements(a)[i * 40 + j]) * elements(b)[j * 30 + i];
            elements(c)[2 * (i * 40 + j)] = elements(b)[j * 30 + i]; // its imaginary part:
            elements(c)[2 * (i * 40 + j) + 1] = elements(a)[i * 40 + j];
        }
    EXPECT_NEAR(*elements(vdot(a, transpose(b))), static_cast<double>(sum), 1e-13);
    const Array conjugated = vdot(c, a);
    EXPECT_NEAR(elements(conjugated)[0], static_cast<double>(sum), 1e-13);
    EXPECT_LT(elements(conjugated)[1], -100);
    EXPECT_GT(elements(vdot(a, c))[1], 100);
    EXPECT_THROW(static_cast<void>(vdot(a, b)), ValueError);
}

TEST(Product, WhatDoesNotFitIsRefusedAndNothingIsLost) {
    Device& cpu = find_device("cpu");
    const Array a = random_array(cpu, {3, 4}, 8), b = random_array(cpu, {3, 4}, 9);
    EXPECT_THROW(static_cast<void>(matmul(a, b)), ValueError);
    EXPECT_THROW(static_cast<void>(dot(a, b)), ValueError);
    const std::array<std::int64_t, 2> twice{0, 0};
    EXPECT_THROW(static_cast<void>(tensordot(a, twice, b, twice)), ValueError);
    const Array whole = Array::empty(cpu, DType::int32, {3, 3}, nullptr);
    ProductCall into;
    into.out = &whole;
    EXPECT_THROW(static_cast<void>(matmul(a, transpose(b), into)), TypeError);
    expect_product(a, transpose(b), matmul(a, transpose(b)));
}

// A graph keeps what the library was called with, and copies that the layout asked for.
TEST(Product, CapturedItRunsAgainOnOtherValues) {
    Device& cpu = find_device("cpu");
    const Stream stream(cpu);
    set_current_stream(cpu, stream.handle());
    const Array a = random_array(cpu, {40, 30}, 10, stream.handle()),
                wide = random_array(cpu, {30, 80}, 11, stream.handle()),
                out = Array::empty(cpu, DType::float64, {40, 40}, stream.handle());
    const Array b = slice(wide, 1, {0, 2, 40});
    ProductCall into;
    into.out = &out;
    static_cast<void>(matmul(a, b, into)); // compiles the copy
    stream.begin_capture();
    static_cast<void>(matmul(a, b, into));
    const Graph graph = stream.end_capture();
    for (int round = 0; round < 2; ++round) {
        for (std::int64_t k = 0; k < wide.size(); ++k)
            elements(wide)[k] += 0.5;
        graph.launch(stream.handle());
        stream.synchronize();
        expect_product(a, b, out);
    }
    set_current_stream(cpu, nullptr);
}

} // namespace
} // namespace quern

#endif
