// The third provider of the driver table: memory, modules, streams, events and launches, executed
// on the CPU.
#pragma once
#include "runtime/driver/api.h"

#include <cstddef>

namespace quern {

// Made on first use, starts no thread before the first launch that is worth one. Keeps CUDA's
// rules: limits, alignment, errors, asynchronous order of streams.
[[nodiscard]] const Driver& host_driver();

// Takes what kernels print, whole calls of printf at a time, and the lines of failed assertions.
// Called on any thread, one call at a time, and must not launch. nullptr: the process's own
// streams.
using HostTextSink = void (*)(bool error, const char* text, std::size_t bytes);
void set_host_text_sink(HostTextSink sink) noexcept;

} // namespace quern
