// Values that the host needs before it can go on.
#include "runtime/kernel/waiting.h"

#include "runtime/device/waits.h"
#include "runtime/memory/copy.h"
#include "runtime/stream/stream.h"

#include <cstring>

namespace quern {

void read_back(Device& device, void* destination, std::uint64_t from, std::size_t bytes,
               void (*on_wait)(bool entering)) {
    check_may_wait();
    const CUstream stream = current_stream(device);
    const Waiting waiting(on_wait);
    if (device.is_cpu()) { // its memory is the host's
        Stream::external(device, stream).synchronize();
        std::memcpy(destination, reinterpret_cast<const void*>(from), bytes);
    } else {
        copy_to_host(device, destination, from, bytes, stream);
    }
}

} // namespace quern
