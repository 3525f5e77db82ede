// The table, check() and the fake that other rooms are tested with.
#include "compiler/base/error.h"
#include "runtime/driver/check.h"
#include "runtime/driver/handles.h"
#include "tests/runtime/fake_driver.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

TEST(FakeDriver, FillsTheWholeTable) {
    const FakeDriver fake;
    const DriverApi& api = fake.driver().api;
#define QUERN_CU(fn) EXPECT_NE(api.fn, nullptr) << #fn;
#include "runtime/driver/symbols.def"
#undef QUERN_CU
}

TEST(FakeDriver, RecordsCallsByTheirDocumentedNames) {
    FakeDriver fake;
    CUdeviceptr block = 0;
    ASSERT_EQ(fake.driver().api.cuMemAlloc(&block, 100), CUDA_SUCCESS);
    ASSERT_EQ(fake.driver().api.cuStreamSynchronize(nullptr), CUDA_SUCCESS);
    ASSERT_EQ(fake.driver().api.cuMemFree(block), CUDA_SUCCESS);
    EXPECT_EQ(fake.calls(),
              (std::vector<std::string>{"cuMemAlloc", "cuStreamSynchronize", "cuMemFree"}));
    EXPECT_EQ(fake.count("cuMemFree"), 1u);
}

TEST(FakeDriver, FailsTheNthCallOfAFunctionOrOfAll) {
    FakeDriver fake;
    const DriverApi& api = fake.driver().api;
    CUdeviceptr block = 0;
    fake.fail("cuMemAlloc", 2, CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(api.cuMemAlloc(&block, 1), CUDA_SUCCESS);
    EXPECT_EQ(api.cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemAlloc(&block, 1), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(api.cuMemAlloc(&block, 1), CUDA_SUCCESS);
    fake.fail("", 1, CUDA_ERROR_UNKNOWN, 2);
    EXPECT_EQ(api.cuCtxSynchronize(), CUDA_ERROR_UNKNOWN);
    EXPECT_EQ(api.cuInit(0), CUDA_ERROR_UNKNOWN);
    EXPECT_EQ(api.cuInit(0), CUDA_SUCCESS);
}

TEST(FakeDriver, CountsWhatWasNotGivenBack) {
    FakeDriver fake;
    const DriverApi& api = fake.driver().api;
    CUdeviceptr block = 0;
    api.cuMemAlloc(&block, 1000);
    {
        CUevent event = nullptr;
        CUstream stream = nullptr;
        api.cuEventCreate(&event, 0);
        api.cuStreamCreate(&stream, 0);
        const EventHandle owned_event(event, {&api});
        const StreamHandle owned_stream(stream, {&api});
        EXPECT_EQ(fake.leaks(), "1 block (1000 bytes on the device), 1 stream, 1 event");
    }
    EXPECT_EQ(fake.live_bytes(), 1000u);
    api.cuMemFree(block);
    EXPECT_EQ(api.cuMemFree(block), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(fake.leaks(), "");
    EXPECT_EQ(fake.peak_bytes(), 1000u);
}

TEST(FakeDriver, KeepsEventsOfBusyStreamsPending) {
    FakeDriver fake;
    const DriverApi& api = fake.driver().api;
    CUevent event = nullptr;
    api.cuEventCreate(&event, 0);
    fake.set_busy(nullptr, true);
    api.cuEventRecord(event, nullptr);
    EXPECT_EQ(api.cuEventQuery(event), CUDA_ERROR_NOT_READY);
    fake.set_busy(nullptr, false);
    EXPECT_EQ(api.cuEventQuery(event), CUDA_SUCCESS);
    api.cuEventDestroy(event);
}

TEST(FakeDriver, RunsWhatATestSaysAKernelDoes) {
    FakeDriver fake;
    const DriverApi& api = fake.driver().api;
    CUmodule loaded = nullptr;
    CUfunction kernel = nullptr;
    api.cuModuleLoadData(&loaded, "image");
    api.cuModuleGetFunction(&kernel, loaded, "saxpy");
    int seen = 0;
    fake.set_kernel([&](const FakeLaunch& launch) { seen = *static_cast<int*>(launch.params[0]); });
    int value = 7;
    void* params[] = {&value};
    EXPECT_EQ(api.cuLaunchKernel(kernel, 3, 1, 1, 32, 1, 1, 0, nullptr, params, nullptr),
              CUDA_SUCCESS);
    EXPECT_EQ(seen, 7);
    ASSERT_EQ(fake.launches().size(), 1u);
    EXPECT_EQ(fake.launches()[0].function, "saxpy");
    EXPECT_EQ(fake.launches()[0].grid[0], 3u);
    api.cuModuleUnload(loaded);
}

TEST(Check, TellsTheDeedTheNameAndTheNumber) {
    const FakeDriver fake;
    EXPECT_NO_THROW(check(fake.driver().api, CUDA_SUCCESS, "do nothing"));
    try {
        check(fake.driver().api, CUDA_ERROR_INVALID_VALUE, "allocate ", 12, " bytes");
        FAIL();
    } catch (const DriverError& error) {
        EXPECT_STREQ(
            error.what(),
            "CUDA_ERROR_INVALID_VALUE (1): invalid argument, while trying to allocate 12 bytes");
        EXPECT_EQ(error.code(), 1);
        EXPECT_EQ(error.name(), "CUDA_ERROR_INVALID_VALUE");
    }
}

TEST(Check, SpeaksWithoutADriver) {
    const DriverApi none;
    try {
        check(none, static_cast<CUresult>(998), "guess");
        FAIL();
    } catch (const DriverError& error) {
        EXPECT_STREQ(error.what(), "unknown driver error (998), while trying to guess");
    }
}

TEST(Libcuda, IsUsableOrSaysWhyNot) {
    std::string why;
    const Driver* driver = find_cuda_driver(&why);
    if (driver == nullptr) {
        EXPECT_FALSE(why.empty());
        GTEST_SKIP() << why;
    }
    EXPECT_EQ(driver, find_cuda_driver());
    EXPECT_FALSE(driver->executes_on_cpu);
    int devices = 0;
    EXPECT_EQ(driver->api.cuDeviceGetCount(&devices), CUDA_SUCCESS);
    EXPECT_GT(devices, 0);
}

} // namespace
} // namespace quern
