// Sorts axes into kept and reduced ones, turns, orders and merges them, then chooses rows or
// columns, the lanes, the threads of a row and the blocks that share an output.
#include "compiler/plan/reduction.h"

#include "compiler/base/text.h"
#include "compiler/plan/kept_nest.h"

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

bool exceeds(const ReductionRequest& request, const ReductionPlan& plan) {
    return request.most_steps > 0 && plan.steps > request.most_steps;
}

// Blocks that should share an output of `tiles`: several for each place on the chip while each has
// much to do, so that none finishes long after the others.
std::int64_t sharers(std::int64_t blocks, std::int64_t tiles, std::int64_t steps,
                     std::int64_t unit) {
    return std::max(std::min(ceil_div(4 * blocks, tiles), steps / (32 * unit)),
                    std::min(ceil_div(blocks, tiles), steps / (8 * unit)));
}

// Cuts `steps` for `wanted` blocks, each a multiple of `unit`.
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
    if (request.force_splits > 0 || (plan.tiles < blocks && plan.steps > 32 * heights) ||
        exceeds(request, plan))
        split_steps(request, sharers(blocks, plan.tiles, plan.steps, heights), heights, plan);
    else
        plan.chunk = plan.steps;
    plan.block = reduction_block;
}

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

// CPU: columns whose accumulators stay in the caches of a core, and whose rows are long enough to
// be read ahead.
std::int64_t tile_of(const ReductionRequest& request) {
    constexpr std::int64_t bytes = 32 * 1024;
    return std::clamp<std::int64_t>(bytes / std::bit_ceil(std::max(request.accumulator_bytes, 1u)),
                                    512, bytes);
}

// CPU: rows of columns that are read side by side, so that they meet before the sums do. Rows of
// some lines near each other are better taken one by one, for memory is read ahead in its order,
// as long as the sums stay in the first cache.
std::int64_t rows_together(const KeptNest& nest, const ReductionRequest& request,
                           const ReductionPlan& plan) {
    constexpr std::int64_t brief = 256, near = 8192, cached = 1 << 20, fit = 16 * 1024; // bytes
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

// CPU, where kept axes stand between the reduced ones: short runs along a row, each far from the
// next, become columns of their own that meet at the end, so that memory is read in its order.
// Longer runs are folded each, and outputs are what the columns hold.
enum class Runs : std::uint8_t { none, columns, folded };
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
    if (bytes < brief && run <= tile_of(request) / 2)
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
    return static_cast<std::uint16_t>(length < 8                                           ? 1
                                      : length < 64                                        ? 8
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

// CPU: units of work are rows or tiles of columns, cut further where they are too few.
void plan_cpu(const ReductionRequest& request, const KeptNest& nest, ReductionPlan& plan) {
    constexpr std::int64_t grain = 1 << 16; // elements worth a block of their own
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
        layout.tile = static_cast<std::uint16_t>(layout.folds ? 512 : tile_of(request));
        if (layout.folds)
            layout.lanes = lanes_along(request, layout, plan.run);
        plan.span = layout.folds ? folded_together(nest, request, plan) * plan.run
                                 : layout.tile / plan.run * plan.run;
        if (!layout.runs && request.processors > 1)
            plan.span =
                narrowed(plan, std::min(work / (16 * grain), std::int64_t{2} * request.processors));
        plan.together = rows_together(nest, request, plan);
        plan.tiles_along = ceil_div(length, plan.span);
        plan.tiles = plan.outputs * plan.run / length * plan.tiles_along;
        plan.steps = plan.reduced / plan.run;
    }
    // The first block of a launch runs alone, to see how long it takes: many share what is large.
    const int blocks_a_core = request.processors > 1 ? 16 : 4;
    const std::int64_t wanted =
        std::clamp<std::int64_t>(work / grain, 1, std::int64_t{blocks_a_core} * request.processors);
    plan.chunk = plan.steps;
    // What can be over soon is cut finely: whoever comes later has nothing to do.
    const std::int64_t cuts = request.may_settle
                                  ? std::max(ceil_div(wanted, plan.tiles), plan.steps / grain)
                                  : ceil_div(wanted, plan.tiles);
    ReductionRequest here = request;
    here.most_steps /= plan.run;
    if (request.force_splits > 0 || (plan.tiles < wanted && plan.steps >= 4096) ||
        exceeds(here, plan))
        split_steps(here, std::min(cuts, plan.steps / 2048), 1024, plan);
    plan.share = ceil_div(plan.tiles * plan.splits, std::min(wanted, plan.tiles * plan.splits));
    plan.block = 1;
    plan.grid = grid_for(plan.tiles * plan.splits, plan.share);
}

} // namespace

bool plan_reduction(const ReductionRequest& request, ReductionPlan& plan) {
    plan = {};
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
    if (rows && request.target == Target::cpu)
        if (const Runs runs = runs_of(nest, request); runs != Runs::none) {
            make_runs(request, nest, plan, runs);
            rows = false;
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
           (layout.folds  ? " | folded runs"
            : layout.runs ? " | runs"
                          : "") +
           (layout.split ? " | split" : "") + (layout.atomic ? ", joined by atomics" : "");
}

} // namespace quern
