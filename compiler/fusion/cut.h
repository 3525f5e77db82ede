// A graph is cut into parts that are one kernel each.
#pragma once
#include "compiler/fusion/graph.h"

namespace quern {

enum class PartKind : std::uint8_t {
    elements,  // steps over the shape
    rows,      // steps over its rows: over one element of each
    reduction, // steps over the shape, a reduction of what they make, steps over its rows
    walks,     // all of it, row by row
};

struct GraphPart {
    PartKind kind = PartKind::elements;
    FusionGraph graph;
    std::vector<int> values; // the number in the whole graph of each value
};

// In an order in which they can run. What several parts need is made in each of them, except where
// `keeps_costly` and it takes a costly function: then one stores it for the others.
[[nodiscard]] std::vector<GraphPart> cut(const FusionGraph& graph, bool keeps_costly);

// The first half of a part's steps and the second, where all would be too many for one kernel.
[[nodiscard]] std::vector<GraphPart> halves(const GraphPart& part);

// Does the body call functions that take far longer than a load?
[[nodiscard]] bool is_costly(const ElementwiseSpec& spec);

} // namespace quern
