// A row of the reduction table, closed over dtypes, as the spec of a kernel.
#pragma once
#include "compiler/ops/reduction_table.h"
#include "compiler/spec/reduction_spec.h"

namespace quern {

// What decides such a kernel's text.
struct ReductionForm {
    Reduction op;
    DType in, value, result;
    bool has_where, has_initial, narrow, in_order;
};

[[nodiscard]] ReductionSpec reduction_spec(const ReductionForm& form, const ReductionTyping& types);

} // namespace quern
