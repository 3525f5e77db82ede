// Values are named by their numbers; inside a step's block its own names stand for them.
#include "compiler/fusion/merge.h"

#include "compiler/base/text.h"

#include <algorithm>

namespace quern {
namespace {

std::string local(int value) { return join("fused_v", value); }
std::string parameter(int value) { return join("fused_p", value); }
std::string result(int value) { return join("fused_r", value); }

// A step's body, which loads all that it reads before it stores anything.
std::string block_of(const GraphStep& step) {
    const ElementwiseSpec& spec = *step.spec;
    std::string text = "{\n", after;
    for (const auto& [letter, spelling] : step.signature->placeholders)
        text += join("typedef ", spelling, " ", letter, "; ");
    for (std::size_t k = 0; k < spec.params.size(); ++k) {
        const Param& param = spec.params[k];
        const std::string_view type = row(step.signature->params[k].dtype).spelling;
        if (k < step.inputs.size()) {
            text += join(param.non_const ? "" : "const ", type, " ", param.name, " = ",
                         local(step.inputs[k]), "; ");
            continue;
        }
        const std::size_t out = k - step.inputs.size();
        text +=
            join(type, " ", param.name,
                 step.before[out] == no_value ? "" : join(" = ", local(step.before[out])), "; ");
        after += join(local(step.outputs[out]), " = ", param.name, "; ");
    }
    return join(text, "\n{ ", spec.operation, "\n; }\n", after, "\n}\n");
}

void add_param(std::string& list, const GraphValue& value, const std::string& name) {
    list += join(list.empty() ? "" : ", ", row(value.dtype).name, " ", name);
}

} // namespace

MergedKernel merge(const FusionGraph& graph, std::string_view name) {
    std::vector<bool> used(graph.values.size());
    const auto use = [&](int value) { used[static_cast<std::size_t>(value)] = true; };
    for (const GraphStep& step : graph.steps) {
        each_read(step, use);
        std::ranges::for_each(step.outputs, use);
    }
    std::string inputs, outputs, head, blocks, tail;
    std::vector<int> order, stored;
    for (std::size_t k = 0; k < graph.values.size(); ++k) {
        const GraphValue& value = graph.values[k];
        const int number = static_cast<int>(k);
        if (value.given && (used[k] || value.wanted)) {
            add_param(inputs, value, parameter(number));
            order.push_back(number);
            head += join("const ", row(value.dtype).spelling, " ", local(number), " = ",
                         parameter(number), ";\n");
        } else if (used[k]) {
            head += join(row(value.dtype).spelling, " ", local(number), ";\n");
        }
        if (value.wanted) {
            add_param(outputs, value, result(number));
            stored.push_back(number);
            tail += join(result(number), " = ", local(number), ";\n");
        }
    }
    for (const GraphStep& step : graph.steps)
        blocks += block_of(step);
    const std::string operation = head + blocks + tail;
    ElementwiseText text;
    text.in_params = inputs;
    text.out_params = outputs;
    text.operation = operation;
    text.name = name;
    MergedKernel made{make_elementwise_spec(text), std::move(order)};
    made.spec.total =
        std::ranges::all_of(graph.steps, [](const GraphStep& step) { return step.spec->total; });
    made.values.insert(made.values.end(), stored.begin(), stored.end());
    return made;
}

} // namespace quern
