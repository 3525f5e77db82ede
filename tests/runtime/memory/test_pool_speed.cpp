// What the warm road costs. Prints figures and asserts only that a cached block costs no call and
// no heap allocation.
#include "tests/runtime/memory/pool_fixture.h"

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <new>
#include <thread>

namespace {
std::atomic<std::size_t> heap_allocations{0};
}
void* operator new(std::size_t bytes) {
    heap_allocations.fetch_add(1, std::memory_order_relaxed);
    if (void* block = std::malloc(bytes ? bytes : 1))
        return block;
    throw std::bad_alloc();
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }

namespace quern {
namespace {

class PoolSpeed : public PoolTest {};

double thread_ns() { // this thread's processor time: other programs do not count
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

double ns_per_pair(MemoryPool& pool, CUstream stream, int pairs) {
    const double start = thread_ns();
    for (int k = 0; k < pairs; ++k)
        (void)pool.allocate(4 * KiB, stream);
    return (thread_ns() - start) / pairs;
}

TEST_F(PoolSpeed, FourKiBFromTheCache) {
    (void)pool->allocate(4 * KiB, nullptr);
    fake.forget_calls();
    const std::size_t before = heap_allocations;
    double best = 1e9;
    for (int run = 0; run < 7; ++run)
        best = std::min(best, ns_per_pair(*pool, nullptr, 200000));
    EXPECT_EQ(heap_allocations, before);
    EXPECT_TRUE(fake.calls().empty());
    std::printf("allocate and free, 4 KiB cached, 1 thread: %.1f ns\n", best);
    for (const bool shared : {true, false}) {
        std::vector<Stream> streams;
        for (int k = 0; k < 4; ++k)
            streams.emplace_back(*device, true);
        std::vector<std::thread> threads;
        std::vector<double> took(4);
        std::atomic<int> ready{0};
        for (std::size_t k = 0; k < 4; ++k)
            threads.emplace_back([&, k] {
                for (++ready; ready < 4;)
                    std::this_thread::yield();
                took[k] = ns_per_pair(*pool, shared ? nullptr : streams[k].handle(), 1000000);
            });
        for (std::thread& thread : threads)
            thread.join();
        std::printf("the same, 4 threads, %s: %.1f ns a pair and thread\n",
                    shared ? "one stream" : "a stream each",
                    (took[0] + took[1] + took[2] + took[3]) / 4);
    }
}

} // namespace
} // namespace quern
