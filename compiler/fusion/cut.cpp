// Reductions are taken one by one, or those together that do not need each other, each time with
// the steps that their elements need and the steps over rows that need nothing but them.
#include "compiler/fusion/cut.h"

#include "compiler/spec/body_facts.h"

#include <algorithm>

namespace quern {
namespace {

// A part of `steps`, numbers of the whole graph's in order; of what they make `stored` is wanted.
GraphPart part_of(const FusionGraph& graph, PartKind kind, const std::vector<std::size_t>& steps,
                  const std::vector<bool>& stored) {
    GraphPart part;
    part.kind = kind;
    std::vector<int> number(graph.values.size(), no_value);
    const auto named = [&](int value, bool given) {
        int& here = number[static_cast<std::size_t>(value)];
        if (here == no_value) {
            here = static_cast<int>(part.values.size());
            part.values.push_back(value);
            GraphValue facts = graph.values[static_cast<std::size_t>(value)];
            facts.given = given;
            facts.wanted = !given && stored[static_cast<std::size_t>(value)];
            facts.per_row = !given && facts.per_row && kind == PartKind::reduction;
            part.graph.values.push_back(facts);
        }
        return here;
    };
    for (const std::size_t k : steps) {
        GraphStep step = graph.steps[k];
        step.per_row = step.per_row && kind == PartKind::reduction;
        for (int& value : step.inputs)
            value = named(value, true);
        for (int& value : step.before)
            value = value == no_value ? no_value : named(value, true);
        for (int& value : step.outputs)
            value = named(value, false);
        part.graph.steps.push_back(std::move(step));
    }
    return part;
}

class Cutter {
  public:
    Cutter(const FusionGraph& graph, const CutRules& rules)
        : graph_(graph), rules_(rules), maker_(graph.values.size(), none),
          known_(graph.values.size()), done_(graph.steps.size()) {
        for (std::size_t k = 0; k < graph.values.size(); ++k)
            known_[k] = graph.values[k].given;
        for (std::size_t k = 0; k < graph.steps.size(); ++k)
            for (const int value : graph.steps[k].outputs)
                maker_[at(value)] = k;
    }

    std::vector<GraphPart> run() {
        for (std::size_t k = 0; k < graph_.steps.size(); ++k)
            if (graph_.steps[k].reduction != nullptr && !done_[k])
                reduce(k);
        make(PartKind::rows, needed_of([](const GraphStep& step) { return step.per_row; }));
        make(PartKind::elements, needed_of([](const GraphStep& step) { return !step.per_row; }));
        return std::move(parts_);
    }

  private:
    static constexpr std::size_t none = ~std::size_t{0};
    [[nodiscard]] static std::size_t at(int value) { return static_cast<std::size_t>(value); }

    // The steps that must run so that `values` are known, in order.
    [[nodiscard]] std::vector<std::size_t> cone(std::vector<int> values) const {
        std::vector<bool> in(graph_.steps.size());
        while (!values.empty()) {
            const int value = values.back();
            values.pop_back();
            if (known_[at(value)] || in[maker_[at(value)]])
                continue;
            const std::size_t k = maker_[at(value)];
            in[k] = true;
            each_read(graph_.steps[k], [&](int read) { values.push_back(read); });
        }
        std::vector<std::size_t> steps;
        for (std::size_t k = 0; k < in.size(); ++k)
            if (in[k])
                steps.push_back(k);
        return steps;
    }

    // Is a value read by a step that is still to run, outside `steps`?
    [[nodiscard]] bool read_later(int value, const std::vector<std::size_t>& steps) const {
        for (std::size_t k = 0; k < graph_.steps.size(); ++k) {
            if (done_[k] || std::ranges::binary_search(steps, k))
                continue;
            bool reads = false;
            each_read(graph_.steps[k], [&](int read) { reads = reads || read == value; });
            if (reads)
                return true;
        }
        return false;
    }

    // Steps of a kind that are wanted for themselves, and what they need.
    template <class Fits> std::vector<int> needed_of(const Fits& fits) const {
        std::vector<int> values;
        for (std::size_t k = 0; k < graph_.steps.size(); ++k)
            if (!done_[k] && fits(graph_.steps[k]))
                for (const int value : graph_.steps[k].outputs)
                    if (!known_[at(value)] &&
                        (graph_.values[at(value)].wanted || !graph_.steps[k].total() ||
                         (graph_.steps[k].per_row && read_later(value, {k}))))
                        values.push_back(value);
        return values;
    }

    // A kernel of elementwise steps that makes `values` known.
    void make(PartKind kind, const std::vector<int>& values) {
        const std::vector<std::size_t> steps = cone(values);
        if (steps.empty())
            return;
        std::vector<bool> stored(graph_.values.size());
        for (const int value : values)
            stored[at(value)] = graph_.values[at(value)].wanted || read_later(value, steps);
        add(kind, steps, stored, values);
    }

    void add(PartKind kind, const std::vector<std::size_t>& steps, const std::vector<bool>& stored,
             const std::vector<int>& made) {
        parts_.push_back(part_of(graph_, kind, steps, stored));
        for (const int value : made)
            known_[at(value)] = true;
        for (const std::size_t k : steps)
            done_[k] = done_[k] || std::ranges::all_of(graph_.steps[k].outputs, [&](int value) {
                           return known_[at(value)] ||
                                  (!graph_.values[at(value)].wanted && !read_later(value, steps));
                       });
    }

    void reduce(std::size_t reduction) {
        std::vector<int> inputs = graph_.steps[reduction].inputs;
        make(PartKind::rows, made_by(cone(inputs), true));
        std::vector<std::size_t> joined{reduction};
        for (std::size_t k = reduction + 1; rules_.joins_together && k < graph_.steps.size(); ++k)
            if (can_join(joined, k)) {
                joined.push_back(k);
                inputs.insert(inputs.end(), graph_.steps[k].inputs.begin(),
                              graph_.steps[k].inputs.end());
            }
        std::vector<std::size_t> together = cone(inputs);
        together.insert(together.end(), joined.begin(), joined.end());
        std::ranges::sort(together);
        std::vector<int> elements;
        for (const int value : made_by(cone(inputs), false))
            if (graph_.values[at(value)].wanted || (read_later(value, together) && is_kept(value)))
                elements.push_back(value);
        make(PartKind::elements, elements);

        std::vector<std::size_t> steps = cone(inputs);
        steps.insert(steps.end(), joined.begin(), joined.end());
        std::vector<int> made = made_by(joined, true);
        for (std::size_t k = reduction + 1; k < graph_.steps.size(); ++k)
            if (follows(graph_.steps[k], made)) {
                steps.push_back(k);
                made.insert(made.end(), graph_.steps[k].outputs.begin(),
                            graph_.steps[k].outputs.end());
            }
        std::ranges::sort(steps);
        std::vector<bool> stored(graph_.values.size());
        for (const int value : made)
            stored[at(value)] = graph_.values[at(value)].wanted || read_later(value, steps);
        add(PartKind::reduction, steps, stored, made);
    }

    // What steps over rows make, or those over elements.
    [[nodiscard]] std::vector<int> made_by(const std::vector<std::size_t>& steps,
                                           bool per_row) const {
        std::vector<int> values;
        for (const std::size_t k : steps)
            if (graph_.steps[k].per_row == per_row)
                values.insert(values.end(), graph_.steps[k].outputs.begin(),
                              graph_.steps[k].outputs.end());
        return values;
    }

    // Can step k be a reduction beside others: small accumulators, no early end, and no need of a
    // row that is still to be made?
    [[nodiscard]] bool can_join(const std::vector<std::size_t>& joined, std::size_t k) const {
        constexpr std::uint32_t most_bytes = 32;
        std::uint32_t bytes = 0;
        const auto is_small = [&](const GraphStep& step) {
            const ReductionSpec& spec = *step.reduction;
            bytes += std::max<std::uint32_t>(spec.accumulator_bytes, 4);
            return spec.accumulator_bytes > 0 && spec.settled.empty() && spec.maps_anything &&
                   spec.reduce_type.find("Moments") == std::string::npos;
        };
        const GraphStep& step = graph_.steps[k];
        return step.reduction != nullptr && !done_[k] && is_small(step) &&
               std::ranges::all_of(joined,
                                   [&](std::size_t j) { return is_small(graph_.steps[j]); }) &&
               bytes <= most_bytes && std::ranges::none_of(cone(step.inputs), [&](std::size_t c) {
                   return graph_.steps[c].per_row;
               });
    }

    // Is a value that is read again better stored than made again?
    [[nodiscard]] bool is_kept(int value) const {
        return std::ranges::any_of(cone({value}), [&](std::size_t k) {
            const GraphStep& step = graph_.steps[k];
            return !step.total() || (rules_.keeps_costly && is_costly(step.spec->operation));
        });
    }

    // Can a step over rows follow the reduction that made `made`, in its kernel?
    [[nodiscard]] bool follows(const GraphStep& step, const std::vector<int>& made) const {
        bool fits = step.per_row && step.reduction == nullptr;
        each_read(step, [&](int value) {
            fits = fits && (graph_.values[at(value)].scalar ||
                            std::ranges::find(made, value) != made.end());
        });
        return fits;
    }

    const FusionGraph& graph_;
    const CutRules rules_;
    std::vector<std::size_t> maker_; // of each value
    std::vector<bool> known_, done_; // values in memory; steps that need not run any more
    std::vector<GraphPart> parts_;
};

} // namespace

std::vector<GraphPart> cut(const FusionGraph& graph, const CutRules& rules) {
    return Cutter(graph, rules).run();
}

std::vector<GraphPart> halves(const GraphPart& part) {
    const FusionGraph& graph = part.graph;
    const auto in_the_whole = [&](GraphPart& made) {
        for (int& value : made.values)
            value = part.values[static_cast<std::size_t>(value)];
    };
    if (std::ranges::count_if(graph.steps, [](const GraphStep& s) { return s.reduction; }) > 1) {
        std::vector<GraphPart> apart = cut(graph, {});
        std::ranges::for_each(apart, in_the_whole);
        return apart;
    }
    const std::size_t middle = graph.steps.size() / 2;
    std::vector<std::size_t> first, second;
    std::vector<bool> early(graph.values.size()), late(graph.values.size());
    for (std::size_t k = 0; k < graph.steps.size(); ++k)
        (k < middle ? first : second).push_back(k);
    for (std::size_t k = 0; k < early.size(); ++k)
        early[k] = late[k] = graph.values[k].wanted;
    for (const std::size_t k : second)
        each_read(graph.steps[k],
                  [&](int value) { early[static_cast<std::size_t>(value)] = true; });
    const auto half = [&](const std::vector<std::size_t>& steps, const std::vector<bool>& stored) {
        const bool joins = std::ranges::any_of(
            steps, [&](std::size_t k) { return graph.steps[k].reduction != nullptr; });
        const PartKind kind = joins                                ? PartKind::reduction
                              : graph.steps[steps.front()].per_row ? PartKind::rows
                              : part.kind == PartKind::rows        ? PartKind::rows
                                                                   : PartKind::elements;
        GraphPart made = part_of(graph, kind, steps, stored);
        in_the_whole(made);
        return made;
    };
    return {half(first, early), half(second, late)};
}

} // namespace quern
