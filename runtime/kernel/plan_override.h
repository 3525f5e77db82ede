// For experiments and tests: what this thread's plans are made for, instead of the arrays' device.
#pragma once
#include "compiler/compile.h"
#include "runtime/device/device.h"

namespace quern {

struct PlanOverride {
    bool gpu_layout = false; // a GPU's layout on whatever device
    int narrow_bits = narrow_index_bits;
};

inline PlanOverride& plan_override() {
    thread_local PlanOverride own;
    return own;
}

inline Target plan_target(const Device& device) {
    return plan_override().gpu_layout ? Target::gpu : device.arch().target;
}

} // namespace quern
