// What this thread's plans are told besides shapes and devices.
#pragma once
#include "compiler/compile.h"
#include "runtime/device/device.h"

namespace quern {

struct PlanOptions {
    bool atomic_joins = false; // blocks that share a result may join by atomics, in any order
    // For experiments and tests.
    bool fuses_all = false;  // also calls of few elements on CPUs
    bool gpu_layout = false; // a GPU's layout on whatever device
    int narrow_bits = narrow_index_bits;
};

inline PlanOptions& plan_options() {
    thread_local PlanOptions own;
    return own;
}

inline Target plan_target(const Device& device) {
    return plan_options().gpu_layout ? Target::gpu : device.arch().target;
}

} // namespace quern
