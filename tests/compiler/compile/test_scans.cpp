// The table's scans in every layout that a GPU may meet, through NVRTC.
#include "compiler/backend/backend.h"
#include "compiler/base/error.h"
#include "compiler/base/library.h"
#include "compiler/compile.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace quern {
namespace {

struct Case {
    std::vector<std::int64_t> shape;
    int axis;
    bool strided = false;
    int split = 0;
};

ReductionSpec spec_of(const ScanRow& scan) {
    ReductionText text;
    text.name = scan.name;
    text.in_params = scan_in_params;
    text.out_params = scan_out_params;
    text.map_expr = scan.map_expr;
    text.reduce_expr = scan.reduce_expr;
    text.post_map_expr = scan_post_map;
    text.reduce_type = scan_type;
    return make_reduction_spec(text);
}

ScanVariant variant_of(const Case& given, DType in, DType out) {
    const auto ndim = given.shape.size();
    std::vector<std::int64_t> from(ndim), to(ndim);
    std::int64_t count = given.strided ? 3 : 1;
    for (std::size_t d = ndim; d-- > 0; count *= given.shape[d]) {
        from[d] = count * static_cast<std::int64_t>(bytes_of(in));
        to[d] = count * static_cast<std::int64_t>(bytes_of(out));
    }
    const auto bytes = [](DType dtype) { return static_cast<std::uint32_t>(bytes_of(dtype)); };
    const std::vector<Operand> operands{
        {given.shape.data(), from.data(), static_cast<int>(ndim), bytes(in), 0x1000, false},
        {given.shape.data(), to.data(), static_cast<int>(ndim), bytes(out), 0x1000, true}};
    ScanVariant variant;
    variant.accumulator_bytes =
        row(out).kind == Kind::floating ? std::max(bytes(out), 4u) : bytes(out);
    ScanRequest request;
    request.shape = given.shape;
    request.axis = given.axis;
    request.operands = operands;
    request.processors = 132;
    request.accumulator_bytes = variant.accumulator_bytes;
    request.force_split = given.split;
    ScanPlan plan;
    EXPECT_TRUE(plan_scan(request, plan));
    variant.layout = plan.layout;
    return variant;
}

const std::vector<Case> cases{
    {{1 << 20}, 0},           {{1 << 20}, 0, true},
    {{1 << 14, 1 << 14}, 1},  {{1 << 14, 1000}, 1},
    {{1 << 20, 16}, 1},       {{1 << 20, 16}, 0},
    {{1 << 14, 1 << 14}, 0},  {{64, 1 << 10, 100}, 1, true},
    {{1 << 20, 16}, 0, true},
};

TEST(Scans, EveryLayoutCompilesForGpus) {
    if (find_library("nvrtc").empty())
        GTEST_SKIP() << "no NVRTC on this machine";
    const std::vector<std::pair<DType, DType>> all{
        {DType::float32, DType::float32},     {DType::int8, DType::int64},
        {DType::boolean, DType::boolean},     {DType::float16, DType::float16},
        {DType::float16, DType::bfloat16},    {DType::uint16, DType::uint64},
        {DType::complex64, DType::complex64}, {DType::float64, DType::complex128},
        {DType::complex128, DType::float64},
    };
    std::set<std::string> layouts;
    for (const ScanRow& scan : scan_table) {
        const ReductionSpec spec = spec_of(scan);
        for (std::size_t k = 0; k < all.size(); ++k)
            for (const Case& given : cases) {
                if (scan.id != ScanOp::sum && (&given - cases.data() + k) % 4 != 0)
                    continue; // the same loops
                const auto [in, out] = all[k];
                const ArgType types[] = {
                    {.kind = ArgType::Kind::array, .dtype = in, .ndim = 1, .layout = {}},
                    {.kind = ArgType::Kind::array, .dtype = out, .ndim = 1, .layout = {}}};
                const Signature signature = resolve(spec, types);
                const ScanVariant variant = variant_of(given, in, out);
                const Arch arch = k % 2 == 0 ? gpu_arch(9, 0) : gpu_arch(8, 0);
                layouts.insert(describe(variant.layout));
                try {
                    EXPECT_FALSE(compile_scan(spec, signature, variant, arch).binary.image.empty());
                } catch (const std::exception& error) {
                    ADD_FAILURE() << describe(variant.layout) << ", " << row(in).name << " to "
                                  << row(out).name << ": " << error.what();
                }
            }
    }
    EXPECT_GT(layouts.size(), 20u);
}

// What tiles tell each other must be as large as the room that was made for it.
TEST(Scans, ATypeOfAnotherSizeIsRefusedByTheText) {
    if (find_library("nvrtc").empty())
        GTEST_SKIP() << "no NVRTC on this machine";
    const ReductionSpec spec = spec_of(row(ScanOp::sum));
    const ArgType types[] = {
        {.kind = ArgType::Kind::array, .dtype = DType::float32, .ndim = 1, .layout = {}},
        {.kind = ArgType::Kind::array, .dtype = DType::float32, .ndim = 1, .layout = {}}};
    ScanVariant variant = variant_of(cases[0], DType::float32, DType::float32);
    variant.accumulator_bytes = 8;
    EXPECT_THROW(
        static_cast<void>(compile_scan(spec, resolve(spec, types), variant, gpu_arch(9, 0))),
        CompileError);
}

} // namespace
} // namespace quern
