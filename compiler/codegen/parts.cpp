// Heads, pieces and parameter lists of generated kernels.
#include "compiler/codegen/parts.h"

#include <algorithm>
#include <iterator>
#include <span>

namespace quern {

bool starts_with_any(const std::vector<std::string>& identifiers,
                     std::initializer_list<std::string_view> beginnings) {
    return std::any_of(identifiers.begin(), identifiers.end(), [&](const std::string& identifier) {
        return std::any_of(beginnings.begin(), beginnings.end(), [&](std::string_view beginning) {
            return identifier.starts_with(beginning);
        });
    });
}

static bool names_any(const std::vector<std::string>& identifiers,
                      std::span<const std::string_view> names) {
    return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
        return std::binary_search(identifiers.begin(), identifiers.end(), name);
    });
}

std::string own_prefix(const KernelSpec& spec) {
    std::string prefix = "q_";
    const auto taken = [&] {
        return starts_with_any(spec.facts.identifiers, {prefix}) ||
               std::any_of(spec.params.begin(), spec.params.end(),
                           [&](const Param& param) { return param.name.starts_with(prefix); });
    };
    while (taken())
        prefix += '_';
    return prefix;
}

std::vector<std::string> kernel_pieces(const KernelSpec& spec, const Signature& signature,
                                       std::vector<std::string> mains) {
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
    std::vector<std::string> pieces;
    const auto add = [&](std::string_view piece, bool needed) {
        if (needed)
            pieces.emplace_back(piece);
    };
    add("quern/half.cuh", has_dtype("quern/half.cuh") || spec.facts.mentions_half);
    add("quern/bfloat16.cuh", has_dtype("quern/bfloat16.cuh") || spec.facts.mentions_bfloat16);
    add("quern/complex.cuh", has_dtype("quern/complex.cuh") || spec.facts.mentions_complex ||
                                 starts_with_any(identifiers, {"thrust"}));
    pieces.insert(pieces.end(), std::make_move_iterator(mains.begin()), // which know the types
                  std::make_move_iterator(mains.end()));
    add("quern/carray.cuh", starts_with_any(identifiers, {"CArray"}) ||
                                std::any_of(spec.params.begin(), spec.params.end(),
                                            [](const Param& p) { return p.raw; }));
    add("quern/names.cuh",
        starts_with_any(identifiers, {"CUDART_",   "int8_t",   "int16_t",  "int32_t",  "int64_t",
                                      "uint8_t",   "uint16_t", "uint32_t", "uint64_t", "intptr_t",
                                      "uintptr_t", "M_",       "INFINITY", "NAN",      "FLT_",
                                      "DBL_",      "INT_",     "UINT_",    "LLONG_",   "ULLONG_"}));
    add("quern/atomic.cuh", starts_with_any(identifiers, {"atomic"}));
    add("quern/index.cuh", starts_with_any(identifiers, {"IndexFault"}));
    add("quern/convert.cuh", starts_with_any(identifiers, {"convert"}));
    if (starts_with_any(identifiers, {"ufunc"}))
        pieces.emplace_back(spec.facts.mentions_complex || has_dtype("quern/complex.cuh") ||
                                    names_any(identifiers, long_ufuncs)
                                ? "quern/ufunc.cuh"
                                : "quern/ufunc_plain.cuh");
    add("quern/narrow.cuh", starts_with_any(identifiers, {"narrow"}));
    add("quern/bessel.cuh", starts_with_any(identifiers, {"bessel"}));
    add("quern/reduce_ops.cuh", starts_with_any(identifiers, {"quern_value"}));
    add("quern/reduce_places.cuh", starts_with_any(identifiers, {"Placed", "Candidate"}));
    add("quern/reduce_moments.cuh", starts_with_any(identifiers, {"Moments", "IntegerMoments"}));
    add("quern/column_moments.cuh", starts_with_any(identifiers, {"ColumnMoments"}));
    add("quern/reduce_scaled.cuh", starts_with_any(identifiers, {"ScaledSum"}));
    return pieces;
}

std::string type_in_kernel(const KernelSpec& spec, const Signature& signature, std::size_t k) {
    const ResolvedParam& resolved = signature.params[k];
    if (spec.params[k].placeholder)
        return std::string(1, spec.params[k].placeholder);
    return resolved.layout ? resolved.layout->spelling : std::string(row(resolved.dtype).spelling);
}

void write_head(Writer& out, std::string_view kind, const KernelSpec& spec,
                const Signature& signature, std::string_view plan,
                const std::vector<std::string>& pieces) {
    std::string arguments, results, declared;
    for (std::size_t k = 0; k < spec.params.size(); ++k) {
        const ResolvedParam& resolved = signature.params[k];
        std::string& list = spec.params[k].output ? results : arguments;
        if (!list.empty())
            list += ", ";
        list += join(spec.params[k].raw ? "raw " : "", spec.params[k].name, ": ",
                     resolved.layout ? std::string_view("structure") : row(resolved.dtype).name,
                     resolved.is_array ? "[n]" : "");
    }
    out.line("// quern | ", kind, " | ", spec.name, "(", arguments, ") -> ",
             results.empty() ? "nothing" : results);
    out.line("// plan: ", plan);
    if (spec.preamble.find("cuda_fp16.h") != std::string::npos)
        out.line("#define QUERN_CUDA_FP16 1");
    for (const std::string& piece : pieces)
        out.line("#include \"", piece, "\"");
    out.blank();
    for (const ResolvedParam& resolved : signature.params)
        if (resolved.layout && declared.find(resolved.layout->spelling) == std::string::npos) {
            declared += resolved.layout->spelling + " ";
            out.line(resolved.layout->definition);
        }
    for (const auto& [placeholder, spelling] : signature.placeholders)
        out.line("typedef ", spelling, " ", std::string(1, placeholder), ";");
    out.user(preamble_label, spec.preamble, "");
    out.blank();
}

std::string kernel_params(const KernelSpec& spec, const Signature& signature,
                          const std::vector<RawLayout>& raw, const std::string& prefix) {
    std::string list;
    std::size_t next = 0;
    for (std::size_t k = 0; k < spec.params.size(); ++k) {
        const Param& p = spec.params[k];
        const std::string type = type_in_kernel(spec, signature, k);
        if (p.raw) {
            const RawLayout& layout = raw[next++];
            list += join(p.output ? "" : "const ", "CArray<", constness(p), type, ", ",
                         int{layout.ndim}, ", ", layout.c_contiguous, ", ", layout.narrow, "> ",
                         p.name, ", ");
        } else if (signature.params[k].is_array) {
            list += join(constness(p), type, "* ", prefix, "data_", p.name, ", ");
        } else {
            list += join(constness(p), type, " ", p.name, ", ");
        }
    }
    return list;
}

} // namespace quern
