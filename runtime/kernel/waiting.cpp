// Values that the host needs before it can go on.
#include "runtime/kernel/waiting.h"

#include "runtime/device/waits.h"
#include "runtime/memory/copy.h"
#include "runtime/stream/stream.h"

#include <cstring>

namespace quern {

void wait_here(Device& device, void (*on_wait)(bool entering)) {
    check_may_wait();
    const Waiting waiting(on_wait);
    Stream::external(device, current_stream(device)).synchronize();
}

void read_back(Device& device, void* destination, std::uint64_t from, std::size_t bytes,
               void (*on_wait)(bool entering)) {
    if (device.is_cpu()) { // its memory is the host's
        wait_here(device, on_wait);
        std::memcpy(destination, reinterpret_cast<const void*>(from), bytes);
        return;
    }
    check_may_wait();
    const Waiting waiting(on_wait);
    copy_to_host(device, destination, from, bytes, current_stream(device));
}

} // namespace quern
