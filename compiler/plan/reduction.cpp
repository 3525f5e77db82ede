// Sorts axes into kept and reduced ones, turns, orders and merges them, then chooses rows or
// columns, the lanes, the threads of a row and the blocks that share an output.
#include "compiler/plan/reduction.h"

#include "compiler/base/text.h"
#include "compiler/plan/reduction_parts.h"

#include <algorithm>
#include <bit>

namespace quern {
namespace {

// Nothing behind an output is planned as one element, of which no step is taken.
bool has_nothing(const ReductionRequest& request) {
    for (std::size_t d = 0; d < request.shape.size(); ++d)
        if ((request.reduced >> d & 1) != 0 && request.shape[d] == 0)
            return true;
    return false;
}

// An axis that every input runs backwards is turned around.
void turn_axes(const ReductionRequest& request, KeptNest& nest, ReductionPlan& plan) {
    for (int d = 0; d < nest.ndim; ++d) {
        if (d < nest.kept ? request.keep_kept_order : request.uses_place && !nest.has_place)
            continue;
        bool backwards = false, forwards = false;
        for (int k = 0; k < nest.operands; ++k) {
            backwards |= !request.operands[k].output && nest.stride[k][d] < 0;
            forwards |= !request.operands[k].output && nest.stride[k][d] > 0;
        }
        if (!backwards || forwards)
            continue;
        for (int k = 0; k < nest.operands; ++k) {
            plan.start[k] += nest.stride[k][d] * (nest.extent[d] - 1);
            nest.stride[k][d] = -nest.stride[k][d];
        }
        if (nest.has_place) {
            plan.first_place += nest.place[d] * (nest.extent[d] - 1);
            nest.place[d] = -nest.place[d];
        }
    }
}

bool aligned(const KeptNest& nest, const ReductionRequest& request, const ReductionPlan& plan,
             int axis, int lanes, int shift) {
    for (int k = 0; k < nest.operands; ++k) {
        const Operand& operand = request.operands[k];
        if (operand.output || plan.layout.access[k] != Access::contiguous)
            continue;
        const auto chunk =
            std::min<std::uint64_t>(16, static_cast<std::uint64_t>(lanes) * operand.item_bytes);
        if ((operand.address + static_cast<std::uint64_t>(plan.start[k]) -
             static_cast<std::uint64_t>(shift) * operand.item_bytes) %
            chunk)
            return false;
        for (int d = 0; d < nest.ndim; ++d)
            if (d != axis && static_cast<std::uint64_t>(nest.stride[k][d]) % chunk)
                return false;
    }
    return true;
}

// Do the packs of all inputs begin at the same places of a row, wherever that row begins?
bool drifts_together(const KeptNest& nest, const ReductionRequest& request,
                     const ReductionPlan& plan, int axis) {
    int first = -1;
    for (int k = 0; k < nest.operands; ++k) {
        const Operand& operand = request.operands[k];
        if (operand.output || plan.layout.access[k] == Access::repeated)
            continue;
        if (plan.layout.access[k] == Access::strided || operand.item_bytes >= 16)
            return false;
        if (first < 0) {
            first = k;
            continue;
        }
        const Operand& other = request.operands[first];
        const auto differs = [](std::uint64_t a, std::uint64_t b) { return (a - b) % 16 != 0; };
        if (operand.item_bytes != other.item_bytes ||
            differs(operand.address + static_cast<std::uint64_t>(plan.start[k]),
                    other.address + static_cast<std::uint64_t>(plan.start[first])))
            return false;
        for (int d = 0; d < nest.ndim; ++d)
            if (d != axis && differs(static_cast<std::uint64_t>(nest.stride[k][d]),
                                     static_cast<std::uint64_t>(nest.stride[first][d])))
                return false;
    }
    return first >= 0;
}

// Lanes along the fastest axis; 1 where the inputs do not lend themselves to packs.
int choose_lanes(const KeptNest& nest, const ReductionRequest& request, const ReductionPlan& plan,
                 int axis, int most, int& shift) {
    shift = 0;
    std::uint32_t largest = 1;
    bool any = false;
    for (int k = 0; k < nest.operands; ++k) {
        if (request.operands[k].output || plan.layout.access[k] == Access::repeated)
            continue;
        if (plan.layout.access[k] == Access::strided)
            return 1;
        any = true;
        largest = std::max(largest, request.operands[k].item_bytes);
    }
    if (!any)
        return 1;
    int lanes = std::min<int>(most, static_cast<int>(16 / largest));
    while (lanes > 1 && nest.extent[axis] < lanes)
        lanes /= 2;
    for (; lanes > 1; lanes /= 2)
        for (int s = 0; s < lanes; ++s) // the same shift serves every row
            if (aligned(nest, request, plan, axis, lanes, s)) {
                shift = s;
                return lanes;
            }
    return 1;
}

std::int64_t smallest_item(const KeptNest& nest, const ReductionRequest& request,
                           const ReductionPlan& plan) {
    std::int64_t smallest = 16;
    for (int k = 0; k < nest.operands; ++k)
        if (!request.operands[k].output && plan.layout.access[k] == Access::contiguous)
            smallest = std::min<std::int64_t>(smallest, request.operands[k].item_bytes);
    return smallest;
}

// Blocks that should share an output of `tiles`: several for each place on the chip while each has
// much to do, so that none finishes long after the others.
std::int64_t sharers(std::int64_t blocks, std::int64_t tiles, std::int64_t steps,
                     std::int64_t unit) {
    return std::max(std::min(ceil_div(4 * blocks, tiles), steps / (32 * unit)),
                    std::min(ceil_div(blocks, tiles), steps / (8 * unit)));
}

// Small elements of an even step: whole packs are read, of which some lanes are elements.
bool choose_spread(const KeptNest& nest, const ReductionRequest& request, ReductionPlan& plan,
                   int axis) {
    ReductionLayout& layout = plan.layout;
    std::int64_t spread = 0, first = 0;
    std::uint32_t item = 0;
    for (int k = 0; k < nest.operands; ++k) {
        const Operand& operand = request.operands[k];
        if (operand.output || layout.access[k] == Access::repeated)
            continue;
        const std::int64_t step = nest.stride[k][axis] / operand.item_bytes;
        const auto begin = static_cast<std::int64_t>(
            (operand.address + static_cast<std::uint64_t>(plan.start[k])) % 16);
        if (nest.stride[k][axis] % operand.item_bytes != 0 || operand.item_bytes > 2 ||
            (step != 2 && step != 4) || begin % operand.item_bytes != 0 ||
            (spread != 0 && (step != spread || operand.item_bytes != item || begin != first)))
            return false;
        for (int d = 0; d < nest.ndim; ++d)
            if (d != axis && nest.stride[k][d] % 16 != 0)
                return false;
        spread = step, first = begin, item = operand.item_bytes;
    }
    if (spread == 0 || nest.extent[axis] < 64)
        return false;
    layout.spread = static_cast<std::uint8_t>(spread);
    layout.phase = static_cast<std::uint8_t>(first / item % spread);
    layout.lanes = static_cast<std::uint8_t>(16 / item / spread);
    plan.shift = first / item / spread;
    layout.masked = plan.shift > 0 || nest.extent[axis] % layout.lanes != 0;
    for (int k = 0; k < nest.operands; ++k)
        if (!request.operands[k].output && layout.access[k] == Access::strided)
            layout.access[k] = Access::contiguous;
    return true;
}

constexpr int blocks_a_processor = 2048 / reduction_block;

void plan_gpu_rows(const ReductionRequest& request, KeptNest& nest, ReductionPlan& plan) {
    ReductionLayout& layout = plan.layout;
    const int axis = nest.ndim - 1;
    const std::int64_t length = nest.extent[axis];
    if (!choose_spread(nest, request, plan, axis)) {
        int shift = 0;
        layout.lanes =
            static_cast<std::uint8_t>(choose_lanes(nest, request, plan, axis, 16, shift));
        plan.shift = shift;
        layout.masked = shift > 0 || length % layout.lanes != 0;
    }
    if (layout.spread == 1 && layout.lanes * smallest_item(nest, request, plan) < 16 &&
        length >= 64 && drifts_together(nest, request, plan, axis)) {
        layout.lanes = static_cast<std::uint8_t>(16 / smallest_item(nest, request, plan));
        layout.drifts = layout.masked = true;
        plan.shift = layout.lanes - 1; // at most
    }
    plan.packs = ceil_div(length + plan.shift, layout.lanes);
    plan.steps = plan.reduced / length * plan.packs;

    const std::int64_t blocks = std::int64_t{blocks_a_processor} * request.processors;
    const int block_bits = floor_log2(reduction_block);
    // Joining costly accumulators among threads pays only where each has taken some steps.
    const bool heavy = request.accumulator_bytes >= heavy_accumulator;
    plan.group_bits = std::min(5, floor_log2(heavy ? plan.steps / 4 : plan.steps));
    const bool few = plan.outputs * 32 < blocks * reduction_block / 4;
    if (request.force_splits > 1 || (few && plan.steps >= 32 * 8))
        plan.group_bits = block_bits;
    if (plan.group_bits == block_bits &&
        (request.force_splits > 0 || exceeds(request, plan) ||
         (plan.outputs < blocks && plan.steps > std::int64_t{32} * reduction_block)))
        split_steps(request, sharers(blocks, plan.outputs, plan.steps, reduction_block),
                    reduction_block, plan);
    else
        plan.chunk = plan.steps;
    const std::int64_t lines = reduction_block >> plan.group_bits;
    if (!layout.split && (plan.steps >> plan.group_bits) <= 2 &&
        plan.outputs >= reduction_batch * lines * blocks)
        layout.batch_rows = reduction_batch;
    plan.tiles = ceil_div(plan.outputs, lines * layout.batch_rows);
    plan.block = reduction_block;
}

// Kept rows of few packs, or with few steps behind them, leave most threads of a block idle: then
// all packs of all rows are one line, and each thread finds its row by itself.
void wrap_columns(const ReductionRequest& request, std::int64_t rows, std::int64_t blocks,
                  ReductionPlan& plan) {
    const std::int64_t width = std::int64_t{1} << plan.group_bits,
                       heights = reduction_block / width;
    const bool narrow = 4 * plan.packs < 3 * width * plan.tiles_along,
               brief = plan.steps < reduction_batch * heights;
    const int line_bits = std::clamp(floor_log2(plan.steps) - 2, 0, 3); // a batch for each thread
    const std::int64_t tiles = ceil_div(rows * plan.packs, reduction_block >> line_bits);
    if (rows == 1 || !(narrow || brief) || request.force_splits > 0 || exceeds(request, plan) ||
        (tiles < blocks && plan.steps > 32 << line_bits))
        return;
    plan.layout.wraps = true;
    plan.group_bits = floor_log2(reduction_block) - line_bits;
    plan.tiles_along = 1;
    plan.tiles = tiles;
}

void plan_gpu_columns(const ReductionRequest& request, KeptNest& nest, ReductionPlan& plan) {
    ReductionLayout& layout = plan.layout;
    const int axis = nest.kept - 1;
    const std::int64_t length = nest.extent[axis];
    const int most = std::max<int>(
        1, reduction_shared_limit / reduction_block /
               static_cast<int>(std::bit_ceil(std::max(request.accumulator_bytes, 1u))));
    int shift = 0;
    layout.lanes = static_cast<std::uint8_t>(
        choose_lanes(nest, request, plan, axis, std::min(most, 16), shift));
    plan.shift = shift;
    layout.masked = shift > 0 || length % layout.lanes != 0;
    plan.steps = plan.reduced;
    const std::int64_t packs = plan.packs = ceil_div(length + shift, layout.lanes);
    const std::int64_t rows = plan.outputs / length;
    const std::int64_t blocks = std::int64_t{blocks_a_processor} * request.processors;
    const int block_bits = floor_log2(reduction_block);
    const bool many = rows * ceil_div(packs, reduction_block) >= blocks / 2 && packs >= 128;
    plan.group_bits = many || plan.steps < 4 ? std::min(block_bits, ceil_log2(packs))
                                             : std::min(5, ceil_log2(packs));
    const std::int64_t width = std::int64_t{1} << plan.group_bits,
                       heights = reduction_block / width;
    plan.tiles_along = ceil_div(packs, width);
    plan.tiles = rows * plan.tiles_along;
    wrap_columns(request, rows, blocks, plan);
    if (request.force_splits > 0 || exceeds(request, plan) ||
        (!layout.wraps && plan.tiles < blocks && plan.steps > 32 * heights))
        split_steps(request, sharers(blocks, plan.tiles, plan.steps, heights), heights, plan);
    else
        plan.chunk = plan.steps;
    plan.block = reduction_block;
}

} // namespace

bool exceeds(const ReductionRequest& request, const ReductionPlan& plan) {
    return request.most_steps > 0 && plan.steps > request.most_steps;
}

void split_steps(const ReductionRequest& request, std::int64_t wanted, std::int64_t unit,
                 ReductionPlan& plan) {
    if (request.force_splits > 0)
        wanted = request.force_splits;
    if (request.most_steps > 0)
        wanted = std::max(wanted, ceil_div(plan.steps, request.most_steps));
    wanted = std::clamp<std::int64_t>(wanted, 1, 1 << 16);
    plan.chunk = std::max<std::int64_t>(ceil_div(ceil_div(plan.steps, wanted), unit) * unit, 1);
    plan.splits = std::max<std::int64_t>(ceil_div(plan.steps, plan.chunk), 1);
    plan.layout.split = plan.splits > 1;
}

bool plan_reduction(const ReductionRequest& request, ReductionPlan& plan) {
    start_over(plan);
    std::fill_n(plan.start.begin(), request.operands.size(), 0);
    ReductionLayout& layout = plan.layout;
    layout.target = request.target;
    layout.operand_count = static_cast<std::uint8_t>(request.operands.size());

    KeptNest nest;
    const bool nothing = has_nothing(request);
    nest.expand(request.shape, request.reduced, request.operands, request.keep_axes, nothing);
    plan.outputs = nest.count(0, nest.kept);
    plan.reduced = nest.count(nest.kept, nest.ndim);
    if (!request.keep_axes) {
        if (request.uses_place)
            nest.count_places();
        turn_axes(request, nest, plan);
        if (!request.keep_kept_order)
            nest.order_axes(request.operands, 0, nest.kept);
        if (!request.uses_place || nest.has_place)
            nest.order_axes(request.operands, nest.kept, nest.ndim);
        nest.merge_axes(nest.kept, nest.ndim);
        nest.kept = nest.merge_axes(0, nest.kept);
    }
    if (nest.operands * nest.ndim > static_cast<int>(plan.stride_store.size()))
        return false;

    layout.scattered = nest.has_place && !nest.places_in_order();
    bool rows = nest.walks_fastest(request.operands);
    if (!rows && request.target == Target::cpu) {
        rows = lies_between(nest, request);
        if (!rows)
            wrap_rows(request, nest, plan);
    } else if (rows && request.target == Target::cpu) {
        if (const Runs runs = runs_of(nest, request); runs != Runs::none) {
            make_runs(request, nest, plan, runs);
            rows = false;
        }
    }
    layout.strategy = rows ? ReductionStrategy::rows : ReductionStrategy::columns;
    layout.kept_ndim = static_cast<std::uint8_t>(nest.kept);
    layout.reduced_ndim = static_cast<std::uint8_t>(nest.reduced());
    layout.access = find_access(nest, request.operands, rows ? nest.ndim - 1 : nest.kept - 1);
    plan.length = nest.extent[rows ? nest.ndim - 1 : nest.kept - 1] * plan.run;
    if (request.target == Target::cpu) {
        layout.index_bits = 64;
        plan_cpu(request, nest, plan);
    } else {
        layout.index_bits =
            nest.index_bits(plan.outputs * plan.reduced, request.operands, request.narrow_bits);
        rows ? plan_gpu_rows(request, nest, plan) : plan_gpu_columns(request, nest, plan);
        plan.grid = grid_for(plan.tiles * plan.splits, 1);
    }
    if (layout.split && request.target == Target::cpu) {
        plan.partials = plan.outputs * plan.splits;
        plan.tickets = rows && request.may_settle ? plan.tiles : 0;
    } else if (layout.split) {
        const std::int64_t places = rows ? 1 : std::int64_t{layout.lanes} << plan.group_bits;
        layout.atomic = request.may_join_atomically;
        plan.fan = std::clamp<std::int64_t>(16 * reduction_block / places, 16, 1024);
        const std::int64_t groups = ceil_div(plan.splits, plan.fan);
        plan.partials = layout.atomic ? 0 : plan.tiles * (plan.splits + groups) * places;
        plan.tickets = plan.tiles * (layout.atomic ? 2 + 2 * places : groups + 1);
    }
    if (nothing)
        plan.steps = plan.chunk = plan.reduced = 0;
    for (int d = 0; d < nest.ndim; ++d)
        plan.shape[d] = nest.extent[d];
    if (layout.scattered)
        for (int d = 0; d < nest.ndim; ++d)
            plan.place[d] = nest.place[d];
    for (int k = 0; k < nest.operands; ++k)
        for (int d = 0; d < nest.ndim; ++d)
            plan.stride_store[static_cast<std::size_t>(k * nest.ndim + d)] = nest.stride[k][d];
    return true;
}

std::string describe(const ReductionLayout& layout) {
    static constexpr std::array accesses{"contiguous", "repeated", "strided", "tiled"};
    std::string text =
        join(layout.strategy == ReductionStrategy::rows ? "rows x" : "columns x", int{layout.lanes},
             layout.spread > 1 ? join(" of every ", int{layout.spread}) : "",
             layout.batch_rows > 1 ? join(", ", int{layout.batch_rows}, " rows at a time") : "",
             " | kept ", int{layout.kept_ndim}, ", reduced ", int{layout.reduced_ndim}, " |");
    for (int k = 0; k < layout.operand_count; ++k)
        text += join(" ", accesses[static_cast<std::size_t>(layout.access[k])]);
    return text + join(" | ", int{layout.index_bits}, "-bit") +
           (layout.drifts   ? " | drifts"
            : layout.masked ? " | masked"
                            : "") +
           (layout.scattered ? " | scattered" : "") +
           (layout.step > 1 ? join(" | step ", int{layout.step}) : "") +
           (layout.brief ? " | brief" : "") +
           (layout.folds   ? " | folded runs"
            : layout.wraps ? " | wrapped rows"
            : layout.runs  ? " | runs"
                           : "") +
           (layout.split ? " | split" : "") + (layout.atomic ? ", joined by atomics" : "");
}

} // namespace quern
