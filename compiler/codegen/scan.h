// A scan's signature and plan become CUDA C++, by the same rules as reductions: map each element,
// join it to those before it, post-map every result.
#pragma once
#include "compiler/codegen/parts.h"
#include "compiler/plan/scan.h"
#include "compiler/spec/reduction_spec.h"

#include <string>
#include <vector>

namespace quern {

// One number that the kernels receive besides their arguments: how it is declared, where it is in
// the plan.
struct ScanField {
    enum class Form : std::uint8_t { word, signed_word, divisor }; // a divisor is three words
    Form form;
    enum class Kind : std::uint8_t {
        lines,
        length,
        across, // extent of the fastest axis, where that is not the scanned one
        packs,  // along the fastest axis
        tiles,
        strips,
        values,
        steps,
        scanners,
        chunk,
        share,
        units,
        extent, // of `axis`
        stride, // of `operand` along `axis`, bytes
    };
    Kind kind;
    std::int16_t operand = 0, axis = 0;
};

// In the order of declaration. Every word has `layout.index_bits`.
[[nodiscard]] std::vector<ScanField> scan_fields(const ScanLayout& layout);

// Writes the words at `place`; returns the number of bytes.
std::size_t pack_scan(const std::vector<ScanField>& fields, const ScanPlan& plan, void* place);

struct ScanVariant {
    ScanLayout layout;
    std::uint32_t accumulator_bytes = 0; // what the plan's room was made for
};

// The complete text. Its kernel has the spec's name; on the CPU a split one needs NAME_totals
// before. Reads the spec's map, join and post map; identity, positions and raw arrays are not
// scanned with.
[[nodiscard]] std::string emit_scan(const ReductionSpec& spec, const Signature& signature,
                                    const ScanVariant& variant);

} // namespace quern
