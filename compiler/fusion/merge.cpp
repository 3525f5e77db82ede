// Values are named by their numbers; inside a step's block its own names stand for them.
#include "compiler/fusion/merge.h"

#include "compiler/fusion/blocks.h"

#include <algorithm>

namespace quern {

MergedKernel merge(const FusionGraph& graph, std::string_view name) {
    std::vector<bool> used(graph.values.size());
    const auto use = [&](int value) { used[static_cast<std::size_t>(value)] = true; };
    for (const GraphStep& step : graph.steps) {
        each_read(step, use);
        std::ranges::for_each(step.outputs, use);
    }
    std::string inputs, outputs, head, blocks, swift_blocks, inverse_blocks, ones, tail;
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
    int swift_steps = 0;
    for (const GraphStep& step : graph.steps) {
        const std::string block = block_of(step), swift = step.spec->swift.empty()
                                                              ? block
                                                              : block_of(step, step.spec->swift);
        const bool divides_number = !step.spec->swift_inverse.empty() &&
                                    graph.values[static_cast<std::size_t>(step.inputs[0])].scalar;
        blocks += block;
        swift_blocks += swift;
        inverse_blocks += divides_number ? block_of(step, step.spec->swift_inverse) : swift;
        if (divides_number)
            ones += join(ones.empty() ? "" : " && ", parameter(step.inputs[0]), " == 1");
        swift_steps += step.spec->swift_steps;
    }
    const std::string operation = head + blocks + tail;
    ElementwiseText text;
    text.in_params = inputs;
    text.out_params = outputs;
    text.operation = operation;
    text.name = name;
    MergedKernel made{make_elementwise_spec(text), std::move(order)};
    made.spec.total =
        std::ranges::all_of(graph.steps, [](const GraphStep& step) { return step.spec->total; });
    if (swift_steps > 0) {
        made.spec.swift = head + swift_blocks + tail;
        made.spec.swift_steps = swift_steps;
        if (!ones.empty()) {
            made.spec.swift_inverse = head + inverse_blocks + tail;
            made.spec.ones_condition = ones;
        }
    }
    made.values.insert(made.values.end(), stored.begin(), stored.end());
    return made;
}

namespace {

// The texts of a graph's reductions as those of one.
struct Joined {
    std::string preamble, type, inner_type, identity, reduce_expr, map_expr, post_map;
    std::uint32_t bytes = 0;
    std::int64_t inner_steps = 0;
};

Joined joined_alone(const FusionGraph& graph, const GraphStep& step) {
    const ReductionSpec& spec = *step.reduction;
    return {types_of(step),
            accumulator_of(step),
            spec.inner_type,
            spec.identity,
            spec.reduce_expr,
            join(names_of_inputs(graph, step, false), "\nreturn (", spec.map_expr, "\n);\n"),
            post_block(graph, step),
            spec.accumulator_bytes,
            spec.inner_steps};
}

// A structure of all accumulators.
Joined joined_together(const FusionGraph& graph, const std::vector<const GraphStep*>& steps) {
    Joined made;
    std::string members, starts, joins;
    made.map_expr = "fused_joins fused_all;\n";
    made.post_map = "const fused_joins fused_all = a;\n";
    for (std::size_t k = 0; k < steps.size(); ++k) {
        const GraphStep& step = *steps[k];
        const ReductionSpec& spec = *step.reduction;
        const std::string name = join("fused_join_", k), member = join("v", k),
                          types = join(types_of(step), "typedef ", accumulator_of(step),
                                       " _type_reduce;\n");
        made.preamble +=
            join("struct ", name, " {\n", types,
                 "static __device__ _type_reduce start() { return _type_reduce(", spec.identity,
                 "); }\nstatic __device__ _type_reduce join(",
                 "_type_reduce a, _type_reduce b) { return (", spec.reduce_expr, "); }\n};\n");
        members += join(name, "::_type_reduce ", member, ";\n");
        starts += join(k == 0 ? "" : ", ", member, "(", name, "::start())");
        joins += join("both.", member, " = ", name, "::join(a.", member, ", b.", member, ");\n");
        made.map_expr += join("{\n", types, names_of_inputs(graph, step, false), "fused_all.",
                              member, " = static_cast<_type_reduce>(", spec.map_expr, ");\n}\n");
        made.post_map += join("{\n", types, "_type_reduce a = fused_all.", member, ";\n",
                              post_block(graph, step), "}\n");
        made.bytes += std::max<std::uint32_t>(spec.accumulator_bytes, 4);
    }
    made.preamble += join("struct fused_joins {\n", members, "__device__ fused_joins() : ", starts,
                          " {}\n};\n__device__ inline fused_joins fused_joined(",
                          "const fused_joins& a, const fused_joins& b) {\nfused_joins both;\n",
                          joins, "return both;\n}\n");
    made.map_expr += "return fused_all;\n";
    made.type = "fused_joins";
    made.identity = "fused_joins()";
    made.reduce_expr = "fused_joined(a, b)";
    return made;
}

} // namespace

MergedReduction merge_reduction(const FusionGraph& graph, std::string_view name) {
    std::vector<const GraphStep*> joined;
    std::vector<bool> mapped(graph.values.size()), posted(graph.values.size());
    for (const GraphStep& step : graph.steps) {
        const bool joins = step.reduction != nullptr;
        if (joins)
            joined.push_back(&step);
        each_read(step, [&](int value) {
            const auto k = static_cast<std::size_t>(value);
            if (!step.per_row || joins)
                mapped[k] = true;
            if (step.per_row && (!joins || graph.values[k].scalar))
                posted[k] = true;
        });
        for (const int value : step.outputs)
            (step.per_row ? posted : mapped)[static_cast<std::size_t>(value)] = true;
    }
    std::string inputs, outputs, map, post, tail;
    std::vector<int> order, stored;
    for (std::size_t k = 0; k < graph.values.size(); ++k) {
        const GraphValue& value = graph.values[k];
        const int number = static_cast<int>(k);
        const std::string_view type = type_of(graph, number);
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
    const Joined own =
        joined.size() == 1 ? joined_alone(graph, *joined[0]) : joined_together(graph, joined);
    for (const GraphStep& step : graph.steps)
        if (!step.per_row)
            map += block_of(step);
    post += own.post_map;
    for (const GraphStep& step : graph.steps)
        if (step.per_row && step.reduction == nullptr)
            post += block_of(step);

    const std::string map_expr = join("[&]() {\n", map, own.map_expr, "}()"),
                      post_map = post + tail;
    ReductionText text;
    text.in_params = inputs;
    text.out_params = outputs;
    text.map_expr = map_expr;
    text.reduce_expr = own.reduce_expr;
    text.post_map_expr = post_map;
    text.identity = own.identity;
    text.name = name;
    text.reduce_type = own.type;
    text.preamble = own.preamble;
    MergedReduction made{make_reduction_spec(text), std::move(order)};
    made.values.insert(made.values.end(), stored.begin(), stored.end());
    const auto all = [&](auto holds) {
        return std::ranges::all_of(joined,
                                   [&](const GraphStep* step) { return holds(*step->reduction); });
    };
    made.spec.inner_type = own.inner_type;
    made.spec.inner_steps = own.inner_steps;
    made.spec.refuses_empty = !all([](const ReductionSpec& s) { return !s.refuses_empty; });
    made.spec.accumulator_bytes = own.bytes;
    made.spec.maps_anything =
        std::ranges::all_of(graph.steps, [](const GraphStep& step) { return step.total(); });
    made.spec.exact = all([](const ReductionSpec& s) { return s.exact; });
    if (joined.size() == 1) {
        made.spec.atomic_join = joined[0]->reduction->atomic_join;
        made.spec.settled = joined[0]->reduction->settled;
    }
    return made;
}

} // namespace quern
