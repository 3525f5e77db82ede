// A signature and a plan become CUDA C++ that a person would sign. The same input gives the same
// bytes everywhere.
#pragma once
#include "compiler/codegen/nest.h"
#include "compiler/codegen/parts.h"
#include "compiler/resolve/signature.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace quern {

struct ElementwiseVariant {
    ElementwiseLayout layout;
    std::vector<RawLayout> raw; // one per raw parameter, in order
};

// The complete text of the main file. Its kernel is `extern "C"` and has the spec's name.
[[nodiscard]] std::string emit_elementwise(const ElementwiseSpec& spec, const Signature& signature,
                                           const ElementwiseVariant& variant);

// The labels under which compilers name the user's own texts in diagnostics.
inline constexpr std::string_view operation_label = "operation", loop_prep_label = "loop_prep",
                                  after_loop_label = "after_loop";

} // namespace quern
