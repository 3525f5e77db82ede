// A reduction's signature and plan become CUDA C++, by the same rules as elementwise kernels.
#pragma once
#include "compiler/codegen/parts.h"
#include "compiler/plan/reduction.h"
#include "compiler/spec/reduction_spec.h"

#include <string>
#include <vector>

namespace quern {

// One number that the kernels receive besides their arguments.
struct ReductionField {
    enum class Kind : std::uint8_t {
        outputs,
        steps,
        chunk,
        shift,
        share,
        group_bits,
        length,   // elements along the fastest axis
        units,    // CPU: tiles * splits
        ahead,    // CPU: whether more is read than the caches hold
        run,      // CPU columns: of one output
        full,     // CPU columns: steps that have all of them
        rest,     // CPU columns: those of the step behind
        span,     // CPU columns: of a tile
        together, // CPU columns: rows that are read side by side
        fan,
        splits,      // divisor: three words
        packs,       // divisor by the packs along the fastest axis
        tiles_along, // divisor by the tiles along the fastest axis
        extent,      // divisor by the extent of `axis`
        stride,      // of `operand` along `axis`, bytes, signed
        start,       // of `operand`, bytes, signed
        place,       // from an element to the next along `axis`, signed
        first_place, // signed
    };
    Kind kind;
    std::int16_t operand = 0, axis = 0;
};

// In the order of declaration. Every word has `layout.index_bits`.
[[nodiscard]] std::vector<ReductionField> reduction_fields(const ReductionLayout& layout);

// Writes the words at `place`; returns the number of bytes, at most `nest_bytes_limit`.
std::size_t pack_reduction(const std::vector<ReductionField>& fields, const ReductionPlan& plan,
                           void* place);

struct ReductionVariant {
    ReductionLayout layout;
    std::vector<RawLayout> raw; // one per raw parameter, in order
};

// The complete text. Its kernel has the spec's name. Where blocks share an output, the last of them
// finishes it on GPUs, a second kernel NAME_finish on the CPU.
[[nodiscard]] std::string emit_reduction(const ReductionSpec& spec, const Signature& signature,
                                         const ReductionVariant& variant);

inline constexpr std::string_view map_label = "map_expr", reduce_label = "reduce_expr",
                                  post_map_label = "post_map_expr", identity_label = "identity";

} // namespace quern
