// The same promises on every device this machine has: data survives reuse across streams, capture
// goes on while the pool grows, copies between devices arrive.
#include "compiler/base/error.h"
#include "runtime/host/host_driver.h"
#include "runtime/memory/copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace quern {
namespace {

constexpr std::size_t MiB = 1024 * 1024;

class OnDevices : public testing::Test {
  protected:
    void SetUp() override {
        std::vector<const Driver*> drivers{&host_driver()};
        if (const Driver* gpu = find_cuda_driver())
            drivers.push_back(gpu);
        install_drivers_for_test(drivers);
        names = device_names();
    }
    std::vector<std::string> names;
};

std::vector<std::uint32_t> numbers(std::size_t count) {
    std::vector<std::uint32_t> values(count);
    std::iota(values.begin(), values.end(), 1u);
    return values;
}

TEST_F(OnDevices, DataSurvivesReuseAcrossStreams) {
    for (const std::string& name : names) {
        Device& device = find_device(name);
        MemoryPool pool(device);
        const Stream own(device, true), side(device, true);
        const std::size_t bytes = 16 * MiB;
        const std::vector<std::uint32_t> values = numbers(bytes / 4);
        const BufferPtr kept = pool.allocate(bytes, side.handle());
        const int rounds = device.is_cpu() ? 3 : 20;
        for (int round = 0; round < rounds; ++round) {
            BufferPtr source = pool.allocate(bytes, own.handle());
            const auto address = source->address();
            copy_to_device(device, address, values.data(), bytes, own.handle());
            Event ready(device, false);
            ready.record(own.handle());
            side.wait(ready.handle());
            // `side` is made late, so that it reads `source` long after that was freed.
            const BufferPtr slow = pool.allocate(64 * MiB, side.handle());
            for (int k = 0; k < rounds; ++k)
                fill_bytes(device, slow->address(), 1, 64 * MiB, side.handle());
            copy_between(device, kept->address(), side.handle(), device, address, side.handle(),
                         bytes);
            pool.note_use(*source.get(), side.handle());
            source = {};
            const BufferPtr next = pool.allocate(bytes, own.handle());
            fill_bytes(device, next->address(), 0xff, bytes, own.handle());
            std::vector<std::uint32_t> back(values.size());
            copy_to_host(device, back.data(), kept->address(), bytes, side.handle());
            ASSERT_EQ(back, values) << name << " round " << round;
        }
        EXPECT_LE(pool.total_bytes(), 128 * MiB);
        own.synchronize();
    }
}

TEST_F(OnDevices, CaptureGoesOnWhileThePoolGrows) {
    for (const std::string& name : names) {
        Device& device = find_device(name);
        if (device.api().cuStreamBeginCapture == nullptr)
            continue;
        MemoryPool pool(device);
        const Stream stream(device, true);
        const BufferPtr target = pool.allocate(4096, stream.handle());
        stream.begin_capture();
        const BufferPtr fresh = pool.allocate(8 * MiB, stream.handle());
        fill_bytes(device, target->address(), 5, 4096, stream.handle());
        fill_bytes(device, fresh->address(), 6, 8 * MiB, stream.handle());
        const Graph graph = stream.end_capture();
        EXPECT_EQ(graph.node_count(), 2u) << name;
        std::vector<unsigned char> back(4096);
        fill_bytes(device, target->address(), 0, 4096, stream.handle());
        copy_to_host(device, back.data(), target->address(), 4096, stream.handle());
        EXPECT_EQ(std::ranges::count(back, 0), 4096) << name; // captured, not run
        graph.launch(stream.handle());
        copy_to_host(device, back.data(), target->address(), 4096, stream.handle());
        EXPECT_EQ(std::ranges::count(back, 5), 4096) << name;
    }
}

TEST_F(OnDevices, CopiesBetweenAllPairs) {
    const std::vector<std::uint32_t> values = numbers(3 * MiB);
    const std::size_t bytes = values.size() * 4;
    for (const std::string& from : names)
        for (const std::string& to : names) {
            Device &source = find_device(from), &target = find_device(to);
            const Stream a(source, true), b(target, true);
            const BufferPtr x = pool_of(source).allocate(bytes, a.handle()),
                            y = pool_of(target).allocate(bytes, b.handle());
            copy_to_device(source, x->address(), values.data(), bytes, a.handle());
            copy_between(target, y->address(), b.handle(), source, x->address(), a.handle(), bytes);
            std::vector<std::uint32_t> back(values.size());
            copy_to_host(target, back.data(), y->address(), bytes, b.handle());
            EXPECT_EQ(back, values) << from << " to " << to;
        }
}

TEST_F(OnDevices, FewBytesBehindOtherWork) {
    for (const std::string& name : names) {
        Device& device = find_device(name);
        MemoryPool pool(device);
        const Stream stream(device, true);
        const std::size_t much = device.is_cpu() ? 4 * MiB : 1024 * MiB; // longer than is watched
        const BufferPtr buffer = pool.allocate(4096, stream.handle()),
                        large = pool.allocate(much, stream.handle());
        for (std::size_t round = 0; round < 200; ++round) {
            const std::size_t bytes = 1 + round % 70, from = round % 37;
            std::vector<unsigned char> values(bytes), back(bytes);
            std::iota(values.begin(), values.end(), static_cast<unsigned char>(round));
            if (round % 10 == 0)
                fill_bytes(device, large->address(), 1, much, stream.handle());
            copy_to_device(device, buffer->address() + from, values.data(), bytes, stream.handle());
            copy_to_host(device, back.data(), buffer->address() + from, bytes, stream.handle());
            ASSERT_EQ(back, values) << name << " round " << round;
        }
    }
}

TEST_F(OnDevices, TimeAndExhaustion) {
    for (const std::string& name : names) {
        Device& device = find_device(name);
        MemoryPool pool(device);
        const Stream stream(device, true);
        Event start(device), end(device);
        const BufferPtr buffer = pool.allocate(64 * MiB, stream.handle());
        start.record(stream.handle());
        fill_bytes(device, buffer->address(), 1, 64 * MiB, stream.handle());
        end.record(stream.handle());
        end.synchronize();
        EXPECT_GT(elapsed_ms(start, end), 0.0f) << name;
        EXPECT_LT(elapsed_ms(start, end), 10000.0f) << name;
        EXPECT_THROW((void)pool.allocate(std::size_t{1} << 50, stream.handle()), OutOfMemoryError)
            << name;
        EXPECT_GT(device.properties().total_bytes, 0u);
        EXPECT_FALSE(device.properties().name.empty());
        std::printf("%s: %s, %d multiprocessors, %s\n", name.c_str(),
                    device.properties().name.c_str(), device.properties().multiprocessors,
                    device.arch().name.c_str());
    }
}

TEST_F(OnDevices, SpeedOfTheWarmRoad) {
    for (const std::string& name : names) {
        Device& device = find_device(name);
        MemoryPool& pool = pool_of(device);
        device.make_current();
        const auto measure = [](auto call) {
            double best = 1e9;
            for (int run = 0; run < 5; ++run) {
                timespec a{}, b{};
                clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
                for (int k = 0; k < 100000; ++k)
                    call();
                clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
                best = std::min(best, static_cast<double>(b.tv_sec - a.tv_sec) * 1e9 +
                                          static_cast<double>(b.tv_nsec - a.tv_nsec));
            }
            return best / 100000;
        };
        const double allocating = measure([&] { (void)pool.allocate(4096, nullptr); });
        const double current = measure([&] { device.make_current(); });
        const double asking = measure([&] { (void)current_stream(current_device()); });
        std::printf("%s: allocate and free %.1f ns, make_current %.1f ns, current device and "
                    "stream %.1f ns\n",
                    name.c_str(), allocating, current, asking);
    }
}

} // namespace
} // namespace quern
