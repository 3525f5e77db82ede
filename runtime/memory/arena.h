// One stream's share of a pool: its blocks, live and free. Work on one stream is ordered, so a
// block freed here may be handed out here at once. Internal to runtime/memory.
#pragma once
#include "runtime/memory/memory.h"

#include <array>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace quern {

inline constexpr std::size_t granule = 512; // every block is a multiple of this
inline constexpr std::size_t small_limit = std::size_t{1} << 20; // smaller requests share segments
inline constexpr std::size_t segment_unit = std::size_t{2} << 20;

constexpr std::size_t round_up(std::size_t bytes, std::size_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

// Held for some tens of nanoseconds, never across a call of the driver: so a fork may wait for it.
class SpinLock {
  public:
    void lock() noexcept {
        while (taken_.exchange(true, std::memory_order_acquire))
            wait();
    }
    void unlock() noexcept { taken_.store(false, std::memory_order_release); }

  private:
    void wait() const noexcept {
        for (int k = 0; taken_.load(std::memory_order_relaxed); ++k) {
            if (k < 100)
                __builtin_ia32_pause();
            else
                std::this_thread::yield(); // the holder may not be running
        }
    }
    std::atomic<bool> taken_{false};
};

struct Arena;
class PoolBuffer;

struct FreeOrder { // best fit first; among equals the one freed last, whose memory is still in the
                   // caches
    using is_transparent = void;
    bool operator()(const PoolBuffer* a, const PoolBuffer* b) const noexcept;
    bool operator()(const PoolBuffer* a, std::size_t bytes) const noexcept;
};
using FreeSet = std::set<PoolBuffer*, FreeOrder>;

// A block and the buffer that is handed out for it, in one object that lives as long as the block
// does.
class PoolBuffer final : public Buffer {
  public:
    enum class State : std::uint8_t { spare, live, quick, free, deferred };

    explicit PoolBuffer(Arena& owner);

    Arena* arena;
    std::size_t block_bytes = 0;
    PoolBuffer *before = nullptr, *after = nullptr; // neighbours in the segment
    PoolBuffer* next = nullptr;                     // in whichever list it stands
    std::uint64_t freed_at = 0;
    State state = State::spare;
    bool small = false;
    bool must_sync =
        false; // some use could not be fenced: only waiting for the device makes it reusable
    FreeSet::node_type node;     // so that freeing allocates nothing
    std::vector<CUstream> noted; // other streams that used it
    std::vector<CUevent> fences; // what must be done before it is handed out again

    [[nodiscard]] bool is_whole_segment() const noexcept { return !before && !after; }
    void hand_out(std::size_t bytes) noexcept {
        bytes_ = bytes;
        references_.store(1, std::memory_order_relaxed);
    }
    void place(std::uint64_t address, std::size_t bytes) noexcept {
        address_ = address;
        block_bytes = bytes;
    }

  private:
    void dispose() noexcept override;
};

// First in, first out: what was freed long ago is most likely done.
struct BlockQueue {
    PoolBuffer *head = nullptr, *tail = nullptr;

    void push(PoolBuffer* block) noexcept {
        block->next = nullptr;
        (head == nullptr ? head : tail->next) = block;
        tail = block;
    }
    [[nodiscard]] PoolBuffer* pop() noexcept {
        PoolBuffer* block = head;
        if (block != nullptr)
            head = block->next;
        return block;
    }
    void append(BlockQueue& other) noexcept { // and leaves the other empty
        if (other.head == nullptr)
            return;
        (head == nullptr ? head : tail->next) = other.head;
        tail = other.tail;
        other.head = nullptr;
    }
};

// Functions that change lists want `lock` held by the caller, those marked (locks) take it.
struct Arena {
    Arena(PoolState& pool, CUstream stream) : pool(pool), stream(stream) {}
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;
    ~Arena();

    PoolState& pool;
    const CUstream stream;
    Arena* next_in_bucket = nullptr;

    SpinLock lock;
    std::atomic<std::size_t> used{0}; // written under the lock
    std::size_t quick_count = 0;
    std::array<PoolBuffer*, small_limit / granule>
        quick{};                    // freed small blocks by exact size, not merged
    FreeSet small_free, large_free; // merged blocks
    std::uint64_t clock = 0;
    PoolBuffer* spare = nullptr; // objects without a block
    BlockQueue deferred;         // freed, other streams may not be done
    std::array<CUevent, 16> events{};
    std::size_t event_count = 0;

    // The warm road: a block of exactly this size, or nullptr.
    PoolBuffer* take_quick(std::size_t size) noexcept {
        PoolBuffer*& head = quick[size / granule];
        PoolBuffer* block = head;
        if (block != nullptr) {
            head = block->next;
            block->state = PoolBuffer::State::live;
            --quick_count;
        }
        return block;
    }
    void put_quick(PoolBuffer* block) noexcept {
        PoolBuffer*& head = quick[block->block_bytes / granule];
        block->state = PoolBuffer::State::quick;
        block->next = head;
        head = block;
        ++quick_count;
    }
    void count_used(std::size_t size) noexcept {
        used.store(used.load(std::memory_order_relaxed) + size, std::memory_order_relaxed);
    }
    void count_unused(std::size_t size) noexcept {
        used.store(used.load(std::memory_order_relaxed) - size, std::memory_order_relaxed);
    }

    using Spare = std::unique_ptr<PoolBuffer>;
    [[nodiscard]] Spare make_spare();   // may throw bad_alloc, so before anything is changed
    PoolBuffer* take(std::size_t size); // (locks) exact or best fit, split; nullptr: none
    PoolBuffer*
    take_merged(std::size_t size); // (locks) the same after merging everything that is free
    // (locks) and takes a block of `size`.
    PoolBuffer* add_segment(std::uint64_t address, std::size_t bytes, std::size_t size, Spare whole,
                            Spare rest) noexcept;
    void put_free(PoolBuffer* block) noexcept; // to the list where it belongs
    void put_merged(PoolBuffer* block) noexcept;
    void merge_quick() noexcept;
    BlockQueue detach_whole_segments() noexcept; // (locks) their blocks stay this arena's
    void retire(PoolBuffer* block) noexcept;     // the block is gone, the object is spare

  private:
    [[nodiscard]] std::unique_lock<SpinLock> lock_with_spare();
    FreeSet& set_for(bool small) noexcept { return small ? small_free : large_free; }
    PoolBuffer* take_best(std::size_t size) noexcept;
    PoolBuffer* pull(FreeSet& set, FreeSet::const_iterator at) noexcept;
    void absorb(PoolBuffer* block, PoolBuffer* neighbour) noexcept;
};

inline bool FreeOrder::operator()(const PoolBuffer* a, const PoolBuffer* b) const noexcept {
    return a->block_bytes != b->block_bytes ? a->block_bytes < b->block_bytes
                                            : a->freed_at > b->freed_at;
}
inline bool FreeOrder::operator()(const PoolBuffer* a, std::size_t bytes) const noexcept {
    return a->block_bytes < bytes;
}

} // namespace quern
