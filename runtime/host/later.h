// Launches that their stream keeps until something else is there: not of CUDA, of the CPU alone.
#pragma once
#include "runtime/driver/api.h"

#include <functional>

namespace quern::host {

// `work` comes after what the stream holds, on the streams' own thread, and before all that the
// stream is given later. It may wait for other threads, but not for the caller, nor for a stream.
[[nodiscard]] CUresult keep_in_stream(CUstream stream, std::function<void()> work);

// Of such work: runs a kernel now. What goes wrong is told to whoever asks for the device's state
// next.
void run_kernel(CUfunction function, unsigned grid, unsigned block, unsigned shared_bytes,
                void** params);
void tell_failure(CUresult status);

// Is there work in streams that needs nothing of the program any more? And until there is none: not
// behind host functions, which may wait for the caller.
[[nodiscard]] bool keeps_work() noexcept;
void wait_for_kept_work();

} // namespace quern::host
