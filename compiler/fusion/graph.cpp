// The rules are a table, and each is looked at on its own.
#include "compiler/fusion/graph.h"

#include "compiler/base/text.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace quern {
namespace {

std::string name_of(int value) { return join("v", value); }

bool within(const FusionGraph& graph, int value) {
    return value >= 0 && value < static_cast<int>(graph.values.size());
}

// value -> how many steps make it
std::vector<int> makers_of(const FusionGraph& graph) {
    std::vector<int> count(graph.values.size());
    for (const GraphStep& step : graph.steps)
        for (const int value : step.outputs)
            ++count[static_cast<std::size_t>(value)];
    return count;
}

bool has_all_operands(const FusionGraph& graph) {
    return std::ranges::all_of(graph.steps, [&](const GraphStep& step) {
        const auto nin = static_cast<std::size_t>(step.kernel().nin),
                   nout = static_cast<std::size_t>(step.kernel().nout);
        return step.inputs.size() == nin && step.outputs.size() == nout &&
               step.before.size() == nout && step.signature->params.size() == nin + nout;
    });
}

bool names_values(const FusionGraph& graph) {
    bool fine = true;
    const auto look = [&](int value) { fine = fine && within(graph, value); };
    for (const GraphStep& step : graph.steps) {
        each_read(step, look);
        std::ranges::for_each(step.outputs, look);
    }
    return fine;
}

bool made_once(const FusionGraph& graph) {
    const std::vector<int> makers = makers_of(graph);
    for (std::size_t k = 0; k < makers.size(); ++k)
        if (makers[k] > (graph.values[k].given ? 0 : 1))
            return false;
    return true;
}

bool made_before(const FusionGraph& graph) {
    std::vector<bool> known(graph.values.size());
    for (std::size_t k = 0; k < known.size(); ++k)
        known[k] = graph.values[k].given;
    bool fine = true;
    for (const GraphStep& step : graph.steps) {
        each_read(step, [&](int value) { fine = fine && known[static_cast<std::size_t>(value)]; });
        for (const int value : step.outputs)
            known[static_cast<std::size_t>(value)] = true;
    }
    for (std::size_t k = 0; k < known.size(); ++k)
        fine = fine && (known[k] || !graph.values[k].wanted);
    return fine;
}

bool of_its_type(const FusionGraph& graph) {
    for (const GraphStep& step : graph.steps)
        for (std::size_t k = 0; k < step.signature->params.size(); ++k) {
            const std::size_t nin = step.inputs.size();
            const DType dtype = step.signature->params[k].dtype;
            const auto is = [&](int value) {
                return value == no_value ||
                       graph.values[static_cast<std::size_t>(value)].dtype == dtype;
            };
            if (k < nin ? !is(step.inputs[k])
                        : !is(step.outputs[k - nin]) || !is(step.before[k - nin]))
                return false;
        }
    return true;
}

bool scalars_are_read(const FusionGraph& graph) {
    return std::ranges::none_of(graph.values, [](const GraphValue& value) {
        return value.scalar && (!value.given || value.wanted);
    });
}

bool rows_are_told(const FusionGraph& graph) {
    return std::ranges::all_of(graph.steps, [&](const GraphStep& step) {
        return (step.per_row || step.reduction == nullptr) &&
               std::ranges::all_of(step.outputs, [&](int value) {
                   return graph.values[static_cast<std::size_t>(value)].per_row == step.per_row;
               });
    });
}

bool rows_know_no_element(const FusionGraph& graph) {
    bool fine = true;
    for (const GraphStep& step : graph.steps)
        if (step.per_row && step.reduction == nullptr)
            each_read(step, [&](int value) {
                const GraphValue& read = graph.values[static_cast<std::size_t>(value)];
                fine = fine && (read.given || read.per_row);
            });
    return fine;
}

bool plain_params(const KernelSpec& spec, const Signature& signature) {
    for (std::size_t k = 0; k < spec.params.size(); ++k)
        if (spec.params[k].raw || spec.params[k].place || signature.params[k].layout)
            return false;
    return true;
}

struct Rule {
    std::string_view name;
    bool (*holds)(const FusionGraph& graph);
};
// Each may rely on those before it.
constexpr std::array rules{
    Rule{"every parameter of a step has a value", has_all_operands},
    Rule{"every operand is one of the graph's values", names_values},
    Rule{"a value is given, or made by one step", made_once},
    Rule{"a value is made before it is read or wanted", made_before},
    Rule{"a value has the type that its step resolved", of_its_type},
    Rule{"a scalar is given and only read", scalars_are_read},
    Rule{"what a reduction or a step over rows makes is per row, nothing else is", rows_are_told},
    Rule{"a step over rows reads no element that was made", rows_know_no_element},
};

} // namespace

std::string text_of(const FusionGraph& graph) {
    std::string text;
    for (std::size_t k = 0; k < graph.values.size(); ++k) {
        const GraphValue& value = graph.values[k];
        if (value.given)
            text += join(name_of(static_cast<int>(k)), ": ", row(value.dtype).name,
                         value.scalar ? " scalar\n" : "\n");
    }
    for (const GraphStep& step : graph.steps) {
        std::string made, read;
        for (const int value : step.outputs)
            made += join(made.empty() ? "" : ", ", name_of(value), ": ",
                         row(graph.values[static_cast<std::size_t>(value)].dtype).name,
                         step.per_row ? " per row" : "");
        each_read(step, [&](int value) { read += join(read.empty() ? "" : ", ", name_of(value)); });
        text += join(made, " = ", step.kernel().name, "(", read, ")",
                     step.line > 0 ? join("  # line ", step.line) : "", "\n");
    }
    std::string wanted;
    for (std::size_t k = 0; k < graph.values.size(); ++k)
        if (graph.values[k].wanted)
            wanted += join(wanted.empty() ? "" : ", ", name_of(static_cast<int>(k)));
    return join(text, "wanted: ", wanted.empty() ? "nothing" : wanted, "\n");
}

std::string complaint_about(const FusionGraph& graph) {
    for (const Rule& rule : rules)
        if (!rule.holds(graph))
            return std::string(rule.name);
    return {};
}

bool can_be_step(const ElementwiseSpec& spec, const Signature& signature) {
    const BodyFacts& facts = spec.facts;
    return spec.loop_prep.empty() && spec.after_loop.empty() && spec.preamble.empty() &&
           spec.options.empty() && !facts.leaves_early && !facts.uses_n && !facts.uses_ind &&
           plain_params(spec, signature);
}

bool can_be_step(const ReductionSpec& spec, const Signature& signature) {
    for (int k = spec.nin; k < spec.nin + spec.nout; ++k)
        if ((spec.facts.assigned_first >> k & 1) == 0)
            return false;
    return (spec.preamble.empty() || spec.maps_anything) && spec.options.empty() &&
           !spec.uses_row && !spec.uses_in_ind && !spec.uses_out_ind &&
           plain_params(spec, signature);
}

} // namespace quern
