// Graphs with reductions: the kernels that they are cut into, and the row kernel that they become.
#include "compiler/fusion/cut.h"
#include "compiler/fusion/merge.h"
#include "compiler/fusion/passes.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

struct Op {
    ElementwiseSpec spec;
    Signature signature;
    Op(std::string_view in, std::string_view body, std::string_view name, bool total = true) {
        ElementwiseText text;
        text.in_params = in;
        text.out_params = "T z";
        text.operation = body;
        text.name = name;
        spec = make_elementwise_spec(text);
        spec.total = total;
        signature =
            resolve(spec, std::vector<ArgType>(static_cast<std::size_t>(spec.nin),
                                               {ArgType::Kind::array, DType::float32, 1, nullptr}));
    }
};
struct Fold {
    ReductionSpec spec;
    Signature signature;
    Fold(std::string_view reduce, std::string_view identity, std::string_view name) {
        ReductionText text;
        text.in_params = "T x";
        text.out_params = "T y";
        text.map_expr = "x";
        text.reduce_expr = reduce;
        text.post_map_expr = "y = a";
        text.identity = identity;
        text.name = name;
        spec = make_reduction_spec(text);
        spec.maps_anything = true;
        spec.accumulator_bytes = 4;
        const ArgType array{ArgType::Kind::array, DType::float32, 1, nullptr};
        signature = resolve(spec, std::vector<ArgType>{array});
    }
};

const Op& subtract() {
    static const Op op("T x, T y", "z = x - y", "subtract");
    return op;
}
const Op& divide() {
    static const Op op("T x, T y", "z = x / y", "divide");
    return op;
}
const Op& exponential() {
    static const Op op("T x", "z = exp(x)", "exp");
    return op;
}
const Op& loud() {
    static const Op op("T x", "z = x; printf(\"!\")", "loud", false);
    return op;
}
const Fold& sum() {
    static const Fold fold("a + b", "0", "sum");
    return fold;
}
const Fold& largest() {
    static const Fold fold("max(a, b)", "-1e38", "largest");
    return fold;
}

GraphStep step(const Op& op, std::vector<int> inputs, int output, bool per_row = false) {
    return {&op.spec, &op.signature, std::move(inputs), {no_value}, {output}, 0, per_row, nullptr};
}
GraphStep fold(const Fold& op, int input, int output) {
    return {nullptr, &op.signature, {input}, {no_value}, {output}, 0, true, &op.spec};
}
constexpr GraphValue array{.dtype = DType::float32, .given = true};
constexpr GraphValue made{.dtype = DType::float32};
constexpr GraphValue wanted{.dtype = DType::float32, .wanted = true};
constexpr GraphValue of_row{.dtype = DType::float32, .per_row = true};
constexpr GraphValue wanted_of_row{.dtype = DType::float32, .wanted = true, .per_row = true};

// v1 = max(v0), v2 = v0 - v1, v3 = exp(v2), v4 = sum(v3), v5 = v3 / v4
FusionGraph softmax() {
    return {{array, of_row, made, made, of_row, wanted},
            {fold(largest(), 0, 1), step(subtract(), {0, 1}, 2), step(exponential(), {2}, 3),
             fold(sum(), 3, 4), step(divide(), {3, 4}, 5)}};
}

std::string told(const std::vector<GraphPart>& parts) {
    static constexpr std::array kinds{"elements", "rows", "reduction", "walks"};
    std::string text;
    for (const GraphPart& part : parts)
        text +=
            std::string(kinds[static_cast<std::size_t>(part.kind)]) + "\n" + text_of(part.graph);
    return text;
}

TEST(Cut, MakesAgainWhatIsCheap) {
    EXPECT_EQ(told(cut(softmax(), {})),
              "reduction\nv0: float32\nv1: float32 per row = largest(v0)\nwanted: v1\n"
              "reduction\nv0: float32\nv1: float32\nv2: float32 = subtract(v0, v1)\n"
              "v3: float32 = exp(v2)\nv4: float32 per row = sum(v3)\nwanted: v4\n"
              "elements\nv0: float32\nv1: float32\nv4: float32\nv2: float32 = subtract(v0, v1)\n"
              "v3: float32 = exp(v2)\nv5: float32 = divide(v3, v4)\nwanted: v5\n");
}

TEST(Cut, StoresWhatIsCostlyWhereAsked) {
    EXPECT_EQ(told(cut(softmax(), {.keeps_costly = true})),
              "reduction\nv0: float32\nv1: float32 per row = largest(v0)\nwanted: v1\n"
              "elements\nv0: float32\nv1: float32\nv2: float32 = subtract(v0, v1)\n"
              "v3: float32 = exp(v2)\nwanted: v3\n"
              "reduction\nv0: float32\nv1: float32 per row = sum(v0)\nwanted: v1\n"
              "elements\nv0: float32\nv1: float32\nv2: float32 = divide(v0, v1)\nwanted: v2\n");
}

TEST(Cut, StepsOverRowsFollowTheirReduction) {
    const FusionGraph graph{{array, of_row, wanted_of_row},
                            {fold(sum(), 0, 1), step(exponential(), {1}, 2, true)}};
    EXPECT_EQ(complaint_about(graph), "");
    EXPECT_EQ(told(cut(graph, {})), "reduction\nv0: float32\nv1: float32 per row = sum(v0)\n"
                                    "v2: float32 per row = exp(v1)\nwanted: v2\n");
}

TEST(Cut, RunsOnceWhatMayDoMoreThanAssign) {
    const FusionGraph graph{{array, made, wanted_of_row, wanted_of_row},
                            {step(loud(), {0}, 1), fold(sum(), 1, 2), fold(largest(), 1, 3)}};
    const std::string text = told(cut(graph, {}));
    EXPECT_EQ(text.find("loud"), text.rfind("loud")) << text;
}

// v1 = sum(v0), v2 = exp(v0), v3 = largest(v2), v4 = v1 - v3
FusionGraph two_reductions() {
    return {{array, of_row, made, of_row, wanted_of_row},
            {fold(sum(), 0, 1), step(exponential(), {0}, 2), fold(largest(), 2, 3),
             step(subtract(), {1, 3}, 4, true)}};
}

TEST(Cut, ReductionsThatDoNotNeedEachOtherShareAKernel) {
    std::vector<GraphPart> parts = cut(two_reductions(), {.joins_together = true});
    EXPECT_EQ(told(parts), "reduction\nv0: float32\nv1: float32 per row = sum(v0)\n"
                           "v2: float32 = exp(v0)\nv3: float32 per row = largest(v2)\n"
                           "v4: float32 per row = subtract(v1, v3)\nwanted: v4\n");
    EXPECT_EQ(cut(softmax(), {.joins_together = true}).size(), 3U);
    parts = halves(parts[0]);
    EXPECT_EQ(parts.size(), 3U);
    EXPECT_EQ(parts[2].kind, PartKind::rows);
}

TEST(MergeReduction, SeveralHaveOneAccumulator) {
    const MergedReduction merged = merge_reduction(two_reductions(), "both");
    EXPECT_EQ(merged.spec.reduce_type, "fused_joins");
    EXPECT_EQ(merged.spec.accumulator_bytes, 8U);
    EXPECT_EQ(merged.values, (std::vector<int>{0, 4}));
}

TEST(Cut, HalvesMakeWhatTheWholeDoes) {
    GraphPart whole = cut(softmax(), {})[1];
    const std::vector<GraphPart> parts = halves(whole);
    ASSERT_EQ(parts.size(), 2U);
    EXPECT_EQ(told(parts), "elements\nv0: float32\nv1: float32\nv2: float32 = subtract(v0, v1)\n"
                           "wanted: v2\nreduction\nv0: float32\nv1: float32 = exp(v0)\n"
                           "v2: float32 per row = sum(v1)\nwanted: v2\n");
    EXPECT_EQ(parts[1].values, (std::vector<int>{2, 3, 4}));
}

TEST(Graph, RowsKeepTheirRules) {
    EXPECT_EQ(complaint_about(softmax()), "");
    FusionGraph graph = softmax();
    graph.values[1].per_row = false;
    EXPECT_EQ(complaint_about(graph),
              "what a reduction or a step over rows makes is per row, nothing else is");
    graph = softmax();
    graph.values[5].per_row = graph.steps[4].per_row = true;
    EXPECT_EQ(complaint_about(graph), "a step over rows reads no element that was made");
}

TEST(MergeReduction, MapsWhatComesBeforeAndPostMapsWhatComesAfter) {
    FusionGraph graph{
        {array, made, of_row, wanted_of_row},
        {step(exponential(), {0}, 1), fold(sum(), 1, 2), step(exponential(), {2}, 3, true)}};
    const MergedReduction merged = merge_reduction(graph, "both");
    EXPECT_EQ(merged.values, (std::vector<int>{0, 3}));
    EXPECT_EQ(merged.spec.in_params, "float32 fused_p0");
    EXPECT_EQ(merged.spec.out_params, "float32 fused_r3");
    EXPECT_NE(merged.spec.map_expr.find("z = exp(x)"), std::string::npos);
    EXPECT_NE(merged.spec.post_map_expr.find("z = exp(x)"), std::string::npos);
    EXPECT_EQ(merged.spec.reduce_type, "float");
    EXPECT_TRUE(merged.spec.maps_anything);
}

TEST(MergeRows, WalksOnceForEachReductionBehindAnother) {
    EXPECT_TRUE(can_be_rows(softmax()));
    const MergedRows merged = merge_rows(softmax(), "softmax");
    EXPECT_EQ(merged.values, (std::vector<int>{0, 5}));
    EXPECT_EQ(merged.spec.per_row, (std::vector<bool>{false, false}));
    ASSERT_EQ(merged.spec.walks.size(), 3U);
    EXPECT_EQ(merged.spec.walks[0].joins.size(), 1U);
    EXPECT_EQ(merged.spec.walks[1].joins.size(), 1U);
    EXPECT_EQ(merged.spec.walks[2].joins.size(), 0U);
    EXPECT_EQ(merged.spec.walks[0].elements.find("exp"), std::string::npos);
    EXPECT_NE(merged.spec.walks[1].elements.find("exp"), std::string::npos);
}

TEST(MergeRows, KeepsWhatIsCostlyInPlaceOfWhatWasRead) {
    const RowSpec spec = merge_rows(softmax(), "softmax").spec;
    ASSERT_EQ(spec.kept.size(), 1U);
    EXPECT_EQ(spec.kept[0].name, "fused_v3");
    EXPECT_EQ(spec.kept[0].type, "float");
    EXPECT_EQ(spec.kept[0].from, 1U);
    EXPECT_EQ(spec.walks[0].held, "");
    EXPECT_EQ(spec.walks[1].held, "");
    EXPECT_NE(spec.walks[2].elements.find("exp"), std::string::npos); // of what nobody holds
    EXPECT_EQ(spec.walks[2].held.find("exp"), std::string::npos);
    EXPECT_EQ(spec.walks[2].held.find("fused_p0"), std::string::npos);
    EXPECT_NE(spec.walks[2].held.find("fused_r5"), std::string::npos);
}

TEST(MergeRows, KeepsNothingBesideWhatIsReadAgain) {
    FusionGraph graph = softmax(); // v6 = v5 - v0
    graph.values[5].wanted = false;
    graph.values.push_back(wanted);
    graph.steps.push_back(step(subtract(), {5, 0}, 6));
    const RowSpec spec = merge_rows(graph, "rest").spec;
    EXPECT_TRUE(spec.kept.empty());
    EXPECT_EQ(spec.walks[2].held, "");
    EXPECT_NE(spec.walks[2].elements.find("exp"), std::string::npos);
}

TEST(MergeRows, OneReductionAloneIsNoRowKernel) {
    EXPECT_FALSE(can_be_rows({{array, wanted_of_row}, {fold(sum(), 0, 1)}}));
    FusionGraph graph = softmax();
    graph.steps[2] = step(loud(), {2}, 3);
    EXPECT_FALSE(can_be_rows(graph));
}

} // namespace
} // namespace quern
