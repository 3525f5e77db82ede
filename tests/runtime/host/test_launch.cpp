// Launches: results on random data, limits, arguments, threads, failures of kernels, forks.
#include "runtime/host/thread_team.h"
#include "tests/runtime/host/objects.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

namespace quern::host {
namespace {

ThreadTeam* immortal_team(int threads) { // workers never end
    static auto* const teams = new std::vector<std::unique_ptr<ThreadTeam>>;
    return teams->emplace_back(std::make_unique<ThreadTeam>(threads)).get();
}

class HostLaunchTest : public test::HostTest {
  protected:
    CUresult launch(CUfunction function, unsigned blocks, unsigned threads,
                    std::vector<void*> params, unsigned shared = 0, CUstream stream = nullptr) {
        return api.cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, shared, stream,
                                  params.data(), nullptr);
    }
};

TEST_F(HostLaunchTest, ComputesOnRandomData) {
    std::mt19937 random(7);
    const CUfunction saxpy = kernel("saxpy");
    for (int n : {0, 1, 255, 256, 257, 1000, 100000, 3000001}) {
        std::vector<float> x(n + 1), y(n + 1), expected(n + 1);
        for (auto* v : {&x, &y})
            for (float& value : *v)
                value = static_cast<float>(random() % 1000);
        float a = 2.5f;
        for (int i = 0; i < n; ++i)
            expected[i] = a * x[i] + y[i];
        expected[n] = y[n];
        CUdeviceptr dx = 0, dy = 0;
        ASSERT_EQ(api.cuMemAlloc(&dx, x.size() * 4), CUDA_SUCCESS);
        ASSERT_EQ(api.cuMemAlloc(&dy, y.size() * 4), CUDA_SUCCESS);
        ASSERT_EQ(api.cuMemcpyHtoD(dx, x.data(), x.size() * 4), CUDA_SUCCESS);
        ASSERT_EQ(api.cuMemcpyHtoD(dy, y.data(), y.size() * 4), CUDA_SUCCESS);
        ASSERT_EQ(launch(saxpy, static_cast<unsigned>(n / 256 + 1), 256, {&a, &dx, &dy, &n}),
                  CUDA_SUCCESS);
        ASSERT_EQ(api.cuMemcpyDtoH(y.data(), dy, y.size() * 4), CUDA_SUCCESS);
        EXPECT_EQ(y, expected) << n;
        EXPECT_EQ(api.cuMemFree(dx), CUDA_SUCCESS);
        EXPECT_EQ(api.cuMemFree(dy), CUDA_SUCCESS);
    }
}

TEST_F(HostLaunchTest, CallsTheMathLibrary) {
    std::vector<double> x(100), y(100);
    for (std::size_t i = 0; i < 100; ++i)
        x[i] = 0.01 * static_cast<double>(i);
    const double* px = x.data();
    double* py = y.data();
    ASSERT_EQ(launch(kernel("math"), 100, 1, {&px, &py}), CUDA_SUCCESS);
    constexpr int digits[] = {3, 1, 4, 1, 5, 9, 2, 6};
    for (std::size_t i = 0; i < 100; ++i)
        EXPECT_NEAR(y[i], std::exp(x[i]) + (1.5 + static_cast<double>(i % 4)) * 3 + digits[i % 8],
                    1e-12);
}

TEST_F(HostLaunchTest, RunsEveryBlockOnce) {
    for (unsigned blocks : {1u, 2u, 3u, 64u, 1000u, 100003u}) {
        std::vector<int> visits(blocks);
        int* p = visits.data();
        ASSERT_EQ(launch(kernel("visits"), blocks, 1, {&p}), CUDA_SUCCESS);
        EXPECT_EQ(visits, std::vector<int>(blocks, 1));
        int work = blocks < 2000 ? 20000 : 50;
        ASSERT_EQ(launch(kernel("slow_visits"), blocks, 1, {&p, &work}), CUDA_SUCCESS);
        EXPECT_EQ(visits, std::vector<int>(blocks, 2));
    }
    std::vector<int> visits(5 * 7 * 11);
    int* p = visits.data();
    void* params[] = {&p};
    ASSERT_EQ(api.cuLaunchKernel(kernel("visits"), 5, 7, 11, 2, 3, 4, 0, nullptr, params, nullptr),
              CUDA_SUCCESS);
    EXPECT_EQ(visits, std::vector<int>(5 * 7 * 11, 1));
}

TEST_F(HostLaunchTest, TakesArgumentsInOneBuffer) {
    float a = 2;
    std::vector<float> x(10, 3.f), y(10, 1.f);
    struct {
        float a;
        const float* x;
        float* y;
        int n;
    } args{a, x.data(), y.data(), 10};
    std::size_t bytes = sizeof args;
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &args, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};
    const CUfunction saxpy = kernel("saxpy");
    ASSERT_EQ(api.cuLaunchKernel(saxpy, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra),
              CUDA_SUCCESS);
    EXPECT_EQ(y, std::vector<float>(10, 7.f));
    bytes = 20;
    EXPECT_EQ(api.cuLaunchKernel(saxpy, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuLaunchKernel(saxpy, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr),
              CUDA_ERROR_INVALID_VALUE);
    char big[2000];
    std::memset(big, 1, sizeof big);
    int sum = 0;
    int* p = &sum;
    EXPECT_EQ(launch(kernel("big"), 1, 1, {big, &p}), CUDA_SUCCESS);
    EXPECT_EQ(sum, 2000);
}

TEST_F(HostLaunchTest, TakesALaunchThatMayOverlapAndNoOtherKind) {
    char big[2000];
    std::memset(big, 1, sizeof big);
    int sum = 0;
    int* p = &sum;
    void* params[] = {big, &p};
    CUlaunchAttribute attribute{};
    attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute.value.programmaticStreamSerializationAllowed = 1;
    CUlaunchConfig config{};
    config.gridDimX = config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = config.blockDimY = config.blockDimZ = 1;
    config.attrs = &attribute;
    config.numAttrs = 1;
    EXPECT_EQ(api.cuLaunchKernelEx(&config, kernel("big"), params, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(sum, 2000);
    EXPECT_EQ(api.cuLaunchKernelEx(nullptr, kernel("big"), params, nullptr),
              CUDA_ERROR_INVALID_VALUE);
    config.blockDimX = 0;
    EXPECT_EQ(api.cuLaunchKernelEx(&config, kernel("big"), params, nullptr),
              CUDA_ERROR_INVALID_VALUE);
    config.blockDimX = 1;
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    EXPECT_EQ(api.cuLaunchKernelEx(&config, kernel("big"), params, nullptr),
              CUDA_ERROR_NOT_SUPPORTED);
}

TEST_F(HostLaunchTest, KeepsTheLimitsOfCuda) {
    const CUfunction empty = kernel("empty");
    const auto shape = [&](unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                           unsigned bz, unsigned shared) {
        return api.cuLaunchKernel(empty, gx, gy, gz, bx, by, bz, shared, nullptr, nullptr, nullptr);
    };
    EXPECT_EQ(shape(1, 1, 1, 1024, 1, 1, 48 * 1024), CUDA_SUCCESS);
    EXPECT_EQ(shape(1, 65535, 1, 1, 1, 64, 0), CUDA_SUCCESS);
    for (int zero = 0; zero < 6; ++zero) {
        unsigned n[6] = {1, 1, 1, 1, 1, 1};
        n[zero] = 0;
        EXPECT_EQ(shape(n[0], n[1], n[2], n[3], n[4], n[5], 0), CUDA_ERROR_INVALID_VALUE);
    }
    EXPECT_EQ(shape(0x80000000u, 1, 1, 1, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(shape(1, 65536, 1, 1, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(shape(1, 1, 65536, 1, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(shape(1, 1, 1, 1025, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(shape(1, 1, 1, 1, 1, 65, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(shape(1, 1, 1, 33, 32, 1, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(shape(1, 1, 1, 1, 1, 1, 48 * 1024 + 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(launch(nullptr, 1, 1, {}), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(launch(empty, 1, 1, {}, 0, reinterpret_cast<CUstream>(0x1234)),
              CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(launch(kernel("use_shared"), 1, 257, {nullptr}), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(HostLaunchTest, GivesEachWorkerItsSharedMemory) {
    const CUfunction function = kernel("use_shared");
    std::vector<long> out(500);
    long* p = out.data();
    ASSERT_EQ(launch(function, 500, 32, {&p}, 40000), CUDA_SUCCESS);
    for (std::size_t b = 0; b < 500; ++b)
        EXPECT_EQ(out[b], static_cast<signed char>(b));
    EXPECT_EQ(launch(function, 1, 32, {&p}, 48 * 1024 - 63), CUDA_ERROR_INVALID_VALUE);
    constexpr auto limit = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    EXPECT_EQ(api.cuFuncSetAttribute(function, limit, 227 * 1024), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuFuncSetAttribute(function, limit, 227 * 1024 - 64), CUDA_SUCCESS);
    EXPECT_EQ(launch(function, 4, 32, {&p}, 227 * 1024 - 64), CUDA_SUCCESS);
    int value = 0;
    EXPECT_EQ(api.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function),
              CUDA_SUCCESS);
    EXPECT_EQ(value, 64);
    EXPECT_EQ(api.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function),
              CUDA_SUCCESS);
    EXPECT_EQ(value, 256);
}

TEST_F(HostLaunchTest, TellsAFailedKernelOnceAndGoesOn) {
    int fail = 1;
    ASSERT_EQ(launch(kernel("fail_if"), 1, 1, {&fail}), CUDA_SUCCESS);
    EXPECT_EQ(api.cuCtxSynchronize(), CUDA_ERROR_ASSERT);
    const char* text = nullptr;
    ASSERT_EQ(api.cuGetErrorString(CUDA_ERROR_ASSERT, &text), CUDA_SUCCESS);
    EXPECT_STREQ(text, "device-side assert triggered: test.cu:7: fail_if: block: [4,5,6], thread: "
                       "[1,2,3] Assertion `never` failed.");
    fail = 0;
    EXPECT_EQ(launch(kernel("fail_if"), 100, 1, {&fail}), CUDA_SUCCESS);
    EXPECT_EQ(api.cuCtxSynchronize(), CUDA_SUCCESS);
}

TEST_F(HostLaunchTest, IsRightFromManyThreadsAtOnce) {
    const CUfunction function = kernel("slow_visits"), append = kernel("append");
    std::vector<long> log(8 * 200 + 1);
    long* plog = log.data();
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t)
        threads.emplace_back([&, t] {
            EXPECT_EQ(api.cuCtxSetCurrent(context), CUDA_SUCCESS);
            CUstream stream = nullptr;
            const bool owns = t % 4 == 1 || t % 4 == 2;
            const unsigned flags = t % 4 == 1 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT;
            if (t % 4 == 3)
                stream = CU_STREAM_PER_THREAD;
            ASSERT_EQ(owns ? api.cuStreamCreate(&stream, flags) : CUDA_SUCCESS, CUDA_SUCCESS);
            std::vector<int> visits(300);
            int* p = visits.data();
            int work = 300;
            for (int round = 0; round < 200; ++round) {
                ASSERT_EQ(launch(function, 300, 1, {&p, &work}, 0, stream), CUDA_SUCCESS);
                long value = t;
                ASSERT_EQ(launch(append, 1, 1, {&plog, &value}),
                          CUDA_SUCCESS); // the legacy stream orders them all
            }
            EXPECT_EQ(api.cuStreamSynchronize(stream), CUDA_SUCCESS);
            EXPECT_EQ(visits, std::vector<int>(300, 200));
            ASSERT_EQ(owns ? api.cuStreamDestroy(stream) : CUDA_SUCCESS, CUDA_SUCCESS);
        });
    for (auto& thread : threads)
        thread.join();
    EXPECT_EQ(log[0], 8 * 200);
}

TEST_F(HostLaunchTest, WorksInAForkedChild) {
    const CUfunction function = kernel("slow_visits");
    std::vector<int> visits(1000);
    int* p = visits.data();
    int work = 5000;
    ASSERT_EQ(launch(function, 1000, 1, {&p, &work}),
              CUDA_SUCCESS); // the team is at work from here on
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        const bool ok = launch(function, 1000, 1, {&p, &work}) == CUDA_SUCCESS &&
                        visits == std::vector<int>(1000, 2) &&
                        api.cuCtxSynchronize() == CUDA_SUCCESS;
        _exit(ok ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    ASSERT_EQ(launch(function, 1000, 1, {&p, &work}), CUDA_SUCCESS);
}

// SRAD of Rodinia reads the row above its image, stencils the word behind it.
TEST_F(HostLaunchTest, ReadingJustBesideABlockIsNoFault) {
    for (const std::size_t bytes : {std::size_t{100} << 10, std::size_t{1} << 20,
                                    std::size_t{2} << 20, (std::size_t{5} << 20) + 300}) {
        CUdeviceptr block = 0;
        ASSERT_EQ(api.cuMemAlloc(&block, bytes), CUDA_SUCCESS);
        const pid_t child = fork();
        if (child == 0) {
            const auto* start = reinterpret_cast<const volatile char*>(block);
            int sum = 0;
            for (std::ptrdiff_t away = 0; away < 32768; away += 1024)
                sum += start[-1 - away] + start[static_cast<std::ptrdiff_t>(bytes) + away];
            _exit(sum == 12345 ? 1 : 0); // whatever lies there
        }
        int status = -1;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFEXITED(status)) << bytes;
        EXPECT_EQ(api.cuMemFree(block), CUDA_SUCCESS);
    }
}

TEST(ThreadTeam, CoversEveryRangeWithAnyNumberOfThreads) {
    for (int threads = 1; threads <= 8; ++threads) {
        ThreadTeam* team = immortal_team(threads);
        for (std::uint64_t count : {0u, 1u, 7u, 100u, 10000u})
            for (std::uint64_t chunk : {0u, 1u, 3u, 64u}) {
                std::vector<std::atomic<int>> seen(count + 5);
                team->run(5, count + 5, chunk, [&](std::uint64_t first, std::uint64_t last) {
                    for (auto i = first; i < last; ++i)
                        ++seen[i];
                });
                for (std::uint64_t i = 0; i < count + 5; ++i)
                    ASSERT_EQ(seen[i], i >= 5 ? 1 : 0);
            }
    }
}

// Of each thread that comes, the first item of each stretch it takes, if all threads come.
template <class Run>
std::map<std::thread::id, std::vector<std::uint64_t>> taken_by_all(int threads, Run run) {
    std::map<std::thread::id, std::vector<std::uint64_t>> taken;
    std::mutex lock;
    std::atomic<int> here{0};
    run([&](std::uint64_t first, std::uint64_t) {
        bool new_here = false;
        {
            const std::lock_guard guard(lock);
            auto& mine = taken[std::this_thread::get_id()];
            new_here = mine.empty();
            mine.push_back(first);
        }
        here += new_here;
        while (here != threads)
            std::this_thread::yield();
    });
    return taken;
}

TEST(ThreadTeam, EachThreadHasARangeOfItsOwn) {
    for (int threads = 2; threads <= 5; ++threads) {
        ThreadTeam* team = immortal_team(threads);
        const auto loop = [&](auto body) { team->run(0, 600, 10, body); };
        const auto before = taken_by_all(threads, loop), again = taken_by_all(threads, loop);
        std::set<std::uint64_t> firsts;
        for (const auto& [thread, stretches] : before) {
            firsts.insert(stretches.front());
            EXPECT_EQ(again.at(thread).front(), stretches.front());
        }
        std::set<std::uint64_t> expected;
        for (int i = 0; i < threads; ++i)
            expected.insert(60u * static_cast<unsigned>(i) / static_cast<unsigned>(threads) * 10u);
        EXPECT_EQ(firsts, expected);
    }
}

TEST(ThreadTeam, BeginsInOrderWhenAskedTo) {
    ThreadTeam* team = immortal_team(3);
    const auto taken = taken_by_all(3, [&](auto body) { team->run_in_order(0, 600, 10, body); });
    std::set<std::uint64_t> firsts;
    for (const auto& [thread, stretches] : taken) {
        EXPECT_TRUE(std::is_sorted(stretches.begin(), stretches.end()));
        firsts.insert(stretches.front());
    }
    EXPECT_EQ(firsts, (std::set<std::uint64_t>{0, 10, 20}));
}

TEST(ThreadTeam, LeavesThreadsTheCoresThatTheyMayUse) {
    ThreadTeam* team = immortal_team(2);
    cpu_set_t own;
    ASSERT_EQ(sched_getaffinity(0, sizeof own, &own), 0);
    for (int round = 0; round < 200; ++round) {
        if (round % 20 == 0) // past the wait: workers sleep, and may wake on this core
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        team->run(0, 64, 1, [&](std::uint64_t, std::uint64_t) {
            cpu_set_t here;
            if (sched_getaffinity(0, sizeof here, &here) == 0)
                EXPECT_TRUE(CPU_EQUAL(&here, &own));
        });
    }
}

TEST(ThreadTeam, ServesManyCallers) {
    ThreadTeam* team = immortal_team(4);
    std::vector<std::thread> callers;
    std::atomic<std::uint64_t> total{0};
    for (int t = 0; t < 8; ++t)
        callers.emplace_back([&] {
            for (int round = 0; round < 500; ++round) {
                std::atomic<std::uint64_t> mine{0};
                team->run(0, 100, 7,
                          [&](std::uint64_t first, std::uint64_t last) { mine += last - first; });
                ASSERT_EQ(mine, 100u);
                total += mine;
            }
        });
    for (auto& caller : callers)
        caller.join();
    EXPECT_EQ(total, 8u * 500 * 100);
}

// Figures, not a test: --gtest_also_run_disabled_tests --gtest_filter=*Figures
TEST_F(HostLaunchTest, DISABLED_Figures) {
    using Clock = std::chrono::steady_clock;
    const auto median_ns = [](int rounds, int inner, auto body) {
        std::vector<double> times;
        for (int r = 0; r < rounds; ++r) {
            const auto start = Clock::now();
            for (int i = 0; i < inner; ++i)
                body();
            times.push_back(std::chrono::duration<double, std::nano>(Clock::now() - start).count() /
                            inner);
        }
        std::ranges::sort(times);
        return times[times.size() / 2];
    };
    const CUfunction empty = kernel("empty"), saxpy = kernel("saxpy"),
                     visits = kernel("slow_visits");
    CUstream own = nullptr, blocking = nullptr;
    api.cuStreamCreate(&own, CU_STREAM_NON_BLOCKING);
    api.cuStreamCreate(&blocking, CU_STREAM_DEFAULT);
    float a = 1;
    std::vector<float> x(1000), y(1000);
    const float* px = x.data();
    float* py = y.data();
    int n = 1000, count = 64, work = 0;
    std::vector<int> seen(64);
    int* ps = seen.data();
    void* four[] = {&a, &px, &py, &n};
    void* two[] = {&ps, &work};
    const auto report = [](const char* what, double ns) {
        std::printf("%-52s %10.1f ns\n", what, ns);
    };
    const auto empty_on = [&](CUstream s) {
        return median_ns(101, 1000, [&] {
            api.cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, s, nullptr, nullptr);
        });
    };
    report("empty kernel, one block, null stream", empty_on(nullptr));
    report("empty kernel, one block, blocking stream", empty_on(blocking));
    report("empty kernel, one block, non-blocking stream", empty_on(own));
    report("saxpy of 1000 elements, 4 arguments, one block", median_ns(101, 1000, [&] {
               api.cuLaunchKernel(saxpy, 1, 1, 1, 1000, 1, 1, 0, nullptr, four, nullptr);
           }));
    for (int loops : {0, 100, 1000, 10000, 100000}) {
        work = loops;
        report(("64 blocks of " + std::to_string(loops) + " volatile increments").c_str(),
               median_ns(31, loops > 1000 ? 2 : 100, [&] {
                   api.cuLaunchKernel(visits, static_cast<unsigned>(count), 1, 1, 1, 1, 1, 0,
                                      nullptr, two, nullptr);
               }));
    }
    report("load and unload of a module", median_ns(31, 10, [&] {
               CUmodule once = nullptr;
               api.cuModuleLoadData(&once, test::kernels_object().data());
               api.cuModuleUnload(once);
           }));
    ThreadTeam* shared = immortal_team(2);
    report("64 items on two threads, no work", median_ns(101, 100, [&] {
               shared->run(0, 64, 4, [](std::uint64_t, std::uint64_t) {});
           }));
    report("allocate and free 4 KiB", median_ns(31, 1000, [&] {
               CUdeviceptr block = 0;
               api.cuMemAlloc(&block, 4096);
               api.cuMemFree(block);
           }));
    CUevent event = nullptr;
    api.cuEventCreate(&event, 0);
    report("record an event", median_ns(31, 1000, [&] { api.cuEventRecord(event, nullptr); }));
    report("synchronise an idle stream",
           median_ns(31, 1000, [&] { api.cuStreamSynchronize(nullptr); }));
}

} // namespace
} // namespace quern::host
