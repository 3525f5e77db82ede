// Blocks of memory by address: what was allocated, registered or belongs to a module, and how it is
// given back.
#pragma once
#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <shared_mutex>

namespace quern::host {

enum class BlockKind : std::uint8_t { device, managed, host, registered, module_global };

struct Block {
    std::uintptr_t base = 0;
    std::size_t bytes = 0;
    BlockKind kind = BlockKind::device;
    std::size_t mapped_bytes = 0; // 0: from the C library
    unsigned flags = 0;
    std::uint64_t id = 0; // unique in this process

    [[nodiscard]] bool pinned() const noexcept {
        return kind == BlockKind::host || kind == BlockKind::registered;
    }
};

// Thread safe. Pages are not touched before their first use, so the thread that computes on them
// places them.
class Memory {
  public:
    explicit Memory(std::size_t total_bytes) : total_bytes_(total_bytes) {}
    [[nodiscard]] std::size_t total_bytes() const noexcept { return total_bytes_; }

    CUresult allocate(std::size_t bytes, BlockKind kind, unsigned flags, std::uintptr_t& base);
    // Only what begins at `base` and is of one of the two kinds.
    CUresult release(std::uintptr_t base, BlockKind kind, BlockKind or_kind);
    CUresult add(std::uintptr_t base, std::size_t bytes, BlockKind kind,
                 unsigned flags); // someone else's memory
    void forget(std::uintptr_t base);
    [[nodiscard]] std::optional<Block>
    find(std::uintptr_t address) const; // the block that holds this byte
    // False if [address, address + bytes) begins in a known block and runs over its end, or is
    // null.
    [[nodiscard]] bool may_access(std::uintptr_t address, std::size_t bytes) const;
    void release_all();

    void before_fork() { mutex_.lock(); }
    void after_fork_in_parent() { mutex_.unlock(); }
    void after_fork_in_child() noexcept;

  private:
    static void give_back(const Block& block) noexcept;
    std::size_t total_bytes_, live_bytes_ = 0;
    std::uint64_t next_id_ = 1;
    std::map<std::uintptr_t, Block> blocks_;
    mutable std::shared_mutex mutex_;
};

} // namespace quern::host
