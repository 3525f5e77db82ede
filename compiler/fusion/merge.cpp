// Values are named by their numbers; inside a step's block its own names stand for them.
#include "compiler/fusion/merge.h"

#include "compiler/fusion/blocks.h"
#include "compiler/spec/body_facts.h"

#include <algorithm>

namespace quern {

MergedKernel merge(const FusionGraph& graph, std::string_view name) {
    std::vector<bool> used(graph.values.size());
    const auto use = [&](int value) { used[static_cast<std::size_t>(value)] = true; };
    for (const GraphStep& step : graph.steps) {
        each_read(step, use);
        std::ranges::for_each(step.outputs, use);
    }
    std::string inputs, outputs, head, blocks, swift_blocks, power_blocks, powers, tail;
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
        const bool divides_number = !step.spec->swift_power.empty() &&
                                    graph.values[static_cast<std::size_t>(step.inputs[0])].scalar;
        blocks += block;
        swift_blocks += swift;
        power_blocks += divides_number ? block_of(step, step.spec->swift_power) : swift;
        if (divides_number)
            powers += join(powers.empty() ? "" : " && ", "quern::swift::is_power(",
                           parameter(step.inputs[0]), ")");
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
        if (!powers.empty()) {
            made.spec.swift_power = head + power_blocks + tail;
            made.spec.powers_condition = powers;
        }
    }
    made.values.insert(made.values.end(), stored.begin(), stored.end());
    return made;
}

namespace {

// A reduction's own types, for wherever its texts stand.
std::string types_of(const GraphStep& step) {
    return join(step.reduction->preamble, "\n", placeholders_of(step), "\n");
}

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

namespace {

// The walks of a row kernel: what each value needs is told by how many reductions lie before it.
class RowMerger {
  public:
    RowMerger(const FusionGraph& graph, std::string_view name)
        : graph_(graph), level_(graph.values.size()), maker_(graph.values.size()) {
        merged_.spec.name = name;
    }

    MergedRows run() {
        std::size_t last = 0;
        for (const GraphStep& step : graph_.steps) {
            std::size_t level = 0;
            each_read(step, [&](int value) { level = std::max(level, level_[at(value)]); });
            level += step.reduction != nullptr;
            last = std::max(last, level);
            for (const int value : step.outputs) {
                level_[at(value)] = level;
                maker_[at(value)] = &step;
            }
        }
        merged_.spec.walks.resize(last + 1);
        find_parameters();
        steps_over_rows();
        keep_costly();
        for (std::size_t k = 0; k <= last; ++k)
            walk(k);
        finish_row_spec(inputs_, outputs_, merged_.spec);
        merged_.values.insert(merged_.values.end(), stored_.begin(), stored_.end());
        merged_.spec.per_row.insert(merged_.spec.per_row.end(), stored_per_row_.begin(),
                                    stored_per_row_.end());
        return std::move(merged_);
    }

  private:
    [[nodiscard]] static std::size_t at(int value) { return static_cast<std::size_t>(value); }

    // A given value is one a row where a step over rows reads it.
    void find_parameters() {
        std::vector<bool> used(graph_.values.size());
        by_row_.resize(graph_.values.size());
        for (const GraphStep& step : graph_.steps)
            each_read(step, [&](int value) {
                used[at(value)] = true;
                if (step.per_row && step.reduction == nullptr)
                    by_row_[at(value)] = true;
            });
        for (std::size_t k = 0; k < graph_.values.size(); ++k) {
            const GraphValue& value = graph_.values[k];
            const int number = static_cast<int>(k);
            if (value.given && used[k]) {
                add_param(inputs_, value, parameter(number));
                merged_.values.push_back(number);
                merged_.spec.per_row.push_back(by_row_[k]);
                if (value.scalar || by_row_[k])
                    merged_.spec.before += join("const ", type_of(graph_, number), " ",
                                                local(number), " = ", parameter(number), ";\n");
            }
            if (value.wanted) {
                add_param(outputs_, value, result(number));
                stored_.push_back(number);
                stored_per_row_.push_back(value.per_row);
            }
        }
    }

    // Reductions' results and what follows from them, behind the walk that knows them.
    void steps_over_rows() {
        auto& walks = merged_.spec.walks;
        for (const GraphStep& step : graph_.steps) {
            if (!step.per_row)
                continue;
            const std::size_t level = level_[at(step.outputs.front())];
            std::string& text = level == 0 ? merged_.spec.before : walks[level - 1].rows;
            for (const int value : step.outputs)
                text += join(type_of(graph_, value), " ", local(value), ";\n");
            if (step.reduction == nullptr) {
                text += block_of(step);
                continue;
            }
            RowWalk& walk = walks[level - 1];
            const ReductionSpec& spec = *step.reduction;
            const std::string preamble = types_of(step), type = accumulator_of(step);
            text += join("{\n", preamble, "typedef ", type, " _type_reduce; _type_reduce a = ",
                         RowSpec::join_name(level - 1, walk.joins.size()), ";\n",
                         post_block(graph_, step), "}\n");
            walk.joins.push_back({preamble, type, spec.inner_type, spec.about_type, spec.identity,
                                  spec.reduce_expr, names_of_inputs(graph_, step, false),
                                  spec.map_expr, spec.accumulator_bytes});
            roots_.resize(walks.size());
            for (const int value : step.inputs)
                roots_[level - 1].push_back(value);
            std::int64_t& most = merged_.spec.inner_steps;
            if (spec.inner_steps > 0)
                most = most == 0 ? spec.inner_steps : std::min(most, spec.inner_steps);
        }
        roots_.resize(walks.size());
        for (const int value : stored_)
            if (!graph_.values[at(value)].per_row)
                roots_.back().push_back(value);
    }

    // The values of elements that a walk's joins or the stores need: all, or those that are left to
    // make where what earlier walks keep is there.
    [[nodiscard]] std::vector<bool> needed_in(std::size_t k, bool held) const {
        std::vector<int> values = roots_[k];
        std::vector<bool> needed(graph_.values.size());
        while (!values.empty()) {
            const int value = values.back();
            values.pop_back();
            if (needed[at(value)] || graph_.values[at(value)].per_row ||
                (held && kept_from_[at(value)] < k))
                continue;
            needed[at(value)] = true;
            if (maker_[at(value)] != nullptr)
                each_read(*maker_[at(value)], [&](int read) { values.push_back(read); });
        }
        return needed;
    }
    [[nodiscard]] static bool makes(const GraphStep& step, const std::vector<bool>& needed) {
        return !step.per_row && std::ranges::any_of(step.outputs, [&](int value) {
            return static_cast<bool>(needed[at(value)]);
        });
    }
    [[nodiscard]] bool is_read(int value) const { // of each element
        return graph_.values[at(value)].given && !graph_.values[at(value)].scalar &&
               !by_row_[at(value)];
    }

    // What a costly function makes in one walk and another one needs is kept where threads then
    // need nothing of what they have read, and so have room.
    void keep_costly() {
        const std::size_t walks = merged_.spec.walks.size();
        kept_from_.assign(graph_.values.size(), walks);
        for (std::size_t k = walks; k-- > 0;) {
            const std::vector<bool> needed = needed_in(k, false);
            for (std::size_t v = 0; v < needed.size(); ++v)
                if (needed[v] && maker_[v] != nullptr && maker_[v]->reduction == nullptr &&
                    maker_[v]->outputs.size() == 1 && is_costly(maker_[v]->spec->operation))
                    kept_from_[v] = k;
        }
        std::vector<bool> read_again(graph_.values.size());
        bool room = true;
        for (std::size_t k = 1; k < walks; ++k) {
            const std::vector<bool> needed = needed_in(k, true);
            std::vector<int> values = roots_[k];
            for (const GraphStep& step : graph_.steps)
                if (makes(step, needed))
                    each_read(step, [&](int value) { values.push_back(value); });
            bool reads = false, uses = false;
            for (const int value : values) {
                const bool is_kept = kept_from_[at(value)] < k;
                read_again[at(value)] = read_again[at(value)] || is_kept;
                uses = uses || is_kept;
                reads = reads || (needed[at(value)] && is_read(value));
            }
            room = room && !(uses && reads);
        }
        for (std::size_t v = 0; v < kept_from_.size(); ++v)
            if (room && read_again[v])
                merged_.spec.kept.push_back({std::string(type_of(graph_, static_cast<int>(v))),
                                             local(static_cast<int>(v)), kept_from_[v]});
            else
                kept_from_[v] = walks;
    }

    // Statements that make the elements which are needed, from what is given, rows and what is
    // kept.
    [[nodiscard]] std::string elements(const std::vector<bool>& needed, bool swift = false) const {
        std::string text;
        for (std::size_t v = 0; v < needed.size(); ++v) {
            const GraphValue& value = graph_.values[v];
            const int number = static_cast<int>(v);
            if (!needed[v] || value.scalar || by_row_[v])
                continue;
            text += value.given ? join("const ", type_of(graph_, number), " ", local(number), " = ",
                                       parameter(number), ";\n")
                                : join(type_of(graph_, number), " ", local(number), ";\n");
        }
        for (const GraphStep& step : graph_.steps)
            if (makes(step, needed)) {
                for (const int value : step.outputs) // of several that one may be left over
                    if (!needed[at(value)])
                        text += join(type_of(graph_, value), " ", local(value), ";\n");
                text += swift && !step.spec->swift.empty()
                            ? block_of(step, step.spec->swift, divisor_of(step))
                            : block_of(step);
            }
        return text;
    }
    // All numbers of a row are divided by one.
    [[nodiscard]] bool divides_by_one(const GraphStep& step) const {
        if (step.spec->swift_power.empty())
            return false;
        const int by = step.inputs[1];
        return (graph_.values[at(by)].per_row || graph_.values[at(by)].scalar || by_row_[at(by)]) &&
               graph_.values[at(by)].dtype == DType::float32;
    }
    // It is declared for the row, and again in a step's block.
    [[nodiscard]] static std::string divisor(int value) { return join("fused_by", value); }
    [[nodiscard]] std::string divisor_of(const GraphStep& step) const {
        return divides_by_one(step)
                   ? join("const quern::swift::Divisor& ", step.spec->params[1].name, " = ",
                          divisor(step.inputs[1]), "; ")
                   : "";
    }

    void walk(std::size_t k) {
        RowWalk& walk = merged_.spec.walks[k];
        const std::vector<bool> needed = needed_in(k, false), to_make = needed_in(k, true);
        const bool kept = to_make != needed;
        walk.elements = elements(needed);
        if (kept)
            walk.held = elements(to_make);
        const bool swift = std::ranges::any_of(graph_.steps, [&](const GraphStep& step) {
            return makes(step, needed) && !step.spec->swift.empty() && step.spec->swift_steps > 0;
        });
        if (swift) {
            walk.swift = elements(needed, true);
            if (kept)
                walk.held_swift = elements(to_make, true);
            std::vector<int> divisors;
            for (const GraphStep& step : graph_.steps)
                if (makes(step, needed) && divides_by_one(step) &&
                    std::ranges::find(divisors, step.inputs[1]) == divisors.end())
                    divisors.push_back(step.inputs[1]);
            for (const int by : divisors)
                walk.swift_rows +=
                    join("const quern::swift::Divisor ", divisor(by), "(", local(by), ");\n");
        }
        if (k + 1 < merged_.spec.walks.size())
            return;
        for (const int value : stored_) {
            const std::string store = join(result(value), " = ", local(value), ";\n");
            if (graph_.values[at(value)].per_row) {
                walk.rows += store;
                continue;
            }
            walk.elements += store;
            if (kept)
                walk.held += store;
            if (swift)
                walk.swift += store;
            if (kept && swift)
                walk.held_swift += store;
        }
    }

    const FusionGraph& graph_;
    std::vector<std::size_t> level_; // reductions before each value
    std::vector<const GraphStep*> maker_;
    std::vector<bool> by_row_, stored_per_row_;
    std::vector<int> stored_;
    std::vector<std::vector<int>> roots_; // values that each walk needs
    std::vector<std::size_t> kept_from_;  // the walk that keeps a value; else the number of walks
    std::string inputs_, outputs_;
    MergedRows merged_;
};

} // namespace

bool can_be_rows(const FusionGraph& graph) {
    std::size_t reductions = 0;
    bool elements = false;
    for (const GraphStep& step : graph.steps) {
        reductions += step.reduction != nullptr;
        if (!step.total())
            return false;
        for (const int value : step.outputs)
            elements =
                elements || (!step.per_row && graph.values[static_cast<std::size_t>(value)].wanted);
    }
    return reductions > 1 || (reductions == 1 && elements);
}

MergedRows merge_rows(const FusionGraph& graph, std::string_view name) {
    return RowMerger(graph, name).run();
}

} // namespace quern
