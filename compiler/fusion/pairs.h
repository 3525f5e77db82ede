// Reductions of the same rows that one reduction finds together: less is read, or told when blocks
// meet.
#pragma once
#include "compiler/fusion/graph.h"

#include <optional>

namespace quern {

// The graph with `sum(exp(x - max(x)))` as one reduction, which gives the sum and the largest
// value; nothing where it has no such sum. What else needs the exponentials makes them.
[[nodiscard]] std::optional<FusionGraph> with_scaled_sums(const FusionGraph& graph);

// The graph with a mean and the variance, or deviation, about it as one reduction that gives both;
// nothing where it has no such two.
[[nodiscard]] std::optional<FusionGraph> with_moments(const FusionGraph& graph);

} // namespace quern
