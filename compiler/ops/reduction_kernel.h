// A row of the reduction table, closed over dtypes, as the spec of a kernel.
#pragma once
#include "compiler/ops/reduction_table.h"
#include "compiler/spec/reduction_spec.h"

namespace quern {

[[nodiscard]] ReductionSpec reduction_spec(Reduction op, const ReductionTyping& types,
                                           bool has_where, bool has_initial);

} // namespace quern
