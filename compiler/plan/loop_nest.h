// The loop nest while planners make it: extents and byte strides, outermost axis first.
#pragma once
#include "compiler/plan/elementwise.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <utility>

namespace quern {

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Blocks for `work` items, `per_block` each, within CUDA's limit.
constexpr std::uint32_t grid_for(std::int64_t work, std::int64_t per_block) {
    return static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(ceil_div(work, per_block), 1, (std::int64_t{1} << 31) - 1));
}

// CPU: what is larger comes from memory whenever it is read.
inline constexpr std::int64_t bytes_beyond_caches = std::int64_t{24} << 20;

// Of all inputs, for an element of a loop.
inline std::int64_t bytes_read(std::span<const Operand> operands) {
    std::int64_t bytes = 0;
    for (const Operand& operand : operands)
        bytes += operand.output ? 0 : std::int64_t{operand.item_bytes};
    return bytes;
}

struct Nest {
    int ndim = 0;
    int operands = 0;
    std::array<std::int64_t, max_plan_ndim> extent;
    std::array<std::array<std::int64_t, max_plan_ndim>, max_operands> stride;
    bool has_place = false; // somebody looks at the places of elements, which are
    std::array<std::int64_t, max_plan_ndim> place; // this far apart along each axis

    void drop(int axis) {
        for (int d = axis; d + 1 < ndim; ++d) {
            extent[d] = extent[d + 1];
            place[d] = place[d + 1];
            for (int k = 0; k < operands; ++k)
                stride[k][d] = stride[k][d + 1];
        }
        --ndim;
    }
    void swap_axes(int a, int b) {
        std::swap(extent[a], extent[b]);
        std::swap(place[a], place[b]);
        for (int k = 0; k < operands; ++k)
            std::swap(stride[k][a], stride[k][b]);
    }
    void move_axis(int from, int to) {
        for (; from < to; ++from)
            swap_axes(from, from + 1);
        for (; from > to; --from)
            swap_axes(from, from - 1);
    }
    // Merges neighbours among the axes [begin, end) where every operand allows it; returns the new
    // end.
    int merge_axes(int begin, int end) {
        for (int d = end - 2; d >= begin; --d) {
            bool mergeable = !has_place || place[d] == place[d + 1] * extent[d + 1];
            for (int k = 0; mergeable && k < operands; ++k)
                mergeable = stride[k][d] == stride[k][d + 1] * extent[d + 1];
            if (!mergeable)
                continue;
            extent[d] *= extent[d + 1];
            place[d] = place[d + 1];
            for (int k = 0; k < operands; ++k)
                stride[k][d] = stride[k][d + 1];
            drop(d + 1);
            --end;
        }
        return end;
    }
    // The narrow index where signed ones of its width hold all positions, with some to spare, and
    // all byte offsets; else 64 bits.
    [[nodiscard]] std::uint8_t index_bits(std::int64_t count, std::span<const Operand> given,
                                          int narrow_bits) const {
        const std::int64_t limit = (std::int64_t{1} << (narrow_bits - 1)) - 1;
        if (count > limit - 16)
            return 64;
        for (int k = 0; k < operands; ++k) {
            std::int64_t span = given[k].item_bytes;
            for (int d = 0; d < ndim; ++d)
                span += std::abs(stride[k][d]) * (extent[d] - 1);
            if (span > limit)
                return 64;
        }
        return static_cast<std::uint8_t>(narrow_bits);
    }
};

} // namespace quern
