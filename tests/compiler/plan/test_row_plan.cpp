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
    int most_cluster_bits = 0;
    std::uint32_t shared_bytes = 0;
    bool keeps = false;
    int joining_walks = 2;
    RowWays ways = RowWays::all;
    std::uint32_t walk_join_bytes = 0; // known, so that there may be panels
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
    request.most_cluster_bits = given.most_cluster_bits;
    request.shared_bytes = given.shared_bytes;
    request.keeps = given.keeps;
    request.joining_walks = given.joining_walks;
    request.ways = given.ways;
    request.walk_join_bytes = given.walk_join_bytes;
    request.join_bytes = 8; // two sums
    request.widest_join = 4;
    RowPlan made;
    return plan_rows(request, made) ? std::optional(made) : std::nullopt;
}

Case rows(std::int64_t count, std::int64_t length) {
    return {{count, length}, 2, {4 * length, 4}, {4 * length, 4}};
}

TEST(RowPlan, TwoWarpsHoldARowOfAThousandThatIsStored) {
    const auto made = plan(rows(65536, 1024));
    ASSERT_TRUE(made);
    EXPECT_EQ(describe(made->layout),
              "rows held x4, 4 packs | kept 1 | contiguous contiguous | 32-bit | 64 threads");
    EXPECT_EQ(made->group_bits, 6);
    EXPECT_EQ(made->grid, 65536U);
    const auto odd = plan(rows(65536, 800)); // 7 for 32 are fewer than 4 for 64
    ASSERT_TRUE(odd);
    EXPECT_EQ(odd->group_bits, 5);
}

TEST(RowPlan, AWarpHoldsARowOfAThousandOfWhichOneNumberIsStored) {
    Case given = rows(65536, 1024);
    given.out = {4, 0};
    const auto made = plan(given);
    ASSERT_TRUE(made);
    EXPECT_EQ(describe(made->layout),
              "rows held x4, 8 packs | kept 1 | contiguous repeated | 32-bit | 32 threads");
    EXPECT_EQ(made->group_bits, 5);
    EXPECT_EQ(made->grid, 65536U);
}

TEST(RowPlan, ABlockHasTwoRowsWhereAWarpHoldsLittle) {
    const auto made = plan(rows(65536, 512));
    ASSERT_TRUE(made);
    EXPECT_EQ(describe(made->layout), "rows held x4, 4 packs | kept 1 | contiguous contiguous | "
                                      "32-bit | 64 threads of several rows");
    EXPECT_EQ(made->group_bits, 5);
    EXPECT_EQ(made->grid, 65536U / 2);
}

TEST(RowPlan, ShortRowsShareAWarp) {
    const auto made = plan(rows(1 << 20, 64));
    ASSERT_TRUE(made);
    EXPECT_EQ(made->layout.packs, 4);
    EXPECT_EQ(made->group_bits, 2);
    EXPECT_EQ(made->layout.block, 64);
}

TEST(RowPlan, ABlockOfOneRowTellsHowManyThreadsItHas) {
    for (const std::int64_t length :
         {3, 17, 40, 64, 130, 512, 1000, 1024, 2000, 5000, 8192, 131072})
        for (const int joining_walks : {1, 2}) {
            Case given = rows(4000, length);
            given.joining_walks = joining_walks;
            given.most_cluster_bits = 3;
            const auto made = plan(given);
            ASSERT_TRUE(made);
            const RowLayout& layout = made->layout;
            const int in_block = made->group_bits - layout.cluster_bits;
            EXPECT_EQ(layout.several, layout.block > 1 << in_block) << length;
            EXPECT_EQ(layout.block_bits(), layout.several ? -1 : in_block) << length;
        }
    Case across{{512, 65536}, 1, {4 * 65536, 4}, {4 * 65536, 4}};
    const auto made = plan(across);
    ASSERT_TRUE(made);
    EXPECT_GT(made->layout.columns, 0);
    EXPECT_EQ(made->layout.block_bits(), -1);
}

TEST(RowPlan, RowsThatBeginAnywhereHavePacksAtWholeAddresses) {
    const auto made = plan(rows(1000, 1023));
    ASSERT_TRUE(made);
    EXPECT_TRUE(made->layout.shifted);
    EXPECT_TRUE(made->layout.masked);
    EXPECT_EQ(made->layout.lanes, 4);
    EXPECT_EQ(made->packs, 257);                   // of a row that begins at the last lane of one
    const auto short_ones = plan(rows(1000, 255)); // which a warp holds element by element
    ASSERT_TRUE(short_ones);
    EXPECT_FALSE(short_ones->layout.shifted);
    EXPECT_EQ(short_ones->layout.packs, 8);
    EXPECT_EQ(short_ones->group_bits, 5);
    Case apart = rows(1000, 1023);
    apart.address += 4; // the result's rows begin at other lanes
    const auto scalar = plan(apart);
    ASSERT_TRUE(scalar);
    EXPECT_FALSE(scalar->layout.shifted);
    EXPECT_EQ(scalar->layout.lanes, 1);
    const auto halved = plan(rows(1000, 1022)); // packs of eight bytes are as good
    ASSERT_TRUE(halved);
    EXPECT_FALSE(halved->layout.shifted);
    EXPECT_EQ(halved->layout.lanes, 2);
}

TEST(RowPlan, ThreadsHoldNoMorePacksThanTheirRowNeeds) {
    for (const auto& [length, packs] :
         {std::pair{300, 3}, {384, 3}, {516, 5}, {700, 6}, {800, 7}, {1024, 4}}) {
        const auto made = plan(rows(1000, length));
        ASSERT_TRUE(made);
        EXPECT_EQ(made->layout.packs, packs) << length;
    }
}

TEST(RowPlan, ThreadsThatKeepMoreThanInputsHoldFewerPacks) {
    for (const auto& [length, packs] : {std::pair{1024, 4}, {4096, 4}, {8192, 8}}) {
        Case given = rows(8192, length);
        given.keeps = true;
        const auto made = plan(given);
        ASSERT_TRUE(made);
        EXPECT_EQ(made->layout.packs, packs) << length;
        EXPECT_GE(made->layout.packs << made->group_bits, made->packs) << length;
        EXPECT_EQ(made->layout.block, 1 << made->group_bits) << length; // one row
    }
}

TEST(RowPlan, LongRowsTakeTheBlock) {
    const auto made = plan(rows(8192, 8192));
    ASSERT_TRUE(made);
    EXPECT_EQ(made->group_bits, 8);
    EXPECT_EQ(made->layout.packs, 8);
    EXPECT_FALSE(made->layout.rest);
    Case given = rows(8192, 8192);
    given.joining_walks = 1; // more of them need not wait for each other often
    const auto wider = plan(given);
    ASSERT_TRUE(wider);
    EXPECT_EQ(wider->group_bits, 9);
    EXPECT_EQ(wider->layout.packs, 4);
}

TEST(RowPlan, WhatIsNotHeldIsReadAgain) {
    const auto made = plan(rows(1024, 131072));
    ASSERT_TRUE(made);
    EXPECT_EQ(made->layout.block, 1024);
    EXPECT_TRUE(made->layout.rest);
    EXPECT_FALSE(plan(rows(100, 131072))); // too few to fill the device
}

TEST(RowPlan, RowsThatEndInsideAPackAreMasked) {
    const auto masked = plan({{1000, 1023}, 2, {4096, 4}, {4096, 4}});
    ASSERT_TRUE(masked);
    EXPECT_EQ(masked->layout.lanes, 4);
    EXPECT_TRUE(masked->layout.masked);
    EXPECT_FALSE(masked->layout.shifted);
}

Case columns(std::int64_t length, std::int64_t count) {
    return {{length, count}, 1, {4 * count, 4}, {4 * count, 4}};
}

TEST(RowPlan, WhatIsNotHeldIsParkedAsFarAsThereIsRoom) {
    Case given = rows(1024, 131072);
    given.shared_bytes = 200 << 10;
    const auto made = plan(given);
    ASSERT_TRUE(made);
    EXPECT_TRUE(made->layout.parks);
    const std::uint32_t slot = 1024 * 16;
    EXPECT_EQ(made->shared_bytes, made->parked * slot);
    EXPECT_LE(made->shared_bytes + 32 * 8, given.shared_bytes);
    EXPECT_GT(made->shared_bytes + slot + 4096, given.shared_bytes);
}

TEST(RowPlan, BlocksOfAClusterShareALongRow) {
    Case given = rows(1024, 131072);
    given.most_cluster_bits = 3;
    const auto made = plan(given);
    ASSERT_TRUE(made);
    EXPECT_FALSE(made->layout.rest);
    EXPECT_GT(made->layout.cluster_bits, 0);
    const int blocks = 1 << made->layout.cluster_bits;
    EXPECT_EQ(made->grid, 1024U * static_cast<unsigned>(blocks));
    EXPECT_EQ(1 << made->group_bits, blocks * made->layout.block);
    EXPECT_GE((made->layout.packs * std::int64_t{made->layout.lanes}) << made->group_bits, 131072);
    given = rows(8192, 8192); // a block's own
    given.most_cluster_bits = 3;
    EXPECT_EQ(plan(given)->layout.cluster_bits, 0);
}

TEST(RowPlan, BlocksThatShareAMultiprocessorComeFirst) {
    struct Wanted {
        std::int64_t length;
        int threads, blocks;
    };
    for (const Wanted& wanted :
         {Wanted{16384, 512, 1}, Wanted{32768, 512, 1}, Wanted{65536, 256, 4},
          Wanted{131072, 256, 8}, Wanted{262144, 512, 8}, Wanted{524288, 1024, 8}}) {
        Case given = rows((1 << 27) / wanted.length, wanted.length);
        given.most_cluster_bits = 3;
        given.shared_bytes = 227 << 10;
        const auto made = plan(given);
        ASSERT_TRUE(made);
        EXPECT_EQ(made->layout.block, wanted.threads) << wanted.length;
        EXPECT_EQ(1 << made->layout.cluster_bits, wanted.blocks) << wanted.length;
        EXPECT_GE((made->layout.packs + made->parked) * made->layout.lanes << made->group_bits,
                  wanted.length);
        EXPECT_LE(made->shared_bytes * (wanted.threads < 1024 ? 1024U / wanted.threads : 1U),
                  given.shared_bytes);
    }
}

TEST(RowPlan, UnitsShareColumns) {
    const auto made = plan(columns(512, 65536));
    ASSERT_TRUE(made);
    EXPECT_EQ(made->layout.columns, row_columns);
    EXPECT_EQ(made->layout.lanes, 1);
    EXPECT_FALSE(made->layout.rest);
    const int units = 1 << made->group_bits;
    EXPECT_GE(made->layout.packs * units, 512);
    EXPECT_EQ(std::int64_t{made->grid} * (made->layout.block / row_columns) / units,
              65536 / row_columns);
}

TEST(RowPlan, ColumnsAreLeftToOthersThatReadThemOnce) {
    Case given = columns(512, 65536);
    given.ways = RowWays::along;
    EXPECT_FALSE(plan(given));
    given = rows(65536, 512);
    given.ways = RowWays::along;
    EXPECT_TRUE(plan(given));
}

TEST(RowPlan, ClustersShareLongColumns) {
    Case given = columns(8192, 8192);
    given.most_cluster_bits = 3;
    const auto made = plan(given);
    ASSERT_TRUE(made);
    EXPECT_EQ(made->layout.columns, row_columns);
    EXPECT_GT(made->layout.cluster_bits, 0);
    EXPECT_GE(std::int64_t{made->layout.packs} << made->group_bits, 8192);
    EXPECT_EQ(made->grid % (1U << made->layout.cluster_bits), 0U);
}

Case panels(std::int64_t length, std::int64_t count) {
    Case given = columns(length, count);
    given.most_cluster_bits = 3;
    given.shared_bytes = 227 << 10;
    given.walk_join_bytes = 4;
    return given;
}

TEST(RowPlan, LongColumnsAreHeldInPanels) {
    const auto made = plan(panels(8192, 8192));
    ASSERT_TRUE(made);
    EXPECT_TRUE(made->layout.panels);
    EXPECT_EQ(made->layout.columns * 4, panel_row_bytes);
    EXPECT_EQ(made->layout.cluster_bits, 3);
    EXPECT_EQ((made->layout.packs + made->parked) * 8 * panel_block / 32, 8192);
    EXPECT_FALSE(made->layout.partial);
    EXPECT_GT(made->layout.ahead, 0);
    EXPECT_LE(made->shared_bytes, 227U << 10);
    const auto partial = plan(panels(8000, 8192));
    EXPECT_TRUE(partial->layout.panels && partial->layout.partial);
    EXPECT_EQ(plan(panels(600, 65536))->layout.cluster_bits, 0);
}

TEST(RowPlan, PanelsAreLeftWhereColumnsAreShortFewOrNotWhole) {
    EXPECT_FALSE(plan(panels(200, 65536))->layout.panels);
    EXPECT_FALSE(plan(panels(8192, 256))->layout.panels);
    EXPECT_FALSE(plan(panels(8192, 8190))->layout.panels); // four columns to 16 bytes
    Case unknown = panels(8192, 8192);
    unknown.walk_join_bytes = 0;
    EXPECT_FALSE(plan(unknown)->layout.panels);
    Case elsewhere = panels(8192, 8192);
    elsewhere.address = 4100;
    EXPECT_FALSE(plan(elsewhere)->layout.panels);
    unknown.ways = RowWays::panels;
    EXPECT_FALSE(plan(unknown));
    Case along = rows(65536, 1024);
    along.ways = RowWays::panels;
    EXPECT_FALSE(plan(along));
}

TEST(RowPlan, PanelsOfManyInputsAreLeftToo) {
    const std::vector<std::int64_t> shape{512, 65536}, strides{4 * 65536, 4};
    const auto panels_of = [&](std::size_t inputs) {
        std::vector<Operand> operands(inputs + 1,
                                      Operand{shape.data(), strides.data(), 2, 4, 4096, false});
        operands.back().output = true;
        RowRequest request;
        request.shape = shape;
        request.reduced = 1;
        request.operands = operands;
        request.processors = 132;
        request.shared_bytes = 227 << 10;
        request.join_bytes = request.widest_join = request.walk_join_bytes = 4;
        RowPlan made;
        return plan_rows(request, made) && made.layout.panels;
    };
    EXPECT_TRUE(panels_of(1));
    EXPECT_FALSE(panels_of(21)); // of which a thread could not hold two packs each
}

TEST(RowPlan, ClustersShareAllPanels) {
    for (const std::int64_t count : {8448, 8452, 8512, 10244, 64 * 132 * 3, 65536, 65540})
        for (const int clusters : {1, 7, 15, 16, 132}) {
            RowPlan made = *plan(panels(1024, count));
            ASSERT_TRUE(made.layout.panels);
            share_panels(clusters, made);
            const std::int64_t used = made.grid >> made.layout.cluster_bits,
                               columns = made.layout.columns;
            EXPECT_LE(used, clusters);
            std::int64_t end =
                0; // in the order of rounds and clusters nothing is left out or taken twice
            for (std::int64_t round = 0; round <= made.rounds; ++round)
                for (std::int64_t cluster = 0; cluster < used; ++cluster) {
                    const bool whole = round < made.rounds;
                    const std::int64_t first =
                        whole ? (round * used + cluster) * columns
                              : round * used * columns + cluster * made.last_columns;
                    EXPECT_EQ(std::min(first, count), end) << count << " by " << clusters;
                    end = std::min(count, first + (whole ? columns : made.last_columns));
                }
            EXPECT_EQ(end, count) << clusters;
        }
}

TEST(RowPlan, RefusesFewColumnsScatteredOnesAndNarrowSums) {
    EXPECT_FALSE(plan(columns(4096, 16)));
    EXPECT_FALSE(plan({{1024, 1024}, 1, {16384, 16}, {16384, 16}})); // no neighbours
    Case narrow = rows(1024, 8192);
    narrow.most_steps = 8;
    EXPECT_FALSE(plan(narrow));
}

} // namespace
} // namespace quern
