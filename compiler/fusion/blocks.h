// How the kernels of graphs name their values, and a step's body as a block.
#pragma once
#include "compiler/base/text.h"
#include "compiler/fusion/graph.h"

#include <string>
#include <string_view>

namespace quern {

[[nodiscard]] inline std::string local(int value) { return join("fused_v", value); }
[[nodiscard]] inline std::string parameter(int value) { return join("fused_p", value); }
[[nodiscard]] inline std::string result(int value) { return join("fused_r", value); }
[[nodiscard]] inline std::string_view type_of(const FusionGraph& graph, int value) {
    return row(graph.values[static_cast<std::size_t>(value)].dtype).spelling;
}

// "float32 fused_p0" at the end of a parameter list.
void add_param(std::string& list, const GraphValue& value, const std::string& name);

// The names of a step: its placeholders, its inputs' values and its outputs'; then `body`; then its
// outputs become values. With `by`, the declaration of a name, in place of its second input's.
[[nodiscard]] std::string block_of(const GraphStep& step, std::string_view body,
                                   std::string_view by = {});
[[nodiscard]] inline std::string block_of(const GraphStep& step) {
    return block_of(step, step.spec->operation);
}

// "typedef float T; ", of a step's placeholders.
[[nodiscard]] std::string placeholders_of(const GraphStep& step);

// A reduction's own types, for wherever its texts stand.
[[nodiscard]] std::string types_of(const GraphStep& step);

// What a reduction's expressions name: declarations of its inputs, all or the scalars alone.
[[nodiscard]] std::string names_of_inputs(const FusionGraph& graph, const GraphStep& step,
                                          bool scalars_alone);

// A reduction's post map as a block: from `a`, which is there, to its values.
[[nodiscard]] std::string post_block(const FusionGraph& graph, const GraphStep& step);

// How the accumulator of a reduction is spelled.
[[nodiscard]] std::string accumulator_of(const GraphStep& step);

} // namespace quern
