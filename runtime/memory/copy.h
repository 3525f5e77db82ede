// Copies and fills, ordered on streams.
#pragma once
#include "runtime/memory/memory.h"

namespace quern {

// Returns when `source` may be changed or freed; the device has the bytes once `stream` gets there.
void copy_to_device(Device& device, std::uint64_t to, const void* source, std::size_t bytes,
                    CUstream stream);
// Returns when the bytes are in `destination`: waits for `stream`. The caller holds no GIL.
void copy_to_host(Device& device, void* destination, std::uint64_t from, std::size_t bytes,
                  CUstream stream);
// After what `from_stream` holds now, before what `to_stream` and `from_stream` are given later.
// Between the CPU and a GPU it waits; otherwise it does not.
void copy_between(Device& to_device, std::uint64_t to, CUstream to_stream, Device& from_device,
                  std::uint64_t from, CUstream from_stream, std::size_t bytes);
void fill_bytes(Device& device, std::uint64_t to, unsigned char value, std::size_t bytes,
                CUstream stream);

} // namespace quern
