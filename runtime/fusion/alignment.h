// A call that sees what a stretch made transposed, reversed or reshaped visits the same elements in
// another order. No elementwise call can tell: it may as well visit them in the stretch's order.
#pragma once
#include "runtime/array/array.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace quern {

struct Alignment {
    struct Axis {
        int of = -1;           // the call's axis that it lies along; -1: along none
        std::int64_t step = 0; // elements of that axis from one to the next
    };
    // What each axis of the stretch falls into, outermost first: {7} stays, {2, 3} was 6 long.
    std::vector<std::vector<std::int64_t>> parts;
    std::vector<Axis> axes;     // one for each part
    std::vector<bool> reversed; // of the call's axes

    // An array that is broadcast to the call's `shape`, along the axes of the stretch. Where the
    // stretch has an axis that the call has not, the result has one element.
    [[nodiscard]] Array seen(const Array& array, const Dims& shape) const;
    [[nodiscard]] Dims extents() const; // of the call, along the axes of the stretch
};

// How `seen` has exactly the elements that `known` has in a stretch's shape, where elements repeat
// along axes of stride 0. nullopt: it has others, or repeats some itself.
[[nodiscard]] std::optional<Alignment> align(const Array& known, const Array& seen);

} // namespace quern
