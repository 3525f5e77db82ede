// See background.h.
#include "compiler/host/background.h"
#include "compiler/host/crash_guard.h"
#include <atomic>
#include <clang/Basic/Stack.h>
#include <cstdlib>
#include <llvm/Support/CrashRecoveryContext.h>
#include <mutex>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

namespace quern::host {
namespace {

std::atomic<pid_t> working_in = 0; // a forked child has none of its parent's threads

void run(const std::function<void()>& work) {
    setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 10); // this thread's: others go first
    const CrashGuard guard;
    llvm::CrashRecoveryContext recovery;
    recovery.RunSafelyOnThread(
        [&] {
            llvm::CrashRecoveryContext inner;
            inner.RunSafely([&] {
                clang::noteBottomOfStack();
                work();
            });
        },
        16U << 20);
}

} // namespace

bool start_in_background(std::function<void()> work) {
    const pid_t here = getpid();
    pid_t before = working_in;
    if (before == here || !working_in.compare_exchange_strong(before, here))
        return false;
    static std::once_flag once;
    std::call_once(once, [] { std::atexit(wait_for_background); });
    try {
        std::thread([work = std::move(work)] {
            run(work);
            working_in = 0;
            working_in.notify_all();
        }).detach();
    } catch (...) {
        working_in = 0;
        return false;
    }
    return true;
}

void wait_for_background() {
    if (const pid_t before = working_in; before == getpid())
        working_in.wait(before);
}

} // namespace quern::host
