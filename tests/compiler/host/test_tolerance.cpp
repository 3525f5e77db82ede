// What NVRTC takes compiles here too, and means the same: names that programs make their own, jumps
// past initialisers, pragmas in odd places, -default-device. Each text was tried on NVRTC 13.
#include "host_compiler.h"
#include <gtest/gtest.h>

namespace quern::test {
namespace {

std::vector<double> run(const std::string& text, std::vector<std::string> options = {}) {
    const Program program({text, std::move(options)});
    std::vector<double> out(4, -1.0);
    program.launch("k", {1}, {1}, out.data());
    return out;
}

std::string kernel(const std::string& before, const std::string& body) {
    return before + "\nextern \"C\" __global__ void k(double* out) {\n" + body + "\n}\n";
}

TEST(Tolerance, ProgramsRedefineBuiltInFunctions) {
    // Told apart from ours by what they return.
    const auto out =
        run(kernel("__device__ int min(int a, int b) { return 100 + a + b; }\n"
                   "__device__ __forceinline__ float rsqrtf(float x) { return x + 7; }\n"
                   "static __device__ double atomicAdd(double* p, double v) {\n"
                   "    *p = v * 2; return 55.0; }",
                   "out[0] = min(2, 3); out[1] = rsqrtf(1.0f);\n"
                   "out[2] = atomicAdd(&out[3], 4.0);"));
    EXPECT_EQ(out, (std::vector<double>{105.0, 8.0, 55.0, 8.0}));
}

TEST(Tolerance, OtherOverloadsOfARedefinedFunctionStay) {
    const auto out =
        run(kernel("__device__ int max(int a, int b) { return -1; }",
                   "unsigned u = 7; int n = 41; out[0] = max(2, 3); out[1] = max(2.5, 1.5);\n"
                   "out[2] = max(u, 9u); out[3] = max(2.0f, 3.0f);"));
    EXPECT_EQ(out, (std::vector<double>{-1.0, 2.5, 9.0, 3.0}));
    const auto sums = run(kernel("__device__ double atomicAdd(double* p, double v) { return -1; }",
                                 "int n = 41; out[0] = atomicAdd(&n, 1); out[1] = n;"));
    EXPECT_EQ(sums[0], 41.0);
    EXPECT_EQ(sums[1], 42.0);
}

TEST(Tolerance, NamesOfStandardHeadersAreFree) {
    const auto out =
        run(kernel("typedef unsigned long uint64_t; typedef unsigned long long ulong;\n"
                   "static const int INT_MAX = 12; const double M_PI = 3.0;\n"
                   "typedef unsigned char uchar; const float FLT_MAX = 9.0f;",
                   "out[0] = INT_MAX + M_PI; out[1] = sizeof(uint64_t) + sizeof(uchar);\n"
                   "out[2] = FLT_MAX; out[3] = (ulong)5;"));
    EXPECT_EQ(out, (std::vector<double>{15.0, 9.0, 9.0, 5.0}));
}

TEST(Tolerance, StandardHeadersGiveThem) {
    const auto out =
        run(kernel("#include <stdint.h>\n#include <limits.h>\n#include <cfloat>\n"
                   "#include <math.h>\n#include <math_constants.h>\n#include <cstdlib>",
                   "out[0] = INT_MAX; out[1] = sizeof(uint64_t) + sizeof(uint);\n"
                   "out[2] = FLT_MAX; out[3] = M_PI - CUDART_PI;"));
    EXPECT_EQ(out, (std::vector<double>{2147483647.0, 12.0, 3.4028234663852886e38, 0.0}));
}

TEST(Tolerance, ADefinitionOfTheProgramsOwnTwiceIsStillAnError) {
    const auto twice = compile({kernel(
        "__device__ int f() { return 1; } __device__ int f() { return 2; }", "out[0] = f();")});
    EXPECT_EQ(twice.status, QUERN_CC_ERROR);
    EXPECT_NE(twice.log.find("redefinition of 'f'"), std::string::npos) << twice.log;
    const auto both = compile({kernel("__device__ int min(int a, int b) { return 1; }\n"
                                      "__device__ int min(int a, int b) { return 2; }",
                                      "out[0] = min(1, 2);")});
    EXPECT_EQ(both.status, QUERN_CC_ERROR);
}

TEST(Tolerance, DefaultDevicePlacesVariables) {
    const std::string text = kernel("int counter = 5; float table[3] = {1, 2, 3};\n"
                                    "namespace inner { static int held = 4; }",
                                    "counter++; out[0] = counter; out[1] = table[counter - 4];");
    EXPECT_EQ(run(text, {"-default-device"}), (std::vector<double>{6.0, 3.0, -1.0, -1.0}));
    EXPECT_EQ(compile({text}).status, QUERN_CC_ERROR);
}

TEST(Tolerance, TemplatesThatNobodyUsesAreNotLookedAt) {
    const std::string unused =
        "template <class T> __device__ T f(T x) { missing_type y; return g(x); }";
    EXPECT_EQ(run(kernel(unused, "out[0] = 3;"))[0], 3.0);
    EXPECT_EQ(compile({kernel(unused, "out[0] = f(3);")}).status, QUERN_CC_ERROR);
}

TEST(Tolerance,
     SharedObjectsThatAreNotConstructed) { // tests/compiler/host/test_waiting.cpp runs them
    const std::string text = "struct V { double x; __device__ V() : x(1) {} "
                             "__device__ V(int a, int b = 3) : x(a + b) {} __device__ ~V() {} };\n";
    const auto log = [&](const std::string& variable) {
        return compile({text + "__global__ void k() { __shared__ " + variable + "; }"}).log;
    };
    EXPECT_EQ(log("V v[3]"), "");
    for (const char* variable : {"V v(4)", "V v{}", "V v = V()", "V v[2] = {}", "int v = 3"})
        EXPECT_NE(log(variable).find("initialization is not supported for __shared__ variables"),
                  std::string::npos)
            << variable;
}

TEST(Tolerance, JumpsPragmasAndNarrowing) {
    const auto out =
        run(kernel("struct A { __device__ int A::f() { return 3; } };",
                   "A a; int i = a.f();\n"
                   "if (i == 3) goto end;\n int skipped = 2; out[1] = skipped;\n"
                   "end: out[0] = i;\n"
                   "switch (i) { case 1: int z = 3; out[1] = z; break; case 3: out[2] = 4; }\n"
                   "#pragma unroll\n out[3] = 1;\n"
                   "#pragma unroll -1\n for (int j = 0; j < i; ++j) out[3] += j;\n"
                   "unsigned u[] = {i, 2u}; float f[2] = {out[3], i}; out[3] += u[0] + f[0];"));
    EXPECT_EQ(out, (std::vector<double>{3.0, -1.0, 4.0, 11.0}));
}

} // namespace
} // namespace quern::test
