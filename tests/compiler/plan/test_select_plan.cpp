// The planner of selection: which road for which rows, how wide the digits, how many blocks.
#include "compiler/plan/select.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

SelectPlan plan(std::int64_t rows, std::int64_t length, std::int64_t places = 1,
                std::uint32_t item_bytes = 4, Target target = Target::gpu, int splits = 0) {
    SelectRequest request;
    request.rows = rows;
    request.length = length;
    request.places = places;
    request.item_bytes = item_bytes;
    request.target = target;
    request.processors = target == Target::gpu ? 132 : 4;
    request.force_splits = splits;
    return plan_select(request);
}

TEST(SelectPlan, RoadsByLengthAndNumberOfRows) {
    EXPECT_EQ(plan(1 << 20, 16).layout.road, SelectRoad::brief_rows);
    EXPECT_EQ(plan(1 << 20, 33).layout.road, SelectRoad::short_rows);
    EXPECT_EQ(plan(1, 1024).layout.road, SelectRoad::short_rows);
    EXPECT_EQ(plan(1 << 14, 1 << 14).layout.road, SelectRoad::whole_rows);
    EXPECT_EQ(plan(1, 2000).layout.road, SelectRoad::whole_rows);
    EXPECT_EQ(plan(1, 1 << 28).layout.road, SelectRoad::split_rows);
    EXPECT_EQ(plan(16, 1 << 24).layout.road, SelectRoad::split_rows);
    EXPECT_EQ(plan(1 << 20, 16, 1, 4, Target::cpu).layout.road, SelectRoad::short_rows);
    EXPECT_EQ(plan(1 << 20, 256, 1, 4, Target::cpu).layout.road, SelectRoad::short_rows);
    EXPECT_EQ(plan(1 << 20, 257, 1, 4, Target::cpu).layout.road, SelectRoad::whole_rows);
    EXPECT_FALSE(plan(8, 8, 1, 4, Target::cpu).layout.threads);
}

TEST(SelectPlan, ThreadsHoldTheLeastThatABriefRowNeeds) {
    for (const auto& [length, held] : {std::pair{1, 1}, {3, 4}, {17, 32}, {32, 32}})
        EXPECT_EQ(plan(100, length).layout.held, held) << length;
    EXPECT_EQ(describe(plan(1000, 33)), "short rows | sorted before");
    EXPECT_EQ(plan(1000, 33).grid, 4u); // a row a thread
}

TEST(SelectPlan, DigitsAreWideWhereFewRanksAreWanted) {
    EXPECT_EQ(describe(plan(1, 1 << 28)), "split rows | digits of 11 bits, 3 readings | 2 ranks");
    EXPECT_EQ(describe(plan(1, 1 << 28, 1, 8)),
              "split rows | digits of 11 bits, 6 readings | 2 ranks");
    EXPECT_EQ(describe(plan(1, 1 << 28, 1, 1)),
              "split rows | digits of 8 bits, 1 readings | 2 ranks");
    EXPECT_EQ(describe(plan(1, 1 << 28, 100)),
              "split rows | digits of 8 bits, 4 readings | 16 ranks");
    EXPECT_EQ(describe(plan(1, 5000)), "whole rows | digits of 8 bits, 4 readings | 2 ranks");
}

TEST(SelectPlan, LongRowsAreSampledOnACpu) {
    const auto told = [](std::int64_t rows, std::int64_t length, std::int64_t places,
                         std::uint32_t item_bytes, int splits = 0) {
        return describe(plan(rows, length, places, item_bytes, Target::cpu, splits));
    };
    EXPECT_EQ(told(1, 1 << 18, 1, 4), "whole rows | divided at pivots");
    EXPECT_EQ(told(1, 1 << 19, 1, 4), "split rows | listed between keys of 2223 values");
    EXPECT_EQ(told(100, 1 << 19, 1, 4), "whole rows | divided at pivots");
    EXPECT_EQ(told(100, 1 << 21, 1, 4), "whole rows | listed between keys of 5603 values");
    EXPECT_EQ(told(100, 1 << 21, 9, 4), "whole rows | divided at pivots");
    EXPECT_EQ(told(100, 1 << 15, 1, 2), "whole rows | listed between keys of 350 values");
    EXPECT_EQ(told(1, 1 << 28, 17, 4), "whole rows | divided at pivots");
    EXPECT_EQ(told(1, 2000, 16, 8, 3), "split rows | listed between keys of 344 values");
}

TEST(SelectPlan, ChunksCoverARow) {
    for (const std::int64_t rows : {1, 3, 200})
        for (const std::int64_t length : {std::int64_t{40'000}, std::int64_t{1} << 24})
            for (const int splits : {0, 1, 7, 100'000}) {
                const SelectPlan made = plan(rows, length, 1, 4, Target::gpu, splits);
                EXPECT_GE(made.splits * made.chunk, length);
                EXPECT_LT((made.splits - 1) * made.chunk, length);
                EXPECT_EQ(made.layout.road == SelectRoad::split_rows, made.splits > 1);
                if (made.splits > 1) {
                    EXPECT_EQ(made.grid, rows * made.splits);
                }
            }
}

} // namespace
} // namespace quern
