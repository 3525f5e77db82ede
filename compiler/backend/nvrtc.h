// What the runtime may ask of NVRTC besides compiling.
#pragma once

namespace quern {

// Opens NVRTC on a thread of its own, once, and returns at once: called when the first GPU array is
// made, so that the first compile need not wait for the 100 MB library. Without NVRTC it does
// nothing; the first compile says why.
void preload_nvrtc() noexcept;

} // namespace quern
