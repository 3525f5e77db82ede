// Calls the hook of a kernel's caller on both sides of a wait, so that bindings can let go of the
// GIL: it comes back whatever happens.
#pragma once
#include "runtime/device/device.h"

#include <cstddef>
#include <cstdint>

namespace quern {

class [[nodiscard]] Waiting {
  public:
    explicit Waiting(void (*hook)(bool entering)) : hook_(hook) {
        if (hook_)
            hook_(true);
    }
    ~Waiting() {
        if (hook_)
            hook_(false);
    }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

  private:
    void (*hook_)(bool entering);
};

// Waits for the current stream of the device, where the thread may wait (runtime/device/waits.h).
void wait_here(Device& device, void (*on_wait)(bool entering));

// Some bytes of the device, after what its current stream holds; waits like `wait_here`.
void read_back(Device& device, void* destination, std::uint64_t from, std::size_t bytes,
               void (*on_wait)(bool entering));

template <class T>
[[nodiscard]] T read_back(Device& device, std::uint64_t from, void (*on_wait)(bool entering)) {
    T value{};
    read_back(device, &value, from, sizeof value, on_wait);
    return value;
}

} // namespace quern
