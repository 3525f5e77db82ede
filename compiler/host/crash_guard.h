// While one lives, a crash or a fatal error inside Clang or LLVM ends what a CrashRecoveryContext
// runs, not the process.
#pragma once
#include <string>

namespace quern::host {

class CrashGuard {
  public:
    CrashGuard();
    ~CrashGuard();
    CrashGuard(const CrashGuard&) = delete;
    CrashGuard& operator=(const CrashGuard&) = delete;
};

// LLVM's last fatal error on this thread.
std::string& fatal_text();

} // namespace quern::host
