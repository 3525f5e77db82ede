// Blocks that another stream used: fenced by events when they are freed, free again when the events
// are done.
#include "runtime/memory/pool_state.h"

namespace quern {
namespace {

constexpr int patience =
    8; // unfinished blocks looked at in one pass: a deep queue must not make allocation slow

CUevent take_event(Arena& arena, const DriverApi& api) noexcept {
    {
        const std::lock_guard guard(arena.lock);
        if (arena.event_count > 0)
            return arena.events[--arena.event_count];
    }
    CUevent event = nullptr;
    return api.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS ? event : nullptr;
}

void return_event(Arena& arena, const DriverApi& api, CUevent event) noexcept {
    {
        const std::lock_guard guard(arena.lock);
        if (arena.event_count < arena.events.size()) {
            arena.events[arena.event_count++] = event;
            return;
        }
    }
    api.cuEventDestroy(event);
}

BlockQueue take_deferred(Arena& arena) noexcept {
    const std::lock_guard guard(arena.lock);
    return std::exchange(arena.deferred, {});
}

} // namespace

void PoolState::release_fences(PoolBuffer* block) noexcept {
    for (const CUevent event : block->fences)
        return_event(*block->arena, device.api(), event);
    block->fences.clear();
    block->must_sync = false;
}

void PoolState::defer(PoolBuffer* block) noexcept {
    Arena& arena = *block->arena;
    const DriverApi& api = device.api();
    const ContextScope context(device);
    for (const CUstream stream : block->noted) {
        const CUevent event = context.ok() && !block->must_sync ? take_event(arena, api) : nullptr;
        if (event != nullptr && api.cuEventRecord(event, stream) == CUDA_SUCCESS) {
            block->fences.push_back(event); // room was reserved with the note
        } else {
            if (event != nullptr)
                api.cuEventDestroy(event);
            block->must_sync = true;
        }
    }
    block->noted.clear();
    const std::lock_guard guard(arena.lock);
    arena.count_unused(round_up(block->bytes(), granule));
    block->state = PoolBuffer::State::deferred;
    arena.deferred.push(block);
}

void PoolState::settle(Arena& arena) noexcept {
    BlockQueue waiting = take_deferred(arena);
    if (waiting.head == nullptr)
        return;
    const DriverApi& api = device.api();
    const ContextScope context(device);
    const RelaxedCapture relaxed(api);
    BlockQueue done, pending;
    int unfinished = context.ok() ? 0 : patience;
    while (PoolBuffer* block = unfinished < patience ? waiting.pop() : nullptr) {
        bool is_done = !block->must_sync;
        for (std::size_t k = 0; is_done && k < block->fences.size(); ++k) {
            const CUresult status = api.cuEventQuery(block->fences[k]);
            is_done = status == CUDA_SUCCESS;
            if (!is_done && status != CUDA_ERROR_NOT_READY)
                block->must_sync = true;
        }
        if (is_done)
            release_fences(block);
        // Blocks that only a wait for the device can free do not use up the patience.
        if (!is_done && !block->must_sync)
            ++unfinished;
        (is_done ? done : pending).push(block);
    }
    pending.append(waiting);
    const std::lock_guard guard(arena.lock);
    while (PoolBuffer* block = done.pop())
        arena.put_free(block);
    pending.append(arena.deferred); // what was freed meanwhile is younger
    arena.deferred = pending;
}

CUresult PoolState::synchronize() noexcept {
    const ContextScope context(device);
    return context.ok() ? device.api().cuCtxSynchronize() : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult PoolState::settle_all() noexcept {
    BlockQueue waiting;
    each_arena([&](Arena& arena) {
        BlockQueue here = take_deferred(arena);
        waiting.append(here);
    });
    if (waiting.head == nullptr)
        return CUDA_SUCCESS;
    const CUresult status = synchronize();
    const ContextScope context(device);
    while (PoolBuffer* block = waiting.pop()) {
        if (status == CUDA_SUCCESS)
            release_fences(block);
        const std::lock_guard guard(block->arena->lock);
        if (status == CUDA_SUCCESS)
            block->arena->put_free(block);
        else
            block->arena->deferred.push(block);
    }
    return status;
}

} // namespace quern
