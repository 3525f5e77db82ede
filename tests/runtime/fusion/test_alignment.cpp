// Random views of one memory: an alignment visits the same addresses in the stretch's order, and
// takes every other array along.
#include "runtime/array/views.h"
#include "runtime/fusion/alignment.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace quern {
namespace {

constexpr std::uint64_t base = 1 << 20;

Array dense(const Dims& shape, Order order = Order::c) {
    return Array(BufferPtr(), base, DType::float32, shape, dense_strides(shape, 4, order));
}

// Calls visit(address) for every element in C order.
template <class Visit> void each_address(const Array& array, const Visit& visit) {
    for (std::int64_t k = 0; k < array.size(); ++k) {
        std::uint64_t address = array.address();
        std::int64_t rest = k;
        for (int d = array.ndim(); d-- > 0; rest /= array.shape()[d])
            address += static_cast<std::uint64_t>(rest % array.shape()[d] * array.strides()[d]);
        visit(address);
    }
}

std::vector<std::uint64_t> addresses(const Array& array) {
    std::vector<std::uint64_t> found;
    each_address(array, [&](std::uint64_t address) { found.push_back(address); });
    return found;
}

Dims drawn_shape(std::mt19937& random) {
    static constexpr std::array extents{1, 2, 3, 4, 6};
    Dims shape(random() % 4 + 1);
    for (int d = 0; d < shape.size(); ++d)
        shape[d] = extents[random() % extents.size()];
    return shape;
}

// Of axes turned, reversed, split and joined.
Array drawn_view(Array array, std::mt19937& random) {
    for (int k = 0; k < 4; ++k)
        switch (random() % 4) {
        case 0: {
            array = swapaxes(array, static_cast<int>(random()) % array.ndim(), 0);
            break;
        }
        case 1: {
            const int axis = static_cast<int>(random() % static_cast<unsigned>(array.ndim()));
            const std::int64_t extent = array.shape()[axis];
            array = slice(array, axis, {extent - 1, -1, extent});
            break;
        }
        case 2:
            if (auto flat = reshape_view(array, {array.size()}))
                array = *flat;
            break;
        default:
            for (const std::int64_t inner : {2, 3})
                if (array.size() % inner == 0)
                    if (auto two = reshape_view(array, {array.size() / inner, inner}))
                        array = *two;
        }
    return array;
}

TEST(Alignment, ViewsOfOneMemoryVisitTheSameElements) {
    std::mt19937 random(7);
    int found = 0;
    for (int turn = 0; turn < 3000; ++turn) {
        const Array known = drawn_view(dense(drawn_shape(random)), random),
                    seen = drawn_view(known, random),
                    other = dense(seen.shape(), turn % 2 == 0 ? Order::c : Order::f);
        const auto alignment = align(known, seen);
        if (!alignment)
            continue;
        ++found;
        // In the stretch's order: what it made, in parts, is what the call sees.
        ASSERT_EQ(addresses(alignment->seen(seen, seen.shape())), addresses(known));
        std::map<std::uint64_t, std::uint64_t> beside;
        const auto of_seen = addresses(seen), of_other = addresses(other);
        for (std::size_t k = 0; k < of_seen.size(); ++k)
            beside[of_seen[k]] = of_other[k];
        const auto moved = addresses(alignment->seen(other, seen.shape())),
                   of_known = addresses(known);
        for (std::size_t k = 0; k < moved.size(); ++k)
            ASSERT_EQ(moved[k], beside.at(of_known[k])) << "turn " << turn;
    }
    EXPECT_GT(found, 2900); // reversed axes that are joined to others have no one direction
}

TEST(Alignment, AxesFallIntoCommonParts) {
    // Groups of channels, and channels: 2 x 3 x (4 * 5 * 6) against 2 x 12 x 5 x 6.
    const Array known = dense({2, 3, 120}), seen = *reshape_view(known, {2, 12, 5, 6});
    const auto alignment = align(known, seen);
    ASSERT_TRUE(alignment);
    EXPECT_EQ(alignment->parts, (std::vector<std::vector<std::int64_t>>{{2}, {3}, {4, 5, 6}}));
    EXPECT_EQ(alignment->extents(), (Dims{2, 3, 4, 5, 6}));
    const Array gain(BufferPtr(), base, DType::float32, {12, 1, 1}, {4, 4, 4}); // a channel's
    EXPECT_EQ(alignment->seen(gain, seen.shape()).strides(), (Dims{0, 16, 4, 0, 0}));
}

TEST(Alignment, RowsHaveNoElementsAlongReducedAxes) {
    const Array row(BufferPtr(), base, DType::float32, {5, 6}, {4, 0});
    const auto alignment = align(row, dense({1, 5}));
    ASSERT_TRUE(alignment);
    EXPECT_EQ(alignment->extents(), (Dims{5, 1}));
    EXPECT_EQ(alignment->axes[1].of, -1);
}

TEST(Alignment, OtherElementsAreRefused) {
    const Array known = dense({4, 6});
    EXPECT_FALSE(align(known, slice(known, 0, {0, 1, 3})));
    EXPECT_FALSE(align(known, slice(known, 1, {0, 2, 3})));
    EXPECT_FALSE(align(known, broadcast_to(dense({6}), {4, 6})));
    EXPECT_FALSE(align(known, dense({4, 3}, Order::f)));
    EXPECT_FALSE(align(known, dense({0})));
    EXPECT_FALSE(align(known, Array(BufferPtr(), base, DType::int32, {4, 6}, {24, 4})));
    EXPECT_FALSE(align(known, Array(BufferPtr(), base + 4, DType::float32, {4, 6}, {24, 4})));
    EXPECT_FALSE(align(dense({4, 6}), dense({6, 5})));
    EXPECT_TRUE(align(known, transpose(known)));
}

} // namespace
} // namespace quern
