// The clock of a thread.
#include "compiler/host/budget.h"
#include <ctime>

namespace quern::host {
namespace {

std::chrono::nanoseconds own_time() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

} // namespace

Budget::Budget(unsigned limit_ms) {
    if (limit_ms != 0)
        end_ = own_time() + std::chrono::milliseconds(limit_ms);
}

bool Budget::is_spent() const {
    if (!refused_ && end_.count() != 0)
        refused_ = own_time() >= end_;
    return refused_;
}

} // namespace quern::host
