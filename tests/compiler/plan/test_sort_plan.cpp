// The planner of sorts: which road for which rows, and how much a block holds.
#include "compiler/plan/sort.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

SortPlan plan(std::int64_t rows, std::int64_t length, std::uint32_t item_bytes = 4,
              Target target = Target::gpu, bool pairs = false) {
    SortRequest request;
    request.rows = rows;
    request.length = length;
    request.item_bytes = item_bytes;
    request.pairs = pairs;
    request.target = target;
    request.processors = target == Target::gpu ? 132 : 4;
    return plan_sort(request);
}

TEST(SortPlan, RoadsByLengthAndSizeOfValues) {
    EXPECT_EQ(plan(1 << 20, 16).layout.road, SortRoad::short_rows);
    for (const auto& [bytes, longest] : {std::pair{1, 256}, {2, 256}, {4, 640}, {8, 1024}}) {
        const auto item = static_cast<std::uint32_t>(bytes);
        EXPECT_EQ(plan(1, longest, item).layout.road, SortRoad::short_rows) << bytes;
        EXPECT_EQ(plan(1, longest + 1, item).layout.road, SortRoad::whole_rows) << bytes;
    }
    EXPECT_EQ(plan(1, 513, 4, Target::gpu, true).layout.road, SortRoad::whole_rows);
    EXPECT_EQ(plan(1, 8192).layout.road, SortRoad::whole_rows);
    EXPECT_EQ(plan(1, 8193).layout.road, SortRoad::split_rows);
    EXPECT_EQ(plan(1, 4097, 8).layout.road, SortRoad::split_rows);
    EXPECT_EQ(plan(1, 2049, 16).layout.road, SortRoad::split_rows);
    EXPECT_EQ(plan(9, 256, 4, Target::cpu).layout.road, SortRoad::short_rows);
    EXPECT_EQ(plan(9, 1 << 20, 4, Target::cpu).layout.road, SortRoad::whole_rows);
    EXPECT_EQ(plan(1, 1 << 20, 4, Target::cpu).layout.road, SortRoad::dealt_rows);
    EXPECT_EQ(plan(1, 1 << 14, 4, Target::cpu).layout.road, SortRoad::whole_rows);
}

TEST(SortPlan, BlocksOfGpusHoldAsMuchAsTheirSharedMemory) {
    for (const auto& [bytes, tile] :
         {std::pair{1, 6144}, {2, 6144}, {4, 6144}, {8, 3840}, {16, 1920}}) {
        const SortPlan made = plan(1, 1 << 24, static_cast<std::uint32_t>(bytes));
        EXPECT_EQ(made.tile, tile) << bytes;
        EXPECT_EQ(made.layout.held * made.layout.block, tile);
        EXPECT_GE(made.splits * tile, 1 << 24);
        EXPECT_LT((made.splits - 1) * tile, 1 << 24);
        EXPECT_EQ(made.grid, made.splits);
        EXPECT_EQ(made.passes, bytes);
    }
    EXPECT_EQ(plan(1, std::int64_t{1} << 31, 1, Target::gpu, true).tile, 3840); // wide places
}

TEST(SortPlan, ThreadsHoldTheLeastThatARowNeedsFromEightOnByFours) {
    for (const auto& [length, held] :
         {std::pair{700, 3}, {1024, 4}, {1025, 5}, {2048, 8}, {2049, 12}, {8192, 32}})
        EXPECT_EQ(plan(100, length).layout.held, held) << length;
}

TEST(SortPlan, RowsThatAreMergedHaveThreadsOfTheirOwn) {
    for (const auto& [length, held] :
         {std::pair{1, 2}, {2, 2}, {3, 4}, {5, 8}, {63, 8}, {64, 16}, {640, 16}}) {
        const SortPlan made = plan(1 << 20, length);
        EXPECT_EQ(made.layout.held, held) << length;
        EXPECT_LE(made.rows_per_block * ((length + held - 1) / held), made.layout.block);
    }
    EXPECT_EQ(plan(1, 200, 8).layout.held, 8);
    EXPECT_EQ(plan(1, 200, 4, Target::gpu, true).layout.held, 8);
}

TEST(SortPlan, ShortRowsFillBlocks) {
    for (const std::int64_t length : {1, 7, 100, 1024})
        for (const Target target : {Target::gpu, Target::cpu}) {
            const std::int64_t rows = 100'000;
            const SortPlan made = plan(rows, length > 256 ? 256 : length, 4, target);
            EXPECT_GE(made.grid * made.rows_per_block, rows);
            EXPECT_LT((made.grid - 1) * made.rows_per_block, rows);
        }
}

TEST(SortPlan, CountsAreWideWhereTheyMustBe) {
    EXPECT_FALSE(plan(1, (std::int64_t{1} << 30) - 1).layout.wide);
    EXPECT_TRUE(plan(1, std::int64_t{1} << 30).layout.wide);
}

TEST(SortPlan, BlocksOfTheCpuShareARow) {
    EXPECT_EQ(plan(2, 1 << 20, 4, Target::cpu).layout.road, SortRoad::dealt_rows);
    EXPECT_EQ(plan(1, 1 << 20, 16, Target::cpu, true).layout.road, SortRoad::dealt_rows);
    EXPECT_EQ(plan(4, 1 << 20, 8, Target::cpu).layout.road, SortRoad::whole_rows);
    EXPECT_EQ(plan(1, 1 << 20, 2, Target::cpu, true).layout.road, SortRoad::split_rows);
    EXPECT_EQ(plan(1, 1 << 20, 2, Target::cpu).layout.road, SortRoad::whole_rows); // counted
}

TEST(SortPlan, CellsOfTheCpuAreSomeForEachBlock) {
    SortRequest request;
    request.target = Target::cpu;
    request.length = 1 << 26;
    for (const auto& [processors, cells] : {std::pair{2, 8}, {4, 16}, {16, 64}, {64, 64}}) {
        request.processors = processors;
        const SortPlan made = plan_sort(request);
        EXPECT_EQ(made.cells, cells);
        EXPECT_EQ(made.splits, processors);
        EXPECT_GE(made.splits * made.tile, request.length);
    }
    request.processors = 2;
    request.force = SortRoad::dealt_rows;
    for (const std::int64_t length : {1, 2, 15, 16, 33, 500}) { // keys enough to choose from
        request.length = length;
        EXPECT_LE(plan_sort(request).cells, std::max<std::int64_t>(length / 16, 1));
    }
}

TEST(SortPlan, VectorsOfTheCpuDivideRowsAndCells) {
    SortRequest request;
    request.target = Target::cpu;
    request.vector_bytes = 32;
    request.processors = 4;
    const auto made = [&](std::int64_t rows, std::int64_t length) {
        request.rows = rows;
        request.length = length;
        return plan_sort(request);
    };
    EXPECT_EQ(made(16, 256).layout.road, SortRoad::short_rows); // as many as lanes
    EXPECT_EQ(made(15, 256).layout.road, SortRoad::whole_rows);
    EXPECT_EQ(made(16, 257).layout.road, SortRoad::whole_rows);
    EXPECT_EQ(made(1, 1 << 20).layout.road, SortRoad::dealt_rows);
    EXPECT_EQ(made(1, 1 << 20).splits, 4);
    EXPECT_EQ(describe(made(1, 1 << 20)),
              "dealt rows | by 4 blocks into 16 cells a row, divided at pivots");
    EXPECT_EQ(describe(made(1, 1 << 14)), "whole rows | divided at pivots, 1 row a block");
    EXPECT_EQ(made(4, 1 << 20).layout.vectors, 32);
    request.vector_bytes = 64;
    EXPECT_EQ(made(4, 1 << 20).layout.vectors, 64);
    EXPECT_EQ(made(16, 31).layout.road, SortRoad::short_rows);
    EXPECT_EQ(made(16, 32).layout.road, SortRoad::whole_rows); // two vectors
    request.item_bytes = 8;
    EXPECT_EQ(made(16, 16).layout.road, SortRoad::whole_rows);
    request.pairs = true;
    EXPECT_EQ(made(1, 1 << 14).layout.vectors, 0);
    EXPECT_EQ(made(16, 16).layout.road, SortRoad::short_rows);
}

TEST(SortPlan, KeysOfFewBitsTakeFewPasses) {
    SortRequest request;
    request.length = 1 << 20;
    request.item_bytes = 8;
    request.key_bits = 11;
    EXPECT_EQ(plan_sort(request).passes, 2);
}

TEST(SortPlan, Describes) {
    EXPECT_EQ(describe(plan(1, 1 << 27)),
              "split rows | 4 digits of 8 bits, 21846 blocks a row of 6144 elements each");
    EXPECT_EQ(describe(plan(7, 5000)), "whole rows | 4 digits of 8 bits, 20 values a thread");
    EXPECT_EQ(describe(plan(1000, 50)), "short rows | merged, 36 rows a block");
    EXPECT_EQ(describe(plan(9, 1 << 20, 4, Target::cpu)),
              "whole rows | from the leading digits down, 1 row a block");
}

} // namespace
} // namespace quern
