// Axes sorted into kept and walked ones, ordered by stride.
#include "compiler/plan/kept_nest.h"

#include <functional>
#include <numeric>

namespace quern {

std::int64_t KeptNest::count(int begin, int end) const {
    return std::accumulate(extent.begin() + begin, extent.begin() + end, std::int64_t{1},
                           std::multiplies<>{});
}

void KeptNest::expand(std::span<const std::int64_t> shape, std::uint64_t walked,
                      std::span<const Operand> given, bool keep_ones, bool nothing) {
    const auto all = static_cast<int>(shape.size());
    operands = static_cast<int>(given.size());
    int at = 0;
    for (const bool walks : {false, true}) {
        for (int d = 0; d < all; ++d) {
            if (((walked >> d & 1) != 0) != walks || (shape[d] == 1 && !keep_ones))
                continue;
            extent[at] = nothing && walks ? 1 : shape[d];
            for (int k = 0; k < operands; ++k) {
                const Operand& operand = given[k];
                const int own = d - (all - operand.ndim);
                stride[k][at] = own < 0 || operand.shape[own] == 1 ? 0 : operand.strides[own];
            }
            ++at;
        }
        if (!walks)
            kept = at;
    }
    ndim = at;
    if (kept == ndim) { // one element along each line
        extent[at] = 1;
        for (int k = 0; k < operands; ++k)
            stride[k][at] = 0;
        ++ndim;
    }
}

namespace {

bool further_out(const KeptNest& nest, std::span<const Operand> operands, int a, int b) {
    for (const bool output : {false, true})
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

} // namespace

void KeptNest::count_places() {
    has_place = true;
    std::int64_t count = 1;
    for (int d = ndim - 1; d >= 0; --d) {
        place[d] = d < kept ? 0 : count;
        count *= d < kept ? 1 : extent[d];
    }
}

bool KeptNest::places_in_order() const {
    std::int64_t count = 1;
    for (int d = ndim - 1; d >= kept; --d) {
        if (place[d] != count && extent[d] > 1)
            return false;
        count *= extent[d];
    }
    return true;
}

void KeptNest::order_axes(std::span<const Operand> given, int begin, int end) {
    for (int d = begin + 1; d < end; ++d)
        for (int e = d; e > begin && further_out(*this, given, e, e - 1) &&
                        !further_out(*this, given, e - 1, e);
             --e)
            swap_axes(e, e - 1);
}

bool KeptNest::walks_fastest(std::span<const Operand> given) const {
    if (kept == 0)
        return true;
    const int r = ndim - 1, c = kept - 1;
    for (int k = 0; k < operands; ++k) {
        if (given[k].output)
            continue;
        const std::int64_t along = std::abs(stride[k][r]), across = std::abs(stride[k][c]);
        if (along == across)
            continue;
        if (along == 0 || across == 0)
            return across == 0;
        return along < across;
    }
    return true;
}

std::array<Access, max_operands> find_access(const KeptNest& nest,
                                             std::span<const Operand> operands, int axis) {
    std::array<Access, max_operands> access{};
    for (int k = 0; k < nest.operands; ++k) {
        const std::int64_t item = operands[k].item_bytes, stride = nest.stride[k][axis];
        access[k] = stride == item                          ? Access::contiguous
                    : stride == 0 || nest.extent[axis] == 1 ? Access::repeated
                                                            : Access::strided;
    }
    return access;
}

} // namespace quern
