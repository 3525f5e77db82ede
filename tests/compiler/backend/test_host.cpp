// The host backend: an object for this CPU, or words that say why there is none.
#include "compiler/backend/backend.h"
#include "compiler/base/error.h"
#include "compiler/base/library.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

CompileRequest request_with(std::string source) {
    return {.name = "add",
            .source = std::move(source),
            .headers = {},
            .options = {},
            .name_expressions = {},
            .arch = host_arch()};
}

TEST(HostBackend, WithoutTheCompilerSaysSo) {
    if (!find_library("quern_cc").empty())
        GTEST_SKIP() << "the CPU compiler is here";
    try {
        (void)host_backend().identity();
        FAIL();
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("CPU compiler"), std::string::npos);
        EXPECT_NE(std::string(error.what()).find("help:"), std::string::npos);
    }
    EXPECT_THROW((void)host_backend().compile(request_with("")), Error);
}

TEST(HostBackend, CompilesAndComplains) {
    if (find_library("quern_cc").empty())
        GTEST_SKIP() << "built with QUERN_LLVM=OFF";
    EXPECT_TRUE(host_backend().identity().starts_with("quern cc"));
    const Binary binary = host_backend().compile(
        request_with("extern \"C\" __global__ void add(float* z) { z[threadIdx.x] += 1; }"));
    ASSERT_GT(binary.image.size(), 64U);
    EXPECT_EQ(static_cast<char>(binary.image[1]), 'E');
    try {
        (void)host_backend().compile(
            request_with("extern \"C\" __global__ void add(float* z) { z[0] = q; }"));
        FAIL();
    } catch (const CompileError& error) {
        EXPECT_NE(error.log().find("'q'"), std::string::npos) << error.log();
    }
}

TEST(Backends, AreChosenByTarget) {
    EXPECT_EQ(&backend_for(Target::gpu), &nvrtc_backend());
    EXPECT_EQ(&backend_for(Target::cpu), &host_backend());
}

} // namespace
} // namespace quern
