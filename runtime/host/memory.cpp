// The allocator of the CPU device: the C library for small blocks, huge pages straight from the
// system for large ones.
#include "runtime/host/memory.h"

#include <cstdlib>
#include <memory>
#include <mutex>

#include <sys/mman.h>

namespace quern::host {
namespace {

constexpr std::size_t alignment = 512, huge_page = std::size_t{2} << 20;

// Programs read a row before their image, and a word behind it, and throw away what they read: on a
// GPU something is always mapped there. So it is here; the system gives pages only to who writes.
constexpr std::size_t margin = huge_page, small_margin = std::size_t{64} << 10;

// Margins only where the C library maps blocks one by one; others lie between their neighbours.
std::size_t margin_of(std::size_t bytes) { return bytes < small_margin ? 0 : small_margin; }

void* allocate_small(std::size_t bytes) {
    const std::size_t whole = (bytes + alignment - 1) / alignment * alignment;
    auto* start =
        static_cast<std::byte*>(std::aligned_alloc(alignment, whole + 2 * margin_of(bytes)));
    return start == nullptr ? nullptr : start + margin_of(bytes);
}

// Aligned to a huge page; the unaligned ends of a larger mapping go back at once.
void* map_huge(std::size_t bytes, std::size_t& mapped) {
    mapped = (bytes + huge_page - 1) / huge_page * huge_page;
    const std::size_t whole = margin + mapped + margin;
    void* raw = mmap(nullptr, whole + huge_page, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (raw == MAP_FAILED)
        return nullptr;
    const auto start = reinterpret_cast<std::uintptr_t>(raw);
    const std::uintptr_t first = (start + huge_page - 1) / huge_page * huge_page;
    if (first != start)
        munmap(raw, first - start);
    if (const std::size_t tail = start + huge_page - first; tail != 0)
        munmap(reinterpret_cast<void*>(first + whole), tail);
    auto* base = reinterpret_cast<void*>(first + margin);
    madvise(base, mapped, MADV_HUGEPAGE);
    return base;
}

} // namespace

CUresult Memory::allocate(std::size_t bytes, BlockKind kind, unsigned flags, std::uintptr_t& base) {
    if (bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (bytes > total_bytes_)
        return CUDA_ERROR_OUT_OF_MEMORY;
    const std::unique_lock lock(mutex_);
    if (bytes > total_bytes_ - live_bytes_)
        return CUDA_ERROR_OUT_OF_MEMORY;
    Block block{.base = 0,
                .bytes = bytes,
                .kind = kind,
                .mapped_bytes = 0,
                .flags = flags,
                .id = next_id_++};
    void* memory = bytes >= huge_page ? map_huge(bytes, block.mapped_bytes) : allocate_small(bytes);
    if (memory == nullptr)
        return CUDA_ERROR_OUT_OF_MEMORY;
    base = block.base = reinterpret_cast<std::uintptr_t>(memory);
    live_bytes_ += bytes;
    blocks_.emplace(base, block);
    return CUDA_SUCCESS;
}

void Memory::give_back(const Block& block) noexcept {
    if (block.kind == BlockKind::registered || block.kind == BlockKind::module_global)
        return;
    if (block.mapped_bytes != 0)
        munmap(reinterpret_cast<void*>(block.base - margin), margin + block.mapped_bytes + margin);
    else
        std::free(reinterpret_cast<void*>(block.base - margin_of(block.bytes)));
}

CUresult Memory::release(std::uintptr_t base, BlockKind kind, BlockKind or_kind) {
    std::unique_lock lock(mutex_);
    const auto found = blocks_.find(base);
    if (found == blocks_.end() || (found->second.kind != kind && found->second.kind != or_kind))
        return CUDA_ERROR_INVALID_VALUE;
    const Block block = found->second;
    blocks_.erase(found);
    if (block.kind != BlockKind::registered)
        live_bytes_ -= block.bytes;
    lock.unlock();
    give_back(block);
    return CUDA_SUCCESS;
}

CUresult Memory::add(std::uintptr_t base, std::size_t bytes, BlockKind kind, unsigned flags) {
    const std::unique_lock lock(mutex_);
    const auto above = blocks_.lower_bound(base);
    if (above != blocks_.end() && above->first < base + bytes)
        return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    if (above != blocks_.begin()) {
        const Block& below = std::prev(above)->second;
        if (below.base + below.bytes > base)
            return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    }
    blocks_.emplace(base, Block{base, bytes, kind, 0, flags, next_id_++});
    return CUDA_SUCCESS;
}

void Memory::forget(std::uintptr_t base) {
    const std::unique_lock lock(mutex_);
    blocks_.erase(base);
}

std::optional<Block> Memory::find(std::uintptr_t address) const {
    const std::shared_lock lock(mutex_);
    auto above = blocks_.upper_bound(address);
    if (above == blocks_.begin())
        return std::nullopt;
    const Block& block = std::prev(above)->second;
    return address - block.base < block.bytes ? std::optional(block) : std::nullopt;
}

bool Memory::may_access(std::uintptr_t address, std::size_t bytes) const {
    if (bytes == 0)
        return true;
    if (address == 0 || address + bytes < address)
        return false;
    const auto block = find(address);
    return !block || bytes <= block->base + block->bytes - address;
}

void Memory::release_all() {
    const std::unique_lock lock(mutex_);
    for (const auto& [base, block] : blocks_)
        give_back(block);
    blocks_.clear();
    live_bytes_ = 0;
}

void Memory::after_fork_in_child() noexcept { std::construct_at(&mutex_); }

} // namespace quern::host
