// What a body asks of its plan, read off its text once: the one place that turns facts into
// constraints.
#pragma once
#include "compiler/spec/kernel_spec.h"

#include <cstdint>

namespace quern {

struct BodyNeeds {
    bool keep_order = false;  // the body sees positions: axes may be merged, but not exchanged
    bool keep_axes = false;   // reduce_dims=False: neither
    bool one_element = false; // one element a thread: the body leaves early, or names its thread
    bool swift = false;       // GPU: there is a form without branches, worth several steps a thread
    bool swift_of_many = false; // only where a thread has several
    bool in_place = false;      // elements are read and written where they are, one after the other
    bool costly = false;        // it calls functions that take far longer than a load
    std::int64_t grain = 16384; // CPU: elements worth a block of their own
};

[[nodiscard]] BodyNeeds needs_of(const ElementwiseSpec& spec);

} // namespace quern
