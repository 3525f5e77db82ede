// A graph becomes one kernel: a block of each step's body, values between them in local variables.
// The planner, the generator and the cache take it as any other.
#pragma once
#include "compiler/fusion/graph.h"
#include "compiler/spec/row_spec.h"

#include <string_view>

namespace quern {

struct MergedKernel {
    ElementwiseSpec spec;
    std::vector<int> values; // of each of its parameters
};
[[nodiscard]] MergedKernel merge(const FusionGraph& graph, std::string_view name);

// Of a graph with reductions that do not need each other: what comes before them is in the map
// expression, what comes after them in the post map. Several have an accumulator of theirs all.
struct MergedReduction {
    ReductionSpec spec;
    std::vector<int> values;
};
[[nodiscard]] MergedReduction merge_reduction(const FusionGraph& graph, std::string_view name);

// Of a graph whose rows are walked several times by one kernel, with all reductions and what is
// stored of elements and rows. Only such graphs gain by it: several reductions, or one and
// elements.
struct MergedRows {
    RowSpec spec;
    std::vector<int> values;
};
[[nodiscard]] bool can_be_rows(const FusionGraph& graph);
[[nodiscard]] MergedRows merge_rows(const FusionGraph& graph, std::string_view name);

} // namespace quern
