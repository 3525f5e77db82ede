// Sums of exponentials of differences from the largest value: two reductions that read everything
// twice become one.
#pragma once
#include "compiler/fusion/graph.h"

#include <optional>

namespace quern {

// The graph with `sum(exp(x - max(x)))` as one reduction, which gives the sum and the largest
// value; nothing where it has no such sum. What else needs the exponentials makes them.
[[nodiscard]] std::optional<FusionGraph> with_scaled_sums(const FusionGraph& graph);

} // namespace quern
