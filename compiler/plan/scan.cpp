// Puts the scanned axis behind the kept ones, merges those, then chooses rows or columns, lanes,
// threads and tiles.
#include "compiler/plan/scan.h"

#include "compiler/base/text.h"
#include "compiler/plan/kept_nest.h"

#include <algorithm>
#include <bit>

namespace quern {
namespace {

constexpr int bytes_in_flight = 64; // of each thread
constexpr int values_held = 32;     // by each thread, at most

std::uint32_t largest_item(const ScanRequest& request, const ScanLayout& layout) {
    std::uint32_t largest = 1;
    for (std::size_t k = 0; k < request.operands.size(); ++k)
        if (layout.access[k] != Access::repeated || request.operands[k].output)
            largest = std::max(largest, request.operands[k].item_bytes);
    return largest;
}

bool aligned(const KeptNest& nest, const ScanRequest& request, const ScanLayout& layout, int axis,
             int lanes) {
    for (int k = 0; k < nest.operands; ++k) {
        const Operand& operand = request.operands[k];
        if (layout.access[k] != Access::contiguous)
            continue;
        const auto chunk =
            std::min<std::uint64_t>(16, static_cast<std::uint64_t>(lanes) * operand.item_bytes);
        if (operand.address % chunk)
            return false;
        for (int d = 0; d < nest.ndim; ++d)
            if (d != axis && static_cast<std::uint64_t>(nest.stride[k][d]) % chunk)
                return false;
    }
    return true;
}

// Neighbours that a thread takes together: 16 bytes of the largest operand where the outputs lend
// themselves to packs, else 1. Inputs that do not are read one element after another.
int choose_lanes(const KeptNest& nest, const ScanRequest& request, const ScanLayout& layout,
                 int axis) {
    for (int k = 0; k < nest.operands; ++k)
        if (request.operands[k].output && layout.access[k] != Access::contiguous)
            return 1;
    auto lanes = static_cast<int>(16 / largest_item(request, layout));
    while (lanes > 1 && (nest.extent[axis] < lanes || !aligned(nest, request, layout, axis, lanes)))
        lanes /= 2;
    return lanes;
}

// Packs that a thread holds: `fill` for as many values as it has registers for.
int choose_batch(const ScanRequest& request, const ScanLayout& layout, bool fill) {
    const int item = static_cast<int>(std::max<std::uint32_t>(2, largest_item(request, layout)));
    const int room = std::max<int>(
        1, values_held * 4 /
               (layout.lanes * static_cast<int>(std::max(4u, request.accumulator_bytes))));
    const int wanted = request.force_batch > 0 ? request.force_batch
                       : fill                  ? room
                                               : bytes_in_flight / (layout.lanes * item);
    return static_cast<int>(
        std::bit_floor(static_cast<unsigned>(std::clamp(wanted, 1, std::min(room, 16)))));
}

// The chains of a split: few warps have each no more than they can look after, and blocks that do
// nothing else are few beside those that fit on the chip.
void plan_scanners(const ScanRequest& request, ScanPlan& plan, std::int64_t values,
                   std::int64_t steps) {
    constexpr int warps = scan_block / 32;
    plan.values = values;
    plan.steps = steps;
    plan.share = std::min<std::int64_t>(
        32, ceil_div(values, std::int64_t{warps} * std::max(1, request.processors / 4)));
    plan.scanners = ceil_div(values, plan.share * warps);
}

void plan_gpu_rows(const ScanRequest& request, const KeptNest& nest, ScanPlan& plan) {
    ScanLayout& layout = plan.layout;
    layout.lanes = static_cast<std::uint8_t>(choose_lanes(nest, request, layout, layout.fastest()));
    plan.packs = ceil_div(plan.length, layout.lanes);
    int batch = choose_batch(request, layout, false);
    const std::int64_t blocks = std::int64_t{8} * request.processors;
    if (plan.packs <= 32 && request.force_split < 2) {
        layout.strategy = ScanStrategy::short_rows;
        layout.group_bits = static_cast<std::uint8_t>(ceil_log2(plan.packs));
        const std::int64_t lines = scan_block >> layout.group_bits;
        while (batch > 1 && plan.lines < lines * batch * blocks)
            batch /= 2;
        layout.batch = static_cast<std::uint8_t>(batch);
        plan.units = ceil_div(plan.lines, lines * batch);
        return;
    }
    const bool warps = plan.packs <= std::int64_t{256} * batch && request.force_split < 2 &&
                       plan.lines >= std::int64_t{32} * request.processors;
    layout.block_rows = !warps;
    const int threads = warps ? 32 : scan_block;
    const auto place = [&] {
        while (batch > 1 && plan.packs <= std::int64_t{threads} * (batch / 2))
            batch /= 2;
        layout.batch = static_cast<std::uint8_t>(batch);
        plan.tiles = ceil_div(plan.packs, std::int64_t{threads} * batch);
    };
    place();
    layout.group_bits = static_cast<std::uint8_t>(floor_log2(threads));
    layout.split = request.force_split > 1 ||
                   (request.force_split == 0 && !warps && plan.tiles > 1 && plan.lines < blocks);
    if (!layout.split) {
        plan.units = ceil_div(plan.lines, scan_block >> layout.group_bits);
        return;
    }
    batch = choose_batch(request, layout, plan.lines * plan.tiles > blocks);
    place();
    plan.units = plan.lines * plan.tiles;
    plan_scanners(request, plan, 1, plan.units);
}

void plan_gpu_columns(const ScanRequest& request, const KeptNest& nest, ScanPlan& plan) {
    ScanLayout& layout = plan.layout;
    layout.lanes = static_cast<std::uint8_t>(choose_lanes(nest, request, layout, layout.fastest()));
    const std::int64_t across = nest.extent[layout.fastest()];
    std::int64_t all = 0; // packs side by side
    const auto place = [&](int bits) {
        layout.group_bits = static_cast<std::uint8_t>(bits);
        plan.strips = ceil_div(all, std::int64_t{1} << bits);
        plan.tiles = ceil_div(plan.length, std::int64_t{scan_block >> bits} * layout.batch);
    };
    const auto hold = [&](bool fill) {
        plan.packs = ceil_div(across, layout.lanes);
        all = plan.lines / across * plan.packs;
        int batch = choose_batch(request, layout, fill);
        while (batch > 1 && plan.length <= batch / 2)
            batch /= 2;
        layout.batch = static_cast<std::uint8_t>(batch);
    };

    // As many threads down an axis as it takes to fill the chip, but some neighbours across.
    hold(false);
    const int least = std::min(3, ceil_log2(all)), most = floor_log2(scan_block);
    const std::int64_t threads = std::int64_t{1024} * request.processors;
    const int down =
        std::min(ceil_log2(ceil_div(threads, all)), ceil_log2(ceil_div(plan.length, layout.batch)));
    place(std::clamp(most - down, least, most));
    layout.split = request.force_split > 1 ||
                   (request.force_split == 0 && plan.tiles > 1 && plan.strips < request.processors);
    plan.units = plan.strips;
    if (!layout.split)
        return;
    // Few columns each, and long runs of them.
    layout.lanes = std::min<std::uint8_t>(layout.lanes, 2);
    hold(true);
    place(std::min(ceil_log2(all), ceil_log2(scan_columns / layout.lanes)));
    plan.units = plan.strips * plan.tiles;
    plan_scanners(request, plan, plan.strips * (std::int64_t{layout.lanes} << layout.group_bits),
                  plan.tiles);
}

// CPU: units of work are rows or strips of columns, cut further where they are too few.
void plan_cpu(const ScanRequest& request, const KeptNest& nest, ScanPlan& plan) {
    constexpr std::int64_t grain = 1 << 16; // elements worth a block of their own
    ScanLayout& layout = plan.layout;
    const bool rows = layout.strategy == ScanStrategy::rows;
    const std::int64_t work = plan.lines * plan.length;
    std::int64_t width = 1; // lines that are walked together
    if (!rows) {
        const std::int64_t across = nest.extent[layout.fastest()];
        width = std::min<std::int64_t>(across, cpu_scan_columns);
        plan.strips = ceil_div(across, cpu_scan_columns);
        plan.units = plan.lines / across * plan.strips;
    } else {
        plan.units = plan.lines;
    }
    const std::int64_t wanted =
        std::clamp<std::int64_t>(work / grain, 1, std::int64_t{16} * request.processors);
    plan.chunk = plan.length;
    if (request.force_split > 1 ||
        (request.force_split == 0 && request.processors > 1 && plan.length >= 4096 &&
         plan.units < std::min(wanted, std::int64_t{2} * request.processors))) {
        plan.chunk = request.force_split > 1
                         ? ceil_div(plan.length, request.force_split)
                         : cpu_scan_tile / (width * largest_item(request, layout));
        plan.chunk = std::clamp<std::int64_t>(plan.chunk, 1, plan.length);
        plan.tiles = ceil_div(plan.length, plan.chunk);
        layout.split = plan.tiles > 1;
    }
    plan.values = plan.lines * plan.tiles;
    plan.units *= plan.tiles;
    plan.share = ceil_div(plan.units, std::min(wanted, plan.units));
    plan.block = 1;
    plan.grid = grid_for(plan.units, plan.share);
}

} // namespace

bool plan_scan(const ScanRequest& request, ScanPlan& plan) {
    start_over(plan);
    ScanLayout& layout = plan.layout;
    layout.target = request.target;
    layout.operand_count = static_cast<std::uint8_t>(request.operands.size());

    KeptNest nest;
    nest.expand(request.shape, std::uint64_t{1} << request.axis, request.operands, false, false);
    nest.order_axes(request.operands, 0, nest.kept);
    nest.kept = nest.merge_axes(0, nest.kept);
    if (nest.operands * nest.ndim > static_cast<int>(plan.stride_store.size()))
        return false;
    plan.lines = nest.count(0, nest.kept);
    plan.length = nest.extent[nest.kept];

    layout.kept_ndim = static_cast<std::uint8_t>(nest.kept);
    layout.strategy =
        nest.walks_fastest(request.operands) ? ScanStrategy::rows : ScanStrategy::columns;
    layout.access = find_access(nest, request.operands, layout.fastest());
    if (request.target == Target::cpu) {
        layout.index_bits = 64;
        plan_cpu(request, nest, plan);
    } else {
        layout.index_bits =
            nest.index_bits(plan.lines * plan.length, request.operands, request.narrow_bits);
        layout.strategy == ScanStrategy::rows ? plan_gpu_rows(request, nest, plan)
                                              : plan_gpu_columns(request, nest, plan);
        plan.grid = grid_for(plan.units + plan.scanners, 1);
        plan.block = scan_block;
    }
    for (int d = 0; d < nest.ndim; ++d)
        plan.shape[d] = nest.extent[d];
    for (int k = 0; k < nest.operands; ++k)
        for (int d = 0; d < nest.ndim; ++d)
            plan.stride_store[static_cast<std::size_t>(k * nest.ndim + d)] = nest.stride[k][d];
    return true;
}

ScanRoom scan_room(const ScanPlan& plan, std::uint32_t accumulator_bytes) {
    if (!plan.layout.split)
        return {};
    if (plan.layout.target == Target::cpu) { // a word for each tile, then what the tiles have
        const std::int64_t head = scan_head_bytes + ceil_div(plan.units, 16) * 64;
        return {head + plan.values * accumulator_bytes, head};
    }
    // Each tile's total and what is before it, in marked words.
    const std::int64_t words = ceil_div(accumulator_bytes, 4),
                       bytes = scan_head_bytes + plan.values * plan.steps * words * 16;
    return {bytes, bytes};
}

std::string describe(const ScanLayout& layout) {
    static constexpr std::array strategies{"rows", "short rows", "columns"};
    static constexpr std::array accesses{"contiguous", "repeated", "strided", "tiled"};
    std::string text =
        join(strategies[static_cast<std::size_t>(layout.strategy)], " x", int{layout.lanes});
    if (layout.batch > 1)
        text += join(", ", int{layout.batch}, " packs");
    if (layout.block_rows)
        text += ", a block a row";
    text += join(" | kept ", int{layout.kept_ndim}, " |");
    for (int k = 0; k < layout.operand_count; ++k)
        text += join(" ", accesses[static_cast<std::size_t>(layout.access[k])]);
    return text + join(" | ", int{layout.index_bits}, "-bit") + (layout.split ? " | split" : "");
}

} // namespace quern
