// Asking for memory ahead, and vectors that are read whole: what they are in machine code, and that
// results stay what they were.
#include "driver_program.h"
#include "host_compiler.h"
#include <gtest/gtest.h>

namespace quern::test {
namespace {

// prefetcht1 of any address: 0f 18 /2.
int asked(const std::string& object) {
    int count = 0;
    for (std::size_t k = 0; k + 2 < object.size(); ++k)
        count += object[k] == 0x0f && object[k + 1] == 0x18 && (object[k + 2] >> 3 & 7) == 2;
    return count;
}

std::string sum_text(const char* hook, int step) {
    return std::string(R"cuda(
    extern "C" __device__ void __quern_read_ahead(int);
    extern "C" __global__ void k(const float* x, float* y, long long count, int far) {
        )cuda") +
           hook + R"cuda(
        float sum[16];
        for (int l = 0; l < 16; ++l) sum[l] = 0;
        for (long long k = 0; k + 16 <= count; k += 16)
            _Pragma("clang loop vectorize(assume_safety)")
            for (int l = 0; l < 16; ++l) sum[l] += x[)cuda" +
           (step > 0 ? "k + l" : "count - 16 - k + l") + R"cuda(];
        y[0] = 0;
        for (int l = 0; l < 16; ++l) y[0] += sum[l];
    })cuda";
}

TEST(ReadAhead, OnlyWhoSaysSoAsks) {
    for (const int step : {1, -1}) {
        const std::string plain = sum_text("", step),
                          far = sum_text("__quern_read_ahead(far);", step);
        const auto without = compile({plain, {}, {}, {}, "x86-64-v3"}),
                   with = compile({far, {}, {}, {}, "x86-64-v3"});
        ASSERT_EQ(without.status, QUERN_CC_OK) << without.log;
        ASSERT_EQ(with.status, QUERN_CC_OK) << with.log;
        EXPECT_EQ(asked(without.object), 0);
        EXPECT_GT(asked(with.object), 0) << step;

        std::vector<float> x(4096);
        for (std::size_t k = 0; k < x.size(); ++k)
            x[k] = static_cast<float>(k * 2654435761u >> 8 & 0xff);
        float expected = 0;
        for (const float value : x)
            expected += value;
        const DriverProgram program({far});
        for (const int flag : {0, 1}) {
            float y = -1;
            ASSERT_EQ(program.launch("k", {{1}, {1}}, x.data(), &y, 4096LL, flag), CUDA_SUCCESS);
            EXPECT_EQ(y, expected) << step << " " << flag;
        }
    }
}

TEST(ReadAhead, OlderCoresReadLongIterationsByThemselves) {
    const std::string text = R"cuda(
    extern "C" __device__ void __quern_read_ahead(int);
    extern "C" __global__ void k(const float* x, float* y, long long count, int far) {
        __quern_read_ahead(far);
        float sum[32];
        for (int l = 0; l < 32; ++l) sum[l] = 0;
        for (long long k = 0; k + 256 <= count; k += 256)
            _Pragma("clang loop vectorize(assume_safety)")
            for (int l = 0; l < 32; ++l)
                sum[l] += ((x[k + l] + x[k + 32 + l]) + (x[k + 64 + l] + x[k + 96 + l]))
                        + ((x[k + 128 + l] + x[k + 160 + l]) + (x[k + 192 + l] + x[k + 224 + l]));
        for (int l = 0; l < 32; ++l) y[l] = sum[l];
    })cuda";
    const auto older = compile({text, {}, {}, {}, "x86-64-v3"}),
               newer = compile({text, {}, {}, {}, "x86-64-v4"});
    ASSERT_EQ(older.status, QUERN_CC_OK) << older.log;
    ASSERT_EQ(newer.status, QUERN_CC_OK) << newer.log;
    EXPECT_EQ(asked(older.object), 0);
    EXPECT_GT(asked(newer.object), 0);
}

// A kernel that asks how wide vectors are is told before anything else is decided.
TEST(VectorBytes, AreKnownToTheKernel) {
    const std::string text = R"cuda(
    extern "C" __device__ int __quern_vector_bytes();
    extern "C" __global__ void k(int* y) { y[0] = __quern_vector_bytes() == 64 ? 7 : -1; })cuda";
    const auto narrow = compile({text, {}, {}, {}, "x86-64-v3"});
    ASSERT_EQ(narrow.status, QUERN_CC_OK) << narrow.log;
    EXPECT_EQ(narrow.object.find("__quern_vector_bytes"), std::string::npos);
    const DriverProgram program({text});
    int y = 0;
    ASSERT_EQ(program.launch("k", {{1}, {1}}, &y), CUDA_SUCCESS);
    EXPECT_EQ(y, __builtin_cpu_supports("avx512vpopcntdq") ? 7 : -1);
}

// The hook goes away where there is no loop to serve, and as often as it was called.
TEST(ReadAhead, NobodyIsLeftToCall) {
    const DriverProgram program({R"cuda(
    extern "C" __device__ void __quern_read_ahead(int);
    extern "C" __global__ void k(int* y) {
        __quern_read_ahead(1);
        if (y[0] == 0) __quern_read_ahead(y[0]);
        else __quern_read_ahead(2);
        y[0] = 7;
    })cuda"});
    int y = 0;
    ASSERT_EQ(program.launch("k", {{1}, {1}}, &y), CUDA_SUCCESS);
    EXPECT_EQ(y, 7);
}

// `vmovup[sd] (memory), register{mask}`: 62 .. .. (.. with a mask) 10 with a memory operand.
int masked_loads(const std::string& object) {
    int count = 0;
    for (std::size_t k = 0; k + 6 < object.size(); ++k) {
        const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(object[k + i]); };
        count += byte(0) == 0x62 && (byte(3) & 7) != 0 && (byte(3) & 0x60) != 0 &&
                 byte(4) == 0x10 && byte(5) >> 6 != 3;
    }
    return count;
}

TEST(WholeLoads, ChosenLanesComeFromRegisters) {
    for (const char* type :
         {"float", "double", "int", "long long", "short", "signed char", "__half"}) {
        const std::string text = std::string("#include <cuda_fp16.h>\ntypedef ") + type + R"cuda( T;
        extern "C" __global__ void k(const T* a, const T* b, T* r, int count) {
            _Pragma("clang loop vectorize(assume_safety)")
            for (int k = 0; k < count; ++k) {
                const T x = a[k], y = b[k];
                r[k] = x == T(0) ? y : x < T(0) ? T(0) : T(1);
            }
        })cuda";
        const auto made = compile({text, {}, {}, {}, "x86-64-v4"});
        ASSERT_EQ(made.status, QUERN_CC_OK) << type << made.log;
        EXPECT_EQ(masked_loads(made.object), 0) << type;
    }
}

} // namespace
} // namespace quern::test
