// A row kernel's signature and plan become CUDA C++, by the same rules as reductions.
#pragma once
#include "compiler/codegen/parts.h"
#include "compiler/plan/rows.h"
#include "compiler/spec/row_spec.h"

#include <string>
#include <vector>

namespace quern {

// One number that the kernel receives besides its arguments.
struct RowField {
    enum class Kind : std::uint8_t {
        rows,
        length,
        packs,
        group_bits,
        parked,
        rounds,
        last_columns,
        extent, // divisor by the extent of `axis`: three words
        stride, // of `operand` along `axis`, bytes, signed
    };
    Kind kind;
    std::int16_t operand = 0, axis = 0;
};

// In the order of declaration. Every word has `layout.index_bits`.
[[nodiscard]] std::vector<RowField> row_fields(const RowLayout& layout);

// Writes the words at `place`; returns the number of bytes.
std::size_t pack_rows(const std::vector<RowField>& fields, const RowPlan& plan, void* place);

// The complete text. Its kernel has the spec's name.
[[nodiscard]] std::string emit_rows(const RowSpec& spec, const Signature& signature,
                                    const RowLayout& layout);

} // namespace quern
