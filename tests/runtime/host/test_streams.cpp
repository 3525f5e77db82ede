// Order: streams, events, host functions that wait for their caller, captures and graphs.
#include "tests/runtime/host/objects.h"

#include <atomic>
#include <chrono>
#include <semaphore>
#include <thread>

namespace quern::host {
namespace {

using namespace std::chrono_literals;

struct Gate { // a host function that holds its stream until the test opens it
    std::binary_semaphore open{0};
    std::atomic<bool> passed{false};
    static void wait(void* self) {
        static_cast<Gate*>(self)->open.acquire();
        static_cast<Gate*>(self)->passed = true;
    }
};

class HostStreams : public test::HostTest {
  protected:
    void SetUp() override {
        HostTest::SetUp();
        ASSERT_EQ(api.cuStreamCreate(&one, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
        ASSERT_EQ(api.cuStreamCreate(&two, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
        ASSERT_EQ(api.cuStreamCreate(&blocking, CU_STREAM_DEFAULT), CUDA_SUCCESS);
        ASSERT_EQ(api.cuEventCreate(&event, CU_EVENT_DEFAULT), CUDA_SUCCESS);
        ASSERT_EQ(api.cuEventCreate(&later, CU_EVENT_DEFAULT), CUDA_SUCCESS);
        append_kernel = kernel("append");
    }
    void TearDown() override {
        for (CUstream stream : {one, two, blocking})
            EXPECT_EQ(api.cuStreamDestroy(stream), CUDA_SUCCESS);
        for (CUevent each : {event, later})
            EXPECT_EQ(api.cuEventDestroy(each), CUDA_SUCCESS);
        HostTest::TearDown();
    }
    void append(long value, CUstream stream) {
        long* p = log;
        void* params[] = {&p, &value};
        ASSERT_EQ(api.cuLaunchKernel(append_kernel, 1, 1, 1, 1, 1, 1, 0, stream, params, nullptr),
                  CUDA_SUCCESS);
    }
    [[nodiscard]] std::vector<long> logged() const { return {log + 1, log + 1 + log[0]}; }
    void expect_log(const std::vector<long>& expected) {
        ASSERT_EQ(api.cuCtxSynchronize(), CUDA_SUCCESS);
        EXPECT_EQ(logged(), expected);
    }

    CUstream one = nullptr, two = nullptr, blocking = nullptr;
    CUevent event = nullptr, later = nullptr;
    CUfunction append_kernel = nullptr;
    long log[64] = {};
};

TEST_F(HostStreams, KeepOrderBehindAWaitingHostFunction) {
    Gate gate;
    append(1, one);
    ASSERT_EQ(api.cuLaunchHostFunc(one, Gate::wait, &gate),
              CUDA_SUCCESS); // returns although the gate is shut
    append(2, one);
    EXPECT_EQ(api.cuStreamQuery(one), CUDA_ERROR_NOT_READY);
    ASSERT_EQ(api.cuEventRecord(event, one), CUDA_SUCCESS);
    EXPECT_EQ(api.cuEventQuery(event), CUDA_ERROR_NOT_READY);
    ASSERT_EQ(api.cuStreamWaitEvent(two, event, 0), CUDA_SUCCESS);
    append(3, two);
    EXPECT_EQ(api.cuStreamQuery(two), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(api.cuStreamQuery(nullptr),
              CUDA_SUCCESS); // non-blocking streams are none of its business
    append(0, nullptr);
    EXPECT_EQ(logged(), (std::vector<long>{1, 0}));
    gate.open.release();
    ASSERT_EQ(api.cuStreamSynchronize(two), CUDA_SUCCESS);
    EXPECT_TRUE(gate.passed);
    EXPECT_EQ(api.cuEventQuery(event), CUDA_SUCCESS);
    expect_log({1, 0, 2, 3});
}

TEST_F(HostStreams, TheLegacyStreamWaitsForBlockingOnesAndTheyForIt) {
    Gate first, second;
    ASSERT_EQ(api.cuLaunchHostFunc(blocking, Gate::wait, &first), CUDA_SUCCESS);
    append(1, nullptr); // behind the blocking stream
    EXPECT_EQ(api.cuStreamQuery(nullptr), CUDA_ERROR_NOT_READY);
    append(2, CU_STREAM_PER_THREAD); // behind the legacy stream
    append(9, one);                  // free
    EXPECT_EQ(logged(), std::vector<long>{9});
    first.open.release();
    ASSERT_EQ(api.cuStreamSynchronize(CU_STREAM_PER_THREAD), CUDA_SUCCESS);
    EXPECT_EQ(logged(), (std::vector<long>{9, 1, 2}));
    ASSERT_EQ(api.cuLaunchHostFunc(nullptr, Gate::wait, &second), CUDA_SUCCESS);
    append(3, blocking);
    EXPECT_EQ(api.cuStreamQuery(blocking), CUDA_ERROR_NOT_READY);
    second.open.release();
    expect_log({9, 1, 2, 3});
}

TEST_F(HostStreams, SynchronousCopiesWaitAndAsynchronousOnesTakeTheirSource) {
    Gate gate;
    CUdeviceptr block = 0;
    int value = 1, result = 0;
    ASSERT_EQ(api.cuMemAlloc(&block, 4), CUDA_SUCCESS);
    ASSERT_EQ(api.cuLaunchHostFunc(blocking, Gate::wait, &gate), CUDA_SUCCESS);
    ASSERT_EQ(api.cuMemcpyHtoDAsync(block, &value, 4, blocking), CUDA_SUCCESS);
    value = 2; // pageable memory: the copy has it already
    std::thread opener([&] {
        std::this_thread::sleep_for(20ms);
        gate.open.release();
    });
    ASSERT_EQ(api.cuMemcpyDtoH(&result, block, 4),
              CUDA_SUCCESS); // on the legacy stream, so after it all
    EXPECT_TRUE(gate.passed);
    EXPECT_EQ(result, 1);
    opener.join();
    ASSERT_EQ(api.cuMemFree(block), CUDA_SUCCESS);
}

TEST_F(HostStreams, DestroyedWithWorkPendingFinishIt) {
    Gate gate;
    CUstream own = nullptr;
    ASSERT_EQ(api.cuStreamCreate(&own, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    ASSERT_EQ(api.cuLaunchHostFunc(own, Gate::wait, &gate), CUDA_SUCCESS);
    append(5, own);
    ASSERT_EQ(api.cuEventRecord(event, own), CUDA_SUCCESS);
    ASSERT_EQ(api.cuStreamDestroy(own), CUDA_SUCCESS);
    EXPECT_EQ(api.cuStreamQuery(own), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(api.cuStreamDestroy(own), CUDA_ERROR_INVALID_HANDLE);
    gate.open.release();
    ASSERT_EQ(api.cuEventSynchronize(event), CUDA_SUCCESS);
    EXPECT_EQ(logged(), std::vector<long>{5});
}

TEST_F(HostStreams, HostFunctionsMayNotWaitForTheDevice) {
    CUresult seen = CUDA_SUCCESS;
    struct Data {
        const DriverApi* api;
        CUcontext context;
        CUresult* seen;
    } data{&api, context, &seen};
    const auto body = [](void* self) {
        const auto* d = static_cast<Data*>(self);
        d->api->cuCtxSetCurrent(d->context);
        *d->seen = d->api->cuCtxSynchronize();
    };
    ASSERT_EQ(api.cuLaunchHostFunc(one, body, &data), CUDA_SUCCESS);
    ASSERT_EQ(api.cuStreamSynchronize(one), CUDA_SUCCESS);
    EXPECT_EQ(seen, CUDA_ERROR_NOT_PERMITTED);
}

TEST_F(HostStreams, CallbacksGetTheirStreamAndStatus) {
    static CUstream seen;
    seen = nullptr;
    const auto body = [](CUstream stream, CUresult status, void*) {
        EXPECT_EQ(status, CUDA_SUCCESS);
        seen = stream;
    };
    ASSERT_EQ(api.cuStreamAddCallback(one, body, nullptr, 0), CUDA_SUCCESS);
    ASSERT_EQ(api.cuStreamSynchronize(one), CUDA_SUCCESS);
    EXPECT_EQ(seen, one);
}

TEST_F(HostStreams, EventsMeasureTime) {
    ASSERT_EQ(api.cuEventRecord(event, one), CUDA_SUCCESS);
    std::this_thread::sleep_for(15ms);
    ASSERT_EQ(api.cuEventRecord(later, one), CUDA_SUCCESS);
    float ms = -1;
    ASSERT_EQ(api.cuEventElapsedTime(&ms, event, later), CUDA_SUCCESS);
    EXPECT_GE(ms, 15.f);
    EXPECT_LT(ms, 5000.f);
    Gate gate;
    ASSERT_EQ(api.cuLaunchHostFunc(one, Gate::wait, &gate), CUDA_SUCCESS);
    ASSERT_EQ(api.cuEventRecord(later, one), CUDA_SUCCESS);
    EXPECT_EQ(api.cuEventElapsedTime(&ms, event, later), CUDA_ERROR_NOT_READY);
    gate.open.release();
    ASSERT_EQ(api.cuEventSynchronize(later), CUDA_SUCCESS);
    ASSERT_EQ(api.cuEventElapsedTime(&ms, event, later), CUDA_SUCCESS);
    ASSERT_EQ(api.cuEventRecord(later, two),
              CUDA_SUCCESS); // a pending recording is forgotten by a finished one
    EXPECT_EQ(api.cuEventQuery(later), CUDA_SUCCESS);
}

TEST_F(HostStreams, AGraphReplaysWhatWasRecorded) {
    CUdeviceptr block = 0;
    int value = 7, result = 0;
    ASSERT_EQ(api.cuMemAlloc(&block, 8), CUDA_SUCCESS);
    ASSERT_EQ(api.cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    append(1, one);
    ASSERT_EQ(api.cuMemsetD32Async(block, 3, 1, one), CUDA_SUCCESS);
    ASSERT_EQ(api.cuMemcpyHtoDAsync(block + 4, &value, 4, one), CUDA_SUCCESS);
    ASSERT_EQ(api.cuEventRecord(event, one), CUDA_SUCCESS); // fork ...
    ASSERT_EQ(api.cuStreamWaitEvent(two, event, 0), CUDA_SUCCESS);
    append(2, two);
    ASSERT_EQ(api.cuEventRecord(later, two), CUDA_SUCCESS); // ... and join
    ASSERT_EQ(api.cuStreamWaitEvent(one, later, 0), CUDA_SUCCESS);
    CUdeviceptr scratch = 0;
    ASSERT_EQ(api.cuMemAllocAsync(&scratch, 1024, one), CUDA_SUCCESS);
    ASSERT_EQ(api.cuMemsetD8Async(scratch, 1, 1024, one), CUDA_SUCCESS);
    ASSERT_EQ(api.cuMemFreeAsync(scratch, one), CUDA_SUCCESS);
    CUstreamCaptureStatus status{};
    ASSERT_EQ(api.cuStreamIsCapturing(two, &status), CUDA_SUCCESS);
    EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    EXPECT_EQ(log[0], 0); // nothing ran
    CUgraph graph = nullptr;
    ASSERT_EQ(api.cuStreamEndCapture(one, &graph), CUDA_SUCCESS);
    ASSERT_EQ(api.cuStreamIsCapturing(two, &status), CUDA_SUCCESS);
    EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_NONE);
    std::size_t nodes = 0;
    ASSERT_EQ(api.cuGraphGetNodes(graph, nullptr, &nodes), CUDA_SUCCESS);
    EXPECT_EQ(nodes, 5u);
    CUgraphExec exec = nullptr;
    ASSERT_EQ(api.cuGraphInstantiate(&exec, graph, 0), CUDA_SUCCESS);
    ASSERT_EQ(api.cuGraphDestroy(graph), CUDA_SUCCESS);
    EXPECT_EQ(api.cuGraphDestroy(graph), CUDA_ERROR_INVALID_HANDLE);
    for (int i = 0; i < 3; ++i)
        ASSERT_EQ(api.cuGraphLaunch(exec, two), CUDA_SUCCESS);
    expect_log({1, 2, 1, 2, 1, 2});
    value = 8;
    Gate gate;
    ASSERT_EQ(api.cuLaunchHostFunc(two, Gate::wait, &gate), CUDA_SUCCESS);
    ASSERT_EQ(api.cuGraphLaunch(exec, two), CUDA_SUCCESS);
    ASSERT_EQ(api.cuGraphExecDestroy(exec),
              CUDA_SUCCESS); // the launch is pending and keeps what it needs
    EXPECT_EQ(log[0], 6);
    gate.open.release();
    expect_log({1, 2, 1, 2, 1, 2, 1, 2});
    ASSERT_EQ(api.cuMemcpyDtoH(&result, block + 4, 4), CUDA_SUCCESS);
    EXPECT_EQ(result, 8); // the source is read at each replay
    ASSERT_EQ(api.cuMemFree(block), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemFree(scratch), CUDA_ERROR_INVALID_VALUE); // it went with the graph
}

TEST_F(HostStreams, AGraphMayHoldHostFunctionsAndGraphs) {
    static std::atomic<int> calls;
    calls = 0;
    CUgraph inner = nullptr, outer = nullptr;
    CUgraphExec inner_exec = nullptr, outer_exec = nullptr;
    ASSERT_EQ(api.cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
    ASSERT_EQ(api.cuLaunchHostFunc(
                  one, [](void*) { ++calls; }, nullptr),
              CUDA_SUCCESS);
    ASSERT_EQ(api.cuStreamEndCapture(one, &inner), CUDA_SUCCESS);
    ASSERT_EQ(api.cuGraphInstantiate(&inner_exec, inner, 0), CUDA_SUCCESS);
    ASSERT_EQ(api.cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
    ASSERT_EQ(api.cuGraphLaunch(inner_exec, one), CUDA_SUCCESS);
    ASSERT_EQ(api.cuGraphLaunch(inner_exec, one), CUDA_SUCCESS);
    ASSERT_EQ(api.cuStreamEndCapture(one, &outer), CUDA_SUCCESS);
    ASSERT_EQ(api.cuGraphInstantiate(&outer_exec, outer, 0), CUDA_SUCCESS);
    EXPECT_EQ(calls, 0);
    ASSERT_EQ(api.cuGraphLaunch(outer_exec, two), CUDA_SUCCESS);
    ASSERT_EQ(api.cuStreamSynchronize(two), CUDA_SUCCESS);
    EXPECT_EQ(calls, 2);
    for (CUgraph graph : {inner, outer})
        EXPECT_EQ(api.cuGraphDestroy(graph), CUDA_SUCCESS);
    for (CUgraphExec exec : {inner_exec, outer_exec})
        EXPECT_EQ(api.cuGraphExecDestroy(exec), CUDA_SUCCESS);
}

TEST_F(HostStreams,
       SurviveAStormOfHandOvers) { // many streams, host functions and events from many threads
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            EXPECT_EQ(api.cuCtxSetCurrent(context), CUDA_SUCCESS);
            for (int round = 0; round < 100; ++round) {
                CUstream a = nullptr, b = nullptr;
                CUevent done = nullptr;
                long own[8] = {};
                const auto put = [&](long value, CUstream stream) {
                    long* p = own;
                    void* params[] = {&p, &value};
                    ASSERT_EQ(api.cuLaunchKernel(append_kernel, 1, 1, 1, 1, 1, 1, 0, stream, params,
                                                 nullptr),
                              CUDA_SUCCESS);
                };
                ASSERT_EQ(api.cuStreamCreate(&a, round % 2), CUDA_SUCCESS);
                ASSERT_EQ(api.cuStreamCreate(&b, round % 3 ? 0 : 1), CUDA_SUCCESS);
                ASSERT_EQ(api.cuEventCreate(&done, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
                put(1, a);
                ASSERT_EQ(api.cuLaunchHostFunc(
                              a, [](void* p) { static_cast<long*>(p)[7] = 1; }, own),
                          CUDA_SUCCESS);
                put(2, a);
                ASSERT_EQ(api.cuEventRecord(done, a), CUDA_SUCCESS);
                ASSERT_EQ(api.cuStreamWaitEvent(b, done, 0), CUDA_SUCCESS);
                put(3, b);
                ASSERT_EQ(api.cuStreamDestroy(a), CUDA_SUCCESS);
                ASSERT_EQ(api.cuStreamSynchronize(b), CUDA_SUCCESS);
                ASSERT_EQ(api.cuStreamDestroy(b), CUDA_SUCCESS);
                ASSERT_EQ(api.cuEventDestroy(done), CUDA_SUCCESS);
                EXPECT_EQ(std::vector<long>(own, own + 4), (std::vector<long>{3, 1, 2, 3}));
            }
        });
    for (auto& thread : threads)
        thread.join();
}

} // namespace
} // namespace quern::host
