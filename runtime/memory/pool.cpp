// MemoryPool: the warm road of allocating and freeing, the figures, and the pools of each device.
#include "compiler/base/error.h"
#include "compiler/base/settings.h"
#include "runtime/driver/check.h"
#include "runtime/memory/pool_state.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <typeinfo>

namespace quern {
namespace {

class EmptyBuffer final : public Buffer { // of no bytes, at no address
  public:
    explicit EmptyBuffer(Device& device) : Buffer(device, 0, 0) {}
};

// Host memory belongs to no stream. No driver hands out this handle.
CUstream host_side() noexcept {
    return reinterpret_cast<CUstream>(std::numeric_limits<std::uintptr_t>::max());
}

} // namespace

PoolBuffer::PoolBuffer(Arena& owner) : Buffer(owner.pool.device, 0, 0), arena(&owner) {}

void PoolBuffer::dispose() noexcept {
    if (!noted.empty() || must_sync) [[unlikely]]
        return arena->pool.defer(this);
    const std::lock_guard guard(arena->lock);
    arena->count_unused(round_up(bytes_, granule));
    arena->put_free(this);
}

ForeignBuffer::~ForeignBuffer() {
    if (!release_)
        return;
    try {
        release_();
    } catch (...) { // the owner's trouble; nobody here could do anything about it
    }
}

PoolState::PoolState(Device& device, Space space) : device(device), space(space) {
    register_for_fork(*this);
}

PoolState::~PoolState() {
    forget_for_fork(*this);
    const ContextScope context(device);
    for (auto& bucket : buckets)
        for (Arena* k = bucket.load(); k != nullptr;) {
            for (std::size_t e = 0; e < k->event_count; ++e)
                device.api().cuEventDestroy(k->events[e]);
            delete std::exchange(k, k->next_in_bucket);
        }
}

std::size_t PoolState::used() const noexcept {
    std::size_t sum = 0;
    each_arena([&](const Arena& arena) { sum += arena.used.load(std::memory_order_relaxed); });
    return sum;
}

MemoryPool::MemoryPool(Device& device, Space space)
    : state_(std::make_unique<PoolState>(device, space)) {}

// A pool with live buffers leaves its state behind for them.
MemoryPool::~MemoryPool() {
    bool all_returned = false;
    {
        const std::lock_guard guard(state_->growth);
        (void)state_->give_back_segments();
        all_returned = state_->total.load() == 0 && state_->used() == 0;
    }
    if (!all_returned)
        (void)state_.release();
}

BufferPtr MemoryPool::allocate(std::size_t bytes, CUstream stream) {
    if (bytes == 0)
        return BufferPtr(new EmptyBuffer(state_->device));
    const std::size_t size =
        round_up(std::min(bytes, std::numeric_limits<std::size_t>::max() / 2), granule);
    Arena& arena = state_->arena(stream);
    PoolBuffer* block = nullptr;
    if (size < small_limit) [[likely]] {
        const std::lock_guard guard(arena.lock);
        block = arena.take_quick(size);
        if (block != nullptr)
            arena.count_used(size);
    }
    if (block == nullptr) [[unlikely]]
        block = state_->allocate_slow(arena, size, bytes);
    block->hand_out(bytes);
    return BufferPtr(block);
}

void MemoryPool::note_use(Buffer& buffer, CUstream stream) noexcept {
    if (typeid(buffer) != typeid(PoolBuffer))
        return;
    auto& block = static_cast<PoolBuffer&>(buffer);
    if (block.arena->stream == stream)
        return;
    const std::lock_guard guard(block.arena->lock);
    if (std::find(block.noted.begin(), block.noted.end(), stream) != block.noted.end())
        return;
    try {
        block.fences.reserve(block.noted.size() + 1);
        block.noted.push_back(stream);
    } catch (...) {
        block.must_sync = true;
    }
}

std::size_t MemoryPool::used_bytes() const noexcept { return state_->used(); }
std::size_t MemoryPool::total_bytes() const noexcept { return state_->total.load(); }
std::size_t MemoryPool::free_bytes() const noexcept {
    const std::size_t total = state_->total.load(), used = state_->used();
    return total > used ? total - used : 0;
}
std::size_t MemoryPool::free_block_count() const noexcept {
    std::size_t count = 0;
    state_->each_arena([&](Arena& arena) {
        const std::lock_guard guard(arena.lock);
        arena.merge_quick();
        count += arena.small_free.size() + arena.large_free.size();
        for (const PoolBuffer* k = arena.deferred.head; k != nullptr; k = k->next)
            ++count;
    });
    return count;
}

void MemoryPool::free_all_blocks() {
    const std::lock_guard guard(state_->growth);
    check(state_->device.api(), state_->give_back_segments(), "give memory back to ",
          state_->device.name());
}

void MemoryPool::set_limit(std::size_t bytes) { state_->limit.store(bytes); }
std::size_t MemoryPool::limit() const noexcept { return state_->limit.load(); }

namespace {

using Pools = std::array<std::atomic<MemoryPool*>,
                         max_devices>; // never deleted: arrays outlive static destruction
constinit Pools device_pools{}, pinned_pools{};

MemoryPool& make_pool(Pools& pools, Device& device, Space space) {
    const std::lock_guard guard(making_pool);
    auto& slot = pools[static_cast<std::size_t>(device.index())];
    if (MemoryPool* pool = slot.load(std::memory_order_acquire))
        return *pool;
    auto* pool = new MemoryPool(device, space);
    if (space == Space::device)
        pool->set_limit(settings().memory_limit_bytes);
    slot.store(pool, std::memory_order_release);
    return *pool;
}

} // namespace

MemoryPool& pool_of(Device& device) {
    MemoryPool* pool =
        device_pools[static_cast<std::size_t>(device.index())].load(std::memory_order_acquire);
    return pool != nullptr ? *pool : make_pool(device_pools, device, Space::device);
}

MemoryPool& pinned_pool_of(Device& device) {
    MemoryPool* pool =
        pinned_pools[static_cast<std::size_t>(device.index())].load(std::memory_order_acquire);
    return pool != nullptr ? *pool : make_pool(pinned_pools, device, Space::pinned);
}

BufferPtr allocate_pinned(Device& device, std::size_t bytes) {
    return pinned_pool_of(device).allocate(bytes, host_side());
}

} // namespace quern
