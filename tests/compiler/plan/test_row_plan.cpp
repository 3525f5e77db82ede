// The plan of row kernels: who holds how much of a row, and when other kernels do better.
#include "compiler/plan/rows.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

struct Case {
    std::vector<std::int64_t> shape;
    std::uint64_t reduced;
    std::vector<std::int64_t> in{}, out{}; // strides
    std::uint64_t address = 4096;
    std::int64_t most_steps = 0;
};

std::optional<RowPlan> plan(const Case& given) {
    const int ndim = static_cast<int>(given.shape.size());
    const std::array operands{
        Operand{given.shape.data(), given.in.data(), ndim, 4, given.address, false},
        Operand{given.shape.data(), given.out.data(), ndim, 4, 8192, true}};
    RowRequest request;
    request.shape = given.shape;
    request.reduced = given.reduced;
    request.operands = operands;
    request.processors = 132;
    request.most_steps = given.most_steps;
    RowPlan made;
    return plan_rows(request, made) ? std::optional(made) : std::nullopt;
}

Case rows(std::int64_t count, std::int64_t length) {
    return {{count, length}, 2, {4 * length, 4}, {4 * length, 4}};
}

TEST(RowPlan, AWarpHoldsARowOfAThousand) {
    const auto made = plan(rows(65536, 1024));
    ASSERT_TRUE(made);
    EXPECT_EQ(describe(made->layout),
              "rows held x4, 8 packs | kept 1 | contiguous contiguous | 32-bit | 256 threads");
    EXPECT_EQ(made->group_bits, 5);
    EXPECT_EQ(made->grid, 65536U / 8);
}

TEST(RowPlan, ShortRowsShareAWarp) {
    const auto made = plan(rows(1 << 20, 64));
    ASSERT_TRUE(made);
    EXPECT_EQ(made->layout.packs, 4);
    EXPECT_EQ(made->group_bits, 2);
}

TEST(RowPlan, LongRowsTakeTheBlock) {
    const auto made = plan(rows(8192, 8192));
    ASSERT_TRUE(made);
    EXPECT_EQ(made->group_bits, 8);
    EXPECT_EQ(made->layout.packs, 8);
    EXPECT_FALSE(made->layout.rest);
}

TEST(RowPlan, WhatIsNotHeldIsReadAgain) {
    const auto made = plan(rows(1024, 131072));
    ASSERT_TRUE(made);
    EXPECT_EQ(made->layout.block, 1024);
    EXPECT_TRUE(made->layout.rest);
    EXPECT_FALSE(plan(rows(100, 131072))); // too few to fill the device
}

TEST(RowPlan, OddRowsGoElementByElementOrMasked) {
    const auto odd = plan(rows(1000, 1023));
    ASSERT_TRUE(odd);
    EXPECT_EQ(odd->layout.lanes, 1);
    const auto masked = plan({{1000, 1023}, 2, {4096, 4}, {4096, 4}});
    ASSERT_TRUE(masked);
    EXPECT_EQ(masked->layout.lanes, 4);
    EXPECT_TRUE(masked->layout.masked);
}

TEST(RowPlan, RefusesColumnsAndNarrowSums) {
    EXPECT_FALSE(plan({{1024, 1024}, 1, {4096, 4}, {4096, 4}}));
    Case narrow = rows(1024, 8192);
    narrow.most_steps = 8;
    EXPECT_FALSE(plan(narrow));
}

} // namespace
} // namespace quern
