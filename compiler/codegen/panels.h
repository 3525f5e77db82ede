// Row kernels whose blocks take panels of columns by turns.
#pragma once
#include "compiler/plan/rows.h"
#include "compiler/resolve/signature.h"
#include "compiler/spec/row_spec.h"

#include <string>

namespace quern {

[[nodiscard]] std::string emit_panels(const RowSpec& spec, const Signature& signature,
                                      const RowLayout& layout);

} // namespace quern
