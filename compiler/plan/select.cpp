// Chooses the road by the length of a row and the number of rows, and the width of digits by how
// many ranks are wanted at once.
#include "compiler/plan/select.h"

#include "compiler/base/text.h"
#include "compiler/plan/loop_nest.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace quern {
namespace {

// Is a row on a CPU sampled first? Values of one and two bytes have no vectors that divide them;
// more places mean more edges for each value, which blocks share. (Zen 3)
bool worth_sampling(const SelectRequest& request, std::int64_t splits) {
    constexpr std::int64_t long_row_bytes = 6 << 20, long_row_of_small = 1 << 15;
    if (request.places > select_brackets)
        return false;
    if (request.force_splits > 1)
        return true;
    return request.item_bytes <= 2
               ? request.length >= long_row_of_small * request.places
               : request.length * request.item_bytes * splits >= long_row_bytes &&
                     request.places + 3 <= 6 * splits;
}

// As many that a sample and the lists that it leaves take about the same time.
std::int64_t sampled(const SelectRequest& request) {
    const double root = std::cbrt(0.2 * static_cast<double>(request.length * request.places));
    return std::min(std::max(static_cast<std::int64_t>(root * root), std::int64_t{256}),
                    request.length);
}

} // namespace

SelectPlan plan_select(const SelectRequest& request) {
    constexpr std::int64_t worth_wide_digits = 1 << 14; // as many values as a table has places
    constexpr std::int64_t worth_a_block = 1 << 14;
    SelectPlan plan;
    SelectLayout& layout = plan.layout;
    layout.threads = request.target == Target::gpu;
    if (layout.threads && request.length <= select_brief && request.force_splits == 0) {
        layout.road = SelectRoad::brief_rows;
        layout.held =
            static_cast<std::uint16_t>(std::bit_ceil(static_cast<std::uint64_t>(request.length)));
        plan.block = select_block;
        plan.grid = grid_for(request.rows, select_block);
        return plan;
    }
    const std::int64_t shortest = layout.threads ? select_sorted_on_gpu : select_sorted_on_cpu;
    if (request.length <= shortest && request.force_splits == 0) {
        layout.road = SelectRoad::short_rows;
        layout.held = static_cast<std::uint16_t>(layout.threads ? 1 : select_sorted_on_cpu);
        plan.block = layout.threads ? select_block : 1;
        plan.grid = grid_for(request.rows, layout.threads ? select_block : 1 << 10);
        return plan;
    }
    const bool few = request.places == 1;
    if (layout.threads) {
        const int key_bits = static_cast<int>(request.item_bytes) * 8;
        const bool wide = few && key_bits > 8 && request.length >= worth_wide_digits;
        layout.digit_bits = wide ? 11 : 8;
        layout.targets = few ? 2 : select_many_targets;
        plan.passes = static_cast<int>(ceil_div(key_bits, layout.digit_bits));
    } else { // no digits, no batches
        plan.passes = 0;
        layout.vectors = static_cast<std::uint8_t>(request.vector_bytes);
    }
    const std::int64_t blocks =
        layout.threads ? std::int64_t{8} * request.processors : request.processors;
    std::int64_t splits = request.rows >= blocks ? 1 : ceil_div(blocks, request.rows);
    splits = std::min(splits, ceil_div(request.length, worth_a_block));
    if (request.force_splits > 0)
        splits = std::min<std::int64_t>(request.force_splits, request.length);
    if (!layout.threads && !worth_sampling(request, splits))
        splits = 1;
    else if (!layout.threads)
        plan.sampled = sampled(request);
    plan.chunk = ceil_div(request.length, splits);
    plan.splits = ceil_div(request.length, plan.chunk);
    layout.road = plan.splits > 1 ? SelectRoad::split_rows : SelectRoad::whole_rows;
    plan.block = layout.threads ? select_block : 1;
    // On a CPU each block has room for two rows.
    const std::int64_t at_once = std::max<std::int64_t>(layout.threads ? blocks * 4 : blocks, 1);
    plan.grid = plan.splits > 1 ? grid_for(request.rows * plan.splits, 1)
                                : grid_for(std::min(request.rows, at_once), 1);
    return plan;
}

std::string describe(const SelectPlan& plan) {
    const SelectLayout& layout = plan.layout;
    if (layout.road == SelectRoad::brief_rows)
        return join("brief rows | at most ", int{layout.held}, " values, a thread each");
    if (layout.road == SelectRoad::short_rows)
        return layout.threads ? std::string("short rows | sorted before")
                              : join("short rows | at most ", int{layout.held}, " values");
    if (!layout.threads)
        return join(layout.road == SelectRoad::whole_rows ? "whole" : "split", " rows | ",
                    plan.sampled == 0 ? std::string("divided at pivots")
                                      : join("listed between keys of ", plan.sampled, " values"));
    return join(layout.road == SelectRoad::split_rows ? "split rows" : "whole rows",
                " | digits of ", int{layout.digit_bits}, " bits, ", plan.passes, " readings | ",
                int{layout.targets}, " ranks");
}

} // namespace quern
