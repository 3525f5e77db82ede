// The programs that the prelude holds whole, through NVRTC: every road of a sort, searches, sets
// and counts, for dtypes of each kind.
#include "compiler/backend/backend.h"
#include "compiler/base/library.h"
#include "compiler/compile.h"

#include <gtest/gtest.h>

#include <vector>

namespace quern {
namespace {

void expect_compiles(const ProgramText& program) {
    RawSource source;
    source.code = emit_program(program);
    source.options = {"--fmad=false"};
    try {
        EXPECT_FALSE(compile_raw(source, gpu_arch(9, 0), "quern_program", "").binary.image.empty());
    } catch (const std::exception& error) {
        ADD_FAILURE() << source.code << error.what();
    }
}

struct Programs : testing::Test {
    void SetUp() override {
        if (find_library("nvrtc").empty())
            GTEST_SKIP() << "no NVRTC on this machine";
    }
};

TEST_F(Programs, SortsOfEveryRoad) {
    int which = 0;
    for (const DType dtype : {DType::boolean, DType::float16, DType::bfloat16, DType::float32,
                              DType::int64, DType::complex128})
        for (const std::int64_t length : {std::int64_t{100}, std::int64_t{2'000},
                                          std::int64_t{1} << 20, std::int64_t{1} << 31}) {
            SortRequest request;
            request.length = length;
            request.item_bytes = row(dtype).bytes;
            request.pairs = which++ % 2 == 0;
            const auto numbers = sort_numbers(plan_sort(request).layout);
            expect_compiles({"quern/sort.cuh", {&dtype, 1}, numbers});
        }
}

TEST_F(Programs, SearchesAndSets) {
    for (const DType dtype : {DType::boolean, DType::float16, DType::float64, DType::complex64}) {
        expect_compiles({"quern/sets.cuh", {&dtype, 1}});
        for (const int mode : {0, 1, 2, 3}) {
            const std::pair<std::string_view, int> numbers[] = {{"QUERN_SEARCH_MODE", mode}};
            expect_compiles({"quern/search.cuh", {&dtype, 1}, numbers});
        }
    }
}

TEST_F(Programs, Counts) {
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
