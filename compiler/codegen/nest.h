// The numbers that a generated kernel receives besides its arguments: the extents, divisors and
// strides of its loop nest. Code generation declares them and the launch fills them from this one
// list, so the two cannot disagree.
#pragma once
#include "compiler/plan/elementwise.h"

#include <string>
#include <vector>

namespace quern {

struct NestField {
    enum class Kind : std::uint8_t {
        steps,     // ElementwisePlan::steps
        count,     // elements
        share,     // of one block
        shift,     // peeled lanes
        extent,    // of `axis`
        divisor,   // by the extent of `axis`: three words
        row_steps, // divisor by the steps of one row: three words
        tiles,     // divisor by the tiles along `axis`: three words
        stride,    // of `operand` along `axis`, bytes, signed
    };
    Kind kind;
    std::int16_t operand = 0, axis = 0;

    friend bool operator==(const NestField&, const NestField&) = default;
};

// In the order of declaration. Every word has `layout.index_bits`.
[[nodiscard]] std::vector<NestField> nest_fields(const ElementwiseLayout& layout);
// Must the strides of `operand` be known along `axis`?
[[nodiscard]] bool has_stride(const ElementwiseLayout& layout, int operand, int axis);

// Writes the words at `place`; returns the number of bytes. At most `nest_bytes_limit`.
inline constexpr std::size_t nest_bytes_limit = 4096;
std::size_t pack_nest(const std::vector<NestField>& fields, const ElementwisePlan& plan,
                      void* place);

} // namespace quern
