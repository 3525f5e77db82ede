// The kernels that the host compiler's tests run (tests/compiler/host/kernels) are CUDA: NVRTC
// takes them as they are.
#include "compiler/backend/backend.h"
#include "compiler/base/library.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace quern {
namespace {

TEST(HostKernels, CompileForGpusAsTheyAre) {
    if (find_library("nvrtc").empty() || cuda_include_folders().empty())
        GTEST_SKIP() << "no NVRTC, or no CUDA headers, on this machine";
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(QUERN_HOST_KERNELS)) {
        std::ifstream file(entry.path());
        const std::string source{std::istreambuf_iterator<char>(file), {}};
        for (const Arch& arch : {gpu_arch(8, 0), gpu_arch(9, 0)}) {
            const CompileRequest request{.name = entry.path().filename(),
                                         .source = source,
                                         .headers = {},
                                         .options = {},
                                         .name_expressions = {},
                                         .arch = arch};
            try {
                EXPECT_FALSE(nvrtc_backend().compile(request).image.empty());
            } catch (const std::exception& error) {
                ADD_FAILURE() << entry.path() << " for " << arch.name << ": " << error.what();
            }
        }
        ++count;
    }
    EXPECT_GE(count, 2);
}

} // namespace
} // namespace quern
