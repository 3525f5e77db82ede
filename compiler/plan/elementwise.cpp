// Drops, orders and merges axes, then chooses a strategy, the lanes, the index width and the grid.
#include "compiler/plan/elementwise.h"

#include "compiler/base/text.h"
#include "compiler/plan/loop_nest.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace quern {
namespace {

bool all_contiguous(const PlanRequest& request) {
    const auto ndim = static_cast<int>(request.shape.size());
    for (const Operand& operand : request.operands) {
        if (operand.ndim != ndim)
            return false;
        std::int64_t expected = operand.item_bytes;
        for (int d = ndim; d-- > 0;) {
            if (operand.shape[d] != request.shape[d])
                return false;
            if (operand.strides[d] != expected && operand.shape[d] != 1)
                return false;
            expected *= operand.shape[d];
        }
    }
    return true;
}

void expand(const PlanRequest& request, Nest& nest) {
    nest.ndim = static_cast<int>(request.shape.size());
    nest.operands = static_cast<int>(request.operands.size());
    for (int d = 0; d < nest.ndim; ++d)
        nest.extent[d] = request.shape[d];
    for (int k = 0; k < nest.operands; ++k) {
        const Operand& operand = request.operands[k];
        const int missing = nest.ndim - operand.ndim;
        for (int d = 0; d < nest.ndim; ++d)
            nest.stride[k][d] =
                d < missing || operand.shape[d - missing] == 1 ? 0 : operand.strides[d - missing];
    }
}

// Should axis `a` stand further out than axis `b`? Outputs decide first: their fast axis becomes
// the innermost.
bool further_out(const Nest& nest, std::span<const Operand> operands, int a, int b) {
    for (const bool output : {true, false})
        for (int k = 0; k < nest.operands; ++k) {
            if (operands[k].output != output)
                continue;
            const std::int64_t sa = std::abs(nest.stride[k][a]), sb = std::abs(nest.stride[k][b]);
            if (sa == 0 || sb == 0 || sa == sb)
                continue;
            return sa > sb;
        }
    return a < b;
}

void order_axes(Nest& nest, std::span<const Operand> operands) {
    for (int d = 1; d < nest.ndim; ++d)
        for (int e = d; e > 0 && further_out(nest, operands, e, e - 1) &&
                        !further_out(nest, operands, e - 1, e);
             --e)
            nest.swap_axes(e, e - 1);
}

// The axis along which some operand is contiguous while it is not along the innermost one; -1 if
// there is none that all such operands share.
int tile_axis(const Nest& nest, std::span<const Operand> operands, std::int64_t least) {
    const int inner = nest.ndim - 1;
    if (nest.ndim < 2 || nest.extent[inner] < least)
        return -1;
    int found = -1;
    for (int k = 0; k < nest.operands; ++k) {
        const std::int64_t item = operands[k].item_bytes;
        if (nest.stride[k][inner] == item || nest.stride[k][inner] == 0 || operands[k].place)
            continue;
        if (operands[k].output)
            return -1;
        for (int d = 0; d < inner; ++d) {
            if (nest.stride[k][d] != item || nest.extent[d] < least)
                continue;
            if (found >= 0 && found != d)
                return -1;
            found = d;
        }
    }
    return found;
}

// CPU: loops over elements that stand apart have scalar loads, and no vectors at all where they
// call a function. To put the elements side by side first pays for that, or where it takes vectors
// alone.
bool worth_gathering(const PlanRequest& request, const Operand& operand, std::int64_t stride) {
    if (request.target != Target::cpu || operand.output || operand.place || request.body.in_place)
        return false;
    const std::int64_t item = operand.item_bytes;
    return request.body.costly || stride == -item || (stride == 2 * item && item <= 4) ||
           (stride == 4 * item && item <= 2);
}

void choose_access(const Nest& nest, const PlanRequest& request, ElementwiseLayout& layout,
                   bool tiles) {
    const int inner = nest.ndim - 1;
    for (int k = 0; k < nest.operands; ++k) {
        const std::int64_t item = request.operands[k].item_bytes, stride = nest.stride[k][inner];
        layout.access[k] =
            stride == item || nest.extent[inner] == 1 ? Access::contiguous
            : stride == 0                             ? Access::repeated
            : tiles && nest.stride[k][inner - 1] == item && !request.operands[k].place
                ? Access::tiled
            : worth_gathering(request, request.operands[k], stride) ? Access::gathered
                                                                    : Access::strided;
    }
}

// Whether packs of so many lanes begin where packs may, of every operand that is moved in packs.
bool aligned(const Nest& nest, const PlanRequest& request, const ElementwiseLayout& layout,
             int lanes, int shift) {
    for (int k = 0; k < nest.operands; ++k) {
        const bool tiled = layout.access[k] == Access::tiled;
        if ((!tiled && layout.access[k] != Access::contiguous) || request.operands[k].place)
            continue;
        const Operand& operand = request.operands[k];
        const auto chunk =
            std::min<std::uint64_t>(16, static_cast<std::uint64_t>(lanes) * operand.item_bytes);
        if ((operand.address - static_cast<std::uint64_t>(shift) * operand.item_bytes) % chunk)
            return false;
        const int along = nest.ndim - (tiled ? 2 : 1); // the axis that a pack lies along
        for (int d = 0; d < nest.ndim; ++d)
            if (d != along && static_cast<std::uint64_t>(nest.stride[k][d]) % chunk)
                return false;
    }
    return true;
}

// Lanes of a vector plan, 1 if the operands do not lend themselves to it.
int choose_lanes(const Nest& nest, const PlanRequest& request, const ElementwiseLayout& layout,
                 int& shift) {
    shift = 0;
    std::uint32_t smallest = 16, largest = 1, stored = 1, loaded = 0;
    bool any = false;
    for (int k = 0; k < nest.operands; ++k) {
        if (request.operands[k].place)
            continue;
        if (layout.access[k] == Access::strided || layout.access[k] == Access::tiled)
            return 1;
        if (layout.access[k] != Access::contiguous)
            continue;
        any = true;
        smallest = std::min(smallest, request.operands[k].item_bytes);
        largest = std::max(largest, request.operands[k].item_bytes);
        if (request.operands[k].output)
            stored = std::max(stored, request.operands[k].item_bytes);
        else
            loaded += request.operands[k].item_bytes;
    }
    if (!any)
        return 1;
    // 16 bytes of the smallest type, but no more than 32 of the largest, nor than 16 of what is
    // stored, as past that a warp's stores leave gaps, unless all loads together would have less
    // than 8.
    const std::uint32_t fit = std::max(16 / stored, 8 / std::max(loaded, 1u));
    const int wanted =
        static_cast<int>(std::max(16 / largest, std::min({16 / smallest, 32 / largest, fit})));
    const std::int64_t inner = nest.extent[nest.ndim - 1];
    int lanes = wanted;
    while (lanes > 1 && (nest.ndim > 1 && inner < 2 * lanes))
        lanes /= 2;
    // Packs of so few bytes are not worth that neighbours' stores lie apart (H200, bytes beside
    // broadcast floats into doubles: 3240 GB/s in packs of two, 3704 one by one).
    if (nest.ndim > 1 && static_cast<std::uint32_t>(lanes) * smallest < 4)
        return 1;
    if (aligned(nest, request, layout, lanes, 0))
        return lanes;
    if (nest.ndim == 1)
        for (int s = 1; s < lanes; ++s)
            if (aligned(nest, request, layout, lanes, s)) {
                shift = s;
                return lanes;
            }
    while (lanes > 1 && !aligned(nest, request, layout, lanes, 0))
        lanes /= 2;
    // One by one a thread takes four (H200, differences of neighbouring rows of two bytes: 104 us
    // in packs, 53 one by one; of two halves: 54, 31; of two floats: 32, 24).
    return nest.ndim == 1 && lanes <= 4 && lanes < wanted ? 1 : lanes;
}

void spread_over_workers(const PlanRequest& request, std::int64_t work, std::int64_t grain,
                         std::int64_t multiple, ElementwisePlan& plan) {
    std::int64_t blocks =
        std::clamp<std::int64_t>(ceil_div(work, grain), 1, std::int64_t{4} * request.threads);
    plan.share = ceil_div(work, blocks);
    if (plan.share > multiple)
        plan.share = ceil_div(plan.share, multiple) * multiple;
    plan.grid = grid_for(work, plan.share);
    plan.block = 1;
    plan.steps = work;
}

std::int64_t tile_count(const Nest& nest, std::int64_t extent) {
    std::int64_t tiles =
        ceil_div(nest.extent[nest.ndim - 1], extent) * ceil_div(nest.extent[nest.ndim - 2], extent);
    for (int d = 0; d + 2 < nest.ndim; ++d)
        tiles *= nest.extent[d];
    return tiles;
}

std::uint32_t widest_item(const PlanRequest& request) {
    std::uint32_t bytes = 1;
    for (const Operand& operand : request.operands)
        bytes = std::max(bytes, operand.item_bytes);
    return bytes;
}

void plan_cpu(Nest& nest, const PlanRequest& request, int other_axis, ElementwisePlan& plan) {
    ElementwiseLayout& layout = plan.layout;
    layout.index_bits = 64;
    layout.lanes = 1;
    if (other_axis >= 0) {
        nest.move_axis(other_axis, nest.ndim - 2);
        layout.strategy = Strategy::blocked;
        layout.lanes = static_cast<std::uint8_t>(256 / std::max(4u, widest_item(request)));
        choose_access(nest, request, layout, true);
        spread_over_workers(
            request, tile_count(nest, layout.lanes),
            std::max<std::int64_t>(1, request.body.grain / (layout.lanes * layout.lanes)), 1, plan);
        return;
    }
    layout.strategy = Strategy::range;
    choose_access(nest, request, layout, false);
    spread_over_workers(request, plan.count, request.body.grain, 64, plan);
}

// Neighbours that fill four bytes of the largest operand, where there is work enough for tiles so
// wide.
int tile_lanes(const Nest& nest, const PlanRequest& request, std::int64_t count) {
    const std::uint32_t largest = widest_item(request);
    int lanes = count >= (1 << 20) && largest < 4 ? static_cast<int>(4 / largest) : 1;
    const std::int64_t shorter = std::min(nest.extent[nest.ndim - 2], nest.extent[nest.ndim - 1]);
    while (lanes > 1 && shorter < std::int64_t{tile_extent} * lanes)
        lanes /= 2;
    return lanes;
}

// Of the packs that a thread has of each operand.
bool holds_little(const PlanRequest& request, const ElementwiseLayout& layout) {
    int bytes = 0;
    for (std::size_t k = 0; k < request.operands.size(); ++k)
        if (layout.access[k] == Access::contiguous && !request.operands[k].place)
            bytes += layout.lanes * static_cast<int>(request.operands[k].item_bytes);
    return bytes <= paired_bytes;
}

bool reads_places(const PlanRequest& request) {
    return std::ranges::any_of(
        request.operands, [](const Operand& operand) { return operand.place && !operand.output; });
}

// Does each row of results come out of one row, here and there?
bool within_rows(const Nest& nest, const PlanRequest& request, const ElementwiseLayout& layout) {
    for (std::size_t k = 0; k < request.operands.size(); ++k)
        if (request.operands[k].place && layout.access[k] == Access::repeated)
            return nest.ndim > 1;
    return false;
}

// A thread's last step takes it as far past the end as the grid is wide.
void widen_for_last_step(std::int64_t grid_width, ElementwisePlan& plan) {
    ElementwiseLayout& layout = plan.layout;
    if (layout.index_bits < 64 && plan.steps - 1 + grid_width >= std::int64_t{1}
                                                                     << layout.index_bits)
        layout.index_bits = 64;
}

void plan_gpu(Nest& nest, const PlanRequest& request, int other_axis, ElementwisePlan& plan) {
    ElementwiseLayout& layout = plan.layout;
    layout.index_bits = nest.index_bits(plan.count, request.operands, request.narrow_bits);
    plan.block = static_cast<std::uint32_t>(request.block_size);
    if (other_axis >= 0) {
        nest.move_axis(other_axis, nest.ndim - 2);
        layout.strategy = Strategy::tile;
        layout.lanes = static_cast<std::uint8_t>(tile_lanes(nest, request, plan.count));
        choose_access(nest, request, layout, true);
        layout.packed = layout.lanes > 1 && aligned(nest, request, layout, layout.lanes, 0);
        plan.steps = tile_count(nest, std::int64_t{tile_extent} * layout.lanes);
        plan.block = tile_block;
        plan.grid = grid_for(plan.steps, 1);
        return;
    }
    choose_access(nest, request, layout, false);
    int shift = 0;
    const int lanes = request.body.one_element ? 1 : choose_lanes(nest, request, layout, shift);
    if (lanes > 1) {
        layout.strategy = Strategy::vector;
        layout.lanes = static_cast<std::uint8_t>(lanes);
        layout.peel = shift > 0;
        plan.shift = shift;
        const std::int64_t inner = nest.extent[nest.ndim - 1];
        plan.steps = plan.count / inner * ceil_div(inner + shift, lanes);
        layout.swift =
            request.body.swift || (request.body.swift_of_many && plan.steps >= 2 * swift_steps);
        std::int64_t turns =
            layout.swift ? std::clamp<std::int64_t>(plan.steps / swift_steps, 1, swift_turns) : 1;
        layout.gathers = reads_places(request) && holds_little(request, layout);
        if (layout.gathers && !request.block_size_given &&
            plan.count >=
                (within_rows(nest, request, layout) ? row_gather_results : gather_block_results))
            plan.block = gather_block;
        layout.pairs = turns > 1 && nest.ndim == 1 && holds_little(request, layout);
        if (layout.pairs)
            turns = turns / 2 * 2;
        plan.share = turns * plan.block;
        plan.grid = grid_for(plan.steps, plan.share);
        widen_for_last_step(std::int64_t{plan.grid} * plan.share, plan);
        return;
    }
    layout.strategy = Strategy::scattered;
    layout.lanes = request.body.one_element || nest.operands == 0 ? 1 : 4;
    plan.steps = plan.count;
    const std::int64_t block = std::int64_t{plan.block} * layout.lanes;
    plan.grid = grid_for(plan.count, block);
    widen_for_last_step(plan.grid * block, plan);
}

} // namespace

bool plan_elementwise(const PlanRequest& request, ElementwisePlan& plan) {
    const auto operands = static_cast<int>(request.operands.size());
    plan.count = 1;
    for (const std::int64_t extent : request.shape)
        plan.count *= extent;
    plan.layout = ElementwiseLayout{};
    plan.layout.operand_count = static_cast<std::uint8_t>(operands);
    plan.shift = plan.share = 0;

    Nest nest;
    if (!request.body.keep_axes && all_contiguous(request)) {
        nest.ndim = 1;
        nest.operands = operands;
        nest.extent[0] = plan.count;
        for (int k = 0; k < operands; ++k)
            nest.stride[k][0] = request.operands[k].item_bytes;
    } else {
        expand(request, nest);
        if (!request.body.keep_axes) {
            for (int d = nest.ndim; d-- > 0;)
                if (nest.extent[d] == 1)
                    nest.drop(d);
            if (!request.body.keep_order)
                order_axes(nest, request.operands);
            nest.merge_axes(0, nest.ndim);
        }
        if (nest.ndim == 0) {
            nest.ndim = 1;
            nest.extent[0] = 1;
            for (int k = 0; k < operands; ++k)
                nest.stride[k][0] = request.operands[k].item_bytes;
        }
    }
    if (operands * nest.ndim > static_cast<int>(plan.stride_store.size()))
        return false;

    const bool may_tile =
        !request.body.keep_axes && !request.body.keep_order && !request.body.one_element;
    if (request.target == Target::cpu && !request.body.one_element) {
        plan_cpu(nest, request, may_tile ? tile_axis(nest, request.operands, 16) : -1, plan);
    } else {
        const bool tile = may_tile && !request.block_size_given && plan.count >= (1 << 14);
        plan_gpu(nest, request, tile ? tile_axis(nest, request.operands, tile_extent) : -1, plan);
        if (request.target == Target::cpu)
            plan.layout.index_bits = 64;
    }

    plan.layout.ndim = static_cast<std::uint8_t>(nest.ndim);
    for (int d = 0; d < nest.ndim; ++d)
        plan.shape[d] = nest.extent[d];
    for (int k = 0; k < operands; ++k)
        for (int d = 0; d < nest.ndim; ++d)
            plan.stride_store[static_cast<std::size_t>(k * nest.ndim + d)] = nest.stride[k][d];
    return true;
}

std::string describe(const ElementwiseLayout& layout) {
    static constexpr std::array strategies{"vector", "scattered", "tile", "range", "blocked"};
    static constexpr std::array accesses{"contiguous", "repeated", "strided", "tiled", "gathered"};
    std::string text = join(strategies[static_cast<std::size_t>(layout.strategy)], " x",
                            int{layout.lanes}, layout.packed ? " in packs | " : " | ",
                            int{layout.ndim}, layout.ndim == 1 ? " axis |" : " axes |");
    for (int k = 0; k < layout.operand_count; ++k)
        text += join(" ", accesses[static_cast<std::size_t>(layout.access[k])]);
    return text + join(" | ", int{layout.index_bits}, "-bit") + (layout.peel ? " | peeled" : "") +
           (layout.pairs   ? " | swift, in pairs"
            : layout.swift ? " | swift"
                           : "");
}

DivisorNumbers make_divisor(std::uint64_t divisor, int bits) {
    const auto shift = static_cast<std::uint64_t>(std::bit_width(divisor - 1));
    __extension__ using Wide = unsigned __int128;
    const Wide numerator = ((Wide{1} << shift) - divisor) << bits;
    return {divisor, static_cast<std::uint64_t>(numerator / divisor) + 1, shift};
}

} // namespace quern
