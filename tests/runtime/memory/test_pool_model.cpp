// The pool against a simple model under many random operations, on several streams and from several
// threads.
#include "tests/runtime/memory/pool_fixture.h"

#include <cstring>
#include <map>
#include <random>
#include <thread>

namespace quern {
namespace {

class PoolModel : public PoolTest {};

constexpr std::size_t rounded(std::size_t bytes) { return (bytes + 511) / 512 * 512; }

std::size_t random_size(std::mt19937& random) {
    const auto exponent = std::uniform_int_distribution<int>(0, 22)(random);
    return std::uniform_int_distribution<std::size_t>(1, std::size_t{1} << exponent)(random);
}

TEST_F(PoolModel, FiguresAndFencesOnSeveralStreams) {
    fake.set_memory_bytes(256 * MiB);
    std::mt19937 random{7};
    const auto pick = [&](std::size_t below) {
        return std::uniform_int_distribution<std::size_t>(0, below - 1)(random);
    };
    std::vector<Stream> streams;
    for (int k = 0; k < 4; ++k)
        streams.emplace_back(*device, true);

    struct Live {
        BufferPtr buffer;
        std::size_t stream;
        unsigned noted; // one bit a stream
    };
    struct Fenced {
        std::size_t bytes;
        unsigned streams;
    };
    std::vector<Live> live;
    std::map<std::uint64_t, std::size_t> ranges; // of live buffers
    std::map<std::uint64_t, Fenced> fenced;      // freed while a stream that uses them is busy
    unsigned busy = 0;
    std::size_t used = 0;
    int exhausted = 0;

    const auto overlaps = [](const auto& map, std::uint64_t address, std::size_t bytes,
                             auto bytes_of_entry) {
        auto above = map.lower_bound(address + bytes);
        if (above == map.begin())
            return false;
        --above;
        return above->first + bytes_of_entry(above->second) > address;
    };
    const auto stop_being_busy = [&](unsigned which) {
        busy &= ~which;
        for (auto it = fenced.begin(); it != fenced.end();)
            it = (it->second.streams &= busy) == 0 ? fenced.erase(it) : std::next(it);
    };

    for (int step = 0; step < 100000; ++step) {
        const std::size_t choice = pick(100);
        if (choice < 48) {
            const std::size_t bytes = random_size(random), stream = pick(streams.size());
            BufferPtr buffer;
            try {
                buffer = pool->allocate(bytes, streams[stream].handle());
            } catch (const OutOfMemoryError&) {
                ++exhausted;
                stop_being_busy(~0u); // it waited for the device
                for (int k = 0; k < 20 && !live.empty(); ++k) {
                    used -= rounded(live.back().buffer->bytes());
                    ranges.erase(live.back().buffer->address());
                    live.pop_back();
                }
                for (const Stream& each : streams)
                    fake.set_busy(each.handle(), false);
                continue;
            }
            const auto address = buffer->address();
            if (fake.count("cuCtxSynchronize") != 0) { // giving back waited for everything
                fake.forget_calls();
                stop_being_busy(~0u);
            }
            ASSERT_FALSE(
                overlaps(ranges, address, rounded(bytes), [](std::size_t n) { return n; }));
            ASSERT_FALSE(
                overlaps(fenced, address, rounded(bytes), [](const Fenced& f) { return f.bytes; }));
            ranges[address] = rounded(bytes);
            used += rounded(bytes);
            live.push_back({std::move(buffer), stream, 0});
        } else if (choice < 88 && !live.empty()) {
            std::swap(live[pick(live.size())], live.back());
            Live& gone = live.back();
            used -= rounded(gone.buffer->bytes());
            ranges.erase(gone.buffer->address());
            if ((gone.noted & busy) != 0)
                fenced[gone.buffer->address()] = {rounded(gone.buffer->bytes()), gone.noted & busy};
            live.pop_back();
        } else if (choice < 96 && !live.empty()) {
            Live& one = live[pick(live.size())];
            const std::size_t stream = pick(streams.size());
            pool->note_use(*one.buffer.get(), streams[stream].handle());
            if (stream != one.stream)
                one.noted |= 1u << stream;
        } else if (choice < 98) {
            // A stream becomes busy once, so that the fake's eras and the model's bits agree.
            const std::size_t stream = pick(streams.size());
            const unsigned bit = 1u << stream;
            if ((busy & bit) != 0)
                stop_being_busy(bit);
            else
                busy |= bit;
            fake.set_busy(streams[stream].handle(), (busy & bit) != 0);
        } else if (pick(50) == 0) {
            pool->free_all_blocks();
            fake.forget_calls();
            stop_being_busy(~0u);
            ASSERT_EQ(fake.live_bytes(), pool->total_bytes());
        }
        ASSERT_EQ(pool->used_bytes(), used);
        ASSERT_GE(pool->total_bytes(), used);
        ASSERT_EQ(pool->total_bytes(), fake.live_bytes());
        ASSERT_EQ(pool->free_bytes(), pool->total_bytes() - used);
    }
    EXPECT_GT(exhausted, 0);
    live.clear();
    expect_all_returned();
}

TEST_F(PoolModel, ThreadsNeverShareABlock) {
    fake.set_memory_bytes(512 * MiB);
    std::vector<Stream> streams;
    for (int k = 0; k < 3; ++k)
        streams.emplace_back(*device, true);
    std::atomic<int> wrong{0};
    std::vector<BufferPtr> handed_over(64); // buffers freed by other threads than their makers
    std::mutex handing;
    const auto work = [&](unsigned seed) {
        std::mt19937 random{seed};
        std::vector<std::pair<BufferPtr, unsigned>> mine;
        for (unsigned step = 0; step < 25000; ++step) {
            const std::size_t choice = random() % 100;
            if (choice < 50) {
                const std::size_t bytes = std::max<std::size_t>(random_size(random) / 4, 8);
                const CUstream stream = streams[random() % streams.size()].handle();
                BufferPtr buffer;
                try {
                    buffer = pool->allocate(bytes, stream);
                } catch (const OutOfMemoryError&) {
                    mine.clear();
                    continue;
                }
                const unsigned tag = seed * 1000000 + step;
                std::memcpy(reinterpret_cast<void*>(buffer->address()), &tag, 4);
                std::memcpy(reinterpret_cast<void*>(buffer->address() + bytes - 4), &tag, 4);
                if (random() % 8 == 0)
                    pool->note_use(*buffer.get(), streams[random() % streams.size()].handle());
                mine.emplace_back(std::move(buffer), tag);
            } else if (!mine.empty()) {
                std::swap(mine[random() % mine.size()], mine.back());
                auto [buffer, tag] = std::move(mine.back());
                mine.pop_back();
                unsigned head = 0, tail = 0;
                std::memcpy(&head, reinterpret_cast<void*>(buffer->address()), 4);
                std::memcpy(&tail, reinterpret_cast<void*>(buffer->address() + buffer->bytes() - 4),
                            4);
                if (head != tag || tail != tag)
                    ++wrong;
                if (random() % 4 == 0) {
                    const std::lock_guard guard(handing);
                    std::swap(handed_over[random() % handed_over.size()], buffer);
                }
            }
            if (step % 5000 == 4999)
                pool->free_all_blocks();
        }
    };
    std::vector<std::thread> threads;
    for (unsigned k = 1; k <= 4; ++k)
        threads.emplace_back(work, k);
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(wrong, 0);
    std::size_t held = 0;
    for (const BufferPtr& buffer : handed_over)
        if (buffer)
            held += rounded(buffer->bytes());
    EXPECT_EQ(pool->used_bytes(), held);
    EXPECT_EQ(pool->total_bytes(), fake.live_bytes());
    handed_over.clear();
    expect_all_returned();
}

} // namespace
} // namespace quern
