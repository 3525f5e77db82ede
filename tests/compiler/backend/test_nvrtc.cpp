// NVRTC needs no GPU: cubins for several architectures, errors, names, headers, threads.
#include "compiler/backend/backend.h"
#include "compiler/backend/includes.h"
#include "compiler/base/error.h"
#include "compiler/base/library.h"
#include "compiler/base/text.h"

#include <chrono>
#include <cstring>
#include <thread>

#include <gtest/gtest.h>

namespace quern {
namespace {

constexpr const char* plain =
    R"(extern "C" __global__ void add(const float* x, const float* y, float* z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}
)";

CompileRequest request_for(int major, int minor, std::string source = plain) {
    return {.name = "add",
            .source = std::move(source),
            .headers = {},
            .options = {},
            .name_expressions = {},
            .arch = gpu_arch(major, minor)};
}

std::string text_of(const Binary& binary) {
    return {reinterpret_cast<const char*>(binary.image.data()), binary.image.size()};
}

class Nvrtc : public testing::Test {
  protected:
    void SetUp() override {
        if (find_library("nvrtc").empty())
            GTEST_SKIP() << "no NVRTC on this machine";
    }
};

TEST_F(Nvrtc, CompilesPlainKernelForEachArchitecture) {
    for (const auto& [major, minor] : {std::pair{8, 0}, {9, 0}, {10, 0}}) {
        const Binary binary = nvrtc_backend().compile(request_for(major, minor));
        const std::string image = text_of(binary);
        ASSERT_GT(image.size(), 64U);
        EXPECT_EQ(image.substr(0, 4), "\x7f"
                                      "ELF");
        EXPECT_NE(image.find("add"), std::string::npos);
        EXPECT_EQ(binary.log, "");
    }
}

// Small kernels are compiled with less of the language; textures need all of it, and a source that
// names them gets it at once: with a type of its own this one would compile either way.
TEST_F(Nvrtc, ProgramsWithTexturesAreCompiledInFullAtOnce) {
    const std::string which = "#ifdef __CUDACC_RTC_MINIMAL__\n#define MODE in_parts\n"
                              "typedef unsigned long long cudaTextureObject_t;\n"
                              "#else\n#define MODE in_full\n#endif\n";
    const std::string textured =
        "extern \"C\" __global__ void MODE(float* p, cudaTextureObject_t t) {\n"
        "#ifndef __CUDACC_RTC_MINIMAL__\n*p = tex1Dfetch<float>(t, 3);\n"
        "#endif\n}";
    EXPECT_NE(text_of(nvrtc_backend().compile(request_for(9, 0, which + textured))).find("in_full"),
              std::string::npos);
    // Without the name, the first attempt fails and the second is in full.
    EXPECT_NE(text_of(nvrtc_backend().compile(request_for(
                          9, 0,
                          which + "extern \"C\" __global__ void MODE(float* p, unsigned long long "
                                  "t) { *p = tex1Dfetch<float>(t, 3); }")))
                  .find("in_full"),
              std::string::npos);
}

TEST_F(Nvrtc, ArchitectureOfTheFutureGetsPtx) {
    const Binary binary = nvrtc_backend().compile(request_for(99, 0));
    const std::string image = text_of(binary);
    EXPECT_NE(image.find(".target sm_"), std::string::npos);
    EXPECT_EQ(image.back(), '\0') << "the driver wants PTX terminated";
}

TEST_F(Nvrtc, ArchitectureOfThePastSaysWhatToDo) {
    try {
        (void)nvrtc_backend().compile(request_for(3, 5));
        FAIL();
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("sm_35"), std::string::npos);
        EXPECT_NE(std::string(error.what()).find("help"), std::string::npos);
    }
}

TEST_F(Nvrtc, IdentityNamesVersionAndBuild) {
    const std::string identity = nvrtc_backend().identity();
    EXPECT_TRUE(identity.starts_with("nvrtc 1")) << identity;
    EXPECT_NE(identity.find("(build "), std::string::npos) << identity;
    EXPECT_EQ(identity, nvrtc_backend().identity());
}

TEST_F(Nvrtc, ErrorCarriesTheLogAndTheSource) {
    const CompileRequest request =
        request_for(9, 0, "extern \"C\" __global__ void add(float* z) { z[0] = q + 1; }");
    try {
        (void)nvrtc_backend().compile(request);
        FAIL();
    } catch (const CompileError& error) {
        EXPECT_NE(error.log().find("identifier \"q\" is undefined"), std::string::npos)
            << error.log();
        EXPECT_NE(error.log().find("add(1)"), std::string::npos) << error.log();
        EXPECT_EQ(error.source(), request.source);
        EXPECT_EQ(error.name(), "add");
    }
}

TEST_F(Nvrtc, UnknownOptionIsTheUsersMistake) {
    CompileRequest request = request_for(9, 0);
    request.options = {"--no-such-option"};
    try {
        (void)nvrtc_backend().compile(request);
        FAIL();
    } catch (const CompileError& error) {
        EXPECT_NE(error.log().find("no-such-option"), std::string::npos) << error.log();
    }
}

TEST_F(Nvrtc, WarningsAreKept) {
    const Binary binary = nvrtc_backend().compile(request_for(
        9, 0, "extern \"C\" __global__ void add(float* z) { int unused = 3; z[0] = 1; }"));
    EXPECT_NE(binary.log.find("unused"), std::string::npos) << binary.log;
}

TEST_F(Nvrtc, NameExpressionsAreLoweredInOrder) {
    CompileRequest request =
        request_for(8, 0,
                    "template <class T> __global__ void fill(T* z, T v) { z[threadIdx.x] = v; }\n"
                    "namespace a { __constant__ int table[4]; }\n");
    request.name_expressions = {"fill<float>", "fill<long long>", "&a::table"};
    const Binary binary = nvrtc_backend().compile(request);
    ASSERT_EQ(binary.lowered_names.size(), 3U);
    EXPECT_EQ(binary.lowered_names[0].first, "fill<float>");
    EXPECT_EQ(binary.lowered_names[0].second, "_Z4fillIfEvPT_S0_");
    EXPECT_EQ(binary.lowered_names[1].second, "_Z4fillIxEvPT_S0_");
    EXPECT_NE(text_of(binary).find(binary.lowered_names[2].second), std::string::npos);
}

TEST_F(Nvrtc, HeadersComeFromMemory) {
    CompileRequest request =
        request_for(9, 0,
                    "#include \"quern/a.cuh\"\n#include <b.cuh>\n"
                    "extern \"C\" __global__ void add(float* z) { z[0] = two() + three(); }");
    request.headers = {
        {"quern/a.cuh", "#pragma once\n__device__ inline float two() { return 2; }\n"},
        {"b.cuh",
         "#include \"quern/a.cuh\"\n__device__ inline float three() { return two() + 1; }\n"}};
    EXPECT_GT(nvrtc_backend().compile(request).image.size(), 64U);
}

TEST_F(Nvrtc, UserOptionsAreHeeded) {
    CompileRequest request =
        request_for(9, 0,
                    "#if __cplusplus < 202002L\n#error old\n#endif\n#if X != 2\n#error x\n#endif\n"
                    "extern \"C\" __global__ void add(float* z) { z[0] = X; }");
    request.options = {"-std=c++20", "-DX=1", "-UX", "-DX=2"};
    EXPECT_GT(nvrtc_backend().compile(request).image.size(), 64U);
}

TEST_F(Nvrtc, ToolkitHeadersAreFound) {
    if (cuda_include_folders().empty())
        GTEST_SKIP() << "no CUDA headers on this machine";
    for (const char* header : {"cuda_fp16.h", "cuda_bf16.h", "cuComplex.h", "math_constants.h",
                               "cooperative_groups.h"}) {
        const std::string source = join(
            "#include <", header, ">\nextern \"C\" __global__ void add(float* z) { z[0] = 1; }");
        EXPECT_GT(nvrtc_backend().compile(request_for(9, 0, source)).image.size(), 64U) << header;
    }
}

TEST_F(Nvrtc, HalfWorksInMinimalPrograms) {
    if (cuda_include_folders().empty())
        GTEST_SKIP() << "no CUDA headers on this machine";
    const std::string source =
        "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\nextern \"C\" __global__ void add(__half* "
        "z, "
        "__nv_bfloat16* y) { z[0] = hexp(z[1]) * z[2]; y[0] = y[1] + hsqrt(y[2]); }";
    EXPECT_GT(nvrtc_backend().compile(request_for(9, 0, source)).image.size(), 64U);
}

TEST_F(Nvrtc, WhatMinimalDropsStillCompiles) {
    const std::string source =
        "extern \"C\" __global__ void add(cudaTextureObject_t t, float* z) {\n"
        "    z[0] = tex1Dfetch<float>(t, 3);\n}";
    EXPECT_GT(nvrtc_backend().compile(request_for(9, 0, source)).image.size(), 64U);
}

TEST_F(Nvrtc, FourThreadsCompileAtOnce) {
    std::vector<std::thread> threads;
    std::vector<std::size_t> sizes(4);
    for (std::size_t t = 0; t < sizes.size(); ++t)
        threads.emplace_back([&sizes, t] {
            for (int k = 0; k < 4; ++k) {
                const std::string line =
                    join("extern \"C\" __global__ void add(int* z) { z[", t, "] += ", k, "; }");
                sizes[t] += nvrtc_backend().compile(request_for(8, 0, line)).image.size();
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    for (const std::size_t size : sizes)
        EXPECT_GT(size, 4 * 64U);
}

} // namespace
} // namespace quern
