// A row of the reduction table, closed over dtypes, as the spec of a kernel.
#pragma once
#include "compiler/ops/reduction_table.h"
#include "compiler/spec/reduction_spec.h"

namespace quern {

[[nodiscard]] ReductionSpec reduction_spec(Reduction op, const ReductionTyping& types,
                                           bool has_where, bool has_initial);

// Sums of products of two arrays, computed and stored as `result`: a bool is whether both hold
// somewhere. With `conjugate`, of the first array's complex conjugate.
[[nodiscard]] ReductionSpec product_spec(DType result, bool conjugate);

// The largest of floats, and the sum of the exponentials of their differences from it.
[[nodiscard]] ReductionSpec scaled_sum_spec(DType dtype);

// The mean of floats and the variance about it, or the deviation: of columns that blocks hold,
// whose parts of a column are of about the same size.
[[nodiscard]] ReductionSpec moments_spec(DType dtype, bool deviation);

} // namespace quern
