// Arrays one behind the other: what joining a few of them along any axis writes.
#pragma once
#include "runtime/array/array.h"

#include <span>

namespace quern {

// Where a few dense parts of a dtype stand behind each other along `axis` of a dense `target` on a
// GPU, one kernel writes all of them. False, and nothing is done, where it is otherwise, or copies
// are quicker.
[[nodiscard]] bool join_pieces(std::span<const Array> parts, int axis, const Array& target,
                               CUstream stream);

} // namespace quern
