// What does not compile, and what the answer says: errors, refusals, crashes, options; and threads
// at work together.
#include "host_compiler.h"
#include <gtest/gtest.h>
#include <thread>

namespace quern::test {
namespace {

bool has(const std::string& text, const std::string& piece) {
    return text.find(piece) != text.npos;
}

const char* const simple = "extern \"C\" __global__ void k(float* p) { p[threadIdx.x] = 1; }";

TEST(Diagnostics, ErrorsCarryFileLineColumnAndCaret) {
    const auto result = compile({"\n#line 7 \"user.cu\"\nextern \"C\" __global__ void k(float* p) "
                                 "{\n    p[0] = undefined_thing;\n}"});
    EXPECT_EQ(result.status, QUERN_CC_ERROR);
    EXPECT_TRUE(
        has(result.log, "user.cu:8:12: error: use of undeclared identifier 'undefined_thing'"))
        << result.log;
    EXPECT_TRUE(has(result.log, "^")) << result.log;
    EXPECT_TRUE(result.object.empty());
    EXPECT_TRUE(has(compile({"int x = ;"}).log, "kernel.cu:1:9: error"));
}

TEST(Diagnostics, WarningsComeWithTheObject) {
    const std::string text = "extern \"C\" __global__ void k(int* p) { if (p[0] = 1) p[1] = 2; }";
    const auto result = compile({text});
    EXPECT_EQ(result.status, QUERN_CC_OK);
    EXPECT_TRUE(has(result.log, "warning:")) << result.log;
    EXPECT_EQ(compile({text, {"-w"}}).log, "");
    EXPECT_EQ(compile({simple}).log, "");
}

TEST(Refusals, ForbiddenFunctionsAreNamedWithTheirLine) {
    const std::string forbidden =
        "__device__ __attribute__((error(\"not on this device\"))) void never();\n"
        "__device__ void wait() {\n  never();\n}\n";
    const auto result =
        compile({forbidden + "extern \"C\" __global__ void k(int* p) { wait(); p[0] = 1; }"});
    EXPECT_EQ(result.status, QUERN_CC_REFUSED);
    EXPECT_TRUE(has(result.log, "kernel.cu:3:3: error: this uses never; not on this device"))
        << result.log;
    EXPECT_TRUE(has(result.log, "'k'")) << result.log;
    EXPECT_EQ(compile({forbidden + std::string(simple)}).status, QUERN_CC_OK);
}

TEST(Refusals, WhatGpusNoLongerHaveNamesItsSuccessor) {
    for (const std::string name : {"__shfl", "__shfl_up", "__shfl_down", "__shfl_xor"}) {
        const auto result = compile(
            {"extern \"C\" __global__ void k(int* p) {\n  p[0] = " + name + "(p[1], 3);\n}"});
        EXPECT_EQ(result.status, QUERN_CC_ERROR) << name;
        EXPECT_TRUE(has(result.log, "kernel.cu:2:") && has(result.log, "use " + name + "_sync"))
            << result.log;
    }
    for (const std::string name : {"__ballot", "__any", "__all"}) {
        const auto result =
            compile({"extern \"C\" __global__ void k(int* p) { p[0] = " + name + "(p[1]); }"});
        EXPECT_EQ(result.status, QUERN_CC_ERROR) << name;
        EXPECT_TRUE(has(result.log, "use " + name + "_sync")) << result.log;
    }
    EXPECT_EQ(compile({"__device__ int __any(int x) { return x; }\nextern \"C\" __global__ void "
                       "k(int* p) { p[0] = __any(p[1]); }"})
                  .status,
              QUERN_CC_OK);
}

TEST(Refusals, KernelsThatLaunchKernels) {
    const auto result = compile({"__global__ void child(int* p) { p[threadIdx.x] = 1; }\n"
                                 "extern \"C\" __global__ void parent(int* p) {\n"
                                 "  if (threadIdx.x == 0) child<<<1, 32>>>(p);\n}"});
    EXPECT_EQ(result.status, QUERN_CC_REFUSED);
    EXPECT_TRUE(has(result.log, "a kernel that launches kernels (dynamic parallelism) runs"))
        << result.log;
    EXPECT_TRUE(has(result.log, "kernel.cu:3:")) << result.log;
}

TEST(Refusals, InlineAssembly) {
    const auto result = compile({"extern \"C\" __global__ void k(int* p) {\n  int r;\n  "
                                 "asm(\"wgmma.fence %0, %laneid;\" : \"=r\"(r));\n  p[0] = r;\n}"});
    EXPECT_EQ(result.status, QUERN_CC_REFUSED);
    EXPECT_TRUE(has(result.log, "kernel.cu:3:7: error: the PTX instruction 'wgmma.fence'") &&
                has(result.log, "kernel 'k'"))
        << result.log;
    const auto half = compile({"extern \"C\" __global__ void k(short* p) {\n  short r;\n  "
                               "asm(\"wgmma.fence %0, 1;\" : \"=h\"(r));\n  p[0] = r;\n}"});
    EXPECT_EQ(half.status, QUERN_CC_REFUSED);
    EXPECT_TRUE(has(half.log, "kernel.cu:3:") && has(half.log, "'wgmma.fence'")) << half.log;
}

// Every letter of PTX, every width behind it, text with its braces and bars, names of special
// registers.
TEST(Refusals, AssemblyThatNobodyCallsDoesNoHarm) {
    const std::string unused = R"(
__device__ void letters(short h, unsigned r, unsigned long long l, float f, double d, __int128 q) {
    asm volatile("any.thing %0, %1;" : "=h"(h) : "h"(h), "h"((unsigned short)h) : "memory");
    asm("{\n .reg .pred p, q;\n setp.eq.u32 p|q, %1, %2; @p mov.u32 %0, 1;\n}" : "+r"(r) : "r"(r), "n"(16));
    asm volatile("x %0, %1, %2, %3, %4;" : "=l"(l), "=f"(f), "=d"(d), "+l"(l) : "l"(&r), "f"(f), "d"(d));
    asm volatile("mov.b128 %0, {%1, %1};" : "=q"(q) : "l"(l));
    asm("mov.u32 %0, %laneid; mov.u32 %0, %%tid.x; mov.u32 %0, %envreg;" : "=r"(r));
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(f), "f"(f));
    asm volatile("fence.proxy.async;" ::: "memory");
    asm volatile("bar.sync 1;");
}
template <class T> __device__ T generic(T x) {
    T y;
    asm("mov.b16 %0, %1; mov.u32 %0, %smid;" : "=h"(y) : "h"(x));
    return y;
}
__device__ unsigned short instance(unsigned short x) { return generic(x); }
)";
    const auto result = compile({unused + simple});
    EXPECT_EQ(result.status, QUERN_CC_OK) << result.log;
    EXPECT_EQ(result.log, "");
}

TEST(Refusals, DynamicInitialisers) {
    const auto result =
        compile({"__device__ int f() { return threadIdx.x; }\n__device__ int x = f();\n" +
                 std::string(simple)});
    EXPECT_NE(result.status, QUERN_CC_OK);
    EXPECT_TRUE(has(result.log, "kernel.cu:2:16: error: dynamic initialization is not supported"))
        << result.log;
}

TEST(Crashes, LeaveTheProcessAlive) {
    for (const char* deed : {"parser_crash", "llvm_fatal_error"}) {
        const auto result = compile({"#pragma clang __debug " + std::string(deed) + "\n" + simple});
        EXPECT_EQ(result.status, QUERN_CC_CRASH) << deed;
        EXPECT_TRUE(has(result.log, "the host compiler failed")) << deed << result.log;
        EXPECT_EQ(compile({simple}).status, QUERN_CC_OK) << deed;
    }
    for (const char* arch : {"no-such-cpu", "x86-64-v3+no-such-feature"})
        EXPECT_EQ(compile({simple, {}, {}, {}, arch}).status, QUERN_CC_ERROR) << arch;
    EXPECT_EQ(compile({simple}).status, QUERN_CC_OK);
}

TEST(Options, EverySpellingOfNvrtc) {
    for (const char* option : {"--fmad=false",
                               "-fmad=false",
                               "--fmad=0",
                               "--use_fast_math",
                               "-use_fast_math",
                               "--ftz=true",
                               "-ftz=true",
                               "--prec-div=false",
                               "--prec-sqrt=false",
                               "-lineinfo",
                               "--generate-line-info",
                               "-G",
                               "-w",
                               "--disable-warnings",
                               "--maxrregcount=32",
                               "-maxrregcount=32",
                               "-arch=sm_90",
                               "--gpu-architecture=compute_90",
                               "--minimal",
                               "-default-device",
                               "-rdc=true",
                               "-dc",
                               "--relocatable-device-code=true",
                               "-std=c++14",
                               "--std=c++20",
                               "-Xptxas=-v",
                               "-dlto",
                               "-DX",
                               "-DX=3",
                               "--define-macro=X=3",
                               "-D X=3",
                               "-UX",
                               "--device-as-default-execution-space",
                               "-I/tmp",
                               "--include-path=/tmp",
                               "--split-compile=0",
                               "-no-cache",
                               "--pch",
                               "-dopt=on",
                               "--version-ident=true",
                               "--std c++20",
                               "--maxrregcount 40"}) {
        const auto result = compile({simple, {option}});
        EXPECT_EQ(result.status, QUERN_CC_OK) << option << "\n" << result.log;
    }
    for (const auto& pair : {std::vector<std::string>{"-std", "c++17"},
                             {"-D", "X=2"},
                             {"-I", "/tmp"},
                             {"--fmad", "false"},
                             {"-arch", "sm_80"},
                             {"--maxrregcount", "16"}})
        EXPECT_EQ(compile({simple, pair}).status, QUERN_CC_OK) << pair[0];
}

TEST(Options, UnknownOnesAreNamed) {
    for (const char* option : {"--no-such-thing", "-O9x", "-std=c++99", "--fmad=maybe",
                               "--minimal=3", "plain", "-std"}) {
        const auto result = compile({simple, {option}});
        EXPECT_EQ(result.status, QUERN_CC_ERROR) << option;
        EXPECT_TRUE(has(result.log, option)) << result.log;
    }
}

TEST(Options, MacrosAndStandardsReachTheSource) {
    const std::string text =
        "#if X != 3 || defined(Y) || __cplusplus != 202002L || !defined(__CUDACC_RTC__) || "
        "__CUDA_ARCH__ < 900\n#error wrong\n#endif\n";
    EXPECT_EQ(compile({text + simple, {"-DX=3", "-DY", "-UY", "-std=c++20"}}).status, QUERN_CC_OK);
    EXPECT_EQ(compile({text + simple, {"-DX=4"}}).status, QUERN_CC_ERROR);
}

// c++17 and c++20 come precompiled with the library, the others are made here: one set of headers,
// whatever CPU they are used for.
TEST(Options, EveryStandardAndCpuTakesTheHeaders) {
    const std::string text = "extern \"C\" __global__ void k(float* p, _Float16* h, __bf16* b) {\n"
                             "float4 v = make_float4(1, 2, 3, 4);\n"
                             "p[0] = expf(v.x) + fmaf(v.y, v.z, v.w) + __popc(3) + (float)h[0];\n"
                             "h[1] = (_Float16)p[1]; b[0] = (__bf16)p[2]; atomicAdd(p, 1.0f); }";
    for (const char* standard : {"c++11", "c++14", "c++17", "c++20", "c++23"})
        for (const char* arch : {"x86-64", "x86-64-v3", "sapphirerapids+avx512bf16"}) {
            const auto result = compile({text, {std::string("-std=") + standard}, {}, {}, arch});
            EXPECT_EQ(result.status, QUERN_CC_OK) << standard << " " << arch << "\n" << result.log;
        }
}

TEST(Threads, CompileTogether) {
    std::vector<std::thread> threads;
    std::vector<int> good(4);
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([t, &good] {
            for (int i = 0; i < 6; ++i) {
                const auto number = std::to_string(100 * t + i);
                const bool bad = i % 3 == 2;
                const auto result = compile(
                    {bad ? "#pragma clang __debug parser_crash\n"
                         : "extern \"C\" __global__ void k(int* p) { p[threadIdx.x] = " + number +
                               "; }",
                     {i % 2 ? "-std=c++17" : "-std=c++20"}});
                good[t] += result.status == (bad ? QUERN_CC_CRASH : QUERN_CC_OK);
            }
        });
    for (auto& thread : threads)
        thread.join();
    EXPECT_EQ(good, std::vector<int>(4, 6));
}

TEST(Objects, AreTheSameEachTime) {
    const std::string text =
        "template <class T> __global__ void f(T* p) { p[threadIdx.x] = sinf(p[threadIdx.x]); }";
    const Source source{text, {}, {"f<float>", "f<double>"}};
    EXPECT_EQ(compile(source).object, compile(source).object);
}

TEST(Objects, HooksAreCalled) {
    const Program program({"#include <assert.h>\nextern \"C\" __global__ void k(int n) { assert(n "
                           "< (int)threadIdx.x); if (n == 3) __trap(); }"});
    asserts = traps = 0;
    program.launch("k", {2}, {8}, 3);
    EXPECT_EQ(asserts, 8);
    EXPECT_NE(last_assert.find("[1,0,0] [3,0,0]"), std::string::npos) << last_assert;
    EXPECT_EQ(traps, 16);
}

TEST(Objects, Printf) {
    const Program program({"extern \"C\" __global__ void hello(int n) { printf(\"thread %d of %d: "
                           "%.1f\\n\", threadIdx.x, n, 0.5); }"});
    testing::internal::CaptureStdout();
    program.launch("hello", {}, {2}, 2);
    fflush(stdout);
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "thread 0 of 2: 0.5\nthread 1 of 2: 0.5\n");
}

} // namespace
} // namespace quern::test
