// A few bytes of a GPU's memory, read by the host in as little time as can be.
#pragma once
#include "runtime/device/device.h"

#include <cstddef>
#include <cstdint>

namespace quern {

inline constexpr std::size_t small_read_bytes = 64;

// Waits for `stream`, then copies at most 64 bytes; false where nothing was done, since the device
// has no kernel for it (yet): the caller copies in the usual way. Throws DriverError.
[[nodiscard]] bool read_small(Device& device, void* destination, std::uint64_t from,
                              std::size_t bytes, CUstream stream);

} // namespace quern
