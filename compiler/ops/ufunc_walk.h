// Kernels that join elements by a ufunc one after the other, in NumPy's order: reductions and scans
// of what may not be regrouped, segments (`reduceat`), and updates by index (`at`).
#pragma once
#include "compiler/ops/ufunc_kernel.h"

namespace quern {

enum class UfuncWalk : std::uint8_t {
    reduce,     // raw x, length[, raw mask][, initial] -> r: rows of so many elements
    accumulate, // raw x, length -> raw y: the same, every step kept
    segments,   // raw x, length, raw starts, count -> r: from a start to the next, or one element
    update, // raw at, raw b, count, width -> raw y: y[at[k]] = op(y[at[k]], b[k]), update_columns
            // at a time
    update_runs, // raw at, raw order, raw b, count, width -> raw y: likewise, with `at` sorted and
                 // `order` where its elements stood before: each run of equal ones by itself
};

inline constexpr std::int64_t update_columns = 32; // no two threads write to the same cache line

struct UfuncWalkForm {
    UfuncWalk walk{};
    Ufunc ufunc{};
    UfuncLoop loop;
    DType in{}, out{}; // of x or b, and of r or y
    bool masked = false, has_initial = false;
    friend auto operator<=>(const UfuncWalkForm&, const UfuncWalkForm&) = default;
};
[[nodiscard]] ElementwiseSpec ufunc_walk_spec(const UfuncWalkForm& form);

// A scan's text, for a ufunc whose elements may be joined in any grouping.
struct UfuncScanText {
    std::string in_params, out_params, map_expr, post_map_expr, reduce_type;
};
[[nodiscard]] UfuncScanText ufunc_scan_text(Ufunc ufunc, const UfuncLoop& loop, DType in);

} // namespace quern
