// Which prelude pieces a kernel needs, and the door to its emitter.
#include "compiler/codegen/elementwise.h"

#include "compiler/codegen/emitter.h"

#include <algorithm>

namespace quern {

bool starts_with_any(const std::vector<std::string>& identifiers,
                     std::initializer_list<std::string_view> beginnings) {
    return std::any_of(identifiers.begin(), identifiers.end(), [&](const std::string& identifier) {
        return std::any_of(beginnings.begin(), beginnings.end(), [&](std::string_view beginning) {
            return identifier.starts_with(beginning);
        });
    });
}

std::vector<std::string> elementwise_pieces(const ElementwiseSpec& spec,
                                            const Signature& signature) {
    const std::vector<std::string>& identifiers = spec.facts.identifiers;
    const auto has_dtype = [&](std::string_view header) {
        return std::any_of(
            signature.params.begin(), signature.params.end(), [&](const ResolvedParam& resolved) {
                if (!resolved.layout)
                    return row(resolved.dtype).header == header;
                const std::vector<std::string>& needed = resolved.layout->headers;
                return std::find(needed.begin(), needed.end(), header) != needed.end();
            });
    };
    std::vector<std::string> pieces{"quern/elementwise.cuh"};
    const auto add = [&](std::string_view piece, bool needed) {
        if (needed)
            pieces.emplace_back(piece);
    };
    add("quern/half.cuh", has_dtype("quern/half.cuh") || spec.facts.mentions_half);
    add("quern/bfloat16.cuh", has_dtype("quern/bfloat16.cuh") || spec.facts.mentions_bfloat16);
    add("quern/complex.cuh", has_dtype("quern/complex.cuh") || spec.facts.mentions_complex ||
                                 starts_with_any(identifiers, {"thrust"}));
    add("quern/carray.cuh", starts_with_any(identifiers, {"CArray"}) ||
                                std::any_of(spec.params.begin(), spec.params.end(),
                                            [](const Param& p) { return p.raw; }));
    add("quern/names.cuh",
        starts_with_any(identifiers, {"CUDART_",   "int8_t",   "int16_t",  "int32_t",  "int64_t",
                                      "uint8_t",   "uint16_t", "uint32_t", "uint64_t", "intptr_t",
                                      "uintptr_t", "M_",       "INFINITY", "NAN",      "FLT_",
                                      "DBL_",      "INT_",     "UINT_",    "LLONG_",   "ULLONG_"}));
    add("quern/atomic.cuh", starts_with_any(identifiers, {"atomic"}));
    add("quern/convert.cuh", starts_with_any(identifiers, {"convert"}));
    return pieces;
}

std::string emit_elementwise(const ElementwiseSpec& spec, const Signature& signature,
                             const ElementwiseVariant& variant) {
    return ElementwiseEmitter(spec, signature, variant).emit();
}

} // namespace quern
