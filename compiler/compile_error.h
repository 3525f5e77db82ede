// A toolchain's log, retold in the user's own terms: which of their texts, line, column, the line
// itself and a caret.
#pragma once
#include "compiler/compile.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quern {

struct Diagnostic {
    std::string label;   // "operation", "preamble", ... or the generated file
    int line = 0;        // 1-based, of that text
    int column = 0;      // 1-based; 0 when the toolchain gave none
    std::string message; // without "error:"
};

// The user's own texts of a generated kernel, by the labels that diagnostics name.
using LabelledTexts = std::vector<std::pair<std::string_view, std::string_view>>;
[[nodiscard]] LabelledTexts labelled_texts(const ElementwiseSpec& spec);
[[nodiscard]] LabelledTexts labelled_texts(const ReductionSpec& spec);

// The errors of an NVRTC or Clang log, in order. The texts serve to find NVRTC's columns.
[[nodiscard]] std::vector<Diagnostic> parse_errors(std::string_view log, const LabelledTexts& texts,
                                                   std::string_view source);

// The complete message of a CompileError.
[[nodiscard]] std::string tell_compile_error(const KernelSpec& spec, const LabelledTexts& texts,
                                             std::string_view source, std::string_view log,
                                             std::string_view toolchain, std::string_view arch);

// The same for a program of the user's own. `origin`: who asked for it, or "".
[[nodiscard]] std::string tell_raw_error(const RawSource& source, std::string_view name,
                                         std::string_view origin, std::string_view log,
                                         std::string_view toolchain, std::string_view arch);

} // namespace quern
