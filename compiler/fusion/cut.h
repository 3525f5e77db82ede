// A graph is cut into parts that are one kernel each.
#pragma once
#include "compiler/fusion/graph.h"

namespace quern {

enum class PartKind : std::uint8_t {
    elements,  // steps over the shape
    rows,      // steps over its rows: over one element of each
    reduction, // steps over the shape, reductions of what they make, steps over their rows
    walks,     // all of it, row by row
};

struct GraphPart {
    PartKind kind = PartKind::elements;
    FusionGraph graph;
    std::vector<int> values; // the number in the whole graph of each value
};

struct CutRules {
    // What several parts need is made in each of them, except where it takes a costly function:
    // then one stores it for the others.
    bool keeps_costly = false;
    bool joins_together = false; // reductions that do not need each other share a kernel
};
// In an order in which they can run.
[[nodiscard]] std::vector<GraphPart> cut(const FusionGraph& graph, const CutRules& rules);

// A part in smaller ones, where all would be too many for one kernel: each reduction for itself, or
// the first half of the steps and the second.
[[nodiscard]] std::vector<GraphPart> halves(const GraphPart& part);

} // namespace quern
