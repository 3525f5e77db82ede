// Masks on GPUs: one pass over tiles that count, learn how many are before them, and write.
#pragma once
#include "runtime/array/array.h"

namespace quern {

// All arrays are in C order. `places`: of the true elements, one after the other.
void find_by_tiles(const Array& mask, const Array& places, void (*on_wait)(bool entering));
// result: the elements of `array` where the mask is true.
void pick_by_tiles(const Array& array, const Array& mask, const Array& result,
                   void (*on_wait)(bool entering));
// result: the first of each run of one value in a sorted array; count: how many those are, an
// int64. There must be room for as many as `sorted` has.
void pick_heads_by_tiles(const Array& sorted, bool one_nan, const Array& result, const Array& count,
                         void (*on_wait)(bool entering));
// array: `values` where the mask is true, one after the other, again from their start.
void fill_by_tiles(const Array& array, const Array& mask, const Array& values,
                   void (*on_wait)(bool entering));

} // namespace quern
