// The loader: every relocation a compiler makes, everything it must refuse, and objects with bits
// flipped.
#include "runtime/host/object_loader.h"
#include "tests/runtime/host/objects.h"

#include <chrono>
#include <cmath>
#include <cstring>
#include <random>

#include <elf.h>

namespace quern::host {
namespace {

using test::compile_c;

std::string refusal(std::span<const std::byte> image,
                    CUresult expected = CUDA_ERROR_INVALID_IMAGE) {
    LoadProblem problem;
    EXPECT_EQ(LoadedObject::load(image, problem), nullptr);
    EXPECT_EQ(problem.status, expected) << problem.text;
    return problem.text;
}

TEST(ObjectLoader, RunsCodeThatUsesEverySectionAndTheOutside) {
    for (const char* options :
         {"-fPIC -O2", "-fPIC -O0", "-fPIC -O3 -ffunction-sections -fdata-sections -g",
          "-fPIC -O2 -fno-plt", "-fPIC -O2 -fcommon -fno-jump-tables"}) {
        const auto image = compile_c(R"(
#include <math.h>
#include <string.h>
int zero[100]; int common; static long seven = 7; long* to_seven = &seven;
const char* names[] = {"left", "right"};
double run(double x, int i) { zero[3] += i; common += i; char copy[8]; strcpy(copy, names[i & 1]);
    return sin(x) + *to_seven + zero[3] + (double)strlen(copy) + common; }
)",
                                     options);
        LoadProblem problem;
        const auto object = LoadedObject::load(image, problem);
        ASSERT_NE(object, nullptr) << options << ": " << problem.text;
        const auto* run = object->find("run");
        ASSERT_NE(run, nullptr);
        const auto call = reinterpret_cast<double (*)(double, int)>(run->address);
        EXPECT_DOUBLE_EQ(call(0.5, 1), std::sin(0.5) + 7 + 1 + 5 + 1);
        EXPECT_DOUBLE_EQ(call(0.5, 2), std::sin(0.5) + 7 + 3 + 4 + 3);
        ASSERT_NE(object->find("zero"), nullptr);
        EXPECT_EQ(object->find("zero")->bytes, 400u);
        EXPECT_EQ(object->find("seven"), nullptr); // local
        EXPECT_EQ(object->find("absent"), nullptr);
    }
}

TEST(ObjectLoader, LeavesNoPageWritableAndExecutable) {
    LoadProblem problem;
    const auto object = LoadedObject::load(test::kernels_object(), problem);
    ASSERT_NE(object, nullptr);
    std::FILE* maps = std::fopen("/proc/self/maps", "r");
    char line[512];
    while (std::fgets(line, sizeof line, maps))
        EXPECT_EQ(std::strstr(line, "rwxp"), nullptr) << line;
    std::fclose(maps);
}

TEST(ObjectLoader, RefusesWhatItCannotLoad) {
    EXPECT_NE(
        refusal(compile_c("int a; int* f(void) { return &a; }", "-fno-pic -mcmodel=kernel -O2"))
            .find("relocation"),
        std::string::npos);
    EXPECT_NE(
        refusal(compile_c("__attribute__((constructor)) void f(void) {}")).find("constructors"),
        std::string::npos);
    EXPECT_NE(
        refusal(compile_c("_Thread_local int t; int f(void) { return t; }")).find("thread-local"),
        std::string::npos);
    EXPECT_NE(refusal(compile_c("void nowhere(void); void f(void) { nowhere(); }"),
                      CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND)
                  .find("nowhere"),
              std::string::npos);
    auto other = compile_c("int a;");
    const std::uint16_t machine = EM_AARCH64;
    std::memcpy(other.data() + offsetof(Elf64_Ehdr, e_machine), &machine, 2);
    refusal(other, CUDA_ERROR_NO_BINARY_FOR_GPU);
    refusal({});
    refusal(std::as_bytes(
        std::span("plain text, no object at all: sixty-four bytes of it, or a little more")));
}

TEST(ObjectLoader, RefusesEveryTruncation) {
    const auto& image = test::kernels_object();
    for (std::size_t bytes = 0; bytes < image.size(); bytes += bytes < 128 ? 1 : 37) {
        const std::vector<std::byte> part(image.begin(),
                                          image.begin() + static_cast<std::ptrdiff_t>(bytes));
        LoadProblem problem;
        EXPECT_EQ(LoadedObject::load(part, problem), nullptr) << bytes;
    }
}

// Flips bits in the tables of a real object. Loading may work or not; it must not crash, nor run
// anything.
TEST(ObjectLoader, SurvivesFlippedBits) {
    const auto& good = test::kernels_object();
    Elf64_Ehdr header;
    std::memcpy(&header, good.data(), sizeof header);
    std::vector<std::pair<std::size_t, std::size_t>> ranges{{0, sizeof header},
                                                            {header.e_shoff, good.size()}};
    for (std::size_t i = 0; i < header.e_shnum; ++i) {
        Elf64_Shdr section;
        std::memcpy(&section, good.data() + header.e_shoff + i * sizeof section, sizeof section);
        if (section.sh_type == SHT_RELA || section.sh_type == SHT_SYMTAB ||
            section.sh_type == SHT_STRTAB)
            ranges.emplace_back(section.sh_offset, section.sh_offset + section.sh_size);
    }
    std::mt19937 random(1);
    int loaded = 0;
    for (int round = 0; round < 8000; ++round) {
        auto image = good;
        const int flips = 1 + static_cast<int>(random() % 3);
        for (int k = 0; k < flips; ++k) {
            const auto [first, last] = ranges[random() % ranges.size()];
            if (first != last)
                image[first + random() % (last - first)] ^= std::byte(1u << (random() % 8));
        }
        LoadProblem problem;
        loaded += LoadedObject::load(image, problem) != nullptr;
        if (round % 4 == 0)
            (void)copy_image(image.data()); // the length, from damaged headers
    }
    EXPECT_GT(loaded, 0);
    EXPECT_LT(loaded, 8000);
}

TEST(ObjectLoader, FindsTheLengthOfAnImage) {
    const auto& image = test::kernels_object();
    const auto copy = copy_image(image.data());
    ASSERT_TRUE(copy.has_value());
    EXPECT_EQ(copy->size(), image.size());
    EXPECT_EQ(*copy, image);
    EXPECT_FALSE(copy_image("not an object, but long enough to hold what would be a header of one")
                     .has_value());
    EXPECT_FALSE(copy_image(reinterpret_cast<const void*>(std::uintptr_t{4096})).has_value());
}

class HostModule : public test::HostTest {};

TEST_F(HostModule, SaysWhatIsWrongInTheErrorLog) {
    const auto image = compile_c("void nowhere(void); void f(void) { nowhere(); }");
    char log[100] = {};
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
    CUmodule failed = nullptr;
    EXPECT_EQ(api.cuModuleLoadDataEx(&failed, image.data(), 2, options, values),
              CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND);
    EXPECT_STREQ(log, "undefined symbol nowhere");
    EXPECT_EQ(api.cuModuleLoadData(
                  &failed, "PTX, say: .version 8.0 .target sm_90, and some more text to be read"),
              CUDA_ERROR_INVALID_IMAGE);
    EXPECT_EQ(api.cuModuleLoadData(&failed, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(HostModule, RefusesAnotherVersionOfTheInterface) {
    const auto image = compile_c("const uint32_t __quern_info_k[8] = {99, 0, 0, 0, 1024, 0};"
                                 "void __quern_run_k(void) {}");
    CUmodule failed = nullptr;
    EXPECT_EQ(api.cuModuleLoadData(&failed, image.data()), CUDA_ERROR_NO_BINARY_FOR_GPU);
    const auto lies =
        compile_c("const uint32_t __quern_info_k[8] = {QUERN_ABI, 1, 8, 0, 1024, 0, 4, 8};");
    EXPECT_EQ(api.cuModuleLoadData(&failed, lies.data()), CUDA_ERROR_INVALID_IMAGE);
}

TEST_F(HostModule, FindsFunctionsAndVariables) {
    EXPECT_NE(kernel("saxpy"), nullptr);
    EXPECT_EQ(kernel("saxpy"), kernel("saxpy"));
    CUfunction none = nullptr;
    EXPECT_EQ(api.cuModuleGetFunction(&none, loaded, "absent"), CUDA_ERROR_NOT_FOUND);
    EXPECT_EQ(api.cuModuleGetFunction(&none, loaded, ""), CUDA_ERROR_INVALID_VALUE);
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
    ASSERT_EQ(api.cuModuleGetGlobal(&address, &bytes, loaded, "counters"), CUDA_SUCCESS);
    EXPECT_EQ(bytes, 64u);
    int values[16];
    EXPECT_EQ(api.cuMemsetD32(address, 5, 16), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemcpyDtoH(values, address, bytes), CUDA_SUCCESS);
    EXPECT_EQ(values[15], 5);
    EXPECT_EQ(api.cuMemcpyDtoH(values, address, bytes + 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuModuleGetGlobal(&address, &bytes, loaded, "pick"), CUDA_ERROR_NOT_FOUND);
    EXPECT_EQ(api.cuModuleGetGlobal(&address, &bytes, nullptr, "counters"),
              CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(HostModule, ForgetsHandlesWhenUnloaded) {
    const CUfunction function = kernel("empty");
    const CUmodule stale = loaded;
    EXPECT_EQ(api.cuModuleUnload(std::exchange(loaded, nullptr)), CUDA_SUCCESS);
    EXPECT_EQ(api.cuModuleUnload(stale), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(api.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
              CUDA_ERROR_INVALID_HANDLE);
}

} // namespace
} // namespace quern::host
