// Arrays of bools as indices: what is true is counted and compacted. CPUs scan counts of chunks,
// GPUs take one pass of tiles.
#pragma once
#include "runtime/kernel/argument.h"

#include <vector>

namespace quern {

// The positions of true elements, or of elements that are not 0: an int64 array for each axis, in C
// order; none for an array without axes. Waits for the count.
[[nodiscard]] std::vector<Array> nonzero(const Array& array,
                                         void (*on_wait)(bool entering) = nullptr);
// The same as rows of an array: an element's indices side by side.
[[nodiscard]] Array argwhere(const Array& array, void (*on_wait)(bool entering) = nullptr);
// The same as positions in C order.
[[nodiscard]] Array flat_nonzero(const Array& array, void (*on_wait)(bool entering) = nullptr);
// int64 positions in C order of an array of `shape`, as an index for each axis.
[[nodiscard]] std::vector<Array> unravel(const Array& places, const Dims& shape,
                                         void (*on_wait)(bool entering) = nullptr);

// array[mask] for a mask of the array's shape: one axis, in C order. Waits for the count.
[[nodiscard]] Array pick(const Array& array, const Array& mask,
                         void (*on_wait)(bool entering) = nullptr);
// array[mask] = values, one after the other; `repeated`: again from their start, else there must be
// as many as true elements (ValueError; waits for the count).
void fill_picked(const Array& array, const Array& mask, const Array& values, bool repeated,
                 void (*on_wait)(bool entering) = nullptr);
// array[mask] = value, where both broadcast to the array: nothing is counted and nobody waits.
void put_where(const Array& array, const Array& mask, const Argument& value,
               void (*on_wait)(bool entering) = nullptr);
// numpy.putmask: where the mask is true, the value at the same position, counted round.
void putmask(const Array& array, const Array& mask, const Array& values,
             void (*on_wait)(bool entering) = nullptr);

// One element of an array of one, read by the host. Waits.
[[nodiscard]] bool read_truth(const Array& array, void (*on_wait)(bool entering) = nullptr);

// The array as bools: true where it is not 0.
[[nodiscard]] Array as_mask(const Array& array);

} // namespace quern
