// A graph becomes one elementwise kernel: a block of each step's body, values between them in local
// variables. The planner, the generator and the cache take it as any other.
#pragma once
#include "compiler/fusion/graph.h"

#include <string_view>

namespace quern {

struct MergedKernel {
    ElementwiseSpec spec;
    std::vector<int> values; // of each of its parameters
};
[[nodiscard]] MergedKernel merge(const FusionGraph& graph, std::string_view name);

} // namespace quern
