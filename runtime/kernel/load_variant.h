// A variant of a kernel that was not met before: compiled at once, or on its way while its caller
// goes on.
#pragma once
#include "compiler/compile.h"
#include "runtime/kernel/ahead.h"
#include "runtime/kernel/typed.h"
#include "runtime/kernel/waiting.h"

#include <memory>
#include <mutex>
#include <utility>

namespace quern {

struct LoadTarget {
    Device& device;
    CUstream stream;
    bool may_wait; // as far as its text goes
    void (*on_wait)(bool entering);
};

// `begin(Loaded&)` fills in what needs no compiler; `state->make()` the rest, on whatever thread.
// One that failed on another thread is made once more, here: so its error is told.
template <class Loaded, class State, class Begin>
Loaded& load_variant(const std::shared_ptr<State>& state, Typed<Loaded>& typed, const ByteKey& key,
                     Compilation compilation, const LoadTarget& target, Begin&& begin) {
    Device& device = target.device;
    auto made = std::make_unique<Loaded>();
    begin(*made);
    if (target.may_wait && typed.variants.find(key) == nullptr &&
        may_go_ahead(device, target.stream) && !compilation.is_on_disk()) {
        made->arrival.expect();
        const Loaded* const own = made.get();
        Loaded* placed;
        {
            const std::lock_guard lock(state->mutex);
            placed = &typed.variants.insert(key, std::move(made));
        }
        if (placed == own) // else another thread's is on its way
            go_ahead(device, state->spec.name.c_str(), placed->arrival,
                     [state, &typed, &device, placed, compilation = std::move(compilation)] {
                         state->make(typed, compilation, device, *placed);
                     });
        return *placed;
    }
    {
        const Waiting waiting(target.on_wait);
        state->make(typed, compilation, device, *made);
    }
    const std::lock_guard lock(state->mutex);
    Loaded* present = typed.variants.find(key);
    return present != nullptr && !present->arrival.has_failed()
               ? *present
               : typed.variants.add(key, std::move(made));
}

} // namespace quern
