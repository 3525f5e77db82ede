// The driver's side of a pool: segments taken, given back, and what happens when there are none
// left.
#include "compiler/base/error.h"
#include "runtime/driver/check.h"
#include "runtime/memory/pool_state.h"

#include <algorithm>
#include <mutex>

namespace quern {

Arena& PoolState::add_arena(CUstream stream) {
    const std::lock_guard guard(arenas);
    std::atomic<Arena*>& bucket = bucket_of(stream);
    Arena* head = bucket.load(std::memory_order_acquire);
    for (Arena* k = head; k != nullptr; k = k->next_in_bucket)
        if (k->stream == stream)
            return *k;
    auto* made = new Arena(*this, stream);
    made->next_in_bucket = head;
    bucket.store(made, std::memory_order_release);
    return *made;
}

// A segment of `bytes` for `arena` and a block of `size` from it; nullptr when the limit or the
// driver has no more.
PoolBuffer* PoolState::try_segment(Arena& arena, std::size_t bytes, std::size_t size) {
    const std::size_t held = total.load(std::memory_order_relaxed);
    const std::size_t most = limit.load(std::memory_order_relaxed);
    if (most != 0 && (held > most || bytes > most - held))
        return nullptr;
    Arena::Spare whole = arena.make_spare(), rest = arena.make_spare();
    const DriverApi& api = device.api();
    device.bind();
    std::uint64_t address = 0;
    CUresult status{};
    {
        const RelaxedCapture relaxed(api);
        if (space == Space::device) {
            CUdeviceptr found = 0;
            status = api.cuMemAlloc(&found, bytes);
            address = found;
        } else {
            void* found = nullptr;
            status = api.cuMemHostAlloc(&found, bytes, CU_MEMHOSTALLOC_PORTABLE);
            address = reinterpret_cast<std::uintptr_t>(found);
        }
    }
    if (status == CUDA_ERROR_OUT_OF_MEMORY)
        return nullptr;
    check(api, status, "take ", format_bytes(bytes), " from ", device.name());
    total.fetch_add(bytes, std::memory_order_relaxed);
    return arena.add_segment(address, bytes, size, std::move(whole), std::move(rest));
}

CUresult PoolState::release_segment(std::uint64_t address) noexcept {
    const RelaxedCapture relaxed(device.api());
    return space == Space::device ? device.api().cuMemFree(address)
                                  : device.api().cuMemFreeHost(reinterpret_cast<void*>(address));
}

// Detached first and waited for then: nothing new can start to use what is detached.
CUresult PoolState::give_back_segments() noexcept {
    CUresult first = settle_all();
    BlockQueue segments;
    each_arena([&](Arena& arena) {
        BlockQueue here = arena.detach_whole_segments();
        segments.append(here);
    });
    if (segments.head == nullptr)
        return first;
    const CUresult waited = synchronize();
    if (first == CUDA_SUCCESS)
        first = waited;
    const ContextScope context(device);
    while (PoolBuffer* block = segments.pop()) {
        const CUresult status = waited == CUDA_SUCCESS ? release_segment(block->address()) : waited;
        if (first == CUDA_SUCCESS)
            first = status;
        const std::lock_guard guard(block->arena->lock);
        if (status == CUDA_SUCCESS) {
            total.fetch_sub(block->block_bytes, std::memory_order_relaxed);
            block->arena->retire(block);
        } else {
            block->arena->put_merged(block);
        }
    }
    return first;
}

std::size_t PoolState::smallest_segment(std::size_t size) const noexcept {
    const std::size_t most = limit.load(), held = total.load();
    if (size >= small_limit || most <= held)
        return size;
    return std::clamp((most - held) / granule * granule, size, std::max(size, segment_unit));
}

PoolBuffer* PoolState::allocate_slow(Arena& arena, std::size_t size, std::size_t requested) {
    if (PoolBuffer* block = arena.take(size))
        return block;
    settle(arena);
    if (PoolBuffer* block = arena.take_merged(size))
        return block;

    const std::lock_guard guard(growth);
    if (PoolBuffer* block = arena.take_merged(size))
        return block; // while this thread waited
    const std::size_t wanted = size < small_limit ? segment_unit : round_up(size, segment_unit);
    if (PoolBuffer* block = try_segment(arena, wanted, size))
        return block;
    (void)give_back_segments(); // whether it helped shows in the next attempts
    if (PoolBuffer* block = arena.take_merged(size))
        return block;
    if (PoolBuffer* block = try_segment(arena, wanted, size))
        return block;
    if (PoolBuffer* block = try_segment(arena, smallest_segment(size), size))
        return block;
    throw_out_of_memory(requested);
}

void PoolState::throw_out_of_memory(std::size_t requested) {
    const OutOfMemoryError::Figures figures{requested, used(), total.load(), limit.load()};
    std::string text = join("cannot allocate ", format_bytes(requested), " on ", device.name(),
                            space == Space::pinned ? " (page-locked host memory)" : "",
                            ": live arrays hold ", format_bytes(figures.used_bytes),
                            ", the pool holds ", format_bytes(figures.pool_bytes));
    std::size_t unclaimed = 0, all = 0;
    if (figures.limit_bytes != 0)
        text += join(", its limit is ", format_bytes(figures.limit_bytes));
    if (space == Space::device && device.api().cuMemGetInfo(&unclaimed, &all) == CUDA_SUCCESS)
        text += join("; the device has ", format_bytes(unclaimed), " free of ", format_bytes(all));
    text += figures.limit_bytes != 0
                ? ". Release arrays, or raise the limit (set_limit, QUERN_MEMORY_LIMIT)"
                : ". Release arrays, or what other libraries and processes hold on this device";
    throw OutOfMemoryError(text, figures);
}

} // namespace quern
