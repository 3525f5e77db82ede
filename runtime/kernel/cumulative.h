// NumPy's cumulative functions over scan kernels: their axes, dtypes, shapes and outputs.
#pragma once
#include "runtime/kernel/scan.h"

#include <optional>

namespace quern {

struct CumulativeCall {
    std::optional<std::int64_t> axis; // none: all elements in C order, one axis
    std::optional<DType> dtype; // none: what `a` and `out` promote to; without `out` that of `a`,
                                // small integers as 64 bits
    const Array* out = nullptr;
    bool include_initial = false; // the result begins with 0 (1 for products), one element longer
    int batch = 0, split = 0;     // for experiments and tests, as in ScanCall
};

// The cumulative sum or product of `a` along an axis, on the current stream of its device: `out`,
// or a new array that keeps the order of `a`'s axes. A 0-d array counts as one of one element.
// Throws AxisError; ValueError for an `out` of another shape.
[[nodiscard]] Array cumulative(ScanOp op, const Array& a, const CumulativeCall& call,
                               void (*on_wait)(bool entering) = nullptr);

// The plan of such a call, as text.
[[nodiscard]] std::string explain_cumulative(ScanOp op, const Array& a, const CumulativeCall& call);

} // namespace quern
