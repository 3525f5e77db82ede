// The scan planner: what it chooses for known cases on a large GPU and on a CPU, and that every
// plan covers each element once.
#include "compiler/plan/scan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace quern {
namespace {

using Shape = std::vector<std::int64_t>;

struct Made {
    Shape shape, strides;
    std::uint32_t item = 4;
    std::uint64_t address = 0x1000;
};

Made dense(Shape shape, std::uint32_t item = 4) {
    Made made{std::move(shape), {}, item, 0x1000};
    made.strides.resize(made.shape.size());
    std::int64_t stride = item;
    for (std::size_t d = made.shape.size(); d-- > 0;) {
        made.strides[d] = stride;
        stride *= made.shape[d];
    }
    return made;
}

ScanPlan planned(const Made& in, const Made& out, int axis, ScanRequest request = {}) {
    if (request.processors == 1 && request.target == Target::gpu)
        request.processors = 132;
    const std::vector<Operand> operands{
        {in.shape.data(), in.strides.data(), static_cast<int>(in.shape.size()), in.item, in.address,
         false},
        {out.shape.data(), out.strides.data(), static_cast<int>(out.shape.size()), out.item,
         out.address, true}};
    request.shape = out.shape;
    request.operands = operands;
    request.axis = axis;
    ScanPlan plan;
    EXPECT_TRUE(plan_scan(request, plan));
    return plan;
}

std::string text(const Shape& shape, int axis, std::uint32_t item = 4, std::uint32_t wide = 0) {
    ScanRequest request;
    request.accumulator_bytes = std::max(wide ? wide : item, 4u);
    return describe(
        planned(dense(shape, item), dense(shape, wide ? wide : item), axis, request).layout);
}

constexpr std::int64_t k = 1 << 10, m = 1 << 20;

TEST(ScanPlan, LongRowsAreShared) {
    EXPECT_EQ(text({256 * m}, 0),
              "rows x4, 8 packs, a block a row | kept 0 | contiguous contiguous | 32-bit | split");
    EXPECT_EQ(text({16, 16 * m}, 1),
              "rows x4, 8 packs, a block a row | kept 1 | contiguous contiguous | 32-bit | split");
    EXPECT_EQ(text({m}, 0, 1, 8),
              "rows x2, 4 packs, a block a row | kept 0 | contiguous contiguous | 32-bit | split");
    EXPECT_EQ(text({1024 * m}, 0),
              "rows x4, 8 packs, a block a row | kept 0 | contiguous contiguous | 64-bit | split");
}

TEST(ScanPlan, ManyRowsAreNot) {
    EXPECT_EQ(text({16 * k, 16 * k}, 1),
              "rows x4, 4 packs, a block a row | kept 1 | contiguous contiguous | 32-bit");
    EXPECT_EQ(text({16 * k, 1000}, 1),
              "rows x4, 4 packs | kept 1 | contiguous contiguous | 32-bit");
    EXPECT_EQ(text({16 * m, 16}, 1),
              "short rows x4, 4 packs | kept 1 | contiguous contiguous | 32-bit");
    EXPECT_EQ(planned(dense({16 * m, 16}), dense({16 * m, 16}), 1).layout.group_bits, 2);
}

TEST(ScanPlan, ColumnsFillTheChip) {
    const auto blocks = [](const Shape& shape, int axis) {
        return planned(dense(shape), dense(shape), axis).grid;
    };
    EXPECT_EQ(text({16 * k, 16 * k}, 0),
              "columns x4, 4 packs | kept 1 | contiguous contiguous | 32-bit");
    EXPECT_GE(blocks({16 * k, 16 * k}, 0), 264u);
    EXPECT_EQ(text({256, k, k}, 1),
              "columns x4, 4 packs | kept 2 | contiguous contiguous | 32-bit");
    EXPECT_GE(blocks({256, k, k}, 1), 264u);
    EXPECT_EQ(text({16 * m, 16}, 0),
              "columns x2, 16 packs | kept 1 | contiguous contiguous | 32-bit | split");
    EXPECT_GE(blocks({16 * m, 16}, 0), 1000u);
    EXPECT_EQ(text({16, 16 * m}, 0),
              "columns x4, 4 packs | kept 1 | contiguous contiguous | 32-bit");
    EXPECT_EQ(planned(dense({16, 16 * m}), dense({16, 16 * m}), 0).layout.group_bits, 8);
}

TEST(ScanPlan, FewColumnsOfManyBlocksGoTogether) {
    const ScanPlan plan = planned(dense({m, 10, 16}), dense({m, 10, 16}), 1);
    EXPECT_EQ(plan.packs, 4);
    EXPECT_EQ(plan.strips << plan.layout.group_bits, 4 * m);
}

TEST(ScanPlan, OddPlacesTakeOneAtATime) {
    Made in = dense({m});
    in.address += 4;
    EXPECT_EQ(describe(planned(in, dense({m}), 0).layout).substr(0, 8), "rows x1,");
    EXPECT_EQ(text({1000, 1001}, 1).substr(0, 7), "rows x1");
    Made every_other = dense({m});
    every_other.strides[0] *= 2; // read one by one, written by packs
    EXPECT_EQ(describe(planned(every_other, dense({m}), 0).layout).substr(0, 8), "rows x4,");
}

TEST(ScanPlan, ATransposedInputIsScannedAsItLies) {
    Made in = dense({k, 2 * k}), out = in;
    for (Made* made : {&in, &out}) {
        std::swap(made->shape[0], made->shape[1]);
        std::swap(made->strides[0], made->strides[1]);
    }
    EXPECT_EQ(planned(in, out, 0).layout.strategy, ScanStrategy::rows);
    EXPECT_EQ(planned(in, out, 1).layout.strategy, ScanStrategy::columns);
}

TEST(ScanPlan, CpuThreadsShareWhatIsLong) {
    ScanRequest request;
    request.target = Target::cpu;
    request.processors = 8;
    EXPECT_TRUE(planned(dense({m}), dense({m}), 0, request).layout.split);
    EXPECT_FALSE(planned(dense({k, k}), dense({k, k}), 1, request).layout.split);
    request.processors = 1;
    EXPECT_FALSE(planned(dense({m}), dense({m}), 0, request).layout.split);
}

// Where each thread of a plan goes, as the generated loops have it: (line, element) once each.
void walk(const ScanPlan& plan, std::vector<int>& seen) {
    const ScanLayout& layout = plan.layout;
    const auto mark = [&](std::int64_t line, std::int64_t at) {
        ++seen[static_cast<std::size_t>(line * plan.length + at)];
    };
    const std::int64_t group = std::int64_t{1} << plan.layout.group_bits,
                       others = scan_block / group;
    const bool columns = layout.strategy == ScanStrategy::columns;
    for (std::int64_t unit = 0; unit < plan.units; ++unit)
        for (std::int64_t thread = 0; thread < scan_block; ++thread)
            for (std::int64_t turn = 0; turn < (layout.split ? 1 : plan.tiles); ++turn)
                for (std::int64_t b = 0; b < layout.batch; ++b)
                    for (std::int64_t l = 0; l < layout.lanes; ++l) {
                        const std::int64_t lane = thread & (group - 1), rest = thread / group;
                        std::int64_t line, at;
                        if (columns) {
                            const std::int64_t strip = layout.split ? unit % plan.strips : unit,
                                               tile = layout.split ? unit / plan.strips : turn,
                                               across = plan.shape[layout.kept_ndim - 1],
                                               place = strip * group + lane,
                                               column = place % plan.packs * layout.lanes + l;
                            if (column >= across)
                                continue;
                            line = place / plan.packs * across + column;
                            at = (tile * others + rest) * layout.batch + b;
                        } else if (layout.strategy == ScanStrategy::short_rows) {
                            line = unit * others * layout.batch + b * others + rest;
                            at = lane * layout.lanes + l;
                        } else {
                            const std::int64_t tile = layout.split ? unit % plan.tiles : turn;
                            line = layout.split ? unit / plan.tiles : unit * others + rest;
                            const std::int64_t first =
                                tile * group * layout.batch + lane / 32 * 32 * layout.batch;
                            at = (first + b * 32 + lane % 32) * layout.lanes + l;
                        }
                        if (line < plan.lines && at < plan.length)
                            mark(line, at);
                    }
}

TEST(ScanPlan, EveryElementOnce) {
    std::mt19937 random(7);
    std::set<std::string> layouts;
    for (int round = 0; round < 120; ++round) {
        Shape shape(std::uniform_int_distribution<std::size_t>(1, 3)(random));
        const std::size_t longest = std::uniform_int_distribution<std::size_t>(0, 3)(random);
        for (std::size_t d = 0; d < shape.size(); ++d)
            shape[d] =
                std::uniform_int_distribution<std::int64_t>(1, d == longest ? 5000 : 20)(random);
        constexpr std::array<std::uint32_t, 5> items{1, 2, 4, 8, 16};
        const std::uint32_t item = items[std::uniform_int_distribution<std::size_t>(0, 4)(random)];
        ScanRequest request;
        request.processors = std::uniform_int_distribution(1, 4)(random);
        request.accumulator_bytes = std::max(item, 4u);
        request.force_split = std::uniform_int_distribution(0, 2)(random);
        const int axis =
            std::uniform_int_distribution(0, static_cast<int>(shape.size()) - 1)(random);
        const ScanPlan plan = planned(dense(shape, item), dense(shape, item), axis, request);
        layouts.insert(describe(plan.layout));
        std::vector<int> seen(static_cast<std::size_t>(plan.lines * plan.length));
        walk(plan, seen);
        ASSERT_TRUE(std::ranges::all_of(seen, [](int times) { return times == 1; }))
            << describe(plan.layout) << " of " << plan.lines << " lines of " << plan.length;
    }
    EXPECT_GT(layouts.size(), 20u);
}

TEST(ScanPlan, FewBlocksJoinTheTotalsOfAll) {
    for (const auto& [shape, axis] : std::vector<std::pair<Shape, int>>{
             {{256 * m}, 0}, {{16, 16 * m}, 1}, {{16 * m, 16}, 0}, {{256 * k, k}, 0}}) {
        const ScanPlan plan = planned(dense(shape), dense(shape), axis);
        ASSERT_TRUE(plan.layout.split);
        EXPECT_EQ(plan.grid, plan.units + plan.scanners);
        EXPECT_GE(plan.scanners * 8 * plan.share, plan.values);
        EXPECT_LE(plan.share, 32); // a lane keeps the state of one chain
        EXPECT_LE(plan.scanners, 132 / 4);
    }
}

TEST(ScanPlan, RoomHoldsEveryTotal) {
    ScanRequest request;
    const ScanPlan plan = planned(dense({16 * m, 16}), dense({16 * m, 16}), 0, request);
    EXPECT_EQ(plan.values, 16);
    EXPECT_EQ(plan.steps, plan.tiles);
    EXPECT_EQ(scan_room(plan, 4).bytes, 64 + plan.tiles * 16 * 16);
    EXPECT_EQ(scan_room(plan, 16).bytes, 64 + plan.tiles * 16 * 64);
    EXPECT_EQ(scan_room(planned(dense({16 * k, 16 * k}), dense({16 * k, 16 * k}), 0), 4).bytes, 0);
}

TEST(ScanPlan, RoomOnACpuIsAWordForEachTileAndWhatTheTilesHave) {
    ScanRequest request;
    request.target = Target::cpu;
    request.force_split = 3;
    for (const auto& [shape, axis] :
         std::vector<std::pair<Shape, int>>{{{16 * m}, 0}, {{m, 16}, 0}, {{5, 300 * k}, 1}}) {
        const ScanPlan plan = planned(dense(shape), dense(shape), axis, request);
        ASSERT_TRUE(plan.layout.split);
        const ScanRoom room = scan_room(plan, 8);
        EXPECT_EQ(room.cleared, 64 + (plan.units + 15) / 16 * 64);
        EXPECT_EQ(room.bytes, room.cleared + plan.values * 8);
        EXPECT_GE(plan.values, plan.units);
    }
}

} // namespace
} // namespace quern
