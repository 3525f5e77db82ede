// Sums of exponentials of what is short of the largest value, and means beside variances, in one
// reduction.
#include "compiler/fusion/pairs.h"
#include "compiler/ops/reduction_kernel.h"
#include "compiler/ops/ufunc_kernel.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

struct Step {
    ElementwiseSpec spec;
    ReductionSpec reduction;
    Signature signature;
};

Step ufunc(Ufunc op, std::size_t inputs, DType dtype) {
    UfuncForm form;
    form.ufunc = op;
    for (std::size_t k = 0; k <= inputs; ++k)
        form.loop.types[k] = form.given[k] = dtype;
    Step made{ufunc_spec(form), {}, {}};
    made.signature =
        resolve(made.spec, std::vector<ArgType>(inputs, {ArgType::Kind::array, dtype, 1, nullptr}));
    return made;
}
Step fold(Reduction op, DType dtype) {
    ReductionTyping types;
    types.value = types.result = dtype;
    types.accumulator = row(dtype).spelling;
    types.accumulator_bytes = 4;
    Step made{{}, reduction_spec(op, types, false, false), {}};
    const ArgType array{ArgType::Kind::array, dtype, 1, nullptr};
    made.signature = resolve(made.reduction, {&array, 1});
    return made;
}

// v1 = max(v0); v2 = v0 - v1; v3 = exp(v2); v4 = sum(v3); v5 = log(v4)
struct LogSumExp {
    Step max, subtract, exp, sum, log;
    FusionGraph graph;
    explicit LogSumExp(DType dtype = DType::float32)
        : max(fold(Reduction::max, dtype)), subtract(ufunc(Ufunc::subtract, 2, dtype)),
          exp(ufunc(Ufunc::exp, 1, dtype)), sum(fold(Reduction::sum, dtype)),
          log(ufunc(Ufunc::log, 1, dtype)) {
        const GraphValue made{.dtype = dtype}, row{.dtype = dtype, .per_row = true};
        graph.values = {{.dtype = dtype, .given = true}, row, made, made, row, row};
        graph.values[5].wanted = true;
        graph.steps = {reduction(max, 0, 1), elements(subtract, {0, 1}, 2), elements(exp, {2}, 3),
                       reduction(sum, 3, 4), elements(log, {4}, 5, true)};
    }
    static GraphStep elements(const Step& of, std::vector<int> inputs, int output,
                              bool per_row = false) {
        return {&of.spec, &of.signature, std::move(inputs), {no_value}, {output}, 0,
                per_row,  nullptr};
    }
    static GraphStep reduction(const Step& of, int input, int output) {
        return {nullptr, &of.signature, {input}, {no_value}, {output}, 0, true, &of.reduction};
    }
};

TEST(ScaledSums, TakeThePlaceOfBothReductions) {
    for (const DType dtype : {DType::float32, DType::float64}) {
        const LogSumExp given(dtype);
        const auto made = with_scaled_sums(given.graph);
        ASSERT_TRUE(made);
        EXPECT_EQ(complaint_about(*made), "");
        ASSERT_EQ(made->steps.size(), 2u);
        EXPECT_EQ(made->steps[0].kernel().name, "quern_scaled_sum");
        EXPECT_EQ(made->steps[0].outputs, (std::vector{1, 4}));
    }
}

TEST(ScaledSums, LeaveTheElementsThatAreNeededForMore) {
    const auto names_of = [](const FusionGraph& graph) {
        std::vector<std::string> names;
        for (const GraphStep& step : graph.steps)
            names.push_back(step.kernel().name);
        return names;
    };
    using Names = std::vector<std::string>;
    LogSumExp given;
    given.graph.values[2].wanted = true; // the differences
    const auto differences = with_scaled_sums(given.graph);
    ASSERT_TRUE(differences);
    EXPECT_EQ(names_of(*differences), (Names{"quern_scaled_sum", "quern_subtract", "quern_log"}));
    LogSumExp read_again; // the exponentials
    read_again.graph.values.push_back(read_again.graph.values[3]);
    read_again.graph.values.back().wanted = true;
    read_again.graph.steps.push_back(LogSumExp::elements(read_again.exp, {3}, 6));
    const auto exponentials = with_scaled_sums(read_again.graph);
    ASSERT_TRUE(exponentials);
    EXPECT_EQ(complaint_about(*exponentials), "");
    EXPECT_EQ(names_of(*exponentials),
              (Names{"quern_scaled_sum", "quern_subtract", "quern_exp", "quern_log", "quern_exp"}));
}

TEST(ScaledSums, LeaveOtherDifferencesAndDtypes) {
    EXPECT_FALSE(with_scaled_sums(LogSumExp(DType::float16).graph));
    LogSumExp other;
    other.graph.steps[2] = LogSumExp::elements(other.log, {2}, 3);
    EXPECT_FALSE(with_scaled_sums(other.graph));
    LogSumExp turned;
    turned.graph.steps[1].inputs = {1, 0};
    EXPECT_FALSE(with_scaled_sums(turned.graph));
    LogSumExp of_its_own; // by a name alone
    of_its_own.exp.spec.operation = "c = a";
    EXPECT_FALSE(with_scaled_sums(of_its_own.graph));
}

// v3 = mean(v0, v1); v4 = var(v0, v2); v5 = v3 / v4
struct Spread {
    Step mean, var, divide;
    FusionGraph graph;
    explicit Spread(DType dtype = DType::float32, Reduction spread = Reduction::var)
        : mean(with_scalar(Reduction::mean, dtype, DType::int64)),
          var(with_scalar(spread, dtype, DType::float64)), divide(ufunc(Ufunc::divide, 2, dtype)) {
        const GraphValue row{.dtype = dtype, .per_row = true};
        graph.values = {{.dtype = dtype, .given = true},
                        {.dtype = DType::int64, .given = true, .scalar = true},
                        {.dtype = DType::float64, .given = true, .scalar = true},
                        row,
                        row,
                        row};
        graph.values[5].wanted = true;
        graph.steps = {reduction(mean, {0, 1}, 3), reduction(var, {0, 2}, 4),
                       LogSumExp::elements(divide, {3, 4}, 5, true)};
    }
    static Step with_scalar(Reduction op, DType dtype, DType scalar, bool has_where = false) {
        const ReductionTyping types = type_reduction(op, dtype, {}, true, Meeting::any);
        Step made{{}, reduction_spec(op, types, has_where, false), {}};
        std::vector<ArgType> arguments{{ArgType::Kind::array, dtype, 1, nullptr}};
        if (has_where)
            arguments.push_back({ArgType::Kind::array, DType::boolean, 1, nullptr});
        arguments.push_back({ArgType::Kind::scalar, scalar, 0, nullptr});
        made.signature = resolve(made.reduction, arguments);
        return made;
    }
    static GraphStep reduction(const Step& of, std::vector<int> inputs, int output) {
        return {nullptr, &of.signature, std::move(inputs), {no_value}, {output},
                0,       true,          &of.reduction};
    }
};

TEST(Moments, TakeThePlaceOfBothReductions) {
    for (const DType dtype : {DType::float16, DType::bfloat16, DType::float32, DType::float64})
        for (const Reduction op : {Reduction::var, Reduction::std})
            for (const bool turned : {false, true}) {
                Spread given(dtype, op);
                if (turned)
                    std::swap(given.graph.steps[0], given.graph.steps[1]);
                const auto made = with_moments(given.graph);
                ASSERT_TRUE(made);
                EXPECT_EQ(complaint_about(*made), "");
                ASSERT_EQ(made->steps.size(), 2u);
                const GraphStep& both = made->steps[0];
                EXPECT_EQ(both.kernel().name, "quern_moments");
                EXPECT_EQ(both.inputs, (std::vector{0, 2}));
                EXPECT_EQ(both.outputs, (std::vector{3, 4}));
                EXPECT_EQ(both.reduction->post_map_expr.find("sqrt") != std::string::npos,
                          op == Reduction::std);
            }
}

TEST(Moments, LeaveOthers) {
    EXPECT_FALSE(with_moments(Spread(DType::int32).graph));
    EXPECT_FALSE(with_moments(Spread(DType::complex64).graph));
    EXPECT_FALSE(with_moments(Spread(DType::float32, Reduction::nanvar).graph));
    EXPECT_FALSE(with_moments(LogSumExp().graph));
    Spread of_another; // mean of another array
    of_another.graph.values.push_back(of_another.graph.values[0]);
    of_another.graph.steps[0].inputs[0] = 6;
    EXPECT_FALSE(with_moments(of_another.graph));
    Spread masked;
    masked.mean = Spread::with_scalar(Reduction::mean, DType::float32, DType::int64, true);
    masked.graph.values.push_back({.dtype = DType::boolean, .given = true});
    masked.graph.steps[0] = Spread::reduction(masked.mean, {0, 6, 1}, 3);
    EXPECT_FALSE(with_moments(masked.graph));
}

} // namespace
} // namespace quern
