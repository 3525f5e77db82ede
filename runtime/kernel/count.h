// Counts, and sums of weights, by bin: what bincount and the histograms are made of. All arrays are
// 1-D, dense and on one device; everything runs on its current stream.
#pragma once
#include "runtime/array/array.h"

namespace quern {

// Where values belong. Without edges they are integers of a bin each, all in [0, bins).
struct Bins {
    std::int64_t bins = 0;
    const Array* edges = nullptr; // bins + 1, sorted; what is outside, NaN too, is left out
    double scale = 0;             // bins to a unit, if all are of one width
};

// int64, or float64 sums of `weights` (float64, one for each of `x`), whose bits are the same each
// time on the same device.
[[nodiscard]] Array count_by_bin(const Array& x, const Bins& bins, const Array* weights,
                                 void (*on_wait)(bool entering) = nullptr);

} // namespace quern
