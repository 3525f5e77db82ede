// Values are named by their numbers; inside a step's block its own names stand for them.
#include "compiler/fusion/merge.h"

#include "compiler/base/text.h"

#include <algorithm>

namespace quern {
namespace {

std::string local(int value) { return join("fused_v", value); }
std::string parameter(int value) { return join("fused_p", value); }
std::string result(int value) { return join("fused_r", value); }

// The names of a step: its placeholders, its inputs' values and its outputs'; then `body`; then its
// outputs become values.
std::string block_of(const GraphStep& step, std::string_view body) {
    const KernelSpec& spec = step.kernel();
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
    return join(text, "\n{ ", body, "\n; }\n", after, "\n}\n");
}
std::string block_of(const GraphStep& step) { return block_of(step, step.spec->operation); }

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

MergedReduction merge_reduction(const FusionGraph& graph, std::string_view name) {
    const GraphStep& joined =
        *std::ranges::find_if(graph.steps, [](const GraphStep& step) { return step.reduction; });
    const ReductionSpec& spec = *joined.reduction;
    std::vector<bool> mapped(graph.values.size()), posted(graph.values.size());
    for (const GraphStep& step : graph.steps) {
        if (!step.per_row || &step == &joined)
            each_read(step, [&](int value) { mapped[static_cast<std::size_t>(value)] = true; });
        if (!step.per_row)
            for (const int value : step.outputs)
                mapped[static_cast<std::size_t>(value)] = true;
        if (!step.per_row)
            continue;
        each_read(step, [&](int value) {
            if (&step != &joined || graph.values[static_cast<std::size_t>(value)].scalar)
                posted[static_cast<std::size_t>(value)] = true;
        });
        for (const int value : step.outputs)
            posted[static_cast<std::size_t>(value)] = true;
    }
    std::string inputs, outputs, map, post, tail;
    std::vector<int> order, stored;
    for (std::size_t k = 0; k < graph.values.size(); ++k) {
        const GraphValue& value = graph.values[k];
        const int number = static_cast<int>(k);
        const std::string_view type = row(value.dtype).spelling;
        if (value.given && (mapped[k] || posted[k])) {
            add_param(inputs, value, parameter(number));
            order.push_back(number);
        }
        const std::string declared =
            value.given ? join("const ", type, " ", local(number), " = ", parameter(number), ";\n")
                        : join(type, " ", local(number), ";\n");
        if (mapped[k])
            map += declared;
        if (posted[k])
            post += declared;
        if (value.wanted) {
            add_param(outputs, value, result(number));
            stored.push_back(number);
            tail += join(result(number), " = ", local(number), ";\n");
        }
    }
    std::string own = "\n";
    for (const auto& [letter, spelling] : joined.signature->placeholders)
        own += join("typedef ", spelling, " ", letter, ";\n");
    for (const GraphStep& step : graph.steps)
        if (!step.per_row)
            map += block_of(step);
    std::string scalars; // that the post map of the reduction itself names
    for (std::size_t k = 0; k < joined.inputs.size(); ++k) {
        const std::string named = join("const ", row(joined.signature->params[k].dtype).spelling,
                                       " ", spec.params[k].name, " = ", local(joined.inputs[k]), "; ");
        map += named;
        if (graph.values[static_cast<std::size_t>(joined.inputs[k])].scalar)
            scalars += named;
    }
    std::string results, kept;
    for (std::size_t k = 0; k < joined.outputs.size(); ++k) {
        const std::size_t param = joined.inputs.size() + k;
        results += join(row(joined.signature->params[param].dtype).spelling, " ",
                        spec.params[param].name, "; ");
        kept += join(local(joined.outputs[k]), " = ", spec.params[param].name, "; ");
    }
    post += join("{\n", scalars, results, "\n{ ", spec.post_map_expr, "\n; }\n", kept, "\n}\n");
    for (const GraphStep& step : graph.steps)
        if (step.per_row && &step != &joined)
            post += block_of(step);

    const std::string map_expr =
                          join("[&]() {\n", map, "\nreturn (", spec.map_expr, "\n);\n}()"),
                      post_map = post + tail, preamble = spec.preamble + own;
    ReductionText text;
    text.in_params = inputs;
    text.out_params = outputs;
    text.map_expr = map_expr;
    text.reduce_expr = spec.reduce_expr;
    text.post_map_expr = post_map;
    text.identity = spec.identity;
    text.name = name;
    text.reduce_type = spec.reduce_type.empty()
                           ? row(joined.signature->params[joined.inputs.size()].dtype).spelling
                           : std::string_view(spec.reduce_type);
    text.preamble = preamble;
    MergedReduction made{make_reduction_spec(text), std::move(order)};
    made.values.insert(made.values.end(), stored.begin(), stored.end());
    made.spec.inner_type = spec.inner_type;
    made.spec.inner_steps = spec.inner_steps;
    made.spec.refuses_empty = spec.refuses_empty;
    made.spec.accumulator_bytes = spec.accumulator_bytes;
    made.spec.maps_anything =
        std::ranges::all_of(graph.steps, [](const GraphStep& step) { return step.total(); });
    made.spec.atomic_join = spec.atomic_join;
    made.spec.exact = spec.exact;
    made.spec.settled = spec.settled;
    return made;
}

} // namespace quern
