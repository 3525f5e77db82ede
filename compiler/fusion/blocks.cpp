// See blocks.h.
#include "compiler/fusion/blocks.h"

namespace quern {

void add_param(std::string& list, const GraphValue& value, const std::string& name) {
    list += join(list.empty() ? "" : ", ", row(value.dtype).name, " ", name);
}

std::string placeholders_of(const GraphStep& step) {
    std::string text;
    for (const auto& [letter, spelling] : step.signature->placeholders)
        text += join("typedef ", spelling, " ", letter, "; ");
    return text;
}

std::string types_of(const GraphStep& step) {
    return join(step.reduction->preamble, "\n", placeholders_of(step), "\n");
}

std::string block_of(const GraphStep& step, std::string_view body, std::string_view by) {
    const KernelSpec& spec = step.kernel();
    std::string text = "{\n" + placeholders_of(step), after;
    for (std::size_t k = 0; k < spec.params.size(); ++k) {
        const Param& param = spec.params[k];
        const std::string_view type = row(step.signature->params[k].dtype).spelling;
        if (k == 1 && !by.empty()) {
            text += by;
            continue;
        }
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
    return join(text, "\n{ ", body, "\n; }\n", after, "\n}\n");
}

std::string names_of_inputs(const FusionGraph& graph, const GraphStep& step, bool scalars_alone) {
    std::string text;
    for (std::size_t k = 0; k < step.inputs.size(); ++k)
        if (!scalars_alone || graph.values[static_cast<std::size_t>(step.inputs[k])].scalar)
            text += join("const ", row(step.signature->params[k].dtype).spelling, " ",
                         step.reduction->params[k].name, " = ", local(step.inputs[k]), "; ");
    return text;
}

std::string post_block(const FusionGraph& graph, const GraphStep& step) {
    std::string results, kept;
    for (std::size_t k = 0; k < step.outputs.size(); ++k) {
        const std::size_t param = step.inputs.size() + k;
        const std::string& name = step.reduction->params[param].name;
        results += join(row(step.signature->params[param].dtype).spelling, " ", name, "; ");
        kept += join(local(step.outputs[k]), " = ", name, "; ");
    }
    return join("{\n", names_of_inputs(graph, step, true), results, "\n{ ",
                step.reduction->post_map_expr, "\n; }\n", kept, "\n}\n");
}

std::string accumulator_of(const GraphStep& step) {
    return !step.reduction->reduce_type.empty()
               ? step.reduction->reduce_type
               : std::string(row(step.signature->params[step.inputs.size()].dtype).spelling);
}

} // namespace quern
