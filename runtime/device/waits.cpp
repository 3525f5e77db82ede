// One flag per thread.
#include "runtime/device/waits.h"

#include "runtime/device/pending.h"

#include <utility>

namespace quern {
namespace {

thread_local bool waits_allowed = true;

} // namespace

bool allow_waits(bool allowed) noexcept { return std::exchange(waits_allowed, allowed); }

bool may_wait() noexcept { return waits_allowed; }

void check_may_wait() {
    if (Pending* pending = pending_work(); pending != nullptr) [[unlikely]]
        pending->host_reads();
    if (!waits_allowed)
        throw WaitForbidden(
            ErrorKind::runtime,
            "this call waits for the device, which quern.x.allow_synchronize(False) forbids");
}

} // namespace quern
