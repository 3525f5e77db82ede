// The pool's promises one by one: rounding, reuse, splitting, merging, figures, limits, fences,
// lifetimes.
#include "tests/runtime/memory/pool_fixture.h"

#include <algorithm>
#include <cstring>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace quern {
namespace {

class Pool : public PoolTest {};

TEST_F(Pool, RoundsAndCounts) {
    const BufferPtr a = pool->allocate(1, nullptr), b = pool->allocate(513, nullptr);
    EXPECT_EQ(a->bytes(), 1u);
    EXPECT_EQ(pool->used_bytes(), 512u + 1024u);
    EXPECT_EQ(pool->total_bytes(), 2 * MiB);
    EXPECT_EQ(pool->free_bytes(), 2 * MiB - 1536);
    EXPECT_EQ(b->address(), a->address() + 512);
    EXPECT_EQ(a->address() % 512, 0u);
    EXPECT_EQ(pool->free_block_count(), 1u);
    const BufferPtr nothing = pool->allocate(0, nullptr);
    EXPECT_EQ(nothing->address(), 0u);
    EXPECT_EQ(pool->used_bytes(), 1536u);
}

TEST_F(Pool, HandsOutTheLastFreedFirst) {
    BufferPtr a = pool->allocate(4 * KiB, nullptr), b = pool->allocate(4 * KiB, nullptr);
    const auto first = a->address(), second = b->address();
    a = {};
    b = {};
    EXPECT_EQ(pool->allocate(4 * KiB, nullptr)->address(), second);
    a = pool->allocate(4 * KiB, nullptr);
    b = pool->allocate(4 * KiB, nullptr);
    EXPECT_EQ(b->address(), first);
    EXPECT_EQ(fake.count("cuMemAlloc"), 1u);
}

TEST_F(Pool, MergesWhatIsFreeWhenNothingFits) {
    std::vector<BufferPtr> small;
    for (std::size_t k = 0; k < 2 * MiB / 512; ++k)
        small.push_back(pool->allocate(512, nullptr));
    EXPECT_EQ(pool->free_bytes(), 0u);
    small.clear();
    const BufferPtr big = pool->allocate(1000 * KiB, nullptr);
    EXPECT_EQ(fake.count("cuMemAlloc"), 1u);
    EXPECT_EQ(pool->free_block_count(), 1u);
}

TEST_F(Pool, LargeRequestsHaveTheirOwnSegments) {
    BufferPtr a = pool->allocate(5 * MiB, nullptr);
    EXPECT_EQ(pool->total_bytes(), 6 * MiB);
    EXPECT_EQ(pool->used_bytes(), 5 * MiB);
    const auto address = a->address();
    a = {};
    a = pool->allocate(6 * MiB, nullptr);
    EXPECT_EQ(a->address(), address);
    a = pool->allocate(20 * MiB, nullptr);
    a = {};
    BufferPtr b = pool->allocate(10 * MiB, nullptr), c = pool->allocate(10 * MiB, nullptr);
    EXPECT_EQ(fake.count("cuMemAlloc"), 2u); // the 20 MiB split
    EXPECT_EQ(pool->total_bytes(), 26 * MiB);
    b = c = {};
    EXPECT_EQ(pool->free_block_count(), 2u); // and merged
}

TEST_F(Pool, StreamsDoNotShareBlocks) {
    const Stream s(*device), t(*device);
    BufferPtr a = pool->allocate(4 * KiB, s.handle());
    const auto address = a->address();
    a = {};
    EXPECT_NE(pool->allocate(4 * KiB, t.handle())->address(), address);
    EXPECT_EQ(pool->allocate(4 * KiB, s.handle())->address(), address);
}

TEST_F(Pool, ABlockUsedElsewhereWaitsForThatStream) {
    const Stream side(*device);
    BufferPtr a = pool->allocate(4 * KiB, nullptr);
    const auto address = a->address();
    fake.set_busy(side.handle(), true);
    pool->note_use(*a.get(), side.handle());
    pool->note_use(*a.get(), side.handle()); // twice is once
    pool->note_use(*a.get(), nullptr);       // its own stream needs no fence
    fake.forget_calls();
    a = {};
    EXPECT_EQ(fake.calls().back(), "cuEventRecord");
    EXPECT_EQ(fake.count("cuEventRecord"), 1u);
    EXPECT_EQ(pool->used_bytes(), 0u);
    EXPECT_EQ(pool->free_bytes(), pool->total_bytes());

    std::vector<BufferPtr> all; // as many as there are: none is the fenced one
    for (std::size_t k = 0; k < 2 * MiB / (4 * KiB) - 1; ++k) {
        all.push_back(pool->allocate(4 * KiB, nullptr));
        ASSERT_NE(all.back()->address(), address);
    }
    EXPECT_EQ(fake.count("cuMemAlloc"), 0u);
    fake.set_busy(side.handle(), false);
    all.push_back(pool->allocate(4 * KiB, nullptr));
    EXPECT_EQ(all.back()->address(), address);
    EXPECT_EQ(fake.count("cuMemAlloc"), 0u);

    // The next user of the block starts without the old note.
    fake.forget_calls();
    all.pop_back();
    EXPECT_EQ(fake.calls().size(), 0u);
}

TEST_F(Pool, FencesComeAfterTheUseAndBeforeTheReuse) {
    const Stream side(*device);
    BufferPtr a = pool->allocate(3 * MiB, nullptr);
    pool->note_use(*a.get(), side.handle());
    fake.forget_calls();
    // What a launch on `side` would be.
    fake.driver().api.cuMemsetD8Async(a->address(), 1, 16, side.handle());
    a = {};
    a = pool->allocate(3 * MiB, nullptr);
    const std::vector<std::string> calls = fake.calls();
    const auto at = [&](const char* name) {
        return std::ranges::find(calls, name) - calls.begin();
    };
    EXPECT_LT(at("cuMemsetD8Async"), at("cuEventRecord"));
    EXPECT_LT(at("cuEventRecord"), at("cuEventQuery"));
    EXPECT_LT(at("cuEventQuery"), static_cast<std::ptrdiff_t>(calls.size()));
    EXPECT_EQ(fake.count("cuMemAlloc"), 0u);
}

TEST_F(Pool, FreeAllBlocksKeepsWhatIsHeld) {
    const Stream side(*device);
    BufferPtr held = pool->allocate(100, nullptr), fenced = pool->allocate(4 * MiB, nullptr);
    const BufferPtr other = pool->allocate(4 * MiB, side.handle());
    pool->note_use(*fenced.get(), side.handle());
    fake.set_busy(side.handle(), true);
    fenced = {};
    pool->free_all_blocks(); // waits for the fence
    EXPECT_EQ(pool->total_bytes(), 2 * MiB + 4 * MiB);
    EXPECT_EQ(fake.live_bytes(), pool->total_bytes());
    const std::vector<std::string> calls = fake.calls();
    const auto freed = std::ranges::find(calls, "cuMemFree"),
               waited = std::ranges::find(calls, "cuCtxSynchronize");
    EXPECT_LT(waited, freed);
    held = {};
    pool->free_all_blocks();
    EXPECT_EQ(pool->total_bytes(), 4 * MiB);
}

TEST_F(Pool, ExhaustionGivesBackAndRetries) {
    fake.set_memory_bytes(64 * MiB);
    const Stream side(*device);
    { const BufferPtr cached = pool->allocate(40 * MiB, side.handle()); }
    const BufferPtr a = pool->allocate(50 * MiB, nullptr); // side's cache goes
    EXPECT_EQ(pool->total_bytes(), 50 * MiB);
    try {
        (void)pool->allocate(20 * MiB, nullptr);
        FAIL();
    } catch (const OutOfMemoryError& error) {
        EXPECT_EQ(error.figures().requested_bytes, 20 * MiB);
        EXPECT_EQ(error.figures().used_bytes, 50 * MiB);
        EXPECT_EQ(error.figures().pool_bytes, 50 * MiB);
        EXPECT_NE(std::string(error.what()).find("20 MiB on cuda:0"), std::string::npos)
            << error.what();
    }
    const BufferPtr exact =
        pool->allocate(13 * MiB + 1, nullptr); // rounded up to 14 MiB by the segment
    EXPECT_EQ(pool->total_bytes(), 64 * MiB);
    EXPECT_THROW((void)pool->allocate(std::numeric_limits<std::size_t>::max(), nullptr),
                 OutOfMemoryError);
}

TEST_F(Pool, TheLimitHoldsWithoutAskingTheDriver) {
    pool->set_limit(3 * MiB);
    EXPECT_EQ(pool->limit(), 3 * MiB);
    fake.forget_calls();
    EXPECT_THROW((void)pool->allocate(4 * MiB, nullptr), OutOfMemoryError);
    EXPECT_EQ(fake.count("cuMemAlloc"), 0u);
    const BufferPtr large =
        pool->allocate(5 * MiB / 2, nullptr); // its segment may not be rounded up to 4 MiB
    EXPECT_EQ(pool->total_bytes(), 5 * MiB / 2);
    const BufferPtr small = pool->allocate(512, nullptr); // nor a shared one be 2 MiB
    EXPECT_EQ(pool->total_bytes(), 3 * MiB);
    EXPECT_THROW((void)pool->allocate(600 * KiB, nullptr), OutOfMemoryError);
    pool->set_limit(0);
    EXPECT_EQ(pool->allocate(4 * MiB, nullptr)->bytes(), 4 * MiB);
}

TEST_F(Pool, BuffersAreCountedReferences) {
    BufferPtr a = pool->allocate(512, nullptr);
    BufferPtr b = a, c = std::move(a);
    EXPECT_FALSE(a); // NOLINT: moved from on purpose
    b = {};
    EXPECT_EQ(pool->used_bytes(), 512u);
    c = c; // NOLINT: to itself on purpose
    EXPECT_EQ(pool->used_bytes(), 512u);
    c = {};
    EXPECT_EQ(pool->used_bytes(), 0u);
}

TEST_F(Pool, ForeignMemoryIsReleasedOnce) {
    int released = 0;
    {
        const BufferPtr a(new ForeignBuffer(*device, 4096, 64, [&] { ++released; }));
        const BufferPtr b = a; // NOLINT: the second reference is the test
        pool->note_use(*a.get(), nullptr);
    }
    EXPECT_EQ(released, 1);
    {
        const BufferPtr a(
            new ForeignBuffer(*device, 1, 1, [] { throw std::runtime_error("owner"); }));
    }
}

TEST_F(Pool, LiveBuffersOutliveTheirPool) {
    auto own = std::make_unique<MemoryPool>(*device);
    BufferPtr a = own->allocate(100, nullptr);
    own.reset();
    std::memset(reinterpret_cast<void*>(a->address()), 1, 100);
    a = {};
    EXPECT_EQ(fake.live_blocks(), 1u); // left to the process's end, on purpose
    leaked = true;
}

TEST_F(Pool, PinnedMemoryWaitsForTheStreamsThatUseIt) {
    const Stream stream(*device);
    BufferPtr a = allocate_pinned(*device, 4 * KiB);
    const auto address = a->address();
    pinned_pool_of(*device).note_use(*a.get(), nullptr); // the null stream counts here
    pinned_pool_of(*device).note_use(*a.get(), stream.handle());
    fake.set_busy(stream.handle(), true);
    fake.forget_calls();
    a = {};
    EXPECT_EQ(fake.count("cuEventRecord"), 2u);
    EXPECT_NE(allocate_pinned(*device, 4 * KiB)->address(), address);
    EXPECT_EQ(pool_of(*device).total_bytes(), 0u);
    pinned_pool_of(*device).free_all_blocks();
    EXPECT_EQ(pinned_pool_of(*device).total_bytes(), 0u);
    EXPECT_EQ(&pinned_pool_of(*device), &pinned_pool_of(*device));
    EXPECT_NE(&pinned_pool_of(*device), &pool_of(*device));
    leaked = true; // its cached events
}

TEST_F(Pool, ContextsOfOthersAreLeftAsTheyWere) {
    const Stream side(*device);
    BufferPtr a = pool->allocate(4 * KiB, nullptr);
    pool->note_use(*a.get(), side.handle());
    const auto theirs = reinterpret_cast<CUcontext>(0x40);
    fake.driver().api.cuCtxSetCurrent(theirs);
    a = {};
    pool->free_all_blocks();
    CUcontext now = nullptr;
    fake.driver().api.cuCtxGetCurrent(&now);
    EXPECT_EQ(now, theirs);
}

TEST_F(Pool, TheCpuUsesTheSamePoolAlsoInAForkedChild) {
    install_drivers_for_test({&host_driver()});
    Device& cpu = find_device("cpu");
    MemoryPool& own = pool_of(cpu);
    BufferPtr a = own.allocate(100, nullptr);
    std::memset(reinterpret_cast<void*>(a->address()), 7, 100);
    std::atomic<bool> stop{false};
    std::thread noise([&] {
        while (!stop)
            (void)own.allocate(4 * KiB, nullptr);
    });
    for (int k = 0; k < 50; ++k) {
        const pid_t child = fork();
        if (child == 0) {
            const BufferPtr b = own.allocate(3 * KiB, nullptr), c = own.allocate(3 * MiB, nullptr);
            _exit(b->address() != a->address() && c->address() != 0 ? 7 : 1);
        }
        int status = 0;
        waitpid(child, &status, 0);
        ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    }
    stop = true;
    noise.join();
    EXPECT_EQ(own.used_bytes(), 512u);
    a = {};
    own.free_all_blocks();
    EXPECT_EQ(own.total_bytes(), 0u);
}

} // namespace
} // namespace quern
