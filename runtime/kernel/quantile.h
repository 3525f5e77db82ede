// NumPy's medians and quantiles over selection: their axes, shapes, dtypes and outputs.
#pragma once
#include "runtime/kernel/select.h"

#include <span>

namespace quern {

struct QuantileCall {
    bool all_axes = true; // axis=None
    std::span<const std::int64_t> axes;
    bool keepdims = false;
    QuantileMethod method = QuantileMethod::linear;
    bool skip_nan = false;
    DType result = DType::float64;
    const Array* out = nullptr;
    int splits = 0; // for experiments and tests, as in SelectCall
};

// Quantiles of `a` along axes, on the current stream of its device: the axes of `q` (float64, from
// 0 to 1), then those that are left. Returns `out`, or a new array. `a` is copied first unless
// each row of reduced elements lies in one piece. Throws AxisError; ValueError for a repeated axis
// or an `out` of another shape; TypeError for complex numbers and an `out` that cannot hold the
// result; IndexError where results have no element behind them.
[[nodiscard]] Array quantile(const Array& a, const Array& q, const QuantileCall& call,
                             void (*on_wait)(bool entering) = nullptr);
[[nodiscard]] std::string explain_quantile(const Array& a, const Array& q,
                                           const QuantileCall& call);

} // namespace quern
