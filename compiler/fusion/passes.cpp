// See passes.h.
#include "compiler/fusion/passes.h"

#include "compiler/base/text.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <stdexcept>

namespace quern {
namespace {

bool does_same(const GraphStep& a, const GraphStep& b) {
    return a.spec == b.spec && a.reduction == b.reduction && a.signature == b.signature &&
           a.per_row == b.per_row && a.inputs == b.inputs && a.before == b.before && a.total();
}

void merge_common_steps(FusionGraph& graph) {
    std::vector<int> same(graph.values.size());
    std::iota(same.begin(), same.end(), 0);
    const auto renamed = [&](std::vector<int>& values) {
        for (int& value : values)
            if (value != no_value)
                value = same[static_cast<std::size_t>(value)];
    };
    std::vector<GraphStep> kept;
    for (GraphStep& step : graph.steps) {
        renamed(step.inputs);
        renamed(step.before);
        const auto twin = std::ranges::find_if(
            kept, [&](const GraphStep& other) { return does_same(step, other); });
        // A result that is wanted has a place of its own.
        const bool wanted = std::ranges::any_of(step.outputs, [&](int value) {
            return graph.values[static_cast<std::size_t>(value)].wanted;
        });
        if (twin == kept.end() || wanted) {
            kept.push_back(std::move(step));
            continue;
        }
        for (std::size_t k = 0; k < step.outputs.size(); ++k)
            same[static_cast<std::size_t>(step.outputs[k])] = twin->outputs[k];
    }
    graph.steps = std::move(kept);
}

void drop_dead_steps(FusionGraph& graph) {
    std::vector<bool> read(graph.values.size());
    for (std::size_t k = 0; k < read.size(); ++k)
        read[k] = graph.values[k].wanted;
    std::vector<GraphStep> kept;
    for (auto step = graph.steps.rbegin(); step != graph.steps.rend(); ++step) {
        const bool needed = !step->total() || std::ranges::any_of(step->outputs, [&](int value) {
            return static_cast<bool>(read[static_cast<std::size_t>(value)]);
        });
        if (!needed)
            continue;
        each_read(*step, [&](int value) { read[static_cast<std::size_t>(value)] = true; });
        kept.push_back(std::move(*step));
    }
    std::ranges::reverse(kept);
    graph.steps = std::move(kept);
}

struct Pass {
    std::string_view name;
    void (*run)(FusionGraph& graph);
};
constexpr std::array passes{
    Pass{"merge common steps", merge_common_steps},
    Pass{"drop dead steps", drop_dead_steps},
};

} // namespace

void verify(std::string_view when, const FusionGraph& graph) {
    if (const std::string broken = complaint_about(graph); !broken.empty())
        throw std::logic_error(join("fusion, ", when, ": not so: ", broken, "\n", text_of(graph)));
}

void run_passes(FusionGraph& graph,
                const std::function<void(std::string_view pass, const FusionGraph& graph)>& seen) {
    verify("as recorded", graph);
    for (const Pass& pass : passes) {
        pass.run(graph);
        verify(pass.name, graph);
        if (seen)
            seen(pass.name, graph);
    }
}

} // namespace quern
