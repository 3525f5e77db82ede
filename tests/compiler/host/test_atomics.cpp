// Atomic operations: every type CUDA has them for, by two threads of the host at once where that
// tells something.
#include "host_compiler.h"
#include <gtest/gtest.h>
#include <thread>

namespace quern::test {
namespace {

TEST(Atomics, WordsAndFloats) {
    const Program program(
        {R"(extern "C" __global__ void add(int* i, unsigned* u, unsigned long long* l, float* f, double* d) {
        int t = threadIdx.x + blockIdx.x * blockDim.x;
        atomicAdd(i, t); atomicSub(i + 1, t); atomicMin(i + 2, 50 - t); atomicMax_block(i + 3, t); atomicOr(i + 4, 1 << (t % 31)); atomicXor_system(i + 5, t); atomicAnd(i + 6, ~(1 << (t % 5)));
        atomicInc(u, 6); atomicDec(u + 1, 6); atomicAdd(l, 1ull << 33); atomicAdd(f, 0.5f); atomicMax((long long*)(l + 1), (long long)-t); atomicMin_system(l + 2, 100ull - t);
        atomicAdd(d, 0.25); atomicAdd_system(d + 1, 1.0); if (t == 7) { i[7] = atomicExch(i + 8, 5); i[9] = atomicCAS(i + 10, 3, 4); i[11] = atomicCAS(i + 12, 1, 4); f[1] = atomicExch_block(f + 2, 8.0f); }
    })"});
    std::vector<int> i(13);
    i[2] = i[8] = 99;
    i[6] = 31;
    i[10] = i[12] = 3;
    std::vector<unsigned> u = {0, 3};
    std::vector<std::uint64_t> l = {0, static_cast<std::uint64_t>(-100), 1000};
    std::vector<float> f = {0, 0, 3};
    std::vector<double> d(2);
    program.launch("add", {4}, {16}, i.data(), u.data(), l.data(), f.data(), d.data());
    int all = 0;
    for (int t = 0; t < 64; ++t)
        all ^= t;
    EXPECT_EQ(i, (std::vector<int>{2016, -2016, -13, 63, 0x7fffffff, all, 0, 99, 5, 3, 4, 3, 3}));
    EXPECT_EQ(u, (std::vector<unsigned>{64 % 7, 6u - (64 - 4) % 7}));
    EXPECT_EQ(l, (std::vector<std::uint64_t>{64ull << 33, 0, 37}));
    EXPECT_EQ(f, (std::vector<float>{32, 3, 8}));
    EXPECT_EQ(d, (std::vector<double>{16, 64}));
}

TEST(Atomics, VectorsSixteenBitsAndSixteenBytes) {
    const Program program({R"(
        struct __align__(16) Pair { long long key, value; };
        extern "C" __global__ void add(float2* a, float4* b, unsigned short* s, Pair* p, Pair* seen) {
            atomicAdd(a, make_float2(1, 2)); atomicAdd_block(b, make_float4(1, 2, 3, 4));
            unsigned short old = *s, was;
            do { was = old; old = atomicCAS(s, was, (unsigned short)(was + 3)); } while (old != was);
            Pair now = *p, next;
            for (;;) {
                next.key = now.key + 1; next.value = now.value - 1;
                Pair found = atomicCAS(p, now, next);
                if (found.key == now.key && found.value == now.value) break;
                now = found;
            }
            if (threadIdx.x == 7 && blockIdx.x == 0) { Pair mine = {11, 12}; *seen = atomicExch_system(seen + 1, mine); }
        })"});
    struct alignas(16) Pair {
        std::int64_t key, value;
    };
    std::vector<float> a(2), b(4);
    alignas(16) Pair p{}, seen[2] = {{0, 0}, {5, 6}};
    std::uint16_t s = 0;
    const auto work = [&] {
        program.launch("add", {200}, {10}, a.data(), b.data(), &s, &p, &seen[0]);
    };
    std::thread other(work);
    work();
    other.join();
    EXPECT_EQ(a, (std::vector<float>{4000, 8000}));
    EXPECT_EQ(b, (std::vector<float>{4000, 8000, 12000, 16000}));
    EXPECT_EQ(s, 12000);
    EXPECT_EQ(p.key, 4000);
    EXPECT_EQ(p.value, -4000);
    EXPECT_EQ(seen[1].key, 11);
}

TEST(Atomics, CompilersOwnFamily) {
    const Program program({R"(extern "C" __global__ void own(int* i, float* f, double* wide) {
        __nv_atomic_fetch_add(i, 2, __NV_ATOMIC_RELAXED); __nv_atomic_add(f, 0.5f, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_BLOCK);
        __nv_atomic_fetch_max(i + 1, (int)threadIdx.x, __NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_SYSTEM); __nv_atomic_or(i + 2, 1 << (threadIdx.x % 8), __NV_ATOMIC_RELAXED);
        int expected = __nv_atomic_load_n(i + 3, __NV_ATOMIC_ACQUIRE), desired;
        do { desired = expected + 3; } while (!__nv_atomic_compare_exchange(i + 3, &expected, &desired, true, __NV_ATOMIC_SEQ_CST, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE));
        if (threadIdx.x == 3) {
            i[5] = __nv_atomic_exchange_n(i + 4, 9, __NV_ATOMIC_RELAXED); __nv_atomic_store_n(i + 6, 4, __NV_ATOMIC_RELEASE);
            double v; __nv_atomic_load(wide, &v, __NV_ATOMIC_RELAXED); v += 1; __nv_atomic_store(wide + 1, &v, __NV_ATOMIC_RELAXED);
        }
        __nv_atomic_thread_fence(__NV_ATOMIC_SEQ_CST, __NV_THREAD_SCOPE_SYSTEM); __threadfence_cluster();
    })"});
    std::vector<int> i(7);
    i[4] = 8;
    std::vector<float> f(1);
    std::vector<double> wide = {2.5, 0};
    program.launch("own", {1}, {64}, i.data(), f.data(), wide.data());
    EXPECT_EQ(i, (std::vector<int>{128, 63, 255, 192, 9, 8, 4}));
    EXPECT_EQ(f[0], 32);
    EXPECT_EQ(wide[1], 3.5);
}

// Programs bring the atomics that CUDA leaves out under CUDA's names.
TEST(Atomics, ProgramsAddTheirOwnOverloads) {
    const Program program({R"(
        __device__ float atomicMax(float* p, float v) {
            int* bits = (int*)p; int old = *bits, was;
            do { was = old; if (__int_as_float(was) >= v) break; old = atomicCAS(bits, was, __float_as_int(v)); } while (old != was);
            return __int_as_float(old);
        }
        __device__ double atomicExch(double* p, double v) {
            return __longlong_as_double(atomicExch((unsigned long long*)p, (unsigned long long)__double_as_longlong(v)));
        }
        extern "C" __global__ void best(float* f, double* d) { atomicMax(f, (float)threadIdx.x); if (threadIdx.x == 1) d[1] = atomicExch(d, 2.5); })"});
    std::vector<float> f = {3};
    std::vector<double> d = {1.5, 0};
    program.launch("best", {1}, {64}, f.data(), d.data());
    EXPECT_EQ(f[0], 63);
    EXPECT_EQ(d, (std::vector<double>{2.5, 1.5}));
    const auto refused =
        compile({"extern \"C\" __global__ void k(float* f) { atomicMin(f, 1.0f); }"});
    EXPECT_EQ(refused.status, QUERN_CC_ERROR);
}

} // namespace
} // namespace quern::test
