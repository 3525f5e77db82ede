// Device memory: reference-counted buffers, and a stream-aware caching pool for each device.
#pragma once
#include "runtime/stream/stream.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace quern {

// A stretch of memory with one owner of its release. Derived classes say how it goes back.
class Buffer {
  public:
    virtual ~Buffer() = default;
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    [[nodiscard]] std::uint64_t address() const noexcept { return address_; }
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
    [[nodiscard]] Device& device() const noexcept { return *device_; }

    // How many hold it, which may change at once where another thread is one of them.
    [[nodiscard]] std::uint32_t references() const noexcept {
        return references_.load(std::memory_order_acquire);
    }
    void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
    void release() noexcept {
        // The only holder needs no locked decrement: nobody else can be looking.
        if (references_.load(std::memory_order_acquire) == 1 ||
            references_.fetch_sub(1, std::memory_order_acq_rel) == 1)
            dispose();
    }

  protected:
    Buffer(Device& device, std::uint64_t address, std::size_t bytes)
        : device_(&device), address_(address), bytes_(bytes) {}
    virtual void dispose() noexcept { delete this; } // a pool takes the object back instead

    Device* device_;
    std::uint64_t address_;
    std::size_t bytes_;
    std::atomic<std::uint32_t> references_{1};
};

class BufferPtr { // intrusive; adopts the reference that a maker hands out
  public:
    BufferPtr() = default;
    explicit BufferPtr(Buffer* adopted) noexcept : buffer_(adopted) {}
    BufferPtr(const BufferPtr& other) noexcept : buffer_(other.buffer_) {
        if (buffer_)
            buffer_->retain();
    }
    BufferPtr(BufferPtr&& other) noexcept : buffer_(std::exchange(other.buffer_, nullptr)) {}
    BufferPtr& operator=(BufferPtr other) noexcept {
        std::swap(buffer_, other.buffer_);
        return *this;
    }
    ~BufferPtr() {
        if (buffer_)
            buffer_->release();
    }
    [[nodiscard]] Buffer* get() const noexcept { return buffer_; }
    Buffer* operator->() const noexcept { return buffer_; }
    explicit operator bool() const noexcept { return buffer_ != nullptr; }

  private:
    Buffer* buffer_ = nullptr;
};

// Memory that someone else owns: `release` is called once, when nobody here holds it any more.
class ForeignBuffer final : public Buffer {
  public:
    ForeignBuffer(Device& device, std::uint64_t address, std::size_t bytes,
                  std::function<void()> release)
        : Buffer(device, address, bytes), release_(std::move(release)) {}
    ~ForeignBuffer() override;

  private:
    std::function<void()> release_;
};

struct PoolState;

// What a pool hands out: memory of the device, or page-locked memory of the host that the device
// can reach.
enum class Space : std::uint8_t { device, pinned };

// 512-byte rounding, splitting and coalescing, one arena per stream; a block used on another stream
// is fenced by an event before it is reused. On exhaustion: give back, retry, then OutOfMemoryError
// with the figures. Thread safe.
class MemoryPool {
  public:
    explicit MemoryPool(Device& device, Space space = Space::device);
    ~MemoryPool();
    MemoryPool(const MemoryPool&) = delete;
    MemoryPool& operator=(const MemoryPool&) = delete;

    [[nodiscard]] BufferPtr allocate(std::size_t bytes,
                                     CUstream stream); // 0 bytes: a buffer with address 0
    // The caller used `buffer` on `stream`, not the one it was allocated on. A stream of the
    // caller's own making must live until the buffer is released.
    void note_use(Buffer& buffer, CUstream stream) noexcept;

    [[nodiscard]] std::size_t used_bytes() const noexcept;  // held by live buffers, rounded
    [[nodiscard]] std::size_t total_bytes() const noexcept; // taken from the driver
    [[nodiscard]] std::size_t free_bytes() const noexcept;  // total - used
    [[nodiscard]] std::size_t free_block_count() const noexcept;
    void free_all_blocks();            // returns to the driver what no live buffer holds
    void set_limit(std::size_t bytes); // 0: none
    [[nodiscard]] std::size_t limit() const noexcept;

  private:
    std::unique_ptr<PoolState> state_;
};

// The pool of a device, made on first use.
[[nodiscard]] MemoryPool& pool_of(Device& device);

// Page-locked host memory for copies, pooled too. Say note_use() for each stream that reads or
// writes it: it is handed out again only after their work, since the host does not wait for
// streams.
[[nodiscard]] MemoryPool& pinned_pool_of(Device& device);
[[nodiscard]] BufferPtr allocate_pinned(Device& device, std::size_t bytes);

} // namespace quern
