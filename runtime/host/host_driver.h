// The third provider of the driver table: memory, modules, streams, events and launches, executed
// on the CPU.
#pragma once
#include "runtime/driver/api.h"

#include <cstddef>
#include <memory>

namespace quern {

// Made on first use, starts no thread before the first launch that is worth one. Keeps CUDA's
// rules: limits, alignment, errors, asynchronous order of streams.
[[nodiscard]] const Driver& host_driver();

// A function of the process in a stream's order, run as a kernel is: at once on the calling thread
// where nothing before it is pending (unlike cuLaunchHostFunc's, it waits for nobody). `data` lives
// until it has run, or as long as a graph that captured it. It must not throw.
[[nodiscard]] CUresult launch_host_work(CUstream stream, void (*function)(const void*),
                                        std::shared_ptr<const void> data);

// Takes what kernels print, whole calls of printf at a time, and the lines of failed assertions.
// Called on any thread, one call at a time, and must not launch. nullptr: the process's own
// streams.
using HostTextSink = void (*)(bool error, const char* text, std::size_t bytes);
void set_host_text_sink(HostTextSink sink) noexcept;

} // namespace quern
