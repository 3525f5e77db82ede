// What is done to a graph before it becomes a kernel. Each pass leaves a graph that keeps the
// rules.
#pragma once
#include "compiler/fusion/graph.h"

#include <functional>
#include <string_view>

namespace quern {

// Steps that do the same to the same values become one, and what nobody reads or wants goes. Bodies
// that may do more than assign are kept. `seen` is shown the graph after each pass. Throws
// std::logic_error where one broke a rule.
void run_passes(
    FusionGraph& graph,
    const std::function<void(std::string_view pass, const FusionGraph& graph)>& seen = {});

// Throws std::logic_error, which names what was done, where the graph breaks a rule.
void verify(std::string_view when, const FusionGraph& graph);

} // namespace quern
