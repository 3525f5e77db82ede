// Whether a thread may wait for devices: a program that forbids it finds the waits it did not mean.
#pragma once
#include "compiler/base/error.h"

namespace quern {

// Python's DeviceSynchronized.
class WaitForbidden : public Error {
  public:
    using Error::Error;
};

// For the calling thread; returns what held before. At first waiting is allowed.
bool allow_waits(bool allowed) noexcept;
[[nodiscard]] bool may_wait() noexcept;

// Throws WaitForbidden where the calling thread may not wait. Whoever is about to
// bring values from a device, or to wait for all its work, asks this first.
void check_may_wait();

} // namespace quern
