// Rules that every real provider keeps: each test runs on the host driver, and on libcuda where
// there is a GPU.
#include "tests/runtime/host/objects.h"

#include <climits>
#include <cstring>
#include <thread>
#include <vector>

namespace quern {
namespace {

class DriverRules : public testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        std::string why;
        const Driver* driver =
            std::string_view(GetParam()) == "host" ? &host_driver() : find_cuda_driver(&why);
        if (driver == nullptr)
            GTEST_SKIP() << why;
        api = driver->api;
        on_cpu = driver->executes_on_cpu;
        ASSERT_EQ(api.cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
        ASSERT_EQ(api.cuCtxSetCurrent(context), CUDA_SUCCESS);
        ASSERT_EQ(api.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
        ASSERT_EQ(api.cuStreamCreate(&other, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
        ASSERT_EQ(api.cuStreamCreate(&blocking, CU_STREAM_DEFAULT), CUDA_SUCCESS);
        ASSERT_EQ(api.cuMemAlloc(&block, 4096), CUDA_SUCCESS);
    }
    void TearDown() override {
        if (context == nullptr)
            return;
        EXPECT_EQ(api.cuMemFree(block), CUDA_SUCCESS);
        for (CUstream each : {stream, other, blocking})
            EXPECT_EQ(api.cuStreamDestroy(each), CUDA_SUCCESS);
        EXPECT_EQ(api.cuCtxSynchronize(), CUDA_SUCCESS);
        EXPECT_EQ(api.cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
    }
    [[nodiscard]] CUevent make_event(unsigned flags = CU_EVENT_DEFAULT) {
        CUevent event = nullptr;
        EXPECT_EQ(api.cuEventCreate(&event, flags), CUDA_SUCCESS);
        return event;
    }

    DriverApi api;
    bool on_cpu = false;
    CUcontext context = nullptr;
    CUstream stream = nullptr, other = nullptr, blocking = nullptr;
    CUdeviceptr block = 0;
};
INSTANTIATE_TEST_SUITE_P(Providers, DriverRules, testing::Values("host", "libcuda"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(DriverRules, DevicesDescribeThemselves) {
    int count = 0, value = 0;
    ASSERT_EQ(api.cuDeviceGetCount(&count), CUDA_SUCCESS);
    EXPECT_GE(count, 1);
    CUdevice device = -1;
    EXPECT_EQ(api.cuDeviceGet(&device, count), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_EQ(api.cuDeviceGet(&device, -1), CUDA_ERROR_INVALID_DEVICE);
    ASSERT_EQ(api.cuDeviceGet(&device, 0), CUDA_SUCCESS);
    char name[256], little[5];
    ASSERT_EQ(api.cuDeviceGetName(name, sizeof name, device), CUDA_SUCCESS);
    EXPECT_GT(std::strlen(name), 2u);
    ASSERT_EQ(api.cuDeviceGetName(little, sizeof little, device), CUDA_SUCCESS);
    EXPECT_EQ(std::strlen(little), std::min<std::size_t>(4, std::strlen(name)));
    std::size_t bytes = 0, free_bytes = 0, total = 0;
    ASSERT_EQ(api.cuDeviceTotalMem(&bytes, device), CUDA_SUCCESS);
    ASSERT_EQ(api.cuMemGetInfo(&free_bytes, &total), CUDA_SUCCESS);
    EXPECT_GT(bytes, std::size_t{64} << 20);
    EXPECT_LE(free_bytes, total);
    const std::pair<CUdevice_attribute, int> rows[] = {
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, INT_MAX},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
        {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
        {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
    };
    for (const auto& [attribute, expected] : rows) {
        ASSERT_EQ(api.cuDeviceGetAttribute(&value, attribute, device), CUDA_SUCCESS);
        EXPECT_EQ(value, expected) << attribute;
    }
    EXPECT_EQ(api.cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(0), device),
              CUDA_ERROR_INVALID_VALUE);
    ASSERT_EQ(api.cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device),
              CUDA_SUCCESS);
    EXPECT_GE(value, 1);
    const char* text = nullptr;
    EXPECT_EQ(api.cuGetErrorName(CUDA_ERROR_INVALID_VALUE, &text), CUDA_SUCCESS);
    EXPECT_STREQ(text, "CUDA_ERROR_INVALID_VALUE");
    EXPECT_EQ(api.cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text), CUDA_SUCCESS);
    EXPECT_STREQ(text, "out of memory");
    EXPECT_EQ(api.cuGetErrorName(static_cast<CUresult>(777), &text), CUDA_ERROR_INVALID_VALUE);
}

TEST_P(DriverRules, EveryThreadNeedsAContext) {
    std::thread([this] {
        CUdeviceptr memory = 0;
        CUcontext current = context;
        EXPECT_EQ(api.cuCtxGetCurrent(&current), CUDA_SUCCESS);
        EXPECT_EQ(current, nullptr);
        EXPECT_EQ(api.cuMemAlloc(&memory, 16), CUDA_ERROR_INVALID_CONTEXT);
        EXPECT_EQ(api.cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
        CUevent event = nullptr;
        EXPECT_EQ(api.cuEventCreate(&event, 0), CUDA_ERROR_INVALID_CONTEXT);
        EXPECT_EQ(api.cuCtxSetCurrent(context), CUDA_SUCCESS);
        EXPECT_EQ(api.cuMemAlloc(&memory, 16), CUDA_SUCCESS);
        EXPECT_EQ(api.cuMemFree(memory), CUDA_SUCCESS);
    }).join();
}

TEST_P(DriverRules, AllocationsAreAlignedAndChecked) {
    CUdeviceptr a = 0, b = 0;
    EXPECT_EQ(api.cuMemAlloc(&a, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuMemAlloc(nullptr, 16), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuMemAlloc(&a, std::size_t{1} << 50), CUDA_ERROR_OUT_OF_MEMORY);
    ASSERT_EQ(api.cuMemAlloc(&a, 1), CUDA_SUCCESS);
    ASSERT_EQ(api.cuMemAlloc(&b, std::size_t{33} << 20), CUDA_SUCCESS);
    EXPECT_EQ(a % 512, 0u);
    EXPECT_EQ(b % 512, 0u);
    EXPECT_EQ(api.cuMemFree(b + 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuMemFree(0), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemFree(a), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemFree(b), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemFree(b), CUDA_ERROR_INVALID_VALUE);
    void* host = nullptr;
    ASSERT_EQ(api.cuMemHostAlloc(&host, 100, 0), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemFreeHost(host), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemFreeHost(host), CUDA_ERROR_INVALID_VALUE);
    ASSERT_EQ(api.cuMemAllocAsync(&a, 1000, stream), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemsetD8Async(a, 1, 1000, stream), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemFreeAsync(a, stream), CUDA_SUCCESS);
    EXPECT_EQ(api.cuStreamSynchronize(stream), CUDA_SUCCESS);
}

TEST_P(DriverRules, CopiesAndFills) {
    std::vector<int> from(1024), to(1024);
    for (int i = 0; i < 1024; ++i)
        from[i] = i;
    EXPECT_EQ(api.cuMemcpyHtoD(block, from.data(), 4096), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemcpyDtoDAsync(block, block + 2048, 1024, stream), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemsetD32Async(block + 1024, 99, 10, stream), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemcpyDtoHAsync(to.data(), block, 4096, stream), CUDA_SUCCESS);
    EXPECT_EQ(api.cuStreamSynchronize(stream), CUDA_SUCCESS);
    for (int i = 0; i < 1024; ++i)
        EXPECT_EQ(to[i], i < 256 ? i + 512 : i < 266 ? 99 : i) << i;
    EXPECT_EQ(api.cuMemsetD16(block, 0x1234, 2), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemsetD8(block + 4, 0xab, 4), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemcpy(reinterpret_cast<CUdeviceptr>(to.data()), block, 8), CUDA_SUCCESS);
    EXPECT_EQ(to[0], 0x12341234);
    EXPECT_EQ(static_cast<unsigned>(to[1]), 0xababababu);
    EXPECT_EQ(api.cuMemsetD16(block + 1, 0, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuMemsetD32(block + 2, 0, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuMemsetD8(block, 0, 4097), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuMemcpyHtoD(block + 1, from.data(), 4096), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuMemcpyDtoH(to.data(), block + 4095, 2), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuMemcpyHtoD(0, from.data(), 4), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuMemcpyHtoD(block, nullptr, 4), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuMemcpyHtoD(block, from.data(), 0), CUDA_SUCCESS);
}

TEST_P(DriverRules, LargeCopiesAreWhole) {
    const std::size_t count = (std::size_t{24} << 20) / 4 + 3;
    std::vector<unsigned> from(count), to(count);
    for (std::size_t i = 0; i < count; ++i)
        from[i] = static_cast<unsigned>(i * 2654435761u);
    CUdeviceptr a = 0, b = 0;
    ASSERT_EQ(api.cuMemAlloc(&a, count * 4), CUDA_SUCCESS);
    ASSERT_EQ(api.cuMemAlloc(&b, count * 4), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemcpyHtoD(a, from.data(), count * 4), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemcpyDtoD(b, a, count * 4), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemcpyDtoH(to.data(), b, count * 4), CUDA_SUCCESS);
    EXPECT_EQ(from, to);
    EXPECT_EQ(api.cuMemsetD32(a, 17, count), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemcpyDtoH(to.data(), a, count * 4), CUDA_SUCCESS);
    EXPECT_EQ(to, std::vector<unsigned>(count, 17));
    EXPECT_EQ(api.cuMemFree(a), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemFree(b), CUDA_SUCCESS);
}

TEST_P(DriverRules, CopiesToAnyPlaceOfAPage) {
    constexpr std::size_t bytes = 5003, page = 4096;
    std::vector<unsigned char> from(bytes), to(bytes + 2);
    for (std::size_t i = 0; i < bytes; ++i)
        from[i] = static_cast<unsigned char>(i * 31 + i / 251);
    CUdeviceptr a = 0;
    ASSERT_EQ(api.cuMemAlloc(&a, 8 * page), CUDA_SUCCESS);
    const CUdeviceptr source = (a + page - 1) / page * page, target = source + 2 * page;
    ASSERT_EQ(api.cuMemcpyHtoD(source, from.data(), bytes), CUDA_SUCCESS);
    for (std::size_t behind = 1; behind <= 17; ++behind) {
        ASSERT_EQ(api.cuMemsetD8(target, 0xee, 3 * page), CUDA_SUCCESS);
        EXPECT_EQ(api.cuMemcpyDtoD(target + behind, source, bytes), CUDA_SUCCESS);
        EXPECT_EQ(api.cuMemcpyDtoH(to.data(), target + behind - 1, bytes + 2), CUDA_SUCCESS);
        EXPECT_TRUE(std::equal(from.begin(), from.end(), to.begin() + 1)) << behind;
        EXPECT_EQ(to.front(), 0xee);
        EXPECT_EQ(to.back(), 0xee);
    }
    EXPECT_EQ(api.cuMemFree(a), CUDA_SUCCESS);
}

TEST_P(DriverRules, TwoDimensionalCopies) {
    std::vector<char> from(8 * 5), to(4 * 3, 'z');
    for (std::size_t i = 0; i < from.size(); ++i)
        from[i] = static_cast<char>(i);
    ASSERT_EQ(api.cuMemcpyHtoD(block, from.data(), from.size()), CUDA_SUCCESS);
    CUDA_MEMCPY2D how{};
    how.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    how.srcDevice = block;
    how.srcPitch = 8;
    how.srcXInBytes = 2;
    how.srcY = 1;
    how.dstMemoryType = CU_MEMORYTYPE_HOST;
    how.dstHost = to.data();
    how.dstPitch = 4;
    how.WidthInBytes = 4;
    how.Height = 3;
    EXPECT_EQ(api.cuMemcpy2D(&how), CUDA_SUCCESS);
    for (std::size_t r = 0; r < 3; ++r)
        for (std::size_t c = 0; c < 4; ++c)
            EXPECT_EQ(to[r * 4 + c], static_cast<char>((r + 1) * 8 + c + 2));
    how.srcPitch = 5;
    EXPECT_EQ(api.cuMemcpy2D(&how), CUDA_ERROR_INVALID_VALUE);
}

TEST_P(DriverRules, PointersTellWhereTheyCameFrom) {
    CUdeviceptr base = 0;
    std::size_t bytes = 0;
    EXPECT_EQ(api.cuMemGetAddressRange(&base, &bytes, block + 100), CUDA_SUCCESS);
    EXPECT_EQ(base, block);
    EXPECT_EQ(bytes, 4096u);
    unsigned type = 0;
    int ordinal = -1;
    CUcontext owner = nullptr;
    EXPECT_EQ(api.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, block + 1),
              CUDA_SUCCESS);
    EXPECT_EQ(type, static_cast<unsigned>(CU_MEMORYTYPE_DEVICE));
    CUpointer_attribute asked[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
        CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR};
    void* answers[] = {&type, &ordinal, &owner, &base};
    EXPECT_EQ(api.cuPointerGetAttributes(4, asked, answers, block + 8), CUDA_SUCCESS);
    EXPECT_EQ(ordinal, 0);
    EXPECT_EQ(owner, context);
    int mine = 0;
    const auto foreign = reinterpret_cast<CUdeviceptr>(&mine);
    EXPECT_EQ(api.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, foreign),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuPointerGetAttributes(4, asked, answers, foreign), CUDA_SUCCESS);
    EXPECT_EQ(type, 0u);
    EXPECT_EQ(ordinal, -2);
    EXPECT_EQ(owner, nullptr);
    void* pinned = nullptr;
    ASSERT_EQ(api.cuMemHostAlloc(&pinned, 64, 0), CUDA_SUCCESS);
    EXPECT_EQ(api.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                        reinterpret_cast<CUdeviceptr>(pinned)),
              CUDA_SUCCESS);
    EXPECT_EQ(type, static_cast<unsigned>(CU_MEMORYTYPE_HOST));
    EXPECT_EQ(api.cuMemFreeHost(pinned), CUDA_SUCCESS);
}

TEST_P(DriverRules, HostMemoryIsRegisteredOnce) {
    std::vector<char> memory(1 << 16);
    EXPECT_EQ(api.cuMemHostRegister(memory.data(), memory.size(), 0), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemHostRegister(memory.data(), memory.size(), 0),
              CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    EXPECT_EQ(api.cuMemHostUnregister(memory.data()), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemHostUnregister(memory.data()), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

TEST_P(DriverRules, StreamsAndEvents) {
    unsigned flags = 9;
    EXPECT_EQ(api.cuStreamGetFlags(stream, &flags), CUDA_SUCCESS);
    EXPECT_EQ(flags, static_cast<unsigned>(CU_STREAM_NON_BLOCKING));
    EXPECT_EQ(api.cuStreamGetFlags(nullptr, &flags), CUDA_SUCCESS);
    EXPECT_EQ(flags, 0u);
    CUcontext owner = nullptr;
    EXPECT_EQ(api.cuStreamGetCtx(stream, &owner), CUDA_SUCCESS);
    EXPECT_EQ(owner, context);
    CUevent start = make_event(), end = make_event(), untimed = make_event(CU_EVENT_DISABLE_TIMING);
    float ms = 0;
    EXPECT_EQ(api.cuEventQuery(start), CUDA_SUCCESS); // never recorded
    EXPECT_EQ(api.cuEventElapsedTime(&ms, start, end), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(api.cuEventRecord(start, stream), CUDA_SUCCESS);
    EXPECT_EQ(api.cuEventRecord(end, stream), CUDA_SUCCESS);
    EXPECT_EQ(api.cuEventRecord(untimed, stream), CUDA_SUCCESS);
    EXPECT_EQ(api.cuStreamWaitEvent(other, end, 0), CUDA_SUCCESS);
    EXPECT_EQ(api.cuEventSynchronize(end), CUDA_SUCCESS);
    EXPECT_EQ(api.cuStreamSynchronize(stream), CUDA_SUCCESS);
    EXPECT_EQ(api.cuEventElapsedTime(&ms, start, end), CUDA_SUCCESS);
    EXPECT_GE(ms, 0.f);
    EXPECT_EQ(api.cuEventElapsedTime(&ms, start, untimed), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(api.cuStreamQuery(stream), CUDA_SUCCESS);
    EXPECT_EQ(api.cuStreamSynchronize(CU_STREAM_LEGACY), CUDA_SUCCESS);
    EXPECT_EQ(api.cuStreamSynchronize(CU_STREAM_PER_THREAD), CUDA_SUCCESS);
    for (CUevent each : {start, end, untimed})
        EXPECT_EQ(api.cuEventDestroy(each), CUDA_SUCCESS);
    CUstream bad = nullptr;
    EXPECT_EQ(api.cuStreamCreate(&bad, 77), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuEventCreate(&start, 1u << 20), CUDA_ERROR_INVALID_VALUE);
}

TEST_P(DriverRules, CapturesRecordInsteadOfRunning) {
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    CUstreamCaptureStatus status{};
    int value = 0;
    EXPECT_EQ(api.cuMemsetD32(block, 1, 1), CUDA_SUCCESS);
    EXPECT_EQ(api.cuStreamBeginCapture(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL),
              CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_EQ(api.cuStreamEndCapture(stream, &graph), CUDA_ERROR_ILLEGAL_STATE);
    ASSERT_EQ(api.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
    EXPECT_EQ(api.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL),
              CUDA_ERROR_ILLEGAL_STATE);
    EXPECT_EQ(api.cuStreamIsCapturing(stream, &status), CUDA_SUCCESS);
    EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    EXPECT_EQ(api.cuMemsetD32Async(block, 2, 1, stream), CUDA_SUCCESS);
    ASSERT_EQ(api.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemcpyDtoH(&value, block, 4), CUDA_SUCCESS);
    EXPECT_EQ(value, 1);
    ASSERT_EQ(api.cuGraphInstantiate(&exec, graph, 0), CUDA_SUCCESS);
    EXPECT_EQ(api.cuGraphLaunch(exec, stream), CUDA_SUCCESS);
    EXPECT_EQ(api.cuStreamSynchronize(stream), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemcpyDtoH(&value, block, 4), CUDA_SUCCESS);
    EXPECT_EQ(value, 2);
    EXPECT_EQ(api.cuGraphExecDestroy(exec), CUDA_SUCCESS);
    EXPECT_EQ(api.cuGraphDestroy(graph), CUDA_SUCCESS);
}

TEST_P(DriverRules, CapturesAreSpoiledByCallsThatCannotBeRecorded) {
    CUgraph graph = nullptr;
    CUstreamCaptureStatus status{};
    ASSERT_EQ(api.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    EXPECT_EQ(api.cuStreamSynchronize(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_EQ(api.cuStreamIsCapturing(stream, &status), CUDA_SUCCESS);
    EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    EXPECT_EQ(api.cuMemsetD8Async(block, 0, 1, stream), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    EXPECT_EQ(api.cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    EXPECT_EQ(graph, nullptr);

    ASSERT_EQ(api.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    CUdeviceptr memory = 0;
    EXPECT_EQ(api.cuMemAlloc(&memory, 16), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_EQ(api.cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

    ASSERT_EQ(api.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    EXPECT_EQ(api.cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemAlloc(&memory, 16), CUDA_SUCCESS);
    EXPECT_EQ(api.cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
    EXPECT_EQ(api.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
    EXPECT_EQ(api.cuGraphDestroy(graph), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemFree(memory), CUDA_SUCCESS);
}

TEST_P(DriverRules, CapturesMustJoinWhatTheyFork) {
    CUgraph graph = nullptr;
    CUevent fork = make_event(CU_EVENT_DISABLE_TIMING);
    ASSERT_EQ(api.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemsetD8Async(block, 0, 1, stream), CUDA_SUCCESS);
    EXPECT_EQ(api.cuEventRecord(fork, stream), CUDA_SUCCESS);
    EXPECT_EQ(api.cuStreamWaitEvent(other, fork, 0), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemsetD8Async(block + 1, 0, 1, other), CUDA_SUCCESS);
    EXPECT_EQ(api.cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    EXPECT_EQ(api.cuEventDestroy(fork), CUDA_SUCCESS);
}

TEST_P(DriverRules, CapturesAreSpoiledByAskingTheirEvents) {
    CUgraph graph = nullptr;
    CUevent fork = make_event(CU_EVENT_DISABLE_TIMING);
    ASSERT_EQ(api.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
    EXPECT_EQ(api.cuEventRecord(fork, stream), CUDA_SUCCESS);
    EXPECT_EQ(api.cuEventQuery(fork), CUDA_ERROR_CAPTURED_EVENT);
    EXPECT_EQ(api.cuStreamWaitEvent(other, fork, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    EXPECT_EQ(graph, nullptr);
    EXPECT_EQ(api.cuMemsetD8Async(block, 0, 1, stream), CUDA_SUCCESS);
    EXPECT_EQ(api.cuEventDestroy(fork), CUDA_SUCCESS);
}

TEST_P(DriverRules, TheLegacyStreamIsShutWhileABlockingOneCaptures) {
    CUgraph graph = nullptr;
    ASSERT_EQ(api.cuStreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemsetD8Async(block, 0, 1, nullptr), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    (void)api.cuStreamEndCapture(blocking, &graph);
    if (graph != nullptr)
        api.cuGraphDestroy(graph);
    EXPECT_EQ(api.cuMemsetD8Async(block, 0, 1, nullptr), CUDA_SUCCESS);
}

} // namespace
} // namespace quern
