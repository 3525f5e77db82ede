// Copies: through pooled page-locked memory to a GPU, directly on the CPU.
#include "runtime/memory/copy.h"

#include "compiler/base/error.h"
#include "runtime/device/faults.h"
#include "runtime/driver/check.h"
#include "runtime/memory/small_read.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace quern {
namespace {

constexpr std::size_t stage_bytes = std::size_t{4} << 20; // one step of a staged copy
constexpr std::size_t in_flight_bytes = std::size_t{64}
                                        << 20; // page-locked memory that one copy may keep busy

void wait_for(Device& device, CUstream stream, std::size_t bytes) {
    check(device.api(), device.api().cuStreamSynchronize(stream), "wait for a copy of ",
          format_bytes(bytes), " on ", device.name());
    throw_fault(device);
}

// Later work of `waiter` comes after what `first` holds now. Both streams are of devices with one
// driver.
void order(Device& first_device, CUstream first, Device& waiter_device, CUstream waiter) {
    if (first == waiter && &first_device == &waiter_device)
        return;
    Event event(first_device, false);
    event.record(first);
    Stream::external(waiter_device, waiter).wait(event.handle());
}

} // namespace

void copy_to_device(Device& device, std::uint64_t to, const void* source, std::size_t bytes,
                    CUstream stream) {
    if (bytes == 0)
        return;
    const DriverApi& api = device.api();
    device.make_current();
    if (device.is_cpu()) {
        check(api, api.cuMemcpyHtoDAsync(to, source, bytes, stream), "copy ", format_bytes(bytes),
              " to ", device.name());
        wait_for(device, stream, bytes);
        return;
    }
    std::size_t in_flight = 0;
    for (std::size_t done = 0; done < bytes;) {
        const std::size_t step = std::min(stage_bytes, bytes - done);
        const BufferPtr stage = allocate_pinned(device, step);
        void* staged = reinterpret_cast<void*>(stage->address());
        std::memcpy(staged, static_cast<const char*>(source) + done, step);
        pinned_pool_of(device).note_use(*stage.get(), stream);
        check(api, api.cuMemcpyHtoDAsync(to + done, staged, step, stream), "copy ",
              format_bytes(bytes), " to ", device.name());
        done += step;
        in_flight += step;
        if (in_flight >= in_flight_bytes) {
            wait_for(device, stream, bytes);
            in_flight = 0;
        }
    }
}

void copy_to_host(Device& device, void* destination, std::uint64_t from, std::size_t bytes,
                  CUstream stream) {
    if (bytes == 0)
        return;
    device.make_current();
    if (bytes <= small_read_bytes && !device.is_cpu() &&
        read_small(device, destination, from, bytes, stream)) {
        throw_fault(device);
        return;
    }
    check(device.api(), device.api().cuMemcpyDtoHAsync(destination, from, bytes, stream), "copy ",
          format_bytes(bytes), " from ", device.name());
    wait_for(device, stream, bytes);
}

void copy_between(Device& to_device, std::uint64_t to, CUstream to_stream, Device& from_device,
                  std::uint64_t from, CUstream from_stream, std::size_t bytes) {
    if (bytes == 0)
        return;
    const DriverApi& api = to_device.api();
    if (to_device.is_cpu() != from_device.is_cpu()) {
        // Two drivers: neither can wait for the other's streams, so this thread does.
        if (to_device.is_cpu()) {
            Stream::external(to_device, to_stream).synchronize();
            copy_to_host(from_device, reinterpret_cast<void*>(to), from, bytes, from_stream);
        } else {
            Stream::external(from_device, from_stream).synchronize();
            copy_to_device(to_device, to, reinterpret_cast<const void*>(from), bytes, to_stream);
        }
        return;
    }
    order(from_device, from_stream, to_device, to_stream);
    to_device.make_current();
    if (&to_device == &from_device) {
        check(api, api.cuMemcpyDtoDAsync(to, from, bytes, to_stream), "copy ", format_bytes(bytes),
              " on ", to_device.name());
    } else {
        if (api.cuMemcpyPeerAsync == nullptr)
            throw Error(ErrorKind::not_implemented,
                        join("the driver of ", to_device.name(), " cannot copy between devices"));
        check(api,
              api.cuMemcpyPeerAsync(to, to_device.context(), from, from_device.context(), bytes,
                                    to_stream),
              "copy ", format_bytes(bytes), " from ", from_device.name(), " to ", to_device.name());
    }
    order(to_device, to_stream, from_device, from_stream);
}

void fill_bytes(Device& device, std::uint64_t to, unsigned char value, std::size_t bytes,
                CUstream stream) {
    if (bytes == 0)
        return;
    device.make_current();
    check(device.api(), device.api().cuMemsetD8Async(to, value, bytes, stream), "fill ",
          format_bytes(bytes), " on ", device.name());
}

} // namespace quern
