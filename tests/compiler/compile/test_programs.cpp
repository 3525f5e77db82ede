// The programs that the prelude holds whole, on both toolchains: every road of a sort, searches,
// sets and counts, for dtypes of each kind.
#include "compiler/backend/backend.h"
#include "compiler/base/library.h"
#include "compiler/base/text.h"
#include "compiler/compile.h"
#include "compiler/prelude/prelude.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace quern {
namespace {

class Programs : public testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        on_cpu = std::string_view(GetParam()) == "host";
        arch = on_cpu ? host_arch() : gpu_arch(9, 0);
        if (on_cpu ? !QUERN_HAS_LLVM : find_library("nvrtc").empty())
            GTEST_SKIP() << GetParam() << " is not installed here";
    }
    void expect_compiles(std::string code) const {
        RawSource source;
        source.code = std::move(code);
        source.options = {"--fmad=false"};
        try {
            EXPECT_FALSE(compile_raw(source, arch, "quern_program", "").binary.image.empty());
        } catch (const std::exception& error) {
            ADD_FAILURE() << source.code << error.what();
        }
    }
    void expect_compiles(const ProgramText& program) const {
        expect_compiles(emit_program(program));
    }
    bool on_cpu = false;
    Arch arch;
};

TEST_P(Programs, SortsOfEveryRoad) {
    int which = 0;
    for (const DType dtype : {DType::boolean, DType::float16, DType::bfloat16, DType::float32,
                              DType::int64, DType::complex128})
        for (const std::int64_t length : {std::int64_t{100}, std::int64_t{2'000},
                                          std::int64_t{1} << 20, std::int64_t{1} << 31}) {
            SortRequest request;
            request.length = length;
            request.item_bytes = row(dtype).bytes;
            request.pairs = which++ % 2 == 0;
            request.target = on_cpu ? Target::cpu : Target::gpu;
            request.processors = 4;
            const auto numbers = sort_numbers(plan_sort(request).layout);
            expect_compiles({"quern/sort.cuh", {&dtype, 1}, numbers});
            if (on_cpu && dtype != DType::complex128 && request.item_bytes >= 4) {
                for (const auto& [name, bytes] : {std::pair{"x86-64-v3", 32}, {"x86-64-v4", 64}}) {
                    arch.name = name;
                    request.vector_bytes = bytes;
                    const auto with_vectors = sort_numbers(plan_sort(request).layout);
                    expect_compiles({"quern/sort.cuh", {&dtype, 1}, with_vectors});
                }
                arch = host_arch();
            }
        }
}

TEST_P(Programs, SearchesAndSets) {
    for (const DType dtype : {DType::boolean, DType::float16, DType::float64, DType::complex64}) {
        expect_compiles({"quern/sets.cuh", {&dtype, 1}});
        for (const int mode : {0, 1, 2, 3}) {
            for (const int top : {0, 16384}) { // GPUs alone have one
                const std::pair<std::string_view, int> numbers[] = {
                    {"QUERN_SEARCH_MODE", mode}, {"QUERN_SEARCH_TOP", on_cpu ? 0 : top}};
                expect_compiles({"quern/search.cuh", {&dtype, 1}, numbers});
            }
        }
    }
}

TEST_P(Programs, DistinctValues) {
    for (const DType dtype :
         {DType::boolean, DType::int8, DType::uint16, DType::float16, DType::bfloat16})
        expect_compiles({"quern/distinct.cuh", {&dtype, 1}});
}

TEST_P(Programs, Interpolation) {
    constexpr DType dtype = DType::float64;
    for (const int parts : {1, 2})
        for (const int top : {0, 16384}) {
            const std::pair<std::string_view, int> numbers[] = {
                {"QUERN_INTERP_PARTS", parts}, {"QUERN_SEARCH_TOP", on_cpu ? 0 : top}};
            expect_compiles({"quern/search.cuh", {&dtype, 1}, numbers});
        }
}

TEST_P(Programs, Masks) {
    for (const DType dtype : {DType::boolean, DType::bfloat16, DType::float32, DType::complex128})
        for (const int act : {0, 1, 2, 3})
            for (const int wide : {0, 1}) {
                const std::pair<std::string_view, int> numbers[] = {{"QUERN_MASK_ACT", act},
                                                                    {"QUERN_MASK_WIDE", wide}};
                expect_compiles({"quern/mask.cuh", {&dtype, 1}, numbers});
            }
}

TEST_P(Programs, Counts) {
    const DType types[] = {DType::uint8, DType::float64};
    const DType small[] = {DType::float16, DType::float16};
    for (const int shared : {0, 4096})
        for (const int edges : {0, 1}) {
            const std::pair<std::string_view, int> numbers[] = {{"QUERN_COUNT_EDGES", edges},
                                                                {"QUERN_COUNT_THREADS", 1},
                                                                {"QUERN_COUNT_SHARED", shared}};
            expect_compiles({"quern/count.cuh", {types, edges ? 2U : 1U}, numbers});
            if (edges)
                expect_compiles({"quern/count.cuh", small, numbers});
        }
}

TEST_P(Programs, PartitionsAndTables) {
    if (!on_cpu)
        GTEST_SKIP() << "programs of the CPU";
    for (const DType dtype : {DType::uint8, DType::float16, DType::int64}) {
        for (const int pairs : {0, 1}) {
            const std::pair<std::string_view, int> numbers[] = {{"QUERN_PARTITION_PAIRS", pairs},
                                                                {"QUERN_VECTORS", 0}};
            expect_compiles({"quern/partition.cuh", {&dtype, 1}, numbers});
        }
        expect_compiles({"quern/stand.cuh", {&dtype, 1}});
        if (dtype != DType::float16)
            expect_compiles({"quern/table.cuh", {&dtype, 1}});
    }
}

// A kernel may bring any of the prelude's files together: no name may stand twice.
TEST_P(Programs, EveryFileBesideTheOthers) {
    constexpr std::string_view programs[] = {
        "count",          "distinct",       "parts_cpu",      "partition",      "runs_cpu",
        "search",         "sets",           "sort",           "sort_cpu",       "sort_gpu",
        "sort_short_cpu", "sort_short_gpu", "sort_taken_cpu", "sort_split_cpu", "sort_vectors_cpu",
        "stand",          "table"};
    const auto include = [](std::string_view name) { return join("#include \"", name, "\"\n"); };
    std::string all;
    for (const std::string_view name : {"elementwise", "half", "bfloat16", "complex", "reduce"})
        all += include(join("quern/", name, ".cuh"));
    int count = 0;
    for (const PreludePiece& piece : prelude_pieces()) {
        const std::string_view name = piece.name;
        const bool library = std::ranges::none_of(
            programs, [&](std::string_view own) { return name == join("quern/", own, ".cuh"); });
        if (!name.starts_with("quern/") || !library || (!on_cpu && name.ends_with("_cpu.cuh")))
            continue;
        all += include(name);
        ++count;
    }
    EXPECT_GT(count, 20);
    const std::pair<std::string_view, int> mode[] = {{"QUERN_SEARCH_MODE", 0}};
    for (const DType dtype : {DType::float16, DType::complex64})
        for (const std::string_view program : {"quern/sets.cuh", "quern/search.cuh"})
            expect_compiles(all + emit_program({program, {&dtype, 1}, mode}));
    SortRequest request;
    request.length = 1 << 20;
    request.target = on_cpu ? Target::cpu : Target::gpu;
    const DType dtype = DType::float32;
    const auto numbers = sort_numbers(plan_sort(request).layout);
    expect_compiles(all + emit_program({"quern/sort.cuh", {&dtype, 1}, numbers}));
}

INSTANTIATE_TEST_SUITE_P(Toolchains, Programs, testing::Values("host", "nvrtc"));

TEST(ProgramText, IsTheSameEachTimeAndNamesItsTypes) {
    const DType types[] = {DType::float16, DType::int32};
    const std::pair<std::string_view, int> numbers[] = {{"QUERN_A", 3}};
    const std::string text = emit_program({"quern/sort.cuh", types, numbers});
    EXPECT_EQ(text, "// quern | quern/sort.cuh | float16, int32\n"
                    "#define QUERN_A 3\n"
                    "#include \"quern/elementwise.cuh\"\n"
                    "#include \"quern/half.cuh\"\n"
                    "typedef float16 QUERN_T0;\n"
                    "typedef int QUERN_T1;\n"
                    "#include \"quern/sort.cuh\"\n");
}

} // namespace
} // namespace quern
