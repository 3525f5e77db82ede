// Every call that the pool makes fails once, at every place: nothing is lost, figures stay right,
// later calls work.
#include "tests/runtime/memory/pool_fixture.h"

#include <algorithm>
#include <functional>

namespace quern {
namespace {

class PoolFaults : public PoolTest {};

// A bit of everything; an exception of ours may end a step, never the rest.
void scenario(MemoryPool& pool, FakeDriver& fake, const std::vector<CUstream>& streams) {
    std::vector<BufferPtr> held;
    const auto attempt = [](const std::function<void()>& step) {
        try {
            step();
        } catch (const Error& error) {
            EXPECT_TRUE(error.kind() == ErrorKind::driver || error.kind() == ErrorKind::memory);
        }
    };
    for (std::size_t round = 0; round < 3; ++round) {
        for (const CUstream stream : streams)
            for (const std::size_t bytes : {std::size_t{100}, 300 * KiB, 3 * MiB, 9 * MiB})
                attempt([&] { held.push_back(pool.allocate(bytes, stream)); });
        for (const BufferPtr& buffer : held)
            for (const CUstream stream : streams)
                pool.note_use(*buffer.get(), stream);
        fake.set_busy(streams.back(), round == 1);
        held.erase(held.begin(), held.begin() + static_cast<std::ptrdiff_t>(held.size() / 2));
        attempt([&] { held.push_back(pool.allocate(3 * MiB, streams.front())); });
        if (round == 1)
            attempt([&] { pool.free_all_blocks(); });
        held.clear();
    }
}

TEST_F(PoolFaults, AnyOneCallMayFail) {
    const Stream s(*device, true), t(*device, true);
    const std::vector<CUstream> streams{nullptr, s.handle(), t.handle()};
    scenario(*pool, fake, streams);
    pool->free_all_blocks();
    for (const CUresult status : {CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_ILLEGAL_ADDRESS})
        for (const int times : {1, 3, 1000})
            for (const char* name :
                 {"cuMemAlloc", "cuMemFree", "cuEventCreate", "cuEventRecord", "cuEventQuery",
                  "cuCtxSynchronize", "cuCtxGetCurrent", "cuCtxSetCurrent", "cuMemGetInfo"})
                for (int nth = 1; nth < 30; nth += 1 + nth / 6) {
                    SCOPED_TRACE(testing::Message() << name << " " << nth << " x" << times);
                    fake.driver().api.cuCtxSetCurrent(nullptr);
                    fake.fail(name, nth, status, times);
                    scenario(*pool, fake, streams);
                    fake.stop_failing();
                    EXPECT_EQ(pool->used_bytes(), 0u);
                    EXPECT_EQ(pool->total_bytes(), fake.live_bytes());
                    EXPECT_EQ(pool->allocate(5 * MiB, s.handle())->bytes(), 5 * MiB);
                    expect_all_returned();
                    if (HasFailure())
                        return;
                }
}

TEST_F(PoolFaults, AFenceThatCannotBeSetHoldsTheBlockBack) {
    const Stream side(*device);
    BufferPtr a = pool->allocate(4 * MiB, nullptr);
    const auto address = a->address();
    pool->note_use(*a.get(), side.handle());
    fake.fail("cuEventRecord", 1, CUDA_ERROR_ILLEGAL_ADDRESS);
    a = {};
    a = pool->allocate(4 * MiB, nullptr);
    EXPECT_NE(a->address(), address); // unknown when it is done: only waiting for the device helps
    EXPECT_EQ(pool->total_bytes(), 8 * MiB);
    fake.set_memory_bytes(10 * MiB);
    const BufferPtr b =
        pool->allocate(4 * MiB, nullptr); // gives back, with a wait, then takes anew
    EXPECT_EQ(pool->total_bytes(), 8 * MiB);
    EXPECT_GE(fake.count("cuCtxSynchronize"), 1u);
}

TEST_F(PoolFaults, FreeAllBlocksSaysWhatFailedAndCanBeRepeated) {
    { const BufferPtr a = pool->allocate(4 * MiB, nullptr), b = pool->allocate(100, nullptr); }
    fake.fail("cuMemFree", 1, CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_THROW(pool->free_all_blocks(), DriverError);
    EXPECT_EQ(pool->total_bytes(), fake.live_bytes());
    EXPECT_EQ(fake.live_blocks(), 1u); // the other one went
    expect_all_returned();
}

TEST_F(PoolFaults, OtherDriverErrorsAreNotOutOfMemory) {
    fake.fail("cuMemAlloc", 1, CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_THROW((void)pool->allocate(100, nullptr), DriverError);
    EXPECT_EQ(pool->total_bytes(), 0u);
    fake.fail("cuMemAlloc", 1, CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(pool->allocate(100, nullptr)->bytes(), 100u); // the second attempt
}

} // namespace
} // namespace quern
