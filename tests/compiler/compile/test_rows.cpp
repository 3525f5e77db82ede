// Row kernels of every layout are compiled by NVRTC: rows and columns, held, read again or parked,
// a block's own or a cluster's.
#include "compiler/base/library.h"
#include "compiler/compile.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

// y = exp(x - max(x)) / sum(exp(x - max(x)))
RowSpec softmax(DType dtype) {
    RowSpec spec;
    spec.name = "softmax";
    const auto join = [&](const char* identity, const char* reduce, const char* map) {
        return RowJoin{"", "T",      "",
                       "", identity, reduce,
                       "", map,      static_cast<std::uint32_t>(bytes_of(dtype))};
    };
    const std::string top = RowSpec::join_name(0, 0), sum = RowSpec::join_name(1, 0);
    spec.walks = {{"", {join("-INFINITY", "max(a, b)", "x")}, ""},
                  {"", {join("0", "a + b", "")}, ""},
                  {"y = exp(x - " + top + ") / " + sum + ";", {}, ""}};
    spec.walks[1].joins[0].map_expr = "exp(x - " + top + ")";
    spec.per_row = {false, false};
    finish_row_spec("T x", "T y", spec);
    return spec;
}

RowPlan plan(std::vector<std::int64_t> shape, std::uint64_t reduced, DType dtype,
             int most_cluster_bits, int narrow_bits, bool panels) {
    const auto item = static_cast<std::int64_t>(bytes_of(dtype));
    const std::vector<std::int64_t> strides{item * shape[1], item};
    const std::array operands{
        Operand{shape.data(), strides.data(), 2, static_cast<std::uint32_t>(item), 4096, false},
        Operand{shape.data(), strides.data(), 2, static_cast<std::uint32_t>(item), 8192, true}};
    RowRequest request;
    request.shape = shape;
    request.reduced = reduced;
    request.operands = operands;
    request.processors = 132;
    request.shared_bytes = 227 << 10;
    request.join_bytes = 2 * static_cast<std::uint32_t>(item);
    request.widest_join = static_cast<std::uint32_t>(item);
    request.walk_join_bytes = panels ? request.widest_join : 0;
    request.most_cluster_bits = most_cluster_bits;
    request.narrow_bits = narrow_bits;
    RowPlan made;
    EXPECT_TRUE(plan_rows(request, made));
    return made;
}

TEST(Rows, AreCompiledForEveryLayout) {
    if (find_library("nvrtc").empty())
        GTEST_SKIP() << "no NVRTC on this machine";
    struct Wanted {
        std::vector<std::int64_t> shape;
        std::uint64_t reduced;
        int most_cluster_bits;
        bool columns, cluster, rest, panels = false;
    };
    const std::vector<Wanted> layouts{{{4096, 1000}, 2, 0, false, false, false},
                                      {{4096, 1003}, 2, 0, false, false, false},
                                      {{1024, 131072}, 2, 0, false, false, true},
                                      {{1024, 131071}, 2, 3, false, true, true},
                                      {{1024, 131072}, 2, 3, false, true, true},
                                      {{1024, 4194304}, 2, 3, false, true, true},
                                      {{512, 65536}, 1, 0, true, false, false},
                                      {{2048, 8192}, 1, 0, true, false, true},
                                      {{8192, 8192}, 1, 3, true, true, true},
                                      {{500, 10000}, 1, 0, true, false, false, true},
                                      {{8000, 8192}, 1, 3, true, true, false, true}};
    for (const DType dtype : {DType::float32, DType::float64}) {
        const RowSpec spec = softmax(dtype);
        for (const Wanted& wanted : layouts) {
            const RowPlan made = plan(wanted.shape, wanted.reduced, dtype, wanted.most_cluster_bits,
                                      narrow_index_bits, wanted.panels);
            const RowLayout& layout = made.layout;
            EXPECT_EQ(layout.columns > 0, wanted.columns) << describe(layout);
            EXPECT_EQ(layout.cluster_bits > 0, wanted.cluster) << describe(layout);
            EXPECT_EQ(layout.rest, wanted.rest) << describe(layout);
            EXPECT_EQ(layout.panels, wanted.panels) << describe(layout);
            ArgType type;
            type.kind = ArgType::Kind::array;
            type.dtype = dtype;
            type.ndim = 2;
            const Signature signature = resolve(spec, std::vector{type});
            const CompiledKernel compiled = compile_rows(spec, signature, layout, gpu_arch(9, 0));
            EXPECT_GT(compiled.binary.image.size(), 64U) << describe(layout);
        }
    }
}

} // namespace
} // namespace quern
