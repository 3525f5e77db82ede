// The planner: what it chooses for known cases, and that every plan visits each element once, at
// the right addresses.
#include "compiler/plan/elementwise.h"

#include "compiler/base/text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace quern {
namespace {

struct Made {
    std::vector<std::int64_t> shape, strides;
    std::uint32_t item = 4;
    std::uint64_t address = 0x1000;
    bool output = false;
    bool place = false;
};

Made dense(std::vector<std::int64_t> shape, std::uint32_t item = 4, bool output = false) {
    Made made{std::move(shape), {}, item, 0x1000, output, false};
    made.strides.resize(made.shape.size());
    std::int64_t stride = item;
    for (std::size_t d = made.shape.size(); d-- > 0;) {
        made.strides[d] = stride;
        stride *= made.shape[d];
    }
    return made;
}

Made transposed(Made made) {
    std::reverse(made.shape.begin(), made.shape.end());
    std::reverse(made.strides.begin(), made.strides.end());
    return made;
}

struct Planned {
    ElementwisePlan plan;
    std::vector<Operand> operands;
    std::string text;
};

Planned planned(const std::vector<Made>& arrays, PlanRequest request = {},
                std::vector<std::int64_t> shape = {}) {
    Planned result;
    if (shape.empty())
        for (const Made& array : arrays)
            if (array.shape.size() >= shape.size())
                shape = array.shape;
    for (const Made& array : arrays)
        result.operands.push_back({array.shape.data(), array.strides.data(),
                                   static_cast<int>(array.shape.size()), array.item, array.address,
                                   array.output, array.place});
    request.shape = shape;
    request.operands = result.operands;
    EXPECT_TRUE(plan_elementwise(request, result.plan));
    result.text = describe(result.plan.layout);
    return result;
}

PlanRequest on_cpu() {
    PlanRequest request;
    request.target = Target::cpu;
    request.threads = 2;
    return request;
}

TEST(ElementwisePlan, DenseArraysOfAnyShapeAreOneVectorOfSixteenBytes) {
    for (const std::uint32_t item : {1u, 2u, 4u, 8u}) {
        const Made x = dense({7, 6, 5}, item), z = dense({7, 6, 5}, item, true);
        const Planned made = planned({x, x, z});
        EXPECT_EQ(made.plan.layout.strategy, Strategy::vector);
        EXPECT_EQ(made.plan.layout.ndim, 1);
        EXPECT_EQ(made.plan.layout.lanes * item, 16u);
        EXPECT_EQ(made.plan.shape[0], 210);
    }
}

TEST(ElementwisePlan, ComplexDoublesMoveWholeAtATime) {
    const Planned made = planned({dense({100}, 16), dense({100}, 16, true)});
    EXPECT_EQ(made.text, "scattered x4 | 1 axis | contiguous contiguous | 32-bit");
}

TEST(ElementwisePlan, MixedSizesShareTheirLanes) {
    EXPECT_EQ(planned({dense({4096}, 1), dense({4096}, 8, true)}).plan.layout.lanes, 4);
    EXPECT_EQ(planned({dense({4096}, 1), dense({4096}, 4, true)}).plan.layout.lanes, 8);
    EXPECT_EQ(planned({dense({4096}, 4), dense({4096}, 8, true)}).plan.layout.lanes, 2);
}

TEST(ElementwisePlan, RowAndColumnBroadcastsStayVectors) {
    const Made full = dense({512, 1024}), out = dense({512, 1024}, 4, true), row = dense({1024});
    EXPECT_EQ(planned({full, row, out}).text,
              "vector x4 | 2 axes | contiguous contiguous contiguous | 32-bit");
    const Made column = dense({512, 1});
    EXPECT_EQ(planned({full, column, out}).text,
              "vector x4 | 2 axes | contiguous repeated contiguous | 32-bit");
}

TEST(ElementwisePlan, LongBodiesTakeSeveralStepsWhereThereAreEnough) {
    PlanRequest request;
    request.body.swift = true;
    for (const auto& [count, turns] :
         {std::pair{4096, 1}, {1 << 21, 1}, {1 << 22, 2}, {1 << 27, 4}}) {
        const ElementwisePlan plan =
            planned({dense({count}), dense({count}, 4, true)}, request).plan;
        EXPECT_EQ(plan.share, std::int64_t{turns} * plan.block) << count;
        EXPECT_GE(std::int64_t{plan.grid} * plan.share, plan.steps) << count;
        EXPECT_LT((std::int64_t{plan.grid} - 1) * plan.share, plan.steps) << count;
    }
    EXPECT_EQ(planned({dense({4096}), dense({4096}, 4, true)}, request).text,
              "vector x4 | 1 axis | contiguous contiguous | 32-bit | swift");
    EXPECT_EQ(planned({dense({1 << 22}), dense({1 << 22}, 4, true)}, request).text,
              "vector x4 | 1 axis | contiguous contiguous | 32-bit | swift, in pairs");
    PlanRequest single; // of one long function: only there
    single.body.swift_of_many = true;
    EXPECT_FALSE(planned({dense({1 << 21}), dense({1 << 21}, 4, true)}, single).plan.layout.swift);
    EXPECT_TRUE(planned({dense({1 << 22}), dense({1 << 22}, 4, true)}, single).plan.layout.pairs);
    // Three steps a thread are one pair, not a pair and a half.
    EXPECT_EQ(planned({dense({7 << 20}), dense({7 << 20}, 4, true)}, request).plan.share,
              std::int64_t{2} * request.block_size);
    // Rows are not paired, nor what would take too many registers.
    const Made rows = dense({4096, 4096}), row = dense({4096});
    EXPECT_FALSE(planned({rows, row, dense({4096, 4096}, 4, true)}, request).plan.layout.pairs);
    const Made in = dense({1 << 22}), out = dense({1 << 22}, 4, true);
    EXPECT_TRUE(planned({in, in, in, in, in, out}, request).plan.layout.pairs);
    EXPECT_FALSE(planned({in, in, in, in, in, in, out}, request).plan.layout.pairs);
    EXPECT_FALSE(planned({dense({4096}, 16), dense({4096}, 16, true)}, request).plan.layout.swift);
    EXPECT_FALSE(planned({transposed(dense({512, 512})), dense({512, 512}, 4, true)}, request)
                     .plan.layout.swift);
}

TEST(ElementwisePlan, ATransposedOperandGoesThroughTiles) {
    const Made x = dense({512, 1024}), y = transposed(dense({1024, 512})),
               out = dense({512, 1024}, 4, true);
    EXPECT_EQ(planned({x, y, out}).text, "tile x1 | 2 axes | contiguous tiled contiguous | 32-bit");
    EXPECT_EQ(planned({x, y, out}, on_cpu()).text,
              "blocked x64 | 2 axes | contiguous tiled contiguous | 64-bit");
    PlanRequest ordered;
    ordered.body.keep_order = true; // the body sees positions: axes stay where they are
    EXPECT_EQ(planned({x, y, out}, ordered).plan.layout.strategy, Strategy::scattered);
}

// Where the index of a thread's last step, which is past the end, would come round to a place
// within.
TEST(ElementwisePlan, WidensForTheLastStepOfOddBlocks) {
    constexpr std::int64_t most = (std::int64_t{1} << 31) - 17;
    for (const auto& [count, block, bits] :
         {std::tuple{most, 1024, 32}, {most, 96, 64}, {most, 1000, 64}, {most - 1000, 1000, 32}}) {
        const Made x = dense({count}, 1), out = dense({count}, 1, true);
        PlanRequest request;
        const std::vector<Operand> operands{
            {x.shape.data(), x.strides.data(), 1, 1, x.address, false},
            {out.shape.data(), out.strides.data(), 1, 1, out.address, true}};
        request.shape = x.shape;
        request.operands = operands;
        request.body.one_element = true;
        request.block_size = block;
        ElementwisePlan plan;
        ASSERT_TRUE(plan_elementwise(request, plan));
        EXPECT_EQ(plan.layout.index_bits, bits) << count << " in blocks of " << block;
    }
}

// Lanes fill four bytes; they move together where every operand is aligned to them.
TEST(ElementwisePlan, LargerTilesOfSmallItems) {
    struct Expected {
        std::uint32_t item;
        std::int64_t rows, columns;
        int lanes;
        bool packed;
    };
    for (const auto& [item, rows, columns, lanes, packed] :
         {Expected{2, 2048, 2048, 2, true}, Expected{1, 2048, 2048, 4, true},
          Expected{4, 2048, 2048, 1, false}, Expected{2, 256, 256, 1, false},
          Expected{2, 2047, 2048, 2, false}, Expected{2, 2048, 2047, 2, false},
          Expected{1, 2048, 2050, 4, false}, Expected{1, 1 << 16, 64, 2, true},
          Expected{1, 1 << 16, 40, 1, false}}) {
        const Made x = transposed(dense({columns, rows}, item)),
                   out = dense({rows, columns}, item, true);
        const Planned made = planned({x, out});
        EXPECT_TRUE(made.text.starts_with(join("tile x", lanes, packed ? " in packs |" : " |")))
            << made.text;
        const std::int64_t side = 32 * lanes;
        EXPECT_EQ(made.plan.grid, ((rows + side - 1) / side) * ((columns + side - 1) / side));
        EXPECT_EQ(made.plan.block, 256u);
    }
}

TEST(ElementwisePlan, AllTransposedIsAsGoodAsDense) {
    const Made x = transposed(dense({512, 1024})), out = transposed(dense({512, 1024}, 4, true));
    EXPECT_EQ(planned({x, x, out}).text,
              "vector x4 | 1 axis | contiguous contiguous contiguous | 32-bit");
}

TEST(ElementwisePlan, OddOffsetsArePeeled) {
    Made x = dense({4096}), out = dense({4096}, 4, true);
    x.address = out.address = 0x1004;
    const Planned made = planned({x, out});
    EXPECT_EQ(made.text, "vector x4 | 1 axis | contiguous contiguous | 32-bit | peeled");
    EXPECT_EQ(made.plan.shift, 1);
    EXPECT_EQ(made.plan.steps, 1025);
    x.address = 0x1000; // the two disagree
    EXPECT_EQ(planned({x, out}).text, "scattered x4 | 1 axis | contiguous contiguous | 32-bit");
}

TEST(ElementwisePlan, OperandsApartByFewBytesGoOneByOne) {
    for (const auto& [item, apart, lanes] :
         {std::tuple{1, 1, 1}, {1, 2, 1}, {1, 4, 1}, {1, 8, 8}, {2, 4, 1}, {2, 8, 1}, {4, 8, 1}}) {
        const auto bytes = static_cast<std::uint32_t>(item);
        Made x = dense({4096}, bytes);
        x.address += static_cast<std::uint64_t>(apart);
        const Planned made = planned({x, dense({4096}, bytes, true)});
        EXPECT_EQ(made.plan.layout.strategy, lanes > 1 ? Strategy::vector : Strategy::scattered);
        if (lanes > 1) {
            EXPECT_EQ(made.plan.layout.lanes, lanes) << item << " " << apart;
        }
    }
}

TEST(ElementwisePlan, WideIndicesOnlyWhereTheyAreNeeded) {
    const std::int64_t limit = std::int64_t{1} << 31;
    EXPECT_EQ(planned({dense({(limit - 64) / 4})}).plan.layout.index_bits, 32);
    EXPECT_EQ(planned({dense({limit / 4 + 64})}).plan.layout.index_bits, 64);
    EXPECT_EQ(planned({dense({limit + 5}, 1)}).plan.layout.index_bits, 64);
    Made row = dense({1});
    row.strides = {0};
    EXPECT_EQ(planned({row, dense({limit}, 1, true)}).plan.layout.index_bits, 64);
}

TEST(ElementwisePlan, ABodyThatNamesItsThreadGetsOneElementAThread) {
    PlanRequest request;
    request.body.one_element = true;
    request.block_size = 96;
    const Planned made = planned({dense({1000}), dense({1000}, 4, true)}, request);
    EXPECT_EQ(made.plan.layout.lanes, 1);
    EXPECT_EQ(made.plan.block, 96u);
    EXPECT_EQ(made.plan.grid, 11u);
}

TEST(ElementwisePlan, TheCpuGetsRangesOfItsWorkersShare) {
    const Planned small = planned({dense({1000}), dense({1000}, 4, true)}, on_cpu());
    EXPECT_EQ(small.plan.grid, 1u);
    const Planned large = planned({dense({1 << 20}), dense({1 << 20}, 4, true)}, on_cpu());
    EXPECT_EQ(large.plan.grid, 8u);
    EXPECT_GE(large.plan.share * large.plan.grid, 1 << 20);
}

TEST(ElementwisePlan, FewLongElementsAreSharedOneByOne) {
    PlanRequest request = on_cpu();
    request.body.grain = 1; // as of a body that loops
    const Planned few = planned({dense({5}), dense({5}, 4, true)}, request);
    EXPECT_EQ(few.plan.share, 1);
    EXPECT_EQ(few.plan.grid, 5u);
    const Planned many = planned({dense({1000}), dense({1000}, 4, true)}, request);
    EXPECT_EQ(many.plan.share % 64, 0); // no two threads write to the same cache line
    EXPECT_GE(many.plan.share * many.plan.grid, 1000);
    EXPECT_GT(many.plan.grid, 4u);
}

TEST(ElementwisePlan, UnmergedAxesAreKeptWhenAsked) {
    PlanRequest request;
    request.body.keep_axes = true;
    EXPECT_EQ(planned({dense({3, 1, 4}), dense({3, 1, 4}, 4, true)}, request).plan.layout.ndim, 3);
    EXPECT_EQ(planned({dense({}), dense({}, 4, true)}).plan.layout.ndim, 1);
}

// Every address tuple that the nest visits, sorted.
std::vector<std::vector<std::int64_t>> visits(int ndim, const std::int64_t* shape, int operands,
                                              auto&& stride) {
    std::vector<std::vector<std::int64_t>> tuples;
    std::vector<std::int64_t> at(static_cast<std::size_t>(ndim), 0);
    for (;;) {
        std::vector<std::int64_t> tuple(static_cast<std::size_t>(operands), 0);
        for (int k = 0; k < operands; ++k)
            for (int d = 0; d < ndim; ++d)
                tuple[k] += at[d] * stride(k, d);
        tuples.push_back(std::move(tuple));
        int d = ndim - 1;
        for (; d >= 0 && ++at[d] == shape[d]; --d)
            at[d] = 0;
        if (d < 0)
            break;
    }
    std::sort(tuples.begin(), tuples.end());
    return tuples;
}

TEST(ElementwisePlan, RandomNestsVisitEveryElementOnceAtItsAddresses) {
    std::mt19937 random(11);
    const auto pick = [&](int low, int high) {
        return std::uniform_int_distribution(low, high)(random);
    };
    for (int round = 0; round < 4000; ++round) {
        const int ndim = pick(0, 5), count = pick(1, 4);
        std::vector<std::int64_t> shape(static_cast<std::size_t>(ndim));
        for (auto& extent : shape)
            extent = pick(1, 4) == 1 ? 1 : pick(1, round % 7 ? 5 : 40);
        if (std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>{}) >
            40000)
            continue;
        std::vector<Made> arrays;
        for (int k = 0; k < count; ++k) {
            Made array;
            array.item = 1u << pick(0, 4);
            array.output = k == count - 1;
            const int missing = array.output ? 0 : pick(0, ndim);
            for (int d = missing; d < ndim; ++d)
                array.shape.push_back(
                    !array.output && pick(0, 3) == 0 ? 1 : shape[static_cast<std::size_t>(d)]);
            std::vector<int> order(array.shape.size());
            std::iota(order.begin(), order.end(), 0);
            if (pick(0, 1))
                std::shuffle(order.begin(), order.end(), random);
            array.strides.assign(array.shape.size(), 0);
            std::int64_t stride = array.item * (pick(0, 3) ? 1 : 2);
            for (const int d : order) {
                array.strides[static_cast<std::size_t>(d)] = pick(0, 5) ? stride : -stride;
                stride *= array.shape[static_cast<std::size_t>(d)];
            }
            array.address = 0x10000 + static_cast<std::uint64_t>(pick(0, 3)) * array.item;
            arrays.push_back(std::move(array));
        }
        PlanRequest request;
        request.target = pick(0, 1) ? Target::gpu : Target::cpu;
        request.body.keep_order = pick(0, 2) == 0;
        request.body.keep_axes = pick(0, 5) == 0;
        request.body.one_element = pick(0, 5) == 0;
        request.threads = pick(1, 4);
        const Planned made = planned(arrays, request, shape);
        const ElementwisePlan& plan = made.plan;
        std::vector<std::int64_t> ours(plan.shape.begin(), plan.shape.begin() + plan.layout.ndim);
        const auto visited = visits(plan.layout.ndim, ours.data(), count,
                                    [&](int k, int d) { return plan.stride(k, d); });
        const auto wanted = visits(ndim, shape.data(), count, [&](int k, int d) -> std::int64_t {
            const Made& array = arrays[static_cast<std::size_t>(k)];
            const int own = d - (ndim - static_cast<int>(array.shape.size()));
            return own < 0 || array.shape[static_cast<std::size_t>(own)] == 1
                       ? 0
                       : array.strides[static_cast<std::size_t>(own)];
        });
        ASSERT_EQ(visited, wanted) << made.text << " in round " << round;
        ASSERT_GE(static_cast<std::int64_t>(plan.grid) * plan.block, 1);
        if (plan.layout.strategy == Strategy::vector)
            for (int k = 0; k < count; ++k) {
                if (plan.layout.access[static_cast<std::size_t>(k)] != Access::contiguous)
                    continue;
                const auto chunk = std::min<std::uint64_t>(
                    16, plan.layout.lanes * arrays[static_cast<std::size_t>(k)].item);
                ASSERT_EQ((arrays[static_cast<std::size_t>(k)].address -
                           static_cast<std::uint64_t>(plan.shift) *
                               arrays[static_cast<std::size_t>(k)].item) %
                              chunk,
                          0u);
            }
    }
}

// An operand of which only the place is wanted costs the others nothing: no lanes, no tiles.
TEST(ElementwisePlan, PlacesDecideNothing) {
    const Made out = dense({512, 512}, 4, true);
    Made scattered = transposed(dense({512, 512}));
    scattered.address += 2;
    EXPECT_TRUE(planned({scattered, out}).text.starts_with("tile"));
    scattered.place = true;
    EXPECT_EQ(planned({scattered, out}).text, "vector x4 | 2 axes | strided contiguous | 32-bit");
}

// Large gathers run in large blocks, where a thread holds little enough for so many, and where
// nobody gave another block.
TEST(ElementwisePlan, LargeGathersRunInLargeBlocks) {
    const auto plan = [](std::int64_t count, bool reads, int indices, int block = 0) {
        Made table = dense({count}, 4, !reads);
        table.strides[0] = 0;
        table.place = true;
        std::vector<Made> arrays(static_cast<std::size_t>(indices), dense({count}, 8));
        arrays.insert(reads ? arrays.begin() : arrays.end(), table);
        if (reads)
            arrays.push_back(dense({count}, 4, true));
        PlanRequest request;
        request.block_size_given = block != 0;
        request.block_size = block != 0 ? block : request.block_size;
        return planned(arrays, request).plan;
    };
    const ElementwisePlan large = plan(gather_block_results, true, 1);
    EXPECT_TRUE(large.layout.gathers);
    EXPECT_EQ(large.block, 1024u);
    EXPECT_EQ(large.grid, gather_block_results / 4 / 1024);
    const ElementwisePlan small = plan(gather_block_results - 4, true, 1);
    EXPECT_EQ(small.layout, large.layout); // one kernel for both
    EXPECT_EQ(small.block, 128u);
    EXPECT_EQ(plan(gather_block_results, true, 1, 64).block, 64u);
    EXPECT_EQ(plan(gather_block_results, true, 2).block, 1024u);
    for (const ElementwisePlan& other :
         {plan(gather_block_results, true, 3), plan(gather_block_results, false, 1)}) {
        EXPECT_FALSE(other.layout.gathers);
        EXPECT_EQ(other.block, 128u);
    }
}

// Smaller ones do where each row of results is read out of one row; whole rows stay in small
// blocks.
TEST(ElementwisePlan, GathersWithinRowsRunInLargeBlocks) {
    const auto plan = [](std::int64_t rows, bool whole) {
        constexpr std::int64_t width = 4096;
        Made table = dense({rows, width}, 4), index = dense({rows, width}, 8);
        table.place = true;
        table.strides[whole ? 0 : 1] = 0;
        index.strides = {whole ? 8 : 0, whole ? 0 : 8};
        return planned({table, index, dense({rows, width}, 4, true)}).plan;
    };
    EXPECT_EQ(plan(256, false).block, 1024u);
    EXPECT_EQ(plan(255, false).block, 128u);
    EXPECT_EQ(plan(256, true).block, 128u);
    EXPECT_EQ(plan(255, false).layout, plan(256, false).layout);
}

// What writes places keeps the order of its elements on the CPU: one block.
TEST(ElementwisePlan, WritersOfPlacesAreOneBlock) {
    ElementwiseText text;
    text.in_params = "T x";
    text.out_params = "T y";
    text.operation = "*y = x";
    ElementwiseSpec spec = make_elementwise_spec(text);
    PlanRequest request;
    request.target = Target::cpu;
    request.threads = 8;
    request.body = needs_of(spec);
    EXPECT_GT(planned({dense({1 << 20}), dense({1 << 20}, 4, true)}, request).plan.grid, 1u);
    spec.params.back().place = true;
    request.body = needs_of(spec);
    EXPECT_TRUE(request.body.keep_order);
    EXPECT_EQ(planned({dense({1 << 20}), dense({1 << 20}, 4, true)}, request).plan.grid, 1u);
}

// Elements that stand apart are put side by side on the CPU where vectors do it, or where a
// function is called on them.
TEST(ElementwisePlan, WhatIsWorthGathering) {
    const auto access = [](std::int64_t step, std::uint32_t item, bool costly,
                           bool in_place = false, Target target = Target::cpu) {
        Made x = dense({4096}, item);
        x.strides[0] = step * item;
        PlanRequest request;
        request.target = target;
        request.body.costly = costly;
        request.body.in_place = in_place;
        return planned({x, dense({4096}, 4, true)}, request).plan.layout.access[0];
    };
    for (const std::int64_t step : {2, -1})
        EXPECT_EQ(access(step, 4, false), Access::gathered);
    EXPECT_EQ(access(4, 1, false), Access::gathered);
    EXPECT_EQ(access(4, 4, false), Access::strided);
    EXPECT_EQ(access(2, 8, false), Access::strided);
    EXPECT_EQ(access(2, 8, true), Access::gathered);
    EXPECT_EQ(access(7, 4, true), Access::gathered);
    EXPECT_EQ(access(7, 4, true, true), Access::strided);
    EXPECT_EQ(access(2, 4, true, false, Target::gpu), Access::strided);
}

TEST(Divisor, IsExactForEveryNumerator) {
    std::mt19937_64 random(3);
    for (int round = 0; round < 200000; ++round) {
        const std::uint64_t divisor = 1 + (random() >> (33 + random() % 31));
        const std::uint64_t x = (random() >> 33) >> (random() % 31);
        const DivisorNumbers numbers = make_divisor(divisor, 32);
        const auto multiplier = static_cast<std::uint32_t>(numbers.multiplier);
        const auto high = static_cast<std::uint32_t>((x * multiplier) >> 32);
        ASSERT_EQ((high + static_cast<std::uint32_t>(x)) >> numbers.shift, x / divisor)
            << x << " / " << divisor;

        const std::uint64_t wide_divisor = 1 + (random() >> (1 + random() % 62)),
                            wide_x = random() >> 1;
        const DivisorNumbers wide = make_divisor(wide_divisor, 64);
        __extension__ using Wide = unsigned __int128;
        const auto wide_high = static_cast<std::uint64_t>(Wide{wide_x} * wide.multiplier >> 64);
        ASSERT_EQ((wide_high + wide_x) >> wide.shift, wide_x / wide_divisor)
            << wide_x << " / " << wide_divisor;
    }
}

} // namespace
} // namespace quern
