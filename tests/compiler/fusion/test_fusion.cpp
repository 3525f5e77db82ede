// Graphs of elementwise kernels: their text, their rules, the passes, and the kernel they become.
#include "compiler/fusion/merge.h"
#include "compiler/fusion/passes.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

// A kernel and its types for float32 arrays; scalars by `dtypes`.
struct Op {
    ElementwiseSpec spec;
    Signature signature;
    Op(std::string_view in, std::string_view out, std::string_view body, std::string_view name,
       bool total = true) {
        ElementwiseText text;
        text.in_params = in;
        text.out_params = out;
        text.operation = body;
        text.name = name;
        spec = make_elementwise_spec(text);
        spec.total = total;
        std::vector<ArgType> types;
        for (int k = 0; k < spec.nin; ++k)
            types.push_back({ArgType::Kind::array, DType::float32, 1, nullptr});
        signature = resolve(spec, types);
    }
};

const Op& add() {
    static const Op op("T x, T y", "T z", "z = x + y", "add");
    return op;
}
const Op& scale() {
    static const Op op("T x, T y", "T z", "z = x * y", "scale");
    return op;
}
const Op& positive() { // keeps the old element where it does not assign
    static const Op op("T x", "T y", "if (x > 0) y = x", "positive");
    return op;
}
const Op& loud() { // may do more than assign
    static const Op op("T x", "T y", "y = x; printf(\"!\")", "loud", false);
    return op;
}

GraphStep step(const Op& op, std::vector<int> inputs, std::vector<int> outputs,
               std::vector<int> before = {no_value}) {
    return {&op.spec, &op.signature, std::move(inputs), std::move(before), std::move(outputs), 0};
}
constexpr GraphValue array{.dtype = DType::float32, .given = true};
constexpr GraphValue scalar{.dtype = DType::float32, .given = true, .scalar = true};
constexpr GraphValue made{.dtype = DType::float32};
constexpr GraphValue wanted{.dtype = DType::float32, .wanted = true};

// v3 = (v0 + v1) * v2, v5 = v0 + v1, v6 = v5 * v5, of which v3 and v6 are wanted.
FusionGraph example() {
    return {{array, array, scalar, made, wanted, made, wanted},
            {step(add(), {0, 1}, {3}), step(scale(), {3, 2}, {4}), step(add(), {0, 1}, {5}),
             step(scale(), {5, 5}, {6})}};
}

TEST(Graph, IsPrinted) {
    EXPECT_EQ(text_of(example()), "v0: float32\nv1: float32\nv2: float32 scalar\n"
                                  "v3: float32 = add(v0, v1)\nv4: float32 = scale(v3, v2)\n"
                                  "v5: float32 = add(v0, v1)\nv6: float32 = scale(v5, v5)\n"
                                  "wanted: v4, v6\n");
}

TEST(Graph, KeepsItsRules) {
    EXPECT_EQ(complaint_about(example()), "");
    const auto broken = [](auto&& breaking) {
        FusionGraph graph = example();
        breaking(graph);
        return complaint_about(graph);
    };
    EXPECT_EQ(broken([](FusionGraph& g) { g.steps[0].inputs.pop_back(); }),
              "every parameter of a step has a value");
    EXPECT_EQ(broken([](FusionGraph& g) { g.steps[0].inputs[0] = 99; }),
              "every operand is one of the graph's values");
    EXPECT_EQ(broken([](FusionGraph& g) { g.steps[2].outputs[0] = 3; }),
              "a value is given, or made by one step");
    EXPECT_EQ(broken([](FusionGraph& g) { std::swap(g.steps[0], g.steps[1]); }),
              "a value is made before it is read or wanted");
    EXPECT_EQ(broken([](FusionGraph& g) { g.values[1].dtype = DType::float64; }),
              "a value has the type that its step resolved");
    EXPECT_EQ(broken([](FusionGraph& g) { g.values[2].wanted = true; }),
              "a scalar is given and only read");
}

TEST(Passes, MergeWhatIsTheSameAndDropWhatNobodyReads) {
    FusionGraph graph = example();
    graph.values[4].wanted = false; // so that its step is dead
    std::vector<std::string> names;
    run_passes(graph, [&](std::string_view pass, const FusionGraph&) { names.emplace_back(pass); });
    EXPECT_EQ(names, (std::vector<std::string>{"merge common steps", "drop dead steps"}));
    EXPECT_EQ(text_of(graph), "v0: float32\nv1: float32\nv2: float32 scalar\n"
                              "v3: float32 = add(v0, v1)\nv6: float32 = scale(v3, v3)\n"
                              "wanted: v6\n");
}

TEST(Passes, KeepWhatMayDoMoreThanAssign) {
    FusionGraph graph{{array, made, made, wanted},
                      {step(loud(), {0}, {1}), step(loud(), {0}, {2}), step(add(), {0, 0}, {3})}};
    run_passes(graph);
    EXPECT_EQ(graph.steps.size(), 3U);
}

TEST(Passes, WantedTwinsAreBothMade) {
    FusionGraph graph{{array, wanted, wanted},
                      {step(add(), {0, 0}, {1}), step(add(), {0, 0}, {2})}};
    run_passes(graph);
    EXPECT_EQ(graph.steps.size(), 2U);
}

TEST(Passes, SayWhichRuleWasBroken) {
    FusionGraph graph = example();
    graph.steps[0].outputs[0] = 0;
    EXPECT_THROW(run_passes(graph), std::logic_error);
}

TEST(Merge, MakesOneKernel) {
    const MergedKernel merged = merge(example(), "both");
    EXPECT_EQ(merged.spec.name, "both");
    EXPECT_EQ(merged.values, (std::vector<int>{0, 1, 2, 4, 6}));
    EXPECT_EQ(merged.spec.in_params, "float32 fused_p0, float32 fused_p1, float32 fused_p2");
    EXPECT_EQ(merged.spec.out_params, "float32 fused_r4, float32 fused_r6");
    EXPECT_TRUE(merged.spec.total);
    EXPECT_EQ(merged.spec.facts.assigned_first >> 3 & 3, 3U); // no old element is read
}

TEST(Merge, HasAFormWithoutBranchesWhereStepsHave) {
    static const Op root = [] {
        Op op("T x", "T y", "y = sqrt(x)", "root");
        op.spec.swift = "y = quick(x, quern_usual)";
        op.spec.swift_steps = 1;
        return op;
    }();
    const FusionGraph graph{{array, made, made, wanted},
                            {step(root, {0}, {1}), step(root, {1}, {2}), step(add(), {0, 2}, {3})}};
    const ElementwiseSpec spec = merge(graph, "fused").spec;
    EXPECT_EQ(spec.swift_steps, 2);
    EXPECT_NE(spec.swift.find("quick(x, quern_usual)"), std::string::npos);
    EXPECT_NE(spec.swift.find("z = x + y"), std::string::npos);
    EXPECT_EQ(spec.swift.find("sqrt"), std::string::npos);
    EXPECT_EQ(spec.operation.find("quick"), std::string::npos);
    EXPECT_TRUE(spec.swift_inverse.empty());
    EXPECT_TRUE(merge(example(), "fused").spec.swift.empty());
}

TEST(Merge, AsksOnceWhetherNumbersAreOne) {
    static const Op quotient = [] {
        Op op("T x, T y", "T z", "z = x / y", "quotient");
        op.spec.swift = "z = quick(x, y, quern_usual)";
        op.spec.swift_inverse = "z = inverse(x, y, quern_usual)";
        op.spec.swift_steps = 1;
        return op;
    }();
    const FusionGraph graph{
        {array, scalar, made, wanted},
        {step(quotient, {1, 0}, {2}), step(quotient, {2, 0}, {3})}}; // (v1 / v0) / v0
    const ElementwiseSpec spec = merge(graph, "fused").spec;
    EXPECT_EQ(spec.ones_condition, "fused_p1 == 1");
    EXPECT_NE(spec.swift_inverse.find("inverse"), std::string::npos);
    EXPECT_NE(spec.swift_inverse.find("quick"), std::string::npos);
    EXPECT_EQ(spec.swift.find("inverse"), std::string::npos);
}

TEST(Merge, OldElementsAreRead) {
    const MergedKernel merged =
        merge({{array, array, wanted}, {step(positive(), {0}, {2}, {1})}}, "kept");
    EXPECT_EQ(merged.values, (std::vector<int>{0, 1, 2}));
    EXPECT_NE(merged.spec.operation.find("float y = fused_v1;"), std::string::npos);
}

TEST(Merge, TakesPlainKernelsAlone) {
    const auto fits = [](std::string_view in, std::string_view out, std::string_view body) {
        const Op op(in, out, body, "k");
        return can_be_step(op.spec, op.signature);
    };
    EXPECT_TRUE(fits("T x", "T y", "y = x"));
    EXPECT_FALSE(fits("raw T x", "float32 y", "y = x[0]"));
    EXPECT_TRUE(fits("T x", "T y", "y = x + i"));
    EXPECT_FALSE(fits("T x", "T y", "y = x + _ind[0]"));
    EXPECT_FALSE(fits("T x", "T y", "y = x / n"));
    EXPECT_FALSE(fits("T x", "T y", "if (x < 0) return; y = x"));
}

TEST(Merge, CountsTheElementsOfTheWhole) {
    const Op ramp("T x", "T y", "y = x + i", "ramp"), twice("T x", "T y", "y = x + x", "twice");
    const FusionGraph graph{{array, made, wanted}, {step(ramp, {0}, {1}), step(twice, {1}, {2})}};
    ASSERT_EQ(complaint_about(graph), "");
    EXPECT_TRUE(merge(graph, "k").spec.facts.uses_i);
}

} // namespace
} // namespace quern
