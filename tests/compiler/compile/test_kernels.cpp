// The kernels that tests run on the CPU (tests/compiler/host/kernels, tests/python/raw/kernels) are
// CUDA: NVRTC takes them as they are.
#include "compiler/backend/backend.h"
#include "compiler/base/library.h"
#include "compiler/prelude/prelude.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace quern {
namespace {

class KernelFiles : public testing::TestWithParam<const char*> {};

TEST_P(KernelFiles, CompileForGpusAsTheyAre) {
    if (find_library("nvrtc").empty() || cuda_include_folders().empty())
        GTEST_SKIP() << "no NVRTC, or no CUDA headers, on this machine";
    std::vector<SourceFile> headers; // those that the compiler's door hands along
    for (const PreludePiece& piece : prelude_pieces())
        headers.push_back({std::string(piece.name), std::string(piece.text)});
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(GetParam())) {
        std::ifstream file(entry.path());
        const CompileRequest request{.name = entry.path().filename(),
                                     .source = {std::istreambuf_iterator<char>(file), {}},
                                     .headers = headers,
                                     .options = {},
                                     .name_expressions = {},
                                     .arch = gpu_arch(9, 0)};
        try {
            EXPECT_FALSE(nvrtc_backend().compile(request).image.empty());
        } catch (const std::exception& error) {
            ADD_FAILURE() << entry.path() << ": " << error.what();
        }
        ++count;
    }
    EXPECT_GE(count, 2);
}

INSTANTIATE_TEST_SUITE_P(Tests, KernelFiles,
                         testing::Values(QUERN_TEST_FOLDER "/compiler/host/kernels",
                                         QUERN_TEST_FOLDER "/python/raw/kernels"));

} // namespace
} // namespace quern
