// Streams, events and graphs over the fake driver.
#include "compiler/base/error.h"
#include "runtime/host/host_driver.h"
#include "runtime/stream/stream.h"
#include "tests/runtime/fake_driver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

namespace quern {
namespace {

class Streams : public testing::Test {
  protected:
    void SetUp() override { install_drivers_for_test({&fake.driver(), &host_driver()}); }
    FakeDriver fake{2};
};

TEST_F(Streams, TheCurrentOneBelongsToThreadAndDevice) {
    Device &a = find_device("cuda:0"), &b = find_device("cuda:1");
    EXPECT_EQ(current_stream(a), nullptr);
    const Stream stream(a);
    set_current_stream(a, stream.handle());
    EXPECT_EQ(current_stream(a), stream.handle());
    EXPECT_EQ(current_stream(b), nullptr);
    std::thread([&] { EXPECT_EQ(current_stream(a), nullptr); }).join();
    EXPECT_EQ(Stream::null(a).handle(), nullptr);
}

TEST_F(Streams, ThoseLetGoAreHandedOutAgain) {
    Device& device = find_device("cuda:0");
    CUstream first{};
    {
        const Stream stream(device, true);
        first = stream.handle();
        fake.set_busy(first, true); // still running when the owner goes
    }
    EXPECT_EQ(fake.count("cuStreamDestroy"), 0u);
    const Stream other_kind(device, false), same_kind(device, true), third(device, true);
    EXPECT_NE(other_kind.handle(), first);
    EXPECT_EQ(same_kind.handle(), first);
    EXPECT_NE(third.handle(), first);
    EXPECT_FALSE(same_kind.done());
    same_kind.synchronize();
    EXPECT_TRUE(same_kind.done());
}

TEST_F(Streams, ExternalOnesAreLeftAlone) {
    Device& device = find_device("cuda:0");
    CUstream theirs{};
    device.make_current();
    fake.driver().api.cuStreamCreate(&theirs, 0);
    { const Stream stream = Stream::external(device, theirs); }
    const Stream fresh(device);
    EXPECT_NE(fresh.handle(), theirs);
    EXPECT_EQ(fake.live_streams(), 2u);
}

TEST_F(Streams, PrioritiesReachTheDriver) {
    Device& device = find_device("cuda:0");
    EXPECT_EQ(stream_priorities(device).greatest, -5);
    const Stream stream(device, true, -3);
    int priority = 0;
    fake.driver().api.cuStreamGetPriority(stream.handle(), &priority);
    EXPECT_EQ(priority, -3);
}

TEST_F(Streams, EventsMeasureAndOrder) {
    Device& device = find_device("cuda:0");
    const Stream stream(device), waiter(device);
    Event start(device), end(device);
    start.record(stream.handle());
    fake.set_busy(stream.handle(), true);
    end.record(stream.handle());
    EXPECT_TRUE(start.done());
    EXPECT_FALSE(end.done());
    EXPECT_THROW((void)elapsed_ms(start, end), DriverError);
    waiter.wait(end.handle());
    end.synchronize();
    EXPECT_GT(elapsed_ms(start, end), 0.0f);
    EXPECT_EQ(fake.count("cuStreamWaitEvent"), 1u);
}

TEST_F(Streams, FailuresAreDriverErrors) {
    Device& device = find_device("cuda:0");
    Stream stream(device);
    for (const char* name : {"cuStreamSynchronize", "cuStreamQuery", "cuEventCreate"}) {
        fake.fail(name, 1, CUDA_ERROR_ILLEGAL_ADDRESS);
        EXPECT_THROW(
            {
                stream.synchronize();
                (void)stream.done();
                const Event event(device);
            },
            DriverError)
            << name;
        fake.stop_failing();
    }
}

TEST_F(Streams, GraphsAreCapturedAndLaunched) {
    Device& device = find_device("cuda:0");
    const Stream stream(device, true);
    stream.begin_capture();
    const Graph graph = stream.end_capture();
    graph.launch(stream.handle());
    const std::vector<std::string> calls = fake.calls();
    const auto at = [&](const char* name) { return std::ranges::find(calls, name); };
    EXPECT_LT(at("cuStreamBeginCapture"), at("cuStreamEndCapture"));
    EXPECT_LT(at("cuStreamEndCapture"), at("cuGraphInstantiate"));
    EXPECT_LT(at("cuGraphInstantiate"), at("cuGraphLaunch"));
    EXPECT_NE(at("cuGraphLaunch"), calls.end());
}

TEST_F(Streams, ThoseOfTheCpuWorkToo) {
    Device& device = find_device("cpu");
    const Stream stream(device);
    Event start(device), end(device);
    start.record(stream.handle());
    end.record(stream.handle());
    stream.wait(start.handle());
    stream.synchronize();
    EXPECT_TRUE(stream.done());
    EXPECT_TRUE(end.done());
    EXPECT_GE(elapsed_ms(start, end), 0.0f);
}

} // namespace
} // namespace quern
