// How many kernels, copies, fills and waits a driver was asked for: for tests that hold functions
// to a number of them.
#pragma once
#include "runtime/driver/api.h"

#include <cstdint>

namespace quern {

struct CallCounts {
    std::uint64_t launches = 0, copies = 0, fills = 0;
    std::uint64_t waits =
        0; // for a stream, an event, a context, or the bytes of a copy to the host
};

// The calls of a driver since this was first asked: only then are its functions replaced by ones
// that count, so nobody else pays. `api` must be a provider's own table and in use by this thread
// alone.
[[nodiscard]] CallCounts call_counts(const DriverApi& api, bool on_cpu);

[[nodiscard]] bool calls_are_counted() noexcept; // on the CPU

// The last launch on a GPU only brings bytes to the host: it does not count as one. What waits for
// them may be no call of the driver's, and then counts here.
void forget_launch() noexcept;
void count_wait() noexcept;

} // namespace quern
