// Building test objects, and a process-wide setting: four threads, whatever the machine has.
#include "tests/runtime/host/objects.h"

#include "compiler/base/host_abi.h"
#include "compiler/base/text.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <unistd.h>

namespace quern::test {
namespace {

[[maybe_unused]] const int four_threads =
    setenv("QUERN_NUM_THREADS", "4", 0); // before the host driver first asks

} // namespace

const std::string_view c_prelude = R"(
#include <stdint.h>
typedef struct { uint32_t grid[3], block[3], shared_bytes, reserved; } HostLaunch;
typedef struct { uint32_t offset, size; } HostParam;
#define QUERN_KERNEL(name, count, bytes, shared, threads, ...) \
    const struct { uint32_t abi, count_, bytes_, shared_, threads_, flags; HostParam params[count ? count : 1]; } \
        __quern_info_##name = {QUERN_ABI, count, bytes, shared, threads, 0, {__VA_ARGS__}}; \
    void __quern_run_##name(const HostLaunch* launch, const char* args, uint64_t first, uint64_t last, char* shared_)
#define ARG(T, offset) (*(T const*)(args + (offset)))
)";

std::vector<std::byte> compile_c(std::string_view source, const std::string& options) {
    static int number = 0;
    namespace fs = std::filesystem;
    const fs::path stem = fs::temp_directory_path() / join("quern_test_", getpid(), "_", number++);
    const std::string c_file = stem.string() + ".c", o_file = stem.string() + ".o";
    std::ofstream(c_file) << c_prelude << source;
    const int status = std::system(
        join("cc -DQUERN_ABI=", host_abi_version, " ", options, " -c ", c_file, " -o ", o_file)
            .c_str());
    EXPECT_EQ(status, 0) << source;
    std::ifstream file(o_file, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    fs::remove(c_file);
    fs::remove(o_file);
    const auto* data = reinterpret_cast<const std::byte*>(bytes.data());
    return {data, data + bytes.size()};
}

const std::vector<std::byte>& kernels_object() {
    static const std::vector<std::byte> object = compile_c(R"(
#include <math.h>
#include <string.h>
int scale = 3;                  // .data
int counters[16];               // .bss
static const double table[4] = {1.5, 2.5, 3.5, 4.5};
int* scale_pointer = &scale;    // .data.rel
int __attribute__((noinline)) pick(int i) { // a jump table
    switch (i % 8) { case 0: return 3; case 1: return 1; case 2: return 4; case 3: return 1; case 4: return 5;
                     case 5: return 9; case 6: return 2; default: return 6; }
}
QUERN_KERNEL(empty, 0, 0, 0, 1024) {}
QUERN_KERNEL(saxpy, 4, 28, 0, 1024, {0, 4}, {8, 8}, {16, 8}, {24, 4}) {
    float a = ARG(float, 0); const float* x = ARG(const float*, 8); float* y = ARG(float*, 16); int n = ARG(int, 24);
    uint64_t width = launch->block[0], from = first * width, to = last * width;
    for (uint64_t i = from; i < to && i < n; ++i) y[i] = a * x[i] + y[i];
}
QUERN_KERNEL(math, 2, 16, 0, 1024, {0, 8}, {8, 8}) { // calls outside, constants, variables
    const double* x = ARG(const double*, 0); double* y = ARG(double*, 8);
    for (uint64_t i = first; i < last; ++i) y[i] = exp(x[i]) + table[i % 4] * *scale_pointer + pick((int)i);
}
QUERN_KERNEL(visits, 1, 8, 0, 1024, {0, 8}) {
    int* visits = ARG(int*, 0);
    for (uint64_t b = first; b < last; ++b) __atomic_fetch_add(&visits[b], 1, __ATOMIC_RELAXED);
}
QUERN_KERNEL(slow_visits, 2, 12, 0, 1024, {0, 8}, {8, 4}) {
    int* visits = ARG(int*, 0); volatile int work = 0;
    for (uint64_t b = first; b < last; ++b) { for (int k = 0; k < ARG(int, 8); ++k) ++work;
        __atomic_fetch_add(&visits[b], 1, __ATOMIC_RELAXED); }
}
QUERN_KERNEL(append, 2, 16, 0, 1024, {0, 8}, {8, 8}) { // log[log[0]++ + 1] = value, not atomic: needs order
    long* log = ARG(long*, 0); log[++log[0]] = ARG(long, 8);
}
QUERN_KERNEL(use_shared, 1, 8, 64, 256, {0, 8}) {
    long* out = ARG(long*, 0);
    for (uint64_t b = first; b < last; ++b) {
        memset(shared_, (int)b, 64 + launch->shared_bytes);
        out[b] = ((uintptr_t)shared_ % 64 == 0) ? shared_[63 + launch->shared_bytes] : -1;
    }
}
void __quern_assert_fail(const char*, const char*, unsigned, const char*, unsigned, unsigned, unsigned,
                         unsigned, unsigned, unsigned);
int __quern_printf(const char*, ...);
QUERN_KERNEL(fail_if, 1, 4, 0, 1024, {0, 4}) {
    if (ARG(int, 0)) __quern_assert_fail("never", "test.cu", 7, "fail_if", 1, 2, 3, 4, 5, 6);
}
QUERN_KERNEL(print_formats, 1, 8, 0, 1024, {0, 8}) {
    int* counts = ARG(int*, 0); signed char c = -3; unsigned short h = 65535; long long big = -5000000000ll; size_t z = 7;
    counts[0] = __quern_printf("plain, 100%%, no more %");
    counts[1] = __quern_printf("\n%d|%5i|%-6u|%+d|% d|%05d|%x|%#X|%o\n", -1, 42, 7u, 8, 9, 10, 255u, 255u, 8u);
    counts[2] = __quern_printf("%hhd|%hu|%ld|%lld|%zu|%td|%jd\n", c, h, -6l, big, z, (intptr_t)-8, (intmax_t)9);
    counts[3] = __quern_printf("%f|%.2e|%G|%a|%*.*f|%-*d|\n", 1.5, 12345.678, 1e-10, 0.5, 8, 3, 3.14159, -4, 1);
    counts[4] = __quern_printf("%s|%10s|%.2s|%c|%s|%p\n", "text", "right", "cut", 'x', (char*)0, (void*)0x10);
    counts[5] = __quern_printf(0);
    counts[6] = __quern_printf("%n%y%d\n", counts + 8, 5);
    counts[7] = __quern_printf("%300d|%f\n", 1, 1e300);
}
QUERN_KERNEL(print_blocks, 1, 4, 0, 1024, {0, 4}) {
    for (uint64_t b = first; b < last; ++b)
        for (int t = 0; t < ARG(int, 0); ++t) __quern_printf("block %d thread %d\n", (int)b, t);
}
typedef struct { char bytes[2000]; } Big;
QUERN_KERNEL(big, 2, 2008, 0, 1024, {0, 2000}, {2000, 8}) {
    const Big* b = (const Big*)args; int* out = ARG(int*, 2000); int sum = 0;
    for (int i = 0; i < 2000; ++i) sum += b->bytes[i];
    *out = sum;
}
)");
    return object;
}

void HostTest::SetUp() {
    ASSERT_EQ(api.cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    ASSERT_EQ(api.cuCtxSetCurrent(context), CUDA_SUCCESS);
}

void HostTest::TearDown() {
    if (loaded != nullptr) {
        EXPECT_EQ(api.cuModuleUnload(loaded), CUDA_SUCCESS);
    }
    EXPECT_EQ(api.cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(api.cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
    EXPECT_EQ(api.cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
}

CUfunction HostTest::kernel(const char* name) {
    CUfunction function = nullptr;
    if (loaded == nullptr) {
        EXPECT_EQ(api.cuModuleLoadData(&loaded, kernels_object().data()), CUDA_SUCCESS);
    }
    EXPECT_EQ(api.cuModuleGetFunction(&function, loaded, name), CUDA_SUCCESS) << name;
    return function;
}

} // namespace quern::test
