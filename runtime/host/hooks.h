// What a host object may call outside itself: our own hooks first, then libm, libmvec, libc and
// libgcc_s.
#pragma once
#include <csetjmp>
#include <string>

namespace quern::host {

struct ExternalSymbol {
    void* address = nullptr; // nullptr: there is no such symbol
    bool can_trap = false;   // the launch must stand ready: to be left, or for text to hand on
};
[[nodiscard]] ExternalSymbol find_external(const std::string& name);

// A failed assert() or a trap leaves the kernel by a jump to the innermost of these, on the thread
// that runs it.
struct TrapTarget {
    std::jmp_buf place;
    TrapTarget* outer;
};
extern thread_local TrapTarget* trap_target;

// Ends the launch on this thread with `status`, a CUresult, from anywhere inside it.
[[noreturn]] void leave_kernel(int status);

} // namespace quern::host
