// Counters for blocks that share work: whoever takes the last number knows that all others are
// done.
#pragma once
#include "runtime/memory/memory.h"

#include <cstdint>
#include <memory>

namespace quern {

// The address of at least `count` 32-bit counters that are zero when the next launch on `stream`
// begins, if every launch leaves them zero. They belong to the stream, whose launches follow each
// other; a launch that is captured gets some of its own, cleared by the graph, which `kept` must
// keep.
[[nodiscard]] std::uint64_t tickets(Device& device, CUstream stream, std::int64_t count,
                                    std::shared_ptr<const void>& kept);

} // namespace quern
