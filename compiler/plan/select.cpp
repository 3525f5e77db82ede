// Chooses the road by the length of a row and the number of rows, and the width of digits by how
// many ranks are wanted at once.
#include "compiler/plan/select.h"

#include "compiler/base/text.h"
#include "compiler/plan/loop_nest.h"

#include <algorithm>
#include <bit>

namespace quern {

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
    const int key_bits = static_cast<int>(request.item_bytes) * 8;
    const bool few = request.places == 1;
    const bool wide = few && key_bits > 8 && request.length >= worth_wide_digits;
    layout.digit_bits = wide ? 11 : 8;
    layout.targets = few ? 2 : select_many_targets;
    plan.passes = static_cast<int>(ceil_div(key_bits, layout.digit_bits));
    const std::int64_t blocks =
        layout.threads ? std::int64_t{8} * request.processors : request.processors;
    std::int64_t splits = request.rows >= blocks ? 1 : ceil_div(blocks, request.rows);
    splits = std::min(splits, ceil_div(request.length, worth_a_block));
    // On a CPU a reading of digits takes as long as half of all that one block does by pivots.
    if (!layout.threads && request.processors < (few ? 8 : 16))
        splits = 1;
    if (request.force_splits > 0)
        splits = std::min<std::int64_t>(request.force_splits, request.length);
    plan.chunk = ceil_div(request.length, splits);
    plan.splits = ceil_div(request.length, plan.chunk);
    layout.road = plan.splits > 1 ? SelectRoad::split_rows : SelectRoad::whole_rows;
    if (layout.road == SelectRoad::whole_rows &&
        !layout.threads) { // no digits, no batches: one kernel for all
        plan.passes = 0;
        layout.digit_bits = 8;
        layout.targets = 2;
        layout.vectors = request.vectors;
    }
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
    if (layout.road == SelectRoad::whole_rows && !layout.threads)
        return "whole rows | divided at pivots";
    return join(layout.road == SelectRoad::split_rows ? "split rows" : "whole rows",
                " | digits of ", int{layout.digit_bits}, " bits, ", plan.passes, " readings | ",
                int{layout.targets}, " ranks");
}

} // namespace quern
