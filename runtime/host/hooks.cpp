// Hooks that kernels call by name, and the search through the system's libraries for everything
// else.
#include "runtime/host/hooks.h"

#include "runtime/host/fibers.h"
#include "runtime/host/output.h"
#include "runtime/host/regions.h"
#include "runtime/host/textures.h"

#include <array>
#include <cstdlib>
#include <string_view>

#include <cuda.h>
#include <dlfcn.h>
#include <immintrin.h>
#include <sched.h>

namespace quern::host {

thread_local TrapTarget* trap_target = nullptr;

void leave_kernel(int status) {
    abandon_fiber(status); // from a fiber's stack the way out goes over the worker's own
    if (trap_target == nullptr)
        std::abort(); // a kernel called outside a launch
    std::longjmp(trap_target->place, status);
}

namespace {

extern "C" {
[[noreturn]] void quern_host_assert_fail(const char* condition, const char* file, unsigned line,
                                         const char* function, unsigned thread_x, unsigned thread_y,
                                         unsigned thread_z, unsigned block_x, unsigned block_y,
                                         unsigned block_z) {
    report_assertion({condition,
                      file,
                      function,
                      line,
                      {thread_x, thread_y, thread_z},
                      {block_x, block_y, block_z}});
    leave_kernel(CUDA_ERROR_ASSERT);
}
void* quern_host_aligned_new(std::size_t bytes, std::size_t alignment) {
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}
// Until another thread has written the word; it is at work on what comes before.
void quern_host_wait_for(const unsigned* word) {
    constexpr int patience = 1000; // rounds before others get the processor
    for (int round = 0; __atomic_load_n(word, __ATOMIC_ACQUIRE) == 0; ++round)
        if (round < patience)
            _mm_pause();
        else
            sched_yield();
}
[[noreturn]] void quern_host_trap() { leave_kernel(CUDA_ERROR_LAUNCH_FAILED); }
// Where a function that could not be inlined finds its thread: twelve 32-bit numbers (threadIdx,
// blockIdx, blockDim, gridDim), then two pointers into the block's shared memory. Written by the
// kernel before the call.
void* quern_host_context() {
    alignas(16) static thread_local unsigned char area[64];
    void* const fiber = fiber_context();
    return fiber != nullptr ? fiber : area;
}
}

struct Hook {
    std::string_view name;
    void* address;
    bool can_trap;
};

const auto& hooks() {
    static const std::array table{
        Hook{"__quern_assert_fail", reinterpret_cast<void*>(&quern_host_assert_fail), true},
        Hook{"__quern_printf", reinterpret_cast<void*>(&quern_host_printf), true},
        // new and delete of device code, as compilers name them
        Hook{"_Znwm", reinterpret_cast<void*>(&std::malloc), false},
        Hook{"_Znam", reinterpret_cast<void*>(&std::malloc), false},
        Hook{"_ZnwmSt11align_val_t", reinterpret_cast<void*>(&quern_host_aligned_new), false},
        Hook{"_ZnamSt11align_val_t", reinterpret_cast<void*>(&quern_host_aligned_new), false},
        Hook{"_ZdlPv", reinterpret_cast<void*>(&std::free), false},
        Hook{"_ZdaPv", reinterpret_cast<void*>(&std::free), false},
        Hook{"_ZdlPvm", reinterpret_cast<void*>(&std::free), false},
        Hook{"_ZdaPvm", reinterpret_cast<void*>(&std::free), false},
        Hook{"_ZdlPvSt11align_val_t", reinterpret_cast<void*>(&std::free), false},
        Hook{"_ZdaPvSt11align_val_t", reinterpret_cast<void*>(&std::free), false},
        Hook{"_ZdlPvmSt11align_val_t", reinterpret_cast<void*>(&std::free), false},
        Hook{"_ZdaPvmSt11align_val_t", reinterpret_cast<void*>(&std::free), false},
        Hook{"__quern_trap", reinterpret_cast<void*>(&quern_host_trap), true},
        Hook{"__quern_wait_for", reinterpret_cast<void*>(&quern_host_wait_for), false},
        Hook{"__quern_context", reinterpret_cast<void*>(&quern_host_context), false},
        Hook{"__quern_texture_row", reinterpret_cast<void*>(&quern_host_texture_row), true},
        Hook{"__quern_texture_fetch", reinterpret_cast<void*>(&quern_host_texture_fetch), true},
        Hook{"__quern_texture_sample", reinterpret_cast<void*>(&quern_host_texture_sample), true},
        Hook{"__quern_surface_place", reinterpret_cast<void*>(&quern_host_surface_place), true},
        Hook{"abort", reinterpret_cast<void*>(&quern_host_trap), true},
        Hook{"__cxa_pure_virtual", reinterpret_cast<void*>(&quern_host_trap), true},
        Hook{"__quern_run_fibers", reinterpret_cast<void*>(&quern_host_run_fibers), true},
        Hook{"__quern_run_regions", reinterpret_cast<void*>(&quern_host_run_regions), true},
        Hook{"__quern_sync_block", reinterpret_cast<void*>(&quern_host_sync_block), false},
        Hook{"__quern_sync_warp", reinterpret_cast<void*>(&quern_host_sync_warp), false},
        Hook{"__quern_active_mask", reinterpret_cast<void*>(&quern_host_active_mask), false},
        Hook{"__quern_sync_grid", reinterpret_cast<void*>(&quern_host_sync_grid), false},
        Hook{"__quern_sync_grid_allowed", reinterpret_cast<void*>(&quern_host_sync_grid_allowed),
             false},
        Hook{"__quern_sync_named", reinterpret_cast<void*>(&quern_host_sync_named), false},
        Hook{"__quern_yield", reinterpret_cast<void*>(&quern_host_yield), false},
        Hook{"__quern_leave_thread", reinterpret_cast<void*>(&quern_host_leave_thread), false},
    };
    return table;
}

} // namespace

ExternalSymbol find_external(const std::string& name) {
    for (const Hook& hook : hooks())
        if (hook.name == name)
            return {hook.address, hook.can_trap};
    static const std::array libraries{
        dlopen("libm.so.6", RTLD_NOW), dlopen("libmvec.so.1", RTLD_NOW),
        dlopen("libc.so.6", RTLD_NOW), dlopen("libgcc_s.so.1", RTLD_NOW)};
    for (void* library : libraries)
        if (library != nullptr)
            if (void* found = dlsym(library, name.c_str()))
                return {found, false};
    return {};
}

} // namespace quern::host
