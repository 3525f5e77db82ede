// See scaled_sums.h.
#include "compiler/fusion/scaled_sums.h"

#include "compiler/base/text.h"
#include "compiler/fusion/passes.h"
#include "compiler/ops/reduction_kernel.h"
#include "compiler/ops/ufunc_table.h"

#include <algorithm>
#include <array>
#include <utility>

namespace quern {
namespace {

struct ScaledSum {
    ReductionSpec spec;
    Signature signature;
    explicit ScaledSum(DType dtype) : spec(scaled_sum_spec(dtype)) {
        const ArgType array{ArgType::Kind::array, dtype, 1, nullptr};
        signature = resolve(spec, {&array, 1});
    }
    static const ScaledSum& of(DType dtype) {
        static const ScaledSum singles(DType::float32), doubles(DType::float64);
        return dtype == DType::float32 ? singles : doubles;
    }
};

bool is(const GraphStep* step, Ufunc op) {
    return step != nullptr && step->spec != nullptr && !step->per_row &&
           static_cast<int>(step->inputs.size()) == inputs_of(row(op)) &&
           step->before[0] == no_value && step->spec->name == join("quern_", row(op).name) &&
           step->spec->operation.find(row(op).expression) != std::string::npos;
}
bool is(const GraphStep* step, Reduction op) {
    return step != nullptr && step->reduction != nullptr && step->inputs.size() == 1 &&
           step->reduction->name == join("quern_", row(op).name) &&
           step->reduction->reduce_expr == row(op).join && step->total();
}

class Finder {
  public:
    explicit Finder(const FusionGraph& graph)
        : graph_(graph), maker_(graph.values.size()), readers_(graph.values.size()) {
        for (const GraphStep& step : graph.steps) {
            each_read(step, [&](int value) { ++readers_[at(value)]; });
            for (const int value : step.outputs)
                maker_[at(value)] = &step;
        }
    }

    // The steps behind a sum of exponentials: the largest value, the differences from it, the
    // exponentials, the sum. None where it is no such sum.
    [[nodiscard]] std::array<const GraphStep*, 4> steps_of(const GraphStep& sum) const {
        if (!is(&sum, Reduction::sum))
            return {};
        const GraphStep* const exponential = maker_[at(sum.inputs[0])];
        if (!is(exponential, Ufunc::exp))
            return {};
        const GraphStep* const difference = maker_[at(exponential->inputs[0])];
        if (!is(difference, Ufunc::subtract))
            return {};
        const GraphStep* const most = maker_[at(difference->inputs[1])];
        const int value = difference->inputs[0];
        const DType dtype = graph_.values[at(value)].dtype;
        const auto same = [&](int other) { return graph_.values[at(other)].dtype == dtype; };
        if (!is(most, Reduction::max) || most->inputs[0] != value ||
            (dtype != DType::float32 && dtype != DType::float64) || !same(most->outputs[0]) ||
            !same(difference->outputs[0]) || !same(sum.outputs[0]))
            return {};
        return {most, difference, exponential, &sum};
    }
    // Does nothing but one step read what this one makes?
    [[nodiscard]] bool is_read_once(const GraphStep& step) const {
        const int value = step.outputs[0];
        return readers_[at(value)] == 1 && !graph_.values[at(value)].wanted;
    }

  private:
    [[nodiscard]] static std::size_t at(int value) { return static_cast<std::size_t>(value); }

    const FusionGraph& graph_;
    std::vector<const GraphStep*> maker_; // of each value
    std::vector<int> readers_;
};

} // namespace

std::optional<FusionGraph> with_scaled_sums(const FusionGraph& graph) {
    const Finder finder(graph);
    std::vector<const GraphStep*> gone;
    std::vector<std::pair<const GraphStep*, const GraphStep*>> pairs; // the largest, the sum
    for (const GraphStep& step : graph.steps)
        if (const auto steps = finder.steps_of(step);
            steps[0] != nullptr && std::ranges::find(gone, steps[0]) == gone.end()) {
            const auto& [most, difference, exponential, last] = steps;
            gone.insert(gone.end(), {most, last});
            if (finder.is_read_once(*exponential)) {
                gone.push_back(exponential);
                if (finder.is_read_once(*difference))
                    gone.push_back(difference);
            }
            pairs.emplace_back(most, last);
        }
    if (pairs.empty())
        return std::nullopt;
    FusionGraph made{graph.values, {}};
    for (const GraphStep& step : graph.steps) {
        const auto pair = std::ranges::find(pairs, &step, [](const auto& p) { return p.first; });
        if (pair != pairs.end()) {
            const auto& [most, sum] = *pair;
            const ScaledSum& both =
                ScaledSum::of(graph.values[static_cast<std::size_t>(most->inputs[0])].dtype);
            made.steps.push_back({nullptr,
                                  &both.signature,
                                  most->inputs,
                                  {no_value, no_value},
                                  {most->outputs[0], sum->outputs[0]},
                                  sum->line,
                                  true,
                                  &both.spec});
        } else if (std::ranges::find(gone, &step) == gone.end()) {
            made.steps.push_back(step);
        }
    }
    verify("scaled sums", made);
    return made;
}

} // namespace quern
