// Arrays side by side, element by element: what stacking along a last axis writes.
#pragma once
#include "runtime/array/array.h"

#include <span>

namespace quern {

// Where each of a few parts has one element of up to eight bytes (or few that lie together) for
// every line of `target`, one kernel writes all of them, each line of the target once. False,
// and nothing is done, where it is otherwise. The parts follow each other along `axis`.
[[nodiscard]] bool interleave(std::span<const Array> parts, int axis, const Array& target,
                              CUstream stream);

} // namespace quern
