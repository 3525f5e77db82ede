// See rows.h.
#include "compiler/plan/rows.h"

#include "compiler/base/text.h"
#include "compiler/plan/kept_nest.h"

#include <algorithm>
#include <bit>

namespace quern {
namespace {

// Lanes of 16 bytes at most, where every row of every operand allows them.
int choose_lanes(const KeptNest& nest, const RowRequest& request, const RowLayout& layout) {
    const int axis = nest.ndim - 1;
    std::uint32_t largest = 1;
    for (int k = 0; k < nest.operands; ++k) {
        if (layout.access[k] == Access::strided)
            return 1;
        if (layout.access[k] == Access::contiguous)
            largest = std::max(largest, request.operands[k].item_bytes);
    }
    int lanes = static_cast<int>(16 / std::min<std::uint32_t>(largest, 16));
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

} // namespace

bool plan_rows(const RowRequest& request, RowPlan& plan) {
    plan = {};
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
    if (nest.reduced() != 1 || !nest.walks_fastest(request.operands) ||
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
    const int lanes = choose_lanes(nest, request, layout);
    layout.lanes = static_cast<std::uint8_t>(lanes);
    plan.packs = ceil_div(plan.length, lanes);

    int bytes = 0; // of an element, held
    for (int k = 0; k < nest.operands; ++k)
        if (!request.operands[k].output && layout.access[k] != Access::repeated)
            bytes += std::max<int>(static_cast<int>(request.operands[k].item_bytes), 4);
    const int most = std::clamp<int>(static_cast<int>(std::bit_floor(static_cast<unsigned>(
                                         row_bytes_held / (std::max(bytes, 4) * lanes)))),
                                     1, row_packs_held);
    // Several packs a thread: what follows a reduction is computed by every thread of the row.
    plan.group_bits =
        std::min(5, ceil_log2(ceil_div(plan.packs, std::min(most, row_packs_wanted))));
    while ((std::int64_t{1} << plan.group_bits) < row_most_threads &&
           plan.packs > std::int64_t{most} << plan.group_bits)
        ++plan.group_bits;
    const std::int64_t threads = std::int64_t{1} << plan.group_bits;
    layout.packs = static_cast<std::uint8_t>(
        std::min<std::int64_t>(most, std::int64_t{1} << ceil_log2(ceil_div(plan.packs, threads))));
    layout.masked = plan.length % lanes != 0;
    layout.partial = plan.packs < threads * layout.packs;
    layout.rest = plan.packs > threads * layout.packs;
    layout.block = static_cast<std::uint16_t>(std::max<std::int64_t>(row_block, threads));
    if ((layout.rest && plan.rows < request.processors) ||
        (request.most_steps > 0 && ceil_div(plan.packs, threads) * lanes > request.most_steps))
        return false;
    if (layout.rest) { // the row has the whole block
        const std::int64_t slot = threads * lanes * bytes;
        plan.parked =
            std::min(request.shared_bytes / slot, ceil_div(plan.packs, threads) - layout.packs);
        plan.shared_bytes = static_cast<std::uint32_t>(plan.parked * slot);
        layout.parks = plan.parked > 0;
    }
    plan.grid = grid_for(plan.rows, layout.block >> plan.group_bits);
    std::copy_n(nest.extent.begin(), nest.ndim, plan.shape.begin());
    for (int k = 0; k < nest.operands; ++k)
        std::copy_n(nest.stride[k].begin(), nest.ndim,
                    plan.stride_store.begin() + static_cast<std::ptrdiff_t>(k) * nest.ndim);
    return true;
}

std::string describe(const RowLayout& layout) {
    static constexpr std::array accesses{"contiguous", "repeated", "strided", "tiled"};
    std::string text =
        join("rows held x", int{layout.lanes}, ", ", int{layout.packs}, " packs",
             layout.masked ? ", masked" : "", layout.partial ? ", partial" : "",
             layout.rest ? ", and the rest" : "", layout.parks ? " in shared memory" : "",
             " | kept ", int{layout.kept_ndim}, " |");
    for (int k = 0; k < layout.operand_count; ++k)
        text += join(" ", accesses[static_cast<std::size_t>(layout.access[k])]);
    return text + join(" | ", int{layout.index_bits}, "-bit | ", int{layout.block}, " threads");
}

} // namespace quern
