// Programs of the user's own through the door, without a device: for GPUs that are not here and for
// this CPU.
#include "compiler/base/error.h"
#include "compiler/compile.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace quern {
namespace {

constexpr const char* program = R"(
template <class T, int N> __global__ void scale(T* x, int n) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n) x[i] = x[i] * T(N);
}
__constant__ float weights[4];
extern "C" __global__ void plain(const float* __restrict__ x, float* y, unsigned n) { y[0] = x[n] * weights[0]; }
)";

const Arch gpu{Target::gpu, "sm_90"};

bool has_toolchain(const RawSource& source, const Arch& arch) {
    try {
        (void)compile_raw(source, arch, "probe", "");
        return true;
    } catch (const CompileError&) {
        return true;
    } catch (const Error&) {
        return false; // not installed here
    }
}

class CompileRaw : public testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        const std::string name = GetParam();
        arch = name == "host" ? host_arch() : gpu;
        source.code = program;
        source.with_nvcc = name == "nvcc";
        RawSource empty;
        empty.code = "// an empty program\n";
        empty.with_nvcc = source.with_nvcc;
        if (!has_toolchain(empty, arch))
            GTEST_SKIP() << name << " is not installed here";
    }
    Arch arch;
    RawSource source;
};

TEST_P(CompileRaw, NamesAreLowered) {
    if (source.with_nvcc)
        GTEST_SKIP() << "nvcc does not tell names";
    source.name_expressions = {"scale<float, 4>", "plain"};
    const CompiledRaw made = compile_raw(source, arch, "module", "");
    ASSERT_EQ(made.binary.lowered_names.size(), 2u);
    EXPECT_EQ(made.binary.lowered_names[0].second, "_Z5scaleIfLi4EEvPT_i");
    EXPECT_EQ(made.binary.lowered_names[1].second, "plain");
    EXPECT_FALSE(made.binary.image.empty());
    EXPECT_FALSE(made.toolchain.empty());
}

TEST_P(CompileRaw, TheSecondTimeItIsFound) {
    source.code += "// once more\n";
    EXPECT_FALSE(compile_raw(source, arch, "module", "").from_cache);
    EXPECT_TRUE(compile_raw(source, arch, "module", "").from_cache);
}

TEST_P(CompileRaw, MistakesAreShownInTheUsersLines) {
    source.code =
        "extern \"C\" __global__ void k(float* x) {\n    x[0] = 1;\n\tx[1] = nonsense;\n}\n";
    try {
        (void)compile_raw(source, arch, "k", "script.py:12");
        FAIL() << "it compiled";
    } catch (const CompileError& error) {
        const std::string text = error.what();
        EXPECT_NE(text.find("'k' does not compile"), text.npos) << text;
        EXPECT_NE(text.find("kernel.cu, line 3"), text.npos) << text;
        EXPECT_NE(text.find("   3 | \tx[1] = nonsense;\n"), text.npos) << text;
        EXPECT_NE(text.find("         | \t       ^\n"), text.npos) << text;
        EXPECT_NE(text.find("script.py:12"), text.npos) << text;
        EXPECT_EQ(error.source(), source.code);
    }
}

TEST_P(CompileRaw, TextureReferencesAreToldWhatToBecome) {
    for (const char* old : {"texture<float, 2> old;", "surface<void, 2> old;"}) {
        source.code = std::string(old) + "\nextern \"C\" __global__ void k(float* x) { *x = 1; }";
        try {
            (void)compile_raw(source, arch, "k", "");
            FAIL() << old;
        } catch (const CompileError& error) {
            const std::string text = error.what();
            const auto cure = text.find("help: texture and surface references left CUDA");
            ASSERT_NE(cure, text.npos) << text;
            EXPECT_EQ(text.find("references left", cure + 40), text.npos) << text; // said once
            EXPECT_NE(text.find("line 1"), text.npos) << text;
        }
    }
}

TEST_P(CompileRaw, CuComplexBecomesComplex) {
    source.code = R"(#include <cuComplex.h>
extern "C" __global__ void k(cuFloatComplex* x, cuDoubleComplex z) {
    x[0] = cuCmulf(x[0], make_cuFloatComplex(1, 2)) * 2 + cuComplexDoubleToFloat(cuCdiv(z, cuConj(z)));
    x[1] = make_cuComplex(cuCabsf(x[0]), cuCreal(z) + cuCimagf(x[0]));
})";
    source.translate_cucomplex = true;
    EXPECT_NO_THROW((void)compile_raw(source, arch, "k", ""));
}

TEST_P(CompileRaw, CuPysHeadersAreThere) {
    source.code = R"(#include <cupy/complex.cuh>
#include <cupy/carray.cuh>
#include <cupy/math_constants.h>
extern "C" __global__ void k(complex<float>* x, thrust::complex<double> z) {
    x[0] *= complex<float>(z) + CUDART_PI_F;
})";
    EXPECT_NO_THROW((void)compile_raw(source, arch, "k", ""));
}

TEST_P(CompileRaw, OptionsOfOthersAreIgnoredWithReason) {
    source.options = {"-DX", "-O3", "--minimal", "-lineinfo"};
    EXPECT_NO_THROW((void)compile_raw(source, arch, "k", ""));
    const auto ignored = ignored_options(source, arch);
    ASSERT_FALSE(ignored.empty() && arch.target == Target::cpu);
    for (const auto& [option, why] : ignored)
        EXPECT_FALSE(why.empty()) << option;
}

TEST_P(CompileRaw, AFileIsReadForWhatItIs) {
    const auto folder =
        std::filesystem::temp_directory_path() / (std::string("quern-raw-files-") + GetParam());
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "beside.h") << "#define VALUE 11\n";
    std::ofstream(folder / "kernel.cu")
        << "#include \"beside.h\"\nextern \"C\" __global__ void k(int* x) { *x = VALUE; }\n";
    RawSource text = read_raw_file(folder / "kernel.cu");
    text.with_nvcc = source.with_nvcc;
    EXPECT_TRUE(text.binary.empty());
    EXPECT_NO_THROW((void)compile_raw(text, arch, "k", ""));

    const CompiledRaw made = compile_raw(source, gpu.target == arch.target ? arch : gpu, "k", "");
    std::ofstream(folder / "kernel.cubin", std::ios::binary)
        .write(reinterpret_cast<const char*>(made.binary.image.data()),
               static_cast<std::streamsize>(made.binary.image.size()));
    const RawSource cubin = read_raw_file(folder / "kernel.cubin");
    EXPECT_EQ(cubin.binary.size(), made.binary.image.size());
    if (arch.target == Target::cpu)
        EXPECT_THROW((void)compile_raw(cubin, arch, "k", ""), Error);
    else
        EXPECT_EQ(std::memcmp(compile_raw(cubin, arch, "k", "").binary.image.data(),
                              made.binary.image.data(), made.binary.image.size()),
                  0);
    EXPECT_THROW((void)read_raw_file(folder / "missing.cubin"), DriverError);
    std::filesystem::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(Toolchains, CompileRaw, testing::Values("host", "nvrtc", "nvcc"));

TEST(DeclaredParams, OfSymbolsAndOfText) {
    RawSource source;
    source.code = program;
    const auto mangled = declared_params(source, "_Z5scaleIfLi4EEvPT_i");
    ASSERT_EQ(mangled.size(), 2u);
    EXPECT_EQ(mangled[0].c_type, read_c_type("float*"));
    EXPECT_EQ(mangled[1].c_type, read_c_type("int"));
    const auto plain = declared_params(source, "plain");
    ASSERT_EQ(plain.size(), 3u);
    EXPECT_EQ(plain[2].name, "n");
    EXPECT_EQ(plain[2].c_type, read_c_type("unsigned"));
    EXPECT_TRUE(declared_params(source, "missing").empty());
    source.code = "typedef cudaTextureObject_t Map;\n"
                  "extern \"C\" __global__ void k(Map a, const cudaSurfaceObject_t b) {}";
    const auto handles = declared_params(source, "k");
    ASSERT_EQ(handles.size(), 2u);
    EXPECT_EQ(handles[0].c_type.kind, CType::Kind::texture);
    EXPECT_EQ(handles[1].c_type.kind, CType::Kind::surface);
}

} // namespace
} // namespace quern
