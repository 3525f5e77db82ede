// See panels.h.
#include "compiler/plan/panels.h"

#include <algorithm>

namespace quern {
namespace {

constexpr int warps = panel_block / 32;
constexpr std::int64_t slot = std::int64_t{warps} * panel_row_bytes; // of a pack of every thread

// Do packs of so many neighbouring columns lie at whole addresses in every row?
bool lies_in_packs(const KeptNest& nest, const Operand& operand, int k, std::uint64_t bytes) {
    if (operand.address % bytes != 0)
        return false;
    for (int d = 0; d < nest.ndim; ++d)
        if (d != nest.kept - 1 && static_cast<std::uint64_t>(nest.stride[k][d]) % bytes != 0)
            return false;
    return true;
}

// Bytes of an element of all inputs that are held, which must be the same; 0 where there is none or
// they lie otherwise. Counts them.
std::uint32_t find_item(const KeptNest& nest, const RowRequest& request, const RowLayout& layout,
                        int& inputs) {
    const int across = nest.kept - 1;
    std::uint32_t item = 0;
    for (int k = 0; k < nest.operands; ++k) {
        const Operand& operand = request.operands[k];
        if (layout.access[k] == Access::repeated)
            continue;
        if (nest.stride[k][across] != static_cast<std::int64_t>(operand.item_bytes))
            return 0;
        if (operand.output)
            continue;
        ++inputs;
        if (item != 0 && item != operand.item_bytes)
            return 0;
        item = operand.item_bytes;
    }
    return item;
}

} // namespace

bool plan_panels(const KeptNest& nest, const RowRequest& request, RowPlan& plan) {
    RowLayout& layout = plan.layout;
    int inputs = 0;
    const std::uint32_t item = find_item(nest, request, layout, inputs);
    // Elements of less than 4 bytes are more for the same memory: two meetings take too long.
    const bool meets_once = request.walk_join_bytes == request.join_bytes;
    if (item < (meets_once ? 2U : 4U) || item > 8 || request.walk_join_bytes == 0 ||
        plan.length < panel_rows)
        return false;
    const int lanes = 8 / static_cast<int>(item), columns = 32 * lanes,
              chunk = 16 / static_cast<int>(item);
    const std::int64_t inner = nest.extent[nest.kept - 1];
    if (plan.rows % chunk != 0 || (nest.kept > 1 && inner % columns != 0))
        return false;
    for (int k = 0; k < nest.operands; ++k)
        if (layout.access[k] != Access::repeated &&
            !lies_in_packs(nest, request.operands[k], k,
                           request.operands[k].output
                               ? std::uint64_t{request.operands[k].item_bytes} *
                                     static_cast<std::uint64_t>(lanes)
                               : 16))
            return false;

    const int held = panel_bytes_held / 8 / inputs / 2 * 2;
    if (held == 0)
        return false;
    const std::int64_t panels = ceil_div(plan.rows, columns);
    const auto packs = [&](int bits) { // of a thread, by twos
        return ceil_div(ceil_div(plan.length, std::int64_t{warps} << bits), 2) * 2;
    };
    const auto room = [&](int bits) { // bytes: of each warp, of all blocks twice, of all
        return std::int64_t{request.walk_join_bytes} * columns *
               (warps + (bits > 0 ? 2 << bits : 0) + 1);
    };
    const auto slots = [&](int bits) { // packs of a thread in shared memory
        constexpr std::int64_t spare = 1024;
        return (std::int64_t{request.shared_bytes} - spare - room(bits)) / (slot * inputs) / 2 * 2;
    };
    int bits = 0;
    while (bits < request.most_cluster_bits && packs(bits) > held + slots(bits))
        ++bits;
    const std::int64_t needed = packs(bits), beyond = std::max<std::int64_t>(needed - held, 0);
    if (beyond > slots(bits) || panels << bits < request.processors ||
        needed * warps << bits > 2 * plan.length ||
        (request.most_steps > 0 && needed > request.most_steps))
        return false;
    layout.panels = true;
    layout.columns = static_cast<std::uint8_t>(columns);
    layout.lanes = static_cast<std::uint8_t>(lanes);
    layout.block = panel_block;
    layout.cluster_bits = static_cast<std::uint8_t>(bits);
    layout.packs = static_cast<std::uint8_t>(std::min<std::int64_t>(needed, held));
    layout.ahead =
        static_cast<std::uint8_t>(std::min<std::int64_t>(layout.packs, slots(bits) - beyond));
    layout.parks = beyond > 0;
    layout.partial = needed * warps << bits != plan.length;
    plan.packs = plan.length;
    plan.parked = beyond;
    plan.shared_bytes =
        static_cast<std::uint32_t>(room(bits) + slot * inputs * (beyond + layout.ahead));
    share_panels(std::max(1, request.processors >> bits), plan);
    return true;
}

void share_panels(int clusters, RowPlan& plan) {
    const RowLayout& layout = plan.layout;
    const std::int64_t columns = layout.columns, panels = ceil_div(plan.rows, columns),
                       blocks = std::min<std::int64_t>(panels, clusters);
    plan.grid = static_cast<std::uint32_t>(blocks << layout.cluster_bits);
    plan.rounds = plan.rows / (columns * blocks);
    const std::int64_t rest = plan.rows - plan.rounds * columns * blocks;
    // Whole sectors of memory; along several kept axes panels begin where their rows do.
    constexpr std::int64_t whole = 8;
    plan.last_columns = layout.kept_ndim > 1
                            ? columns
                            : std::min(columns, ceil_div(ceil_div(rest, blocks), whole) * whole);
}

} // namespace quern
