// Plans of reductions for the CPU: short runs that become columns, lanes, tiles of columns, and how
// much of it a block takes.
#include "compiler/plan/reduction_parts.h"

#include <algorithm>
#include <bit>

namespace quern {
namespace {

// The distance of neighbours along a row, in elements, where it is small and all inputs' own.
std::uint8_t common_step(const KeptNest& nest, const ReductionRequest& request,
                         const ReductionPlan& plan) {
    std::int64_t step = 0;
    if (!request.may_read_between)
        return 0;
    for (int k = 0; k < nest.operands; ++k) {
        const Operand& operand = request.operands[k];
        if (operand.output || plan.layout.access[k] == Access::repeated)
            continue;
        const std::int64_t stride = nest.stride[k][nest.ndim - 1], item = operand.item_bytes;
        if (stride % item != 0 || (step != 0 && stride / item != step))
            return 0;
        step = stride / item;
    }
    return step >= 2 && step <= 4 ? static_cast<std::uint8_t>(step) : std::uint8_t{0};
}

// Bytes of an element of the inputs, the widest of them.
std::uint32_t widest_item(const ReductionRequest& request) {
    std::uint32_t bytes = 1;
    for (const Operand& operand : request.operands)
        if (!operand.output)
            bytes = std::max(bytes, operand.item_bytes);
    return bytes;
}

// CPU: columns whose accumulators stay in the caches of a core, the second one's where tiles are
// cut for all cores anyway, and whose rows are long enough to be read ahead.
std::int64_t tile_of(const ReductionRequest& request, bool runs) {
    constexpr std::int64_t least = 512, most = 32768; // columns
    const std::int64_t bytes = (runs ? 32 : 128) * 1024;
    return std::clamp<std::int64_t>(bytes / std::bit_ceil(std::max(request.accumulator_bytes, 1u)),
                                    least, most);
}

// CPU: rows of columns that are read side by side, so that they meet before the sums do. Rows of
// some lines near each other are better taken one by one where they come from memory, for it is
// read ahead in its order, as long as the sums stay in the first cache.
std::int64_t rows_together(const KeptNest& nest, const ReductionRequest& request,
                           const ReductionPlan& plan) {
    constexpr std::int64_t brief = 256, near = 8192, cached = 16 << 20, fit = 16 * 1024; // bytes
    if (plan.length * request.accumulator_bytes > fit)
        return reduction_rows_together;
    for (int k = 0; k < nest.operands; ++k) {
        const Operand& operand = request.operands[k];
        const std::int64_t pitch = std::abs(nest.stride[k][nest.ndim - 1]);
        if (!operand.output && pitch > brief && pitch <= near &&
            plan.outputs * plan.reduced * operand.item_bytes > cached)
            return 1;
    }
    return reduction_rows_together;
}

// Columns of a tile where whole ones were fewer than `wanted`: less of each row, but lines enough
// for memory to be read ahead.
std::int64_t narrowed(const ReductionPlan& plan, std::int64_t wanted) {
    constexpr std::int64_t line = 64, least = 4 * line;
    const std::int64_t across = std::max<std::int64_t>(plan.outputs / plan.length, 1),
                       share = ceil_div(plan.length,
                                        ceil_div(std::max<std::int64_t>(wanted, 1), across));
    return std::min(plan.span, std::max(ceil_div(share, line) * line, least));
}

// CPU: accumulators that stand side by side along `length` elements.
std::uint16_t lanes_along(const ReductionRequest& request, const ReductionLayout& layout,
                          std::int64_t length) {
    constexpr int lanes_bytes = 256; // of accumulators that are at work together
    // Where places are looked up afterwards, what stands in lanes is the values.
    const std::uint32_t lane =
        request.uses_place ? widest_item(request) : std::max(request.accumulator_bytes, 1u);
    const int fit = std::clamp(lanes_bytes / static_cast<int>(std::bit_ceil(lane)), 16, 256);
    const int most = std::max(16, fit / std::max(1, int{std::bit_ceil(layout.step)}));
    const bool apart = layout.step == 0 &&
                       std::ranges::any_of(std::span(layout.access).first(layout.operand_count),
                                           [](Access access) { return access == Access::strided; });
    const std::int64_t brief = request.uses_place ? 256 : 64; // folding lanes takes as long
    return static_cast<std::uint16_t>(length < 8                                           ? 1
                                      : length < brief                                     ? 8
                                      : apart                                              ? 16
                                      : length < std::int64_t{layout.folds ? 2 : 4} * most ? 32
                                                                                           : most);
}

// CPU: outputs of a tile whose runs are folded: as many as memory likes to be read at one go, and
// more where every core has its own.
std::int64_t folded_together(const KeptNest& nest, const ReductionRequest& request,
                             const ReductionPlan& plan) {
    constexpr std::int64_t stretch = 64 * 1024; // bytes
    std::int64_t bytes = 1;
    for (int k = 0; k < nest.operands; ++k)
        if (!request.operands[k].output)
            bytes = std::max(bytes, std::abs(nest.stride[k][nest.kept - 1]) * plan.run);
    const std::int64_t across = plan.length / plan.run,
                       share = request.processors > 1
                                   ? ceil_div(across, std::int64_t{4} * request.processors)
                                   : across;
    return std::min<std::int64_t>(std::max(share, ceil_div(stretch, bytes)), plan.layout.tile);
}

} // namespace

bool lies_between(const KeptNest& nest, const ReductionRequest& request) {
    constexpr std::int64_t least = 32;                    // elements of a row
    const std::int64_t most = request.uses_place ? 4 : 2; // columns
    if (nest.kept == 0 || nest.reduced() != 1 || !request.may_read_between || request.keep_axes)
        return false;
    const int inner = nest.ndim - 1, across = nest.kept - 1;
    const std::int64_t columns = nest.extent[across], length = nest.extent[inner];
    if (columns > most || length < least)
        return false;
    for (int k = 0; k < nest.operands; ++k) {
        const Operand& operand = request.operands[k];
        if (operand.output)
            continue;
        const std::int64_t item = operand.item_bytes;
        if (nest.stride[k][across] != item || nest.stride[k][inner] != item * columns)
            return false;
    }
    return true;
}

Runs runs_of(const KeptNest& nest, const ReductionRequest& request) {
    // Bytes of a run; where an element decides, rows that are left early are best. To fold a run
    // takes as long as some vectors of it, longer where elements are narrow or accumulators wide.
    const bool light = widest_item(request) >= 4 && request.accumulator_bytes <= 8;
    const std::int64_t brief = request.may_settle ? 4096
                               : light            ? 1024
                                                  : 2048,
                       near = request.may_settle ? 0 : 65536;
    constexpr std::int64_t least = 16; // runs of an output that pay for its end
    if (nest.kept == 0 || nest.reduced() < 2 || request.uses_place || request.keep_kept_order ||
        request.keep_axes)
        return Runs::none;
    const int inner = nest.ndim - 1, across = nest.kept - 1;
    const std::int64_t run = nest.extent[inner];
    std::int64_t bytes = 0;
    for (int k = 0; k < nest.operands; ++k) {
        if (request.operands[k].output)
            continue;
        if (nest.stride[k][across] != nest.stride[k][inner] * run ||
            nest.stride[k][across] > std::abs(nest.stride[k][inner - 1]))
            return Runs::none;
        bytes = std::max(bytes, std::abs(nest.stride[k][across]));
    }
    if (bytes < brief && run <= tile_of(request, true) / 2)
        return nest.count(nest.kept, inner) < least ? Runs::none : Runs::columns;
    return bytes <= near ? Runs::folded : Runs::none;
}

void make_runs(const ReductionRequest& request, KeptNest& nest, ReductionPlan& plan, Runs runs) {
    const int inner = nest.ndim - 1, across = nest.kept - 1;
    plan.layout.runs = true;
    plan.layout.folds = runs == Runs::folded;
    plan.run = nest.extent[inner];
    for (int k = 0; k < nest.operands; ++k)
        if (!request.operands[k].output)
            nest.stride[k][across] = nest.stride[k][inner];
    nest.drop(inner);
}

void wrap_rows(const ReductionRequest& request, KeptNest& nest, ReductionPlan& plan) {
    constexpr std::int64_t wide = 128, least = 16; // columns, and lines of them
    if (nest.kept == 0 || nest.reduced() != 1 || request.keep_kept_order || request.keep_axes ||
        plan.layout.scattered)
        return;
    const int inner = nest.ndim - 1, across = nest.kept - 1;
    const std::int64_t columns = nest.extent[across],
                       run = wide * (widest_item(request) == 1 ? 2 : 1) / columns;
    if (run < 2 || nest.extent[inner] < least * run)
        return;
    for (int k = 0; k < nest.operands; ++k) {
        const std::int64_t item = request.operands[k].item_bytes;
        if (!request.operands[k].output &&
            (nest.stride[k][across] != item || nest.stride[k][inner] != item * columns))
            return;
    }
    plan.layout.runs = plan.layout.wraps = true;
    plan.run = run;
    nest.extent[inner] = ceil_div(nest.extent[inner], run); // the last may be shorter
    for (int k = 0; k < nest.operands; ++k)
        nest.stride[k][inner] *= run;
}

void plan_cpu(const ReductionRequest& request, const KeptNest& nest, ReductionPlan& plan) {
    // Elements worth a block of their own: 512 KiB where one reads more than 8 bytes.
    const std::int64_t item = std::max<std::int64_t>(bytes_read(request.operands), 8),
                       grain = (std::int64_t{1} << 19) / item;
    // Few rows, and what is found in them stays in the nearest cache until it is stored.
    constexpr std::int64_t few_rows = 8, few_rows_span = 4096;
    ReductionLayout& layout = plan.layout;
    const bool rows = layout.strategy == ReductionStrategy::rows;
    const std::int64_t length = plan.length, work = plan.outputs * plan.reduced;
    if (rows) {
        plan.tiles = plan.outputs;
        layout.step = common_step(nest, request, plan);
        layout.lanes = lanes_along(request, layout, length);
        plan.steps = plan.reduced;
        layout.brief = plan.reduced <= 64;
    } else {
        layout.tile =
            static_cast<std::uint16_t>(layout.folds ? 512 : tile_of(request, layout.runs));
        if (layout.folds)
            layout.lanes = lanes_along(request, layout, plan.run);
        plan.span = layout.folds ? folded_together(nest, request, plan) * plan.run
                                 : layout.tile / plan.run * plan.run;
        if (!layout.runs && request.processors > 1)
            plan.span =
                narrowed(plan, std::min(work / (16 * grain), std::int64_t{2} * request.processors));
        if (!layout.runs && plan.reduced <= few_rows)
            plan.span = std::min(plan.span, few_rows_span);
        plan.together = rows_together(nest, request, plan);
        plan.tiles_along = ceil_div(length, plan.span);
        plan.tiles = plan.outputs * plan.run / length * plan.tiles_along;
        plan.steps = ceil_div(plan.reduced, plan.run);
    }
    // The first block of a first launch runs alone, to see how long it takes: many share what is
    // large. As many on each core.
    const std::int64_t cores = request.processors, most = (cores > 1 ? 16 : 4) * cores;
    std::int64_t blocks = std::clamp<std::int64_t>(work / grain, 1, most);
    if (blocks > cores)
        blocks = ceil_div(blocks, cores) * cores;
    // Mostly over after a few elements, and else in the time that sharing takes.
    const bool quick = request.ends_early && plan.tiles == 1 &&
                       work * bytes_read(request.operands) <= std::int64_t{1} << 20;
    const std::int64_t wanted = quick ? 1 : blocks;
    plan.chunk = plan.steps;
    // What can be over soon is cut finely: whoever comes later has nothing to do.
    const std::int64_t cuts = request.may_settle
                                  ? std::max(ceil_div(wanted, plan.tiles), plan.steps / grain)
                                  : ceil_div(wanted, plan.tiles);
    ReductionRequest here = request;
    here.most_steps /= plan.run;
    // Steps that are worth a block: those of rows that make one line are as long as some.
    const std::int64_t few = layout.wraps ? ceil_div(std::int64_t{1024}, plan.run) : 1024;
    if (request.force_splits > 0 || (plan.tiles < wanted && plan.steps >= 4 * few) ||
        exceeds(here, plan))
        split_steps(here, std::min(cuts, plan.steps / (2 * few)), few, plan);
    const auto inputs = std::ranges::count(request.operands, false, &Operand::output);
    plan.ahead = inputs == 1 && work * bytes_read(request.operands) > bytes_beyond_caches;
    plan.share = ceil_div(plan.tiles * plan.splits, std::min(wanted, plan.tiles * plan.splits));
    plan.block = 1;
    plan.grid = grid_for(plan.tiles * plan.splits, plan.share);
}

} // namespace quern
