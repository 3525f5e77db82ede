// Chooses the road by the length of a row and the number of rows, and how much a block holds by the
// size of a value.
#include "compiler/plan/sort.h"

#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "compiler/plan/loop_nest.h"

#include <algorithm>
#include <bit>

namespace quern {
namespace {

constexpr std::int64_t merged_block = 256;                     // short rows
constexpr std::int64_t ranked_block = 256, shared_block = 384; // of a row, of a part of one
constexpr std::int64_t shared_room = 1 << 15;                  // bytes of a tile in shared memory

// The longest rows that are merged on a GPU: digits of a wide key take more passes. (H200)
std::int64_t longest_merged(const SortRequest& request) {
    switch (request.item_bytes) {
    case 1:
    case 2:
        return 256;
    case 4:
        return request.pairs ? 512 : 640;
    default:
        return 1024;
    }
}

// Of a row that is merged, by one thread: all of a very short one, else what is sorted in registers
// before the first merge.
std::int64_t merged_held(const SortRequest& request) {
    const bool light = request.item_bytes <= 4 && !request.pairs;
    const std::int64_t most = light && request.length >= 64 ? 16 : 8;
    const auto whole = std::bit_ceil(static_cast<std::uint64_t>(request.length));
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(whole), 2, most);
}

void plan_for_gpu(const SortRequest& request, SortPlan& plan) {
    SortLayout& layout = plan.layout;
    layout.wide = request.length >= std::int64_t{1} << 30; // two bits of a count are a mark
    const std::uint32_t place_bytes = !request.pairs ? 0 : layout.wide ? 8 : 4;
    const auto most_held = [&] { // by a thread
        return std::min<std::int64_t>(
            shared_room / std::max(request.item_bytes, place_bytes) / layout.block, 32);
    };
    layout.block =
        static_cast<std::uint16_t>(request.force_block > 0 ? request.force_block : ranked_block);
    const std::int64_t needed = ceil_div(request.length, layout.block);
    layout.road = request.length <= longest_merged(request) ? SortRoad::short_rows
                  : needed <= most_held()                   ? SortRoad::whole_rows
                                                            : SortRoad::split_rows;
    layout.road = request.force.value_or(layout.road);
    switch (layout.road) {
    case SortRoad::short_rows:
        layout.block = merged_block;
        layout.held = static_cast<std::uint8_t>(request.force_held > 0 ? request.force_held
                                                                       : merged_held(request));
        plan.tile = std::int64_t{layout.block} * layout.held;
        // Each row has threads of its own.
        plan.rows_per_block =
            std::max<std::int64_t>(layout.block / ceil_div(request.length, layout.held), 1);
        plan.grid = grid_for(request.rows, plan.rows_per_block);
        break;
    case SortRoad::whole_rows:
        layout.held = static_cast<std::uint8_t>(needed <= 8 ? needed : ceil_div(needed, 4) * 4);
        plan.tile = std::int64_t{layout.held} * layout.block;
        plan.grid = grid_for(request.rows, 1);
        break;
    case SortRoad::split_rows:
        if (request.force_block == 0)
            layout.block = shared_block;
        layout.held = static_cast<std::uint8_t>(
            request.force_held > 0 ? request.force_held
                                   : std::min<std::int64_t>(most_held(), request.pairs ? 12 : 16));
        plan.tile = std::int64_t{layout.held} * layout.block;
        plan.splits = ceil_div(request.length, plan.tile);
        plan.grid = grid_for(request.rows * plan.splits, 1);
        break;
    case SortRoad::dealt_rows:
        throw ValueError("rows are dealt out on a CPU alone");
    }
}

void plan_for_cpu(const SortRequest& request, SortPlan& plan) {
    constexpr std::int64_t worth_a_block = 1 << 16;
    SortLayout& layout = plan.layout;
    layout.block = 1;
    const std::int64_t free_blocks =
        request.rows >= request.processors ? 1 : ceil_div(request.processors, request.rows);
    const std::int64_t splits = std::min(free_blocks, request.length / worth_a_block);
    // Values of one and two bytes have a digit or two: as quick as dealing them out.
    const SortRoad shared = request.item_bytes < 4 ? SortRoad::split_rows : SortRoad::dealt_rows;
    constexpr std::int64_t cells_a_block = 4, least_cells = 8, most_cells = 64;
    const std::int64_t cells =
        std::clamp<std::int64_t>(cells_a_block * free_blocks, least_cells, most_cells);
    if (!request.pairs)
        layout.vectors = static_cast<std::uint8_t>(request.vector_bytes);
    // Short rows lie side by side in lanes; a few of them are as quick one by one in vectors, and
    // so are all that fill two wide ones.
    const std::int64_t side_by_side = layout.vectors ? 64 / request.item_bytes : 1;
    const std::int64_t merged = layout.vectors > 32 ? 2 * side_by_side - 1 : 256;
    // One block counts small values alone in the time that a few take to move them.
    const bool counted = shared == SortRoad::split_rows && !request.pairs;
    layout.road = request.length <= merged && request.rows >= side_by_side ? SortRoad::short_rows
                  : splits > (counted ? 4 : 1)                             ? shared
                                                                           : SortRoad::whole_rows;
    layout.road = request.force.value_or(layout.road);
    if (layout.road == SortRoad::split_rows || layout.road == SortRoad::dealt_rows) {
        const bool dealt = layout.road == SortRoad::dealt_rows;
        if (!dealt)
            layout.vectors = 0;
        layout.wide = request.length >= std::int64_t{1} << 31;
        plan.splits = std::max<std::int64_t>(splits, 2);
        plan.tile = ceil_div(request.length, plan.splits);
        plan.splits = ceil_div(request.length, plan.tile);
        if (dealt)
            plan.cells = std::min(cells, std::max<std::int64_t>(request.length / 16, 1));
        plan.grid = grid_for(request.rows * plan.splits, 1);
        return;
    }
    plan.tile = request.length;
    layout.wide = request.length >= std::int64_t{1} << 31;
    constexpr std::int64_t in_lanes = 64; // short rows, of values of one byte
    const std::int64_t least = ceil_div(1 << 14, request.length); // rows that are worth a block
    plan.rows_per_block =
        std::max(least, ceil_div(request.rows, std::int64_t{8} * request.processors));
    if (layout.road == SortRoad::short_rows)
        plan.rows_per_block = ceil_div(plan.rows_per_block, in_lanes) * in_lanes;
    plan.grid = grid_for(request.rows, plan.rows_per_block);
}

} // namespace

SortPlan plan_sort(const SortRequest& request) {
    SortPlan plan;
    plan.layout.pairs = request.pairs;
    plan.layout.threads = request.target == Target::gpu;
    if (plan.layout.threads)
        plan_for_gpu(request, plan);
    else
        plan_for_cpu(request, plan);
    const int bits =
        request.key_bits > 0 ? request.key_bits : static_cast<int>(request.item_bytes) * 8;
    plan.passes = static_cast<int>(ceil_div(bits, sort_digit_bits));
    return plan;
}

std::string describe(const SortPlan& plan) {
    const SortLayout& layout = plan.layout;
    const std::string digits = join(plan.passes, plan.passes == 1 ? " digit" : " digits", " of ",
                                    sort_digit_bits, " bits");
    switch (layout.road) {
    case SortRoad::short_rows:
        return join("short rows | merged, ", plan.rows_per_block, " rows a block");
    case SortRoad::whole_rows:
        return layout.threads
                   ? join("whole rows | ", digits, ", ", int{layout.held}, " values a thread")
                   : join("whole rows | ",
                          layout.vectors ? "divided at pivots, " : "from the leading digits down, ",
                          plan.rows_per_block, plan.rows_per_block == 1 ? " row" : " rows",
                          " a block");
    case SortRoad::split_rows:
        break;
    case SortRoad::dealt_rows:
        return join("dealt rows | by ", plan.splits, " blocks into ", plan.cells, " cells a row",
                    layout.vectors ? ", divided at pivots" : "");
    }
    return join("split rows | ", digits, ", ", plan.splits, " blocks a row of ", plan.tile,
                " elements each");
}

} // namespace quern
