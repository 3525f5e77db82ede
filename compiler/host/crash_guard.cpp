// See crash_guard.h. Signal handlers stand only while something compiles: the rest of the time they
// are the process's own.
#include "compiler/host/crash_guard.h"
#include <llvm/Support/CrashRecoveryContext.h>
#include <llvm/Support/ErrorHandling.h>
#include <mutex>

namespace quern::host {
namespace {

void on_fatal_error(void*, const char* reason, bool) {
    fatal_text() = reason ? reason : "";
    if (auto* recovery = llvm::CrashRecoveryContext::GetCurrent())
        recovery->HandleExit(1); // does not return
}

std::mutex& guard() {
    static std::mutex mutex;
    return mutex;
}

int& users() {
    static int count = 0;
    return count;
}

} // namespace

CrashGuard::CrashGuard() {
    const std::scoped_lock lock(guard());
    if (users()++ == 0) {
        llvm::CrashRecoveryContext::Enable();
        static std::once_flag once;
        std::call_once(once, [] { llvm::install_fatal_error_handler(on_fatal_error); });
    }
}

CrashGuard::~CrashGuard() {
    const std::scoped_lock lock(guard());
    if (--users() == 0)
        llvm::CrashRecoveryContext::Disable();
}

std::string& fatal_text() {
    thread_local std::string text;
    return text;
}

} // namespace quern::host
