// Handles that can be checked: objects live in slots that are never returned to the system, so that
// a handle given back earlier, or a number that never was one, is answered with "no such handle"
// instead of a crash.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

namespace quern::host {

template <class T> class Slots {
  public:
    Slots() = default;
    Slots(const Slots&) = delete;
    Slots& operator=(const Slots&) = delete;

    // Lock-free. nullptr unless `handle` is a live object's address.
    [[nodiscard]] T* find(const void* handle) const noexcept {
        const auto address = reinterpret_cast<std::uintptr_t>(handle);
        for (std::size_t i = 0; i < chunk_count_.load(std::memory_order_acquire); ++i) {
            const std::uintptr_t offset =
                address - reinterpret_cast<std::uintptr_t>(chunks_[i].get());
            if (offset >= slots_in(i) * sizeof(Slot))
                continue;
            if (offset % sizeof(Slot) != 0)
                return nullptr;
            Slot& slot = chunks_[i][offset / sizeof(Slot)];
            return slot.live.load(std::memory_order_acquire) ? slot.object() : nullptr;
        }
        return nullptr;
    }

    template <class... Args> T* make(Args&&... args) { // throws bad_alloc
        const std::lock_guard lock(mutex_);
        if (free_.empty())
            grow();
        Slot* slot = free_.front();
        T* object = new (slot->storage) T(std::forward<Args>(args)...);
        free_.pop_front();
        slot->live.store(true, std::memory_order_release);
        return object;
    }

    // From here on find() says no; the object stays until destroy().
    void retire(T* object) noexcept {
        slot_of(object)->live.store(false, std::memory_order_release);
    }

    void destroy(T* object) noexcept {
        retire(object);
        object->~T();
        const std::lock_guard lock(mutex_);
        free_.push_back(slot_of(object)); // last in, last out: stale handles stay stale for long
    }

    template <class Visit> void for_each(Visit visit) { // visit may destroy
        for (std::size_t i = 0; i < chunk_count_.load(std::memory_order_acquire); ++i)
            for (std::size_t k = 0; k < slots_in(i); ++k)
                if (chunks_[i][k].live.load(std::memory_order_acquire))
                    visit(chunks_[i][k].object());
    }

    void after_fork_in_child() noexcept { std::construct_at(&mutex_); }

  private:
    struct Slot {
        alignas(T) std::byte storage[sizeof(T)]; // first: an object's address is its slot's
        std::atomic<bool> live{false};
        T* object() noexcept { return std::launder(reinterpret_cast<T*>(storage)); }
    };
    static std::size_t slots_in(std::size_t chunk) noexcept { return std::size_t{64} << chunk; }
    static Slot* slot_of(T* object) noexcept { return reinterpret_cast<Slot*>(object); }

    void grow() {
        const std::size_t next = chunk_count_.load(std::memory_order_relaxed);
        if (next == chunks_.size())
            throw std::bad_alloc();
        chunks_[next] = std::make_unique<Slot[]>(slots_in(next));
        for (std::size_t k = 0; k < slots_in(next); ++k)
            free_.push_back(&chunks_[next][k]);
        chunk_count_.store(next + 1, std::memory_order_release);
    }

    std::array<std::unique_ptr<Slot[]>, 26> chunks_;
    std::atomic<std::size_t> chunk_count_{0};
    std::deque<Slot*> free_;
    std::mutex mutex_;
};

} // namespace quern::host
