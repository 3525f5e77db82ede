// A graph becomes one kernel: a block of each step's body, values between them in local variables.
// The planner, the generator and the cache take it as any other.
#pragma once
#include "compiler/fusion/graph.h"

#include <string_view>

namespace quern {

struct MergedKernel {
    ElementwiseSpec spec;
    std::vector<int> values; // of each of its parameters
};
[[nodiscard]] MergedKernel merge(const FusionGraph& graph, std::string_view name);

// Of a graph with one reduction: what comes before it is in its map expression, what comes after it
// in its post map.
struct MergedReduction {
    ReductionSpec spec;
    std::vector<int> values;
};
[[nodiscard]] MergedReduction merge_reduction(const FusionGraph& graph, std::string_view name);

} // namespace quern
