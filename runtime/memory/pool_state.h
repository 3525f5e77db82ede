// What a MemoryPool holds: arenas by stream, the driver's side of segments, fences. Internal to
// runtime/memory.
#pragma once
#include "runtime/memory/arena.h"

#include <mutex>

namespace quern {

struct PoolState {
    PoolState(Device& device, Space space);
    ~PoolState();
    PoolState(const PoolState&) = delete;
    PoolState& operator=(const PoolState&) = delete;

    Device& device;
    const Space space;
    std::atomic<std::size_t> total{0}, limit{0};
    std::mutex growth; // one thread at a time asks the driver for memory or gives it back
    std::mutex arenas; // held while one is added
    std::array<std::atomic<Arena*>, 64> buckets{};
    PoolState* next_state = nullptr; // all pools of the process, for fork

    [[nodiscard]] Arena& arena(CUstream stream) {
        Arena* found = bucket_of(stream).load(std::memory_order_acquire);
        while (found != nullptr && found->stream != stream)
            found = found->next_in_bucket;
        return found != nullptr ? *found : add_arena(stream);
    }
    template <class Visit> void each_arena(Visit visit) const {
        for (const auto& bucket : buckets)
            for (Arena* k = bucket.load(std::memory_order_acquire); k; k = k->next_in_bucket)
                visit(*k);
    }
    [[nodiscard]] std::size_t used() const noexcept;

    PoolBuffer* allocate_slow(Arena& arena, std::size_t size, std::size_t requested);
    CUresult give_back_segments() noexcept; // growth is held; the first error, after doing what
                                            // could be done

    // Fences, in fences.cpp.
    void defer(PoolBuffer* block) noexcept; // freed, but other streams used it
    void settle(Arena& arena) noexcept;     // frees what is done
    CUresult settle_all() noexcept;         // waits for the device, then frees everything deferred
    CUresult synchronize() noexcept;

  private:
    std::atomic<Arena*>& bucket_of(CUstream stream) noexcept {
        const auto mixed = reinterpret_cast<std::uintptr_t>(stream) * 0x9e3779b97f4a7c15u;
        return buckets[mixed >> 58];
    }
    Arena& add_arena(CUstream stream);
    PoolBuffer* try_segment(Arena& arena, std::size_t bytes, std::size_t size);
    CUresult release_segment(std::uint64_t address) noexcept;
    [[nodiscard]] std::size_t smallest_segment(std::size_t size) const noexcept;
    [[noreturn]] void throw_out_of_memory(std::size_t requested);
    void release_fences(PoolBuffer* block) noexcept;
};

// Calls that a capture in another thread would forbid (they could hide an ordering) are harmless
// here: what they touch is not in use by any graph being captured.
class [[nodiscard]] RelaxedCapture {
  public:
    explicit RelaxedCapture(const DriverApi& api) noexcept : api_(api) { exchange(); }
    ~RelaxedCapture() { exchange(); }
    RelaxedCapture(const RelaxedCapture&) = delete;
    RelaxedCapture& operator=(const RelaxedCapture&) = delete;

  private:
    void exchange() noexcept {
        if (api_.cuThreadExchangeStreamCaptureMode != nullptr)
            api_.cuThreadExchangeStreamCaptureMode(&mode_);
    }
    const DriverApi& api_;
    CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

extern std::mutex
    making_pool; // held while the pool of a device is made; taken before the locks of a fork
void register_for_fork(PoolState& state);
void forget_for_fork(PoolState& state) noexcept;

} // namespace quern
