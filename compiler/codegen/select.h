// A selection's types and layout become CUDA C++: the kernels of one road, and NumPy's methods.
#pragma once
#include "compiler/base/dtype.h"
#include "compiler/ops/quantile_table.h"
#include "compiler/plan/select.h"

#include <string>

namespace quern {

// The complete text. Kernels: quern_select_short, quern_select_rows, or for rows that are split
// quern_select_count and quern_select_choose, on a CPU quern_select_brackets, quern_select_gather
// and quern_select_finish.
[[nodiscard]] std::string emit_select(DType value, DType result, const SelectLayout& layout);

// Bytes of one row's search and of its table of counts in a split selection. On a GPU both are zero
// at first.
[[nodiscard]] std::int64_t select_search_bytes(const SelectLayout& layout);
[[nodiscard]] std::int64_t select_table_bytes(const SelectLayout& layout, std::int64_t splits);

} // namespace quern
