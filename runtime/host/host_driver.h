// The third provider of the driver table: memory, modules, streams, events and launches, executed
// on the CPU.
#pragma once
#include "runtime/driver/api.h"

namespace quern {

// Made on first use, starts no thread before the first launch that is worth one. Keeps CUDA's
// rules: limits, alignment, errors, asynchronous order of streams.
[[nodiscard]] const Driver& host_driver();

} // namespace quern
