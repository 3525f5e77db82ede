// NumPy's reductions over arrays: a row of the reduction table, closed over dtypes, is a kernel.
#pragma once
#include "runtime/kernel/reduction.h"

#include <optional>
#include <string_view>

namespace quern {

struct ReduceCall : ReductionCall {
    std::optional<DType> dtype;    // what to compute in
    const Array* out = nullptr;    // of the result's shape; its dtype must be castable to
    const Array* where = nullptr;  // bool, broadcasts with the array
    std::optional<Scalar> initial; // joins every result, and serves empty ones
    double ddof = 0;               // var and std
};

// Does the call name the first or the last axis of a scalar? NumPy lets it have one.
[[nodiscard]] bool names_axis_of_scalar(const Array& array, const ReduceCall& call);

[[nodiscard]] std::optional<Reduction> find_reduction(std::string_view name) noexcept;

// Reduces `array`; returns what was made, or nothing with `out`. Throws TypeError for a dtype that
// NumPy refuses, AxisError, ValueError for shapes, repeated axes and empty input without identity.
std::optional<Array> reduce(Reduction op, const Array& array, const ReduceCall& call,
                            void (*on_wait)(bool entering) = nullptr);
[[nodiscard]] std::string explain_reduce(Reduction op, const Array& array, const ReduceCall& call);

} // namespace quern
