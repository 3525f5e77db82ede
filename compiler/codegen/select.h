// A selection's types and layout become CUDA C++: the kernels of one road, and NumPy's methods.
#pragma once
#include "compiler/base/dtype.h"
#include "compiler/ops/quantile_table.h"
#include "compiler/plan/select.h"

#include <string>

namespace quern {

// The complete text. Kernels: quern_select_short, quern_select_rows, or quern_select_count and
// quern_select_choose for rows that are split.
[[nodiscard]] std::string emit_select(DType value, DType result, const SelectLayout& layout);

// Bytes of one row's search and of its table of counts, both zero at first, in a split selection.
[[nodiscard]] std::int64_t select_search_bytes(const SelectLayout& layout);
[[nodiscard]] std::int64_t select_table_bytes(const SelectLayout& layout);

} // namespace quern
