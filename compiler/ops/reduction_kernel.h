// A row of the reduction table, closed over dtypes, as the spec of a kernel.
#pragma once
#include "compiler/ops/reduction_table.h"
#include "compiler/spec/reduction_spec.h"

#include <compare>

namespace quern {

// What decides such a kernel's text.
struct ReductionForm {
    Reduction op;
    DType in, value, result;
    bool has_where, has_initial, narrow, in_order;
    friend auto operator<=>(const ReductionForm&, const ReductionForm&) = default;
};

[[nodiscard]] ReductionSpec reduction_spec(const ReductionForm& form, const ReductionTyping& types);

} // namespace quern
