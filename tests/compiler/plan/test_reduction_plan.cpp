// The reduction planner: what it chooses for known shapes.
#include "compiler/plan/reduction.h"

#include <gtest/gtest.h>

#include <span>
#include <vector>

namespace quern {
namespace {

// One dense float32 input and its output, on a GPU of 132 multiprocessors.
struct Planned {
    std::vector<std::int64_t> shape, strides, out_shape, out_strides;
    ReductionPlan plan;

    Planned(std::vector<std::int64_t> given, std::uint64_t reduced, std::uint32_t item = 4,
            std::uint64_t address = 0x1000, Target target = Target::gpu, int processors = 132)
        : shape(std::move(given)), strides(shape.size()), out_shape(shape),
          out_strides(shape.size()) {
        std::int64_t stride = item, out_stride = item;
        for (std::size_t d = shape.size(); d-- > 0;) {
            strides[d] = stride;
            stride *= shape[d];
            if ((reduced >> d & 1) != 0)
                out_shape[d] = 1;
            out_strides[d] = out_stride;
            out_stride *= out_shape[d];
        }
        run(reduced, item, address, target, processors);
    }
    void run(std::uint64_t reduced, std::uint32_t item, std::uint64_t address, Target target,
             int processors) {
        const auto ndim = static_cast<int>(shape.size());
        const Operand operands[]{{shape.data(), strides.data(), ndim, item, address, false},
                                 {out_shape.data(), out_strides.data(), ndim, item, 0x1000, true}};
        ReductionRequest request;
        request.shape = shape;
        request.reduced = reduced;
        request.operands = operands;
        request.target = target;
        request.processors = processors;
        request.accumulator_bytes = item;
        EXPECT_TRUE(plan_reduction(request, plan));
    }
    [[nodiscard]] std::string text() const { return describe(plan.layout); }
};

// A plan for the CPU of operands that lie as they are given.
ReductionPlan planned_on_cpu(std::span<const std::int64_t> shape, std::uint64_t reduced,
                             std::span<const Operand> operands, bool uses_place,
                             bool may_read_between) {
    ReductionRequest request;
    request.shape = shape;
    request.reduced = reduced;
    request.operands = operands;
    request.target = Target::cpu;
    request.uses_place = uses_place;
    request.may_read_between = may_read_between;
    ReductionPlan plan;
    EXPECT_TRUE(plan_reduction(request, plan));
    return plan;
}

// A slot for each result and a counter, instead of parts and counters.
TEST(ReductionPlan, JoinsByAtomicsWhereAsked) {
    for (const std::uint64_t reduced : {3u, 1u, 2u}) {
        Planned made({1 << 14, reduced == 2 ? 1 << 10 : 64}, reduced);
        const Operand operands[]{
            {made.shape.data(), made.strides.data(), 2, 4, 0x1000, false},
            {made.out_shape.data(), made.out_strides.data(), 2, 4, 0x1000, true}};
        ReductionRequest request;
        request.shape = made.shape;
        request.reduced = reduced;
        request.operands = operands;
        request.processors = 132;
        request.accumulator_bytes = 4;
        request.may_join_atomically = true;
        ReductionPlan plan;
        ASSERT_TRUE(plan_reduction(request, plan));
        EXPECT_EQ(plan.layout.atomic, plan.layout.split);
        EXPECT_EQ(plan.layout.split, reduced != 2);
        EXPECT_EQ(plan.partials, 0);
        if (plan.layout.split) {
            EXPECT_TRUE(describe(plan.layout).ends_with("split, joined by atomics"));
            const std::int64_t places = reduced == 3 ? 1 : 64;
            EXPECT_EQ(plan.tickets, plan.tiles * (2 + 2 * places));
        }
    }
}

// The same rule with a narrower limit.
TEST(ReductionPlan, WidensPastAnyNarrowIndex) {
    for (const int bits : {8, 16, 32}) {
        const std::int64_t most = (std::int64_t{1} << (bits - 1)) - 1 - 16;
        for (const std::int64_t count : {most - 1, most, most + 1}) {
            Planned made({count}, 1, 1);
            const Operand operands[]{
                {made.shape.data(), made.strides.data(), 1, 1, 0x1000, false},
                {made.out_shape.data(), made.out_strides.data(), 1, 1, 0x1000, true}};
            ReductionRequest request;
            request.shape = made.shape;
            request.reduced = 1;
            request.operands = operands;
            request.narrow_bits = bits;
            ReductionPlan plan;
            ASSERT_TRUE(plan_reduction(request, plan));
            EXPECT_EQ(plan.layout.index_bits, count > most ? 64 : bits);
        }
    }
}

TEST(ReductionPlan, RowsAndColumns) {
    EXPECT_EQ(Planned({1 << 28}, 1).text(),
              "rows x4 | kept 0, reduced 1 | contiguous repeated | 32-bit | split");
    EXPECT_EQ(Planned({256, 256, 256}, 7).text(), Planned({1 << 24}, 1).text());
    EXPECT_EQ(Planned({16384, 16384}, 2).text(),
              "rows x4 | kept 1, reduced 1 | contiguous repeated | 32-bit");
    EXPECT_EQ(Planned({16384, 16384}, 1).text(),
              "columns x4 | kept 1, reduced 1 | contiguous contiguous | 32-bit | split");
    EXPECT_EQ(Planned({1 << 24, 16}, 2).text(), "rows x4, 4 rows at a time | kept 1, reduced 1 | "
                                                "contiguous repeated | 32-bit");
    EXPECT_EQ(Planned({256, 1024, 1024}, 2).text(),
              "columns x4 | kept 2, reduced 1 | contiguous contiguous | 32-bit");
    EXPECT_EQ(Planned({1024, 512, 512}, 5).text(),
              "rows x4 | kept 1, reduced 2 | contiguous repeated | 32-bit | split");
}

TEST(ReductionPlan, RowsThatBeginAnywhere) {
    EXPECT_EQ(Planned({50000, 1001}, 2).text(),
              "rows x4 | kept 1, reduced 1 | contiguous repeated | 32-bit | drifts");
    const Planned shifted({1 << 20}, 1, 4, 0x1008);
    EXPECT_EQ(shifted.plan.shift, 2);
    EXPECT_TRUE(shifted.plan.layout.masked);
    EXPECT_FALSE(shifted.plan.layout.drifts);
}

TEST(ReductionPlan, WideIndices) {
    EXPECT_EQ(Planned({1 << 28}, 1).plan.layout.index_bits, 32);
    EXPECT_EQ(Planned({1 << 29}, 1).plan.layout.index_bits, 64);
    EXPECT_EQ(Planned({1 << 28}, 1, 16).plan.layout.index_bits, 64);
}

TEST(ReductionPlan, AxesThatRunBackwardsAreTurned) {
    Planned planned({300, 400}, 3);
    planned.strides = {-1600, -4};
    planned.run(3, 4, 0x100000, Target::gpu, 132);
    EXPECT_EQ(planned.plan.start[0], -(299 * 1600 + 399 * 4));
    EXPECT_EQ(planned.plan.layout.reduced_ndim, 1);
    EXPECT_EQ(planned.plan.stride(0, 0), 4);
}

TEST(ReductionPlan, EveryStepBelongsToOneBlock) {
    for (const std::int64_t n : {1, 7, 255, 8193, 100'003, 1 << 22})
        for (const std::int64_t m : {1, 3, 64, 1000})
            for (const std::uint64_t reduced : {1u, 2u, 3u})
                for (const Target target : {Target::gpu, Target::cpu}) {
                    const Planned planned({n, m}, reduced, 4, 0x1000, target, 4);
                    const ReductionPlan& plan = planned.plan;
                    EXPECT_GE(plan.chunk * plan.splits, plan.steps);
                    EXPECT_LT(plan.chunk * (plan.splits - 1), plan.steps);
                    EXPECT_GE(static_cast<std::int64_t>(plan.grid) * plan.share,
                              plan.tiles * plan.splits);
                    EXPECT_EQ(plan.layout.split, plan.splits > 1);
                }
}

TEST(ReductionPlan, LanesOfTheCpu) {
    const auto layout = [](std::vector<std::int64_t> shape, std::uint64_t reduced,
                           std::uint32_t item) {
        return Planned(std::move(shape), reduced, item, 0x1000, Target::cpu, 1).plan.layout;
    };
    EXPECT_EQ(layout({1 << 20}, 1, 1).lanes, 256);
    EXPECT_EQ(layout({1 << 20}, 1, 4).lanes, 64);
    EXPECT_EQ(layout({1 << 20}, 1, 8).lanes, 32);
    EXPECT_EQ(layout({100, 100}, 2, 4).lanes, 32);
    EXPECT_TRUE(layout({1 << 20, 16}, 2, 4).brief);
    EXPECT_FALSE(layout({1 << 10, 100}, 2, 4).brief);
    EXPECT_EQ(layout({1000, 1000}, 1, 8).tile, 16384);
    EXPECT_EQ(layout({1000, 1000}, 1, 1).tile, 32768);
    EXPECT_EQ(layout({1000, 1000}, 1, 32).tile, 4096);
}

// Rows of few elements lie in one line, as many as vectors want, unless there are too few of them.
TEST(ReductionPlan, ShortRowsMakeOneLine) {
    const auto plan = [](std::int64_t rows, std::int64_t columns, std::uint32_t item,
                         int threads = 1) {
        return Planned({rows, columns}, 1, item, 0x1000, Target::cpu, threads).plan;
    };
    const ReductionPlan three = plan(10'000, 3, 4);
    EXPECT_TRUE(three.layout.wraps);
    EXPECT_EQ(three.run, 42);
    EXPECT_EQ(three.length, 126);
    EXPECT_EQ(three.steps, 239); // the last of 4 rows
    EXPECT_EQ(three.tiles, 1);
    EXPECT_EQ(three.stride(0, 1), 3 * 4 * 42);
    EXPECT_EQ(plan(10'000, 7, 1).run, 36);
    EXPECT_FALSE(plan(10'000, 65, 4).layout.wraps);
    EXPECT_TRUE(plan(10'000, 65, 1).layout.wraps);
    EXPECT_FALSE(plan(600, 3, 4).layout.wraps);
    EXPECT_TRUE(plan(1 << 20, 3, 4, 4).layout.split);
    EXPECT_FALSE(Planned({10'000, 3}, 1, 4, 0x1000, Target::gpu, 132).plan.layout.wraps);
}

// Gaps may be read where the map can be asked about anything, the same gap in every input.
TEST(ReductionPlan, ASmallStepIsPartOfTheLayout) {
    const std::int64_t shape[]{1000}, ones[]{1}, none[]{0};
    const auto step = [&](std::int64_t first, std::int64_t second, bool anything) {
        const std::int64_t a[]{first}, b[]{second};
        const Operand operands[]{{shape, a, 1, 4, 0x1000, false},
                                 {shape, b, 1, 2, 0x1000, false},
                                 {ones, none, 1, 4, 0x1000, true}};
        const ReductionPlan plan = planned_on_cpu(shape, 1, operands, false, anything);
        return std::pair(int{plan.layout.step}, int{plan.layout.lanes});
    };
    EXPECT_EQ(step(8, 4, true), std::pair(2, 16)); // as wide as without gaps
    EXPECT_EQ(step(16, 0, true), std::pair(4, 16));
    EXPECT_EQ(step(8, 4, false), std::pair(0, 16));
    EXPECT_EQ(step(8, 2, true), std::pair(0, 16));
    EXPECT_EQ(step(20, 10, true), std::pair(0, 16));
}

// Two columns, or up to four whose places are wanted, are rows with something between.
TEST(ReductionPlan, AFewColumnsAreRowsOfTheCpu) {
    const auto plan = [](std::int64_t steps, std::int64_t columns, bool places, bool anything) {
        const std::int64_t shape[]{100, steps, columns}, out[]{100, 1, columns},
            strides[]{steps * columns * 4, columns * 4, 4}, to[]{columns * 4, 0, 4};
        const Operand operands[]{{shape, strides, 3, 4, 0x1000, false},
                                 {out, to, 3, 4, 0x1000, true}};
        const ReductionPlan plan = planned_on_cpu(shape, 2, operands, places, anything);
        return plan.layout.strategy == ReductionStrategy::rows ? int{plan.layout.step} : 0;
    };
    EXPECT_EQ(plan(1000, 2, false, true), 2);
    EXPECT_EQ(plan(1000, 3, false, true), 0);
    EXPECT_EQ(plan(1000, 4, true, true), 4);
    EXPECT_EQ(plan(1000, 5, true, true), 0);
    EXPECT_EQ(plan(1000, 2, true, false), 0);
    EXPECT_EQ(plan(20, 2, true, true), 0); // too short
}

// Few rows, and their tile is in the nearest cache until the results are stored.
TEST(ReductionPlan, FewRowsTakeSmallTilesOnTheCpu) {
    const auto span = [](std::int64_t rows) {
        return Planned({rows, 1 << 20}, 1, 4, 0x1000, Target::cpu, 1).plan.span;
    };
    EXPECT_EQ(span(2), 4096);
    EXPECT_EQ(span(8), 4096);
    EXPECT_EQ(span(9), 32768);
}

// Kept axes between reduced ones: short runs become columns, so that memory is read in its order.
TEST(ReductionPlan, ShortRunsOfTheCpu) {
    const auto plan = [](std::vector<std::int64_t> shape, std::uint64_t reduced) {
        return Planned(std::move(shape), reduced, 4, 0x1000, Target::cpu, 1).plan;
    };
    const ReductionPlan planned = plan({256, 512, 100}, 5);
    EXPECT_EQ(describe(planned.layout),
              "columns x1 | kept 1, reduced 1 | contiguous contiguous | 64-bit | runs");
    EXPECT_EQ(planned.run, 100);
    EXPECT_EQ(planned.span, 8100); // whole runs
    EXPECT_EQ(planned.length, 51'200);
    EXPECT_EQ(planned.tiles, 7);
    EXPECT_EQ(planned.steps, 256);
    EXPECT_EQ(planned.outputs, 512);
    EXPECT_FALSE(plan({256, 512, 40'000}, 5).layout.runs); // long
    EXPECT_FALSE(plan({8, 512, 100}, 5).layout.runs);      // few
    EXPECT_FALSE(plan({256, 512, 100}, 6).layout.runs);    // nothing between
}

// Longer runs are folded each as it comes; every core has outputs of its own.
TEST(ReductionPlan, FoldedRunsOfTheCpu) {
    const auto plan = [](std::vector<std::int64_t> shape, std::uint64_t reduced, int cores) {
        return Planned(std::move(shape), reduced, 4, 0x1000, Target::cpu, cores).plan;
    };
    const ReductionPlan one = plan({3, 300, 1000}, 5, 1), four = plan({3, 3000, 1000}, 5, 4);
    EXPECT_EQ(describe(one.layout),
              "columns x64 | kept 1, reduced 1 | contiguous contiguous | 64-bit | folded runs");
    EXPECT_EQ(one.run, 1000);
    EXPECT_EQ(one.span, 300'000); // all of them
    EXPECT_EQ(one.tiles, 1);
    EXPECT_EQ(one.steps, 3);
    EXPECT_EQ(four.span, 188'000); // whole runs, a sixteenth of the outputs
    EXPECT_EQ(four.tiles, 16);
    EXPECT_EQ(plan({3, 3000, 1000}, 5, 1).span, 512'000); // as many as a tile holds
    EXPECT_EQ(plan({3, 300, 1000}, 5, 64).span, 17'000);  // 64 KiB at least
    EXPECT_TRUE(plan({256, 300, 256}, 5, 1).layout.folds);
    EXPECT_FALSE(plan({256, 300, 255}, 5, 1).layout.folds);
}

// Rows of some lines that follow each other are taken one by one; rows far apart, rows of a few
// lines and what the caches hold, side by side.
TEST(ReductionPlan, RowsTogetherOfTheCpu) {
    const auto together = [](std::vector<std::int64_t> shape, std::uint32_t item) {
        return Planned(std::move(shape), 2, item, 0x1000, Target::cpu, 1).plan.together;
    };
    EXPECT_EQ(together({256, 256, 256}, 4), 1);
    EXPECT_EQ(together({256, 256, 256}, 8), 1);
    EXPECT_EQ(together({256, 256, 256}, 1), 4);
    EXPECT_EQ(together({16, 64, 16384}, 4), 4);
    EXPECT_EQ(together({16, 64, 200}, 4), 4);
    EXPECT_EQ(together({16, 640, 2048}, 4), 1);
    EXPECT_EQ(together({16, 640, 2049}, 4), 4);
    EXPECT_EQ(together({3, 400, 1000}, 8), 4); // in the caches: no memory to read ahead of
}

// What the caches hold is not asked for ahead.
TEST(ReductionPlan, AheadOfWhatTheCpuReads) {
    const auto ahead = [](std::vector<std::int64_t> shape, std::uint32_t item) {
        return Planned(std::move(shape), 1, item, 0x1000, Target::cpu, 1).plan.ahead;
    };
    EXPECT_FALSE(ahead({1000, 1000}, 8));
    EXPECT_FALSE(ahead({6 << 20}, 4));
    EXPECT_TRUE(ahead({(6 << 20) + 1}, 4));
    EXPECT_TRUE(ahead({4096, 4096}, 8));
    EXPECT_FALSE(ahead({4096, 4096}, 1));
}

// Of two inputs nothing is asked for ahead, and blocks are as many bytes as those of one.
TEST(ReductionPlan, ProductsOfTheCpu) {
    const auto plan = [](std::int64_t extent, std::uint32_t item) {
        const std::int64_t stride = item, one = 1;
        const Operand operands[]{{&extent, &stride, 1, item, 0x1000, false},
                                 {&extent, &stride, 1, item, 0x1000, false},
                                 {&one, &stride, 1, item, 0x1000, true}};
        ReductionRequest request;
        request.shape = {&extent, 1};
        request.reduced = 1;
        request.operands = operands;
        request.target = Target::cpu;
        request.processors = 2;
        request.accumulator_bytes = item;
        ReductionPlan made;
        EXPECT_TRUE(plan_reduction(request, made));
        return made;
    };
    for (const std::uint32_t item : {4u, 8u, 16u}) {
        EXPECT_FALSE(plan(std::int64_t{1} << 24, item).ahead);
        EXPECT_EQ(plan(std::int64_t{1} << 24, item).grid, 32);
    }
    EXPECT_EQ(plan(1'000'000, 4).grid, 16);
    EXPECT_EQ(plan(1'000'000, 8).grid, 30);
    EXPECT_EQ(plan(1'000'000, 16).grid, 32);
    EXPECT_EQ(plan(100'000, 8).grid, 4);
}

TEST(ReductionPlan, NothingBehindAnOutput) {
    const Planned planned({5, 0}, 2);
    EXPECT_EQ(planned.plan.outputs, 5);
    EXPECT_EQ(planned.plan.steps, 0);
}

TEST(ReductionPlan, NarrowSumsTakeFewSteps) {
    const std::int64_t shape[]{std::int64_t{1} << 26, 16}, strides[]{16, 1}, out_shape[]{1, 16},
        out_strides[]{16, 1};
    const Operand operands[]{{shape, strides, 2, 1, 0x1000, false},
                             {out_shape, out_strides, 2, 1, 0x1000, true}};
    ReductionRequest request;
    request.shape = shape;
    request.reduced = 1;
    request.operands = operands;
    request.target = Target::cpu;
    request.processors = 1;
    request.most_steps = 1 << 22;
    ReductionPlan plan;
    ASSERT_TRUE(plan_reduction(request, plan));
    EXPECT_LE(plan.chunk, 1 << 22);
}

// Whoever comes after the answer has nothing to do, so blocks take little at a time and share a
// flag for each result.
TEST(ReductionPlan, WhatAnElementDecidesIsCutFinelyOnTheCpu) {
    Planned made({2, 1 << 22}, 2, 4, 0x1000, Target::cpu, 1);
    const Operand operands[]{{made.shape.data(), made.strides.data(), 2, 4, 0x1000, false},
                             {made.out_shape.data(), made.out_strides.data(), 2, 1, 0x1000, true}};
    ReductionRequest request;
    request.shape = made.shape;
    request.reduced = 2;
    request.operands = operands;
    request.target = Target::cpu;
    request.accumulator_bytes = 1;
    ReductionPlan patient, hasty;
    ASSERT_TRUE(plan_reduction(request, patient));
    request.may_settle = true;
    ASSERT_TRUE(plan_reduction(request, hasty));
    EXPECT_EQ(patient.tickets, 0);
    EXPECT_EQ(hasty.tickets, 2);
    EXPECT_LE(hasty.chunk, 1 << 16);
    EXPECT_GT(patient.chunk, hasty.chunk);
}

// Every core gets columns, though they fit one tile; narrow ones are cut along their rows instead.
TEST(ReductionPlan, ColumnsOfOneTileAreSharedAmongCores) {
    const auto plan = [](std::vector<std::int64_t> shape, int processors) {
        return Planned(std::move(shape), 1, 4, 0x1000, Target::cpu, processors).plan;
    };
    EXPECT_EQ(plan({1 << 14, 1000}, 1).tiles, 1);
    EXPECT_EQ(plan({1 << 14, 1000}, 2).tiles, 4);
    EXPECT_GE(plan({1 << 14, 1000}, 2).grid, 4u);
    EXPECT_EQ(plan({1000, 1000}, 2).tiles, 1); // too little to share
    EXPECT_EQ(plan({1 << 20, 16}, 2).tiles, 1);
    EXPECT_GT(plan({1 << 20, 16}, 2).splits, 1);
}

// A transposed array is walked as it lies, and its places are counted from strides.
TEST(ReductionPlan, PlacesNeedNotCountUpOnTheCpu) {
    const std::int64_t shape[]{64, 256}, strides[]{4, 256}, one[]{1, 1}, none[]{0, 0};
    const Operand operands[]{{shape, strides, 2, 4, 0x1000, false},
                             {one, none, 2, 8, 0x1000, true}};
    const ReductionPlan plan = planned_on_cpu(shape, 3, operands, true, false);
    EXPECT_TRUE(plan.layout.scattered);
    EXPECT_EQ(plan.length, 64);
    EXPECT_EQ(plan.place[0], 1);
    EXPECT_EQ(plan.place[1], 256);
}

} // namespace
} // namespace quern
