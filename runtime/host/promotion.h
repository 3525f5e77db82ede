// Programs whose kernels get a faster tier while they are in use.
#pragma once
#include <cuda.h>

#include <cstddef>
#include <functional>
#include <span>

namespace quern::host {

// `call` is made once, by a thread that launches, when the module's kernels have spent a while with
// threads as fibers. Before the module's first launch.
void call_when_hot(CUmodule module, std::function<void()> call);

// From now on the module's kernels run as `image` has them, also the blocks of launches under way;
// its variables stay what they are. False when the image does not fit. Any thread.
bool replace_code(CUmodule module, std::span<const std::byte> image);

} // namespace quern::host
