// See pairs.h.
#include "compiler/fusion/pairs.h"

#include "compiler/base/text.h"
#include "compiler/fusion/passes.h"
#include "compiler/ops/reduction_kernel.h"
#include "compiler/ops/ufunc_table.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

namespace quern {
namespace {

// A reduction of a dtype that takes the place of two.
struct Pair {
    ReductionSpec spec;
    Signature signature;
    Pair(ReductionSpec of_both, std::initializer_list<ArgType> arguments)
        : spec(std::move(of_both)),
          signature(resolve(spec, {arguments.begin(), arguments.size()})) {}
};
ArgType elements_of(DType dtype) { return {ArgType::Kind::array, dtype, 1, nullptr}; }
const Pair& scaled_sum_of(DType dtype) {
    const auto make = [](DType of) { return Pair(scaled_sum_spec(of), {elements_of(of)}); };
    static const Pair singles = make(DType::float32), doubles = make(DType::float64);
    return dtype == DType::float32 ? singles : doubles;
}
const Pair& moments_of(DType dtype, bool deviation) {
    static const auto make = [](DType of) {
        const ArgType ddof{ArgType::Kind::scalar, DType::float64, 0, nullptr};
        return std::array{Pair(moments_spec(of, false), {elements_of(of), ddof}),
                          Pair(moments_spec(of, true), {elements_of(of), ddof})};
    };
    static const std::array all{make(DType::float16), make(DType::bfloat16), make(DType::float32),
                                make(DType::float64)};
    const std::size_t k = dtype == DType::float16    ? 0
                          : dtype == DType::bfloat16 ? 1
                          : dtype == DType::float32  ? 2
                                                     : 3;
    return all[k][deviation ? 1 : 0];
}

bool is(const GraphStep* step, Ufunc op) {
    return step != nullptr && step->spec != nullptr && !step->per_row &&
           static_cast<int>(step->inputs.size()) == inputs_of(row(op)) &&
           step->before[0] == no_value && step->spec->name == join("quern_", row(op).name) &&
           step->spec->operation.find(row(op).expression) != std::string::npos;
}
// With its elements and `scalars` besides: without a mask or a start.
bool is(const GraphStep* step, Reduction op, std::size_t scalars = 0) {
    return step != nullptr && step->reduction != nullptr && step->inputs.size() == 1 + scalars &&
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

// Two steps, the first of them before the second, and what takes their place there.
struct Replaced {
    const GraphStep *first, *second;
    const Pair* pair;
    std::vector<int> inputs, outputs;
};

// The graph without the steps that are `gone`, and those of the pairs.
FusionGraph with(const FusionGraph& graph, const std::vector<Replaced>& pairs,
                 std::vector<const GraphStep*> gone, std::string_view pass) {
    for (const Replaced& both : pairs)
        gone.insert(gone.end(), {both.first, both.second});
    FusionGraph made{graph.values, {}};
    for (const GraphStep& step : graph.steps) {
        const auto both = std::ranges::find(pairs, &step, &Replaced::first);
        if (both != pairs.end())
            made.steps.push_back({nullptr,
                                  &both->pair->signature,
                                  both->inputs,
                                  {no_value, no_value},
                                  both->outputs,
                                  both->second->line,
                                  true,
                                  &both->pair->spec});
        else if (std::ranges::find(gone, &step) == gone.end())
            made.steps.push_back(step);
    }
    verify(pass, made);
    return made;
}

} // namespace

std::optional<FusionGraph> with_scaled_sums(const FusionGraph& graph) {
    const Finder finder(graph);
    std::vector<const GraphStep*> gone;
    std::vector<Replaced> pairs;
    for (const GraphStep& step : graph.steps)
        if (const auto steps = finder.steps_of(step);
            steps[0] != nullptr &&
            std::ranges::find(pairs, steps[0], &Replaced::first) == pairs.end()) {
            const auto& [most, difference, exponential, sum] = steps;
            if (finder.is_read_once(*exponential)) {
                gone.push_back(exponential);
                if (finder.is_read_once(*difference))
                    gone.push_back(difference);
            }
            const DType dtype = graph.values[static_cast<std::size_t>(most->inputs[0])].dtype;
            pairs.push_back({most,
                             sum,
                             &scaled_sum_of(dtype),
                             most->inputs,
                             {most->outputs[0], sum->outputs[0]}});
        }
    if (pairs.empty())
        return std::nullopt;
    return with(graph, pairs, std::move(gone), "scaled sums");
}

std::optional<FusionGraph> with_moments(const FusionGraph& graph) {
    std::vector<Replaced> pairs;
    const auto dtype_of = [&](int value) {
        return graph.values[static_cast<std::size_t>(value)].dtype;
    };
    const auto is_free = [&](const GraphStep& step) {
        return std::ranges::none_of(pairs, [&](const Replaced& both) {
            return both.first == &step || both.second == &step;
        });
    };
    for (const GraphStep& spread : graph.steps) {
        const bool deviation = is(&spread, Reduction::std, 1);
        if (!deviation && !is(&spread, Reduction::var, 1))
            continue;
        const int value = spread.inputs[0];
        const DType dtype = dtype_of(value);
        if (row(dtype).kind != Kind::floating || dtype_of(spread.outputs[0]) != dtype)
            continue;
        const auto mean = std::ranges::find_if(graph.steps, [&](const GraphStep& step) {
            return is(&step, Reduction::mean, 1) && step.inputs[0] == value &&
                   dtype_of(step.outputs[0]) == dtype && is_free(step);
        });
        if (mean == graph.steps.end())
            continue;
        const GraphStep& about = *mean;
        pairs.push_back({std::min(&about, &spread),
                         std::max(&about, &spread),
                         &moments_of(dtype, deviation),
                         spread.inputs,
                         {about.outputs[0], spread.outputs[0]}});
    }
    if (pairs.empty())
        return std::nullopt;
    return with(graph, pairs, {}, "moments");
}

} // namespace quern
