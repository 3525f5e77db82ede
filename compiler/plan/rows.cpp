// See rows.h.
#include "compiler/plan/rows.h"

#include "compiler/base/text.h"
#include "compiler/plan/kept_nest.h"
#include "compiler/plan/panels.h"

#include <algorithm>
#include <bit>

namespace quern {
namespace {

// Lanes of 16 bytes; 1 where an operand's neighbours along a row are none in memory.
int widest_lanes(const KeptNest& nest, const RowRequest& request, const RowLayout& layout) {
    std::uint32_t largest = 1;
    for (int k = 0; k < nest.operands; ++k) {
        if (layout.access[k] == Access::strided)
            return 1;
        if (layout.access[k] == Access::contiguous)
            largest = std::max(largest, request.operands[k].item_bytes);
    }
    return static_cast<int>(16 / std::min<std::uint32_t>(largest, 16));
}

// As many of them as every row of every operand allows.
int choose_lanes(const KeptNest& nest, const RowRequest& request, const RowLayout& layout) {
    const int axis = nest.ndim - 1;
    int lanes = widest_lanes(nest, request, layout);
    const auto aligned = [&] {
        for (int k = 0; k < nest.operands; ++k) {
            const Operand& operand = request.operands[k];
            if (layout.access[k] != Access::contiguous)
                continue;
            const auto chunk = static_cast<std::uint64_t>(lanes) * operand.item_bytes;
            if (operand.address % chunk != 0)
                return false;
            for (int d = 0; d < axis; ++d)
                if (static_cast<std::uint64_t>(nest.stride[k][d]) % chunk != 0)
                    return false;
        }
        return true;
    };
    while (lanes > 1 && (nest.extent[axis] < lanes || !aligned()))
        lanes /= 2;
    return lanes;
}

// Lanes of 16 bytes for rows that begin anywhere: where all operands' begin at the same lane of a
// pack, and rows are longer than a warp holds them element by element. Else 0.
int choose_shifted_lanes(const KeptNest& nest, const RowRequest& request, const RowLayout& layout) {
    const int axis = nest.ndim - 1;
    const int lanes = widest_lanes(nest, request, layout);
    if (lanes == 1 || nest.extent[axis] <= 32 * row_packs_held)
        return 0;
    int first = -1; // of the contiguous operands
    for (int k = 0; k < nest.operands; ++k) {
        if (layout.access[k] != Access::contiguous)
            continue;
        const auto lane_of = [&](std::uint64_t address, int operand) {
            const std::uint32_t item = request.operands[operand].item_bytes;
            return address % item != 0 ? -1 : static_cast<int>(address / item % lanes);
        };
        first = first < 0 ? k : first;
        const int lane = lane_of(request.operands[k].address, k);
        if (lane < 0 || lane != lane_of(request.operands[first].address, first))
            return 0;
        for (int d = 0; d < axis; ++d) {
            const auto step = [&](int operand) {
                return lane_of(static_cast<std::uint64_t>(nest.stride[operand][d]), operand);
            };
            if (step(k) < 0 || step(k) != step(first))
                return 0;
        }
    }
    return first < 0 ? 0 : lanes;
}

// How many rows side by side neighbouring threads shall have: where the fastest kept axis is one
// along which elements are neighbours; 0 where it is not, or they are too narrow to be read alone.
int columns_of(const KeptNest& nest, std::span<const Operand> operands) {
    const int across = nest.kept - 1;
    if (nest.extent[across] < 2 * row_columns)
        return 0;
    for (int k = 0; k < nest.operands; ++k)
        if (operands[k].item_bytes < 4 ||
            (nest.stride[k][across] != 0 &&
             nest.stride[k][across] != static_cast<std::int64_t>(operands[k].item_bytes)))
            return 0;
    return row_columns;
}

// What is left for elements of the shared memory of a block, if so many share a multiprocessor's.
std::int64_t room_for_elements(const RowRequest& request, const RowLayout& layout, int blocks) {
    constexpr std::uint32_t spare = 1024; // which the driver takes, and what alignment costs
    const std::uint32_t warps = layout.block / 32u,
                        told = layout.cluster_bits == 0 ? 0 : std::max<int>(layout.columns, 2),
                        own = layout.columns > 0 ? layout.block * request.widest_join
                                                 : warps * request.join_bytes;
    return std::int64_t{request.shared_bytes} / blocks - own - told * request.join_bytes - spare;
}

// Ways to have a row that registers alone do not hold, best first: blocks that share a
// multiprocessor compute while others wait.
struct Share {
    int threads, blocks; // of a block; of a multiprocessor
    bool clusters;
};
constexpr std::array shares{Share{512, 2, false}, Share{256, 4, true}, Share{512, 2, true},
                            Share{1024, 1, true}};

// The smaller the blocks, the sooner their places are taken by others. (H200, 65536 rows of 1024
// floats: layernorm 3898 GB/s in blocks of 256, 3974 of 32; of 3000 3904, 4005 of 128; softmax of
// 64 4139, 4194 of 64.) A multiprocessor takes 32 blocks at most, so where the threads of a warp
// hold little a block has two rows.
int block_of_warps(std::int64_t packs) { return packs > 32 * row_packs_wanted ? 32 : 64; }

// Whether twice as many threads shall hold a row whose elements are stored, where none of them has
// more to hold for it. (H200, rows of 1000 floats over their norm: 3811 GB/s by one warp, 4031 by
// two; of 1024 4073, 4049; of 8192 4120 by 8, 4170 by 16, where one meeting is enough: softmax with
// two 4094, 3905. Log-sum-exp of 1024, which stores nothing: 4196, 3632.)
bool worth_twice_the_threads(const RowRequest& request, const RowPlan& plan) {
    bool stores = false;
    for (int k = 0; k < plan.layout.operand_count; ++k) {
        const Operand& operand = request.operands[static_cast<std::size_t>(k)];
        if (operand.item_bytes > 4)
            return false;
        stores |= operand.output && plan.layout.access[k] != Access::repeated;
    }
    const int bits = plan.group_bits;
    const std::int64_t packs = ceil_div(plan.packs, std::int64_t{1} << bits);
    return (bits == 5 || (bits == 8 && request.joining_walks == 1)) && stores &&
           plan.layout.lanes >= 4 && packs % 2 == 0 && packs >= 2 * row_packs_wanted;
}

// The threads and blocks of a row: each holds `most` packs at most, of `bytes` each, and parks what
// it can. With columns, units of threads have parts of rows, and the bits count units. False where
// they do not hold it all.
bool share_rows(const RowRequest& request, const Share& share, int most, int bytes, RowPlan& plan) {
    RowLayout& layout = plan.layout;
    const int unit = std::max<int>(layout.columns, 1), most_bits = ceil_log2(share.threads / unit);
    int& bits = plan.group_bits;
    bits = layout.cluster_bits = 0;
    // Several packs a thread: what follows a reduction is computed by every thread of the row.
    if (layout.columns > 0) {
        const std::int64_t groups = ceil_div(plan.rows, unit);
        while (bits < most_bits &&
               groups << bits < std::int64_t{request.processors} * (1024 / unit) &&
               plan.packs > std::int64_t{row_packs_wanted} << bits)
            ++bits;
    } else {
        bits = std::min(5, ceil_log2(ceil_div(plan.packs, std::min(most, row_packs_wanted))));
    }
    while (bits < most_bits && plan.packs > std::int64_t{most} << bits)
        ++bits;
    if (layout.columns == 0 && bits < most_bits && worth_twice_the_threads(request, plan))
        ++bits;
    const int least_block = layout.columns > 0 ? row_block
                            : bits == 5        ? block_of_warps(plan.packs)
                                               : 64;
    layout.block = static_cast<std::uint16_t>(std::max(least_block, unit << bits));
    layout.several = layout.columns == 0 && layout.block > 1 << bits;
    const std::int64_t slot = std::int64_t{layout.block} * bytes;
    const auto missing = [&] { return ceil_div(plan.packs, std::int64_t{1} << bits) - most; };
    const auto room = [&] { return room_for_elements(request, layout, share.blocks) / slot; };
    while (share.clusters && missing() > room() &&
           layout.cluster_bits < request.most_cluster_bits) {
        ++bits;
        ++layout.cluster_bits;
    }
    plan.parked = std::clamp<std::int64_t>(room(), 0, std::max<std::int64_t>(missing(), 0));
    return plan.parked >= missing();
}

// That a thread holds in registers, of `bytes` for each element. Where it keeps values too, fewer
// packs leave the blocks of a multiprocessor as many as there were, unless rows take larger ones.
int most_packs(const RowPlan& plan, bool keeps, int bytes) {
    const RowLayout& layout = plan.layout;
    const auto fit = std::bit_floor(static_cast<unsigned>(row_bytes_held / (bytes * layout.lanes)));
    int most = std::clamp<int>(static_cast<int>(fit), 1,
                               layout.columns > 0 ? column_packs_held : row_packs_held);
    if (keeps && layout.columns == 0 && plan.packs <= std::int64_t{row_block} * row_packs_wanted)
        most = std::min(most, std::max(row_elements_kept / layout.lanes, row_packs_wanted));
    return most;
}

} // namespace

bool plan_rows(const RowRequest& request, RowPlan& plan) {
    start_over(plan);
    RowLayout& layout = plan.layout;
    layout.operand_count = static_cast<std::uint8_t>(request.operands.size());
    KeptNest nest;
    nest.expand(request.shape, request.reduced, request.operands, false, false);
    if (request.uses_place)
        nest.count_places();
    nest.order_axes(request.operands, 0, nest.kept);
    nest.order_axes(request.operands, nest.kept, nest.ndim);
    nest.merge_axes(nest.kept, nest.ndim);
    nest.kept = nest.merge_axes(0, nest.kept);
    const bool across = !nest.walks_fastest(request.operands);
    if (nest.reduced() != 1 || (across && request.ways == RowWays::along) ||
        (!across && request.ways == RowWays::panels) ||
        (nest.has_place && !nest.places_in_order()) ||
        nest.operands * nest.ndim > static_cast<int>(plan.stride_store.size()))
        return false;
    const int axis = nest.ndim - 1;
    plan.rows = nest.count(0, nest.kept);
    plan.length = nest.extent[axis];
    layout.kept_ndim = static_cast<std::uint8_t>(nest.kept);
    layout.access = find_access(nest, request.operands, axis);
    layout.index_bits =
        nest.index_bits(plan.rows * plan.length, request.operands, request.narrow_bits);
    std::copy_n(nest.extent.begin(), nest.ndim, plan.shape.begin());
    for (int k = 0; k < nest.operands; ++k)
        std::copy_n(nest.stride[k].begin(), nest.ndim,
                    plan.stride_store.begin() + static_cast<std::ptrdiff_t>(k) * nest.ndim);
    if (across && plan_panels(nest, request, plan))
        return true;
    layout.columns = static_cast<std::uint8_t>(across ? columns_of(nest, request.operands) : 0);
    if (across && (layout.columns == 0 || request.ways == RowWays::panels))
        return false;
    int lanes = layout.columns ? 1 : choose_lanes(nest, request, layout);
    // Packs of four bytes or less are worth it. (H200: of eight, at the row's own beginnings, not)
    if (const int wide = layout.columns ? 0 : choose_shifted_lanes(nest, request, layout);
        wide >= 4 * lanes) {
        lanes = wide;
        layout.shifted = true;
    }
    layout.lanes = static_cast<std::uint8_t>(lanes);
    plan.packs = ceil_div(plan.length + (layout.shifted ? lanes - 1 : 0), lanes);

    int bytes = 0, parked_bytes = 0; // of an element, in registers and in shared memory
    for (int k = 0; k < nest.operands; ++k)
        if (!request.operands[k].output && layout.access[k] != Access::repeated)
            bytes += std::max(static_cast<int>(request.operands[k].item_bytes), 4),
                parked_bytes += static_cast<int>(request.operands[k].item_bytes);
    const int most = most_packs(plan, request.keeps, std::max(bytes, 4));
    const int slot = std::max(parked_bytes, 1) * lanes;
    const bool whole = std::ranges::any_of(
        shares, [&](const Share& share) { return share_rows(request, share, most, slot, plan); });
    layout.parks = plan.parked > 0;
    plan.shared_bytes = static_cast<std::uint32_t>(plan.parked * layout.block * slot);
    const std::int64_t threads = std::int64_t{1} << plan.group_bits;
    const std::int64_t needed = ceil_div(plan.packs, threads);
    layout.packs = static_cast<std::uint8_t>(std::min<std::int64_t>(
        most, layout.columns > 0 ? std::int64_t{1} << ceil_log2(needed) : needed));
    layout.masked = layout.shifted || plan.length % lanes != 0;
    layout.partial = plan.packs < threads * layout.packs;
    layout.rest = plan.packs > threads * layout.packs;
    const std::int64_t groups = ceil_div(plan.rows, std::max<int>(layout.columns, 1));
    if ((layout.rest && groups << layout.cluster_bits < request.processors) ||
        (layout.columns > 0 && !whole) ||
        (request.most_steps > 0 && ceil_div(plan.packs, threads) * lanes > request.most_steps))
        return false;
    const int units = layout.block / std::max<int>(layout.columns, 1),
              in_block_bits = plan.group_bits - layout.cluster_bits;
    plan.grid = grid_for(groups, units >> in_block_bits) << layout.cluster_bits;
    return true;
}

std::string describe(const RowLayout& layout) {
    static constexpr std::array accesses{"contiguous", "repeated", "strided", "tiled"};
    std::string text =
        join(layout.panels        ? join("panels of ", int{layout.columns}, " columns held x")
             : layout.columns > 0 ? join(int{layout.columns}, " columns held x")
                                  : "rows held x",
             int{layout.lanes}, ", ", int{layout.packs}, " packs",
             layout.shifted  ? ", shifted"
             : layout.masked ? ", masked"
                             : "",
             layout.partial ? ", partial" : "", layout.rest ? ", and the rest" : "",
             layout.parks ? " in shared memory" : "",
             layout.ahead > 0 ? join(", ", int{layout.ahead}, " ahead") : "",
             layout.cluster_bits > 0 ? join(", by ", 1 << layout.cluster_bits, " blocks") : "",
             " | kept ", int{layout.kept_ndim}, " |");
    for (int k = 0; k < layout.operand_count; ++k)
        text += join(" ", accesses[static_cast<std::size_t>(layout.access[k])]);
    return text + join(" | ", int{layout.index_bits}, "-bit | ", int{layout.block},
                       layout.several ? " threads of several rows" : " threads");
}

} // namespace quern
