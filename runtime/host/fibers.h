// Threads of a block that wait for each other: each is a fiber, a small stack of its own on which
// it runs until it must wait. One worker runs all threads of a block, so nothing here is shared
// between workers but the blocks that are parked.
#pragma once
#include "compiler/base/host_abi.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace quern::host {

class FiberBlock;

// Blocks of one launch that cannot go on by themselves: they wait for the whole grid, or spin until
// some other block has done something. The launch runs them again when every other block has had
// its turn.
class ParkedBlocks {
  public:
    ParkedBlocks();
    ~ParkedBlocks();
    ParkedBlocks(const ParkedBlocks&) = delete;
    ParkedBlocks& operator=(const ParkedBlocks&) = delete;

    void park(std::uint64_t number, std::unique_ptr<FiberBlock> block);
    // nullptr when block `number` is not parked.
    [[nodiscard]] std::unique_ptr<FiberBlock> take(std::uint64_t number) noexcept;
    // The numbers of those to run next, in order: all of them, or none, when there are none.
    // Threads that wait for the grid go on only if every parked block waits so.
    [[nodiscard]] std::vector<std::uint64_t> next_round();

  private:
    std::mutex guard_;
    std::map<std::uint64_t, std::unique_ptr<FiberBlock>> blocks_;
};

extern thread_local ParkedBlocks* parked_blocks; // of the launch that this worker runs now

// Leaves the running fiber for good, with the whole launch: a failed assert() or a trap. Returns
// only when no fiber runs on this thread.
void abandon_fiber(int status) noexcept;

// The twelve numbers and two addresses that functions outside a kernel read; nullptr when no fiber
// runs on this thread.
[[nodiscard]] void* fiber_context() noexcept;

// The hooks that kernels call by name; see device/barriers.cuh for what each promises.
extern "C" {
void quern_host_run_fibers(const HostLaunch* launch, const void* args, std::uint64_t first,
                           std::uint64_t last, void* shared, HostThread thread,
                           std::uint32_t static_shared_bytes, std::uint32_t stack_bytes);
int quern_host_sync_block(int op, int predicate);
std::uint64_t quern_host_sync_warp(int op, std::uint32_t mask, std::uint64_t value,
                                   std::uint32_t source);
std::uint32_t quern_host_active_mask();
void quern_host_sync_grid();
int quern_host_sync_grid_allowed();
void quern_host_sync_named(int id, int count);
void quern_host_yield();
void quern_host_leave_thread();
}

} // namespace quern::host
