// Types and parameter lists, read from text.
#include "compiler/spec/declared.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

using Kind = CType::Kind;

struct TypeCase {
    const char* text;
    bool pointer;
    Kind kind;
    std::uint32_t bytes;
};

TEST(CType, ReadsWhatParameterListsHold) {
    const TypeCase cases[] = {
        {"int", false, Kind::signed_integer, 4},
        {"unsigned", false, Kind::unsigned_integer, 4},
        {"long unsigned int", false, Kind::unsigned_integer, 8},
        {"const long long", false, Kind::signed_integer, 8},
        {"unsigned short int", false, Kind::unsigned_integer, 2},
        {"char", false, Kind::character, 1},
        {"signed char", false, Kind::signed_integer, 1},
        {"unsigned char const*", true, Kind::unsigned_integer, 1},
        {"const float* __restrict__", true, Kind::floating, 4},
        {"double volatile*const", true, Kind::floating, 8},
        {"float[]", true, Kind::floating, 4},
        {"float (*)[16]", true, Kind::floating, 4},
        {"float const (*) [16]", true, Kind::floating, 4},
        {"std::uint8_t*", true, Kind::unsigned_integer, 1},
        {"::size_t", false, Kind::unsigned_integer, 8},
        {"cudaTextureObject_t", false, Kind::texture, 8},
        {"const cudaSurfaceObject_t", false, Kind::surface, 8},
        {"cudaTextureObject_t*", true, Kind::texture, 8},
        {"__half", false, Kind::floating, 2},
        {"const __nv_bfloat16*", true, Kind::bfloat16, 2},
        {"float4*", true, Kind::vector, 16},
        {"struct uchar4", false, Kind::vector, 4},
        {"thrust::complex<float>*", true, Kind::complex, 8},
        {"cuda::std::__4::complex<double>", false, Kind::complex, 16},
        {"cuDoubleComplex", false, Kind::complex, 16},
        {"bool", false, Kind::boolean, 1},
        {"void*", true, Kind::unknown, 0},
        {"float**", true, Kind::unknown, 0},
        {"Params", false, Kind::unknown, 0},
        {"my::vector<float, 4>", false, Kind::unknown, 0},
        {"complex<int>", false, Kind::unknown, 0},
        {"void (*)(int, float*)", true, Kind::unknown, 0},
        {"", false, Kind::unknown, 0},
        {"long double", false, Kind::unknown, 0},
        {"__int128", false, Kind::signed_integer, 16},
    };
    for (const TypeCase& one : cases) {
        const CType type = read_c_type(one.text);
        EXPECT_EQ(type.pointer, one.pointer) << one.text;
        EXPECT_EQ(type.kind, one.kind) << one.text;
        EXPECT_EQ(type.bytes, one.bytes) << one.text;
    }
}

TEST(CType, AliasesAreFollowedAndNeverLoop) {
    const std::string options[] = {"-DT=float", "-D", "N=int", "--define-macro=U=unsigned T2"};
    const TypeAliases aliases = find_aliases(R"(
        typedef double real;
        typedef real *real_ptr;
        using index = unsigned long;
        using loop = other; using other = loop;
        #define SHORT unsigned short
        #define CALL(x) x
        #if A
        typedef int both;
        #else
        typedef float both;
        #endif
        typedef struct { int a; } record;
    )",
                                             options);
    EXPECT_EQ(read_c_type("const real*", aliases), read_c_type("double*"));
    EXPECT_EQ(read_c_type("real_ptr", aliases), read_c_type("double*"));
    EXPECT_EQ(read_c_type("index", aliases), read_c_type("unsigned long"));
    EXPECT_EQ(read_c_type("SHORT", aliases), read_c_type("unsigned short"));
    EXPECT_EQ(read_c_type("T*", aliases), read_c_type("float*"));
    EXPECT_EQ(read_c_type("N", aliases), read_c_type("int"));
    for (const char* unknown : {"loop", "both", "record", "CALL"})
        EXPECT_EQ(read_c_type(unknown, aliases).kind, Kind::unknown) << unknown;
}

TEST(Declared, FindsTheKernelAndOnlyIt) {
    const char* text = R"cu(
        // __global__ void add(double nothing)
        const char* s = "__global__ void add(int)";
    __device__ float add(float x) { return x; }
    extern "C" __global__ void __launch_bounds__(128)
        add(const float* __restrict__ x, float4(*rows)[16], unsigned n = 3, T unnamed,
            void (*f)(int, int), float y[], int) {
        add(1.0f);
    }
        extern "C" __global__ void none(void) {}
    )cu";
    const auto params = find_declared(text, "add", {});
    ASSERT_TRUE(params);
    ASSERT_EQ(params->size(), 7u);
    EXPECT_EQ((*params)[0].name, "x");
    EXPECT_EQ((*params)[0].type, "const float*__restrict__");
    EXPECT_EQ((*params)[0].c_type, read_c_type("float*"));
    EXPECT_TRUE((*params)[1].c_type.pointer);
    EXPECT_EQ((*params)[3].c_type.kind, Kind::unknown);
    EXPECT_EQ((*params)[5].name, "y");
    EXPECT_EQ((*params)[5].c_type, read_c_type("float*"));
    EXPECT_EQ((*params)[6].c_type, read_c_type("int"));
    EXPECT_EQ(find_declared(text, "none", {})->size(), 0u);
    EXPECT_FALSE(find_declared(text, "missing", {}));
}

TEST(Declared, TwoThatDifferAreNone) {
    EXPECT_FALSE(find_declared("#if A\n__global__ void k(int x) {}\n#else\n__global__ void k(float "
                               "x) {}\n#endif",
                               "k", {}));
    EXPECT_TRUE(find_declared("__global__ void k(int);\n__global__ void k(int x) {}", "k", {}));
    EXPECT_FALSE(find_declared("__global__ void k(int x", "k", {}));
}

TEST(Declared, ReadsWhatTheObjectHolds) {
    const auto params =
        read_described("const float *\tx\t\nParams\tp\t0:4 8:8 \nunsigned char\t\t\n");
    ASSERT_EQ(params.size(), 3u);
    EXPECT_EQ(params[0].name, "x");
    EXPECT_EQ(params[0].c_type, read_c_type("float*"));
    ASSERT_EQ(params[1].parts.size(), 2u);
    EXPECT_EQ(params[1].parts[1], std::pair(8u, 8u));
    EXPECT_EQ(params[2].c_type.bytes, 1u);
    EXPECT_TRUE(read_described("broken").empty());
}

TEST(CType, PointersTakeWhatFits) {
    const CType pointer = read_c_type("float*");
    EXPECT_TRUE(points_at(pointer, DType::float32));
    EXPECT_TRUE(points_at(pointer, DType::complex64));
    EXPECT_FALSE(points_at(pointer, DType::float64));
    EXPECT_FALSE(points_at(pointer, DType::int32));
    EXPECT_TRUE(points_at(read_c_type("uchar4*"), DType::uint32));
    EXPECT_FALSE(points_at(read_c_type("int*"), DType::int64));
    EXPECT_TRUE(points_at(read_c_type("Params*"), DType::int8));
}

} // namespace
} // namespace quern
