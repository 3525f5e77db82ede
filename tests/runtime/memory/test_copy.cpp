// Copies and fills: to, from and between devices, of all sizes, over the fake driver and the CPU.
#include "runtime/memory/copy.h"
#include "tests/runtime/memory/pool_fixture.h"

#include <algorithm>
#include <numeric>

namespace quern {
namespace {

class Copies : public PoolTest {
  protected:
    void SetUp() override {
        PoolTest::SetUp();
        leaked = true; // the process's pools keep their segments
    }
};

std::vector<unsigned char> pattern(std::size_t bytes) {
    std::vector<unsigned char> data(bytes);
    for (std::size_t k = 0; k < bytes; ++k)
        data[k] = static_cast<unsigned char>(k * 31 + k / 255);
    return data;
}

TEST_F(Copies, ThereAndBackOnEachDevice) {
    for (const char* name : {"cuda:0", "cpu"})
        for (const std::size_t bytes :
             {std::size_t{0}, std::size_t{1}, 4 * KiB, 4 * MiB, 9 * MiB + 5}) {
            Device& where = find_device(name);
            const std::vector<unsigned char> data = pattern(bytes);
            const BufferPtr buffer = pool_of(where).allocate(bytes, nullptr);
            std::vector<unsigned char> source = data, back(bytes);
            copy_to_device(where, buffer->address(), source.data(), bytes, nullptr);
            std::ranges::fill(source, 0); // it may be changed at once
            copy_to_host(where, back.data(), buffer->address(), bytes, nullptr);
            EXPECT_EQ(back, data) << name << " " << bytes;
        }
}

TEST_F(Copies, StagingMemoryIsFencedAndBounded) {
    const Stream stream(*device);
    fake.set_busy(stream.handle(), true);
    const std::vector<unsigned char> data = pattern(100 * MiB);
    const BufferPtr buffer = pool->allocate(data.size(), nullptr);
    fake.forget_calls();
    copy_to_device(*device, buffer->address(), data.data(), 12 * MiB, stream.handle());
    EXPECT_EQ(fake.count("cuEventRecord"), 3u);
    EXPECT_EQ(fake.count("cuStreamSynchronize"), 0u);
    copy_to_device(*device, buffer->address(), data.data(), data.size(), stream.handle());
    EXPECT_GE(fake.count("cuStreamSynchronize"), 1u);
    EXPECT_LE(pinned_pool_of(*device).total_bytes(), 80 * MiB);
    std::vector<unsigned char> back(data.size());
    copy_to_host(*device, back.data(), buffer->address(), back.size(), stream.handle());
    EXPECT_EQ(back, data);
}

TEST_F(Copies, BetweenDevicesInOrder) {
    const std::vector<unsigned char> data = pattern(10000);
    for (const char* from : {"cuda:0", "cpu"})
        for (const char* to : {"cuda:0", "cpu"}) {
            Device &source = find_device(from), &target = find_device(to);
            const Stream a(source), b(target);
            const BufferPtr x = pool_of(source).allocate(data.size(), a.handle()),
                            y = pool_of(target).allocate(data.size(), b.handle());
            copy_to_device(source, x->address(), data.data(), data.size(), a.handle());
            fake.forget_calls();
            copy_between(target, y->address(), b.handle(), source, x->address(), a.handle(),
                         data.size());
            if (&source == device && &target == device) {
                EXPECT_EQ(fake.count("cuStreamWaitEvent"), 2u);
                EXPECT_EQ(fake.count("cuStreamSynchronize"), 0u);
            }
            std::vector<unsigned char> back(data.size());
            copy_to_host(target, back.data(), y->address(), back.size(), b.handle());
            EXPECT_EQ(back, data) << from << " to " << to;
        }
}

TEST_F(Copies, Fills) {
    for (const char* name : {"cuda:0", "cpu"}) {
        Device& where = find_device(name);
        const BufferPtr buffer = pool_of(where).allocate(1000, nullptr);
        std::vector<unsigned char> back(1000);
        fill_bytes(where, buffer->address(), 0xab, 1000, nullptr);
        copy_to_host(where, back.data(), buffer->address(), 1000, nullptr);
        EXPECT_EQ(std::ranges::count(back, 0xab), 1000);
    }
}

TEST_F(Copies, FailuresAreDriverErrorsAndLoseNothing) {
    unsigned char data[64] = {};
    const BufferPtr buffer = pool->allocate(64, nullptr);
    fake.fail("cuMemcpyHtoDAsync", 1, CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_THROW(copy_to_device(*device, buffer->address(), data, 64, nullptr), DriverError);
    EXPECT_EQ(pinned_pool_of(*device).used_bytes(), 0u);
    fake.fail("cuMemcpyDtoHAsync", 1, CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_THROW(copy_to_host(*device, data, buffer->address(), 64, nullptr), DriverError);
    fake.fail("cuStreamSynchronize", 1, CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_THROW(copy_to_host(*device, data, buffer->address(), 64, nullptr), DriverError);
    fake.fail("cuMemHostAlloc", 1, CUDA_ERROR_ILLEGAL_ADDRESS);
    pinned_pool_of(*device).free_all_blocks();
    EXPECT_THROW(copy_to_device(*device, buffer->address(), data, 64, nullptr), DriverError);
    copy_to_device(*device, buffer->address(), data, 64, nullptr);
}

TEST_F(Copies, FewBytesAreReadByAKernelAfterSomeReads) {
    const std::vector<unsigned char> data = pattern(64);
    const BufferPtr buffer = pool->allocate(data.size(), nullptr);
    copy_to_device(*device, buffer->address(), data.data(), data.size(), nullptr);
    const auto read = [&](std::size_t bytes) {
        std::vector<unsigned char> back(data.size());
        copy_to_host(*device, back.data(), buffer->address(), bytes, nullptr);
        EXPECT_TRUE(std::equal(back.begin(), back.begin() + std::ptrdiff_t(bytes), data.begin()));
        EXPECT_EQ(std::count(back.begin() + std::ptrdiff_t(bytes), back.end(), 0),
                  std::ptrdiff_t(back.size() - bytes));
    };
    for (std::size_t bytes = 1; bytes <= 64; ++bytes)
        read(bytes);
    fake.forget_calls();
    read(4);
    EXPECT_EQ(fake.count("cuLaunchKernel"), 1u);
    EXPECT_EQ(fake.count("cuMemcpyDtoHAsync"), 0u);
    fake.fail("cuLaunchKernel", 1, CUDA_ERROR_ILLEGAL_ADDRESS);
    unsigned char value = 0;
    EXPECT_THROW(copy_to_host(*device, &value, buffer->address(), 1, nullptr), DriverError);
    read(64);
}

TEST_F(Copies, FewBytesAreCopiedWhereTheDriverHasNoKernelForThem) {
    const std::vector<unsigned char> data = pattern(64);
    const BufferPtr buffer = pool->allocate(data.size(), nullptr);
    copy_to_device(*device, buffer->address(), data.data(), data.size(), nullptr);
    fake.fail("cuModuleLoadData", 1, CUDA_ERROR_NO_BINARY_FOR_GPU);
    for (int k = 0; k < 20; ++k) {
        std::vector<unsigned char> back(data.size());
        copy_to_host(*device, back.data(), buffer->address(), data.size(), nullptr);
        EXPECT_EQ(back, data);
    }
    EXPECT_EQ(fake.count("cuLaunchKernel"), 0u);
}

} // namespace
} // namespace quern
