// What a compilation leaves to a thread of its own, for later ones to find.
#pragma once
#include <functional>

namespace quern::host {

// One at a time: false when something is being made already, or no thread can be had. The process
// does not end before it is done. A crash of Clang or LLVM ends the work alone.
bool start_in_background(std::function<void()> work);

void wait_for_background();

} // namespace quern::host
