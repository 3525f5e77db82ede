// See merge.h: rows, walked several times by one kernel.
#include "compiler/fusion/blocks.h"
#include "compiler/fusion/merge.h"
#include "compiler/spec/body_facts.h"

#include <algorithm>

namespace quern {
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
        if (step.spec->swift_inverse.empty())
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
