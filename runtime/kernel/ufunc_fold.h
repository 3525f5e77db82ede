// NumPy's methods of binary ufuncs: reduce, accumulate, reduceat, and updates by index.
#pragma once
#include "runtime/kernel/reduce.h"
#include "runtime/kernel/ufunc.h"

namespace quern {

// ufunc.reduce: what may be regrouped is a reduction, the rest is joined from left to right.
// Returns what was made, or nothing with `out`. Throws ValueError for a ufunc that is not binary,
// AxisError, TypeError where no loop serves.
std::optional<Array> ufunc_reduce(Ufunc ufunc, const Array& array, const ReduceCall& call,
                                  void (*on_wait)(bool entering) = nullptr);

struct UfuncLine {
    std::int64_t axis = 0;
    std::optional<DType> dtype;
    const Array* out = nullptr;
};

// ufunc.accumulate: every element with all before it along an axis: `out`, or a new array.
Array ufunc_accumulate(Ufunc ufunc, const Array& array, const UfuncLine& line,
                       void (*on_wait)(bool entering) = nullptr);

// ufunc.reduceat: `starts` is int64, on the array's device, of positions along the axis that were
// checked; each begins a segment that ends before the next, or is one element where the next is not
// above it.
Array ufunc_reduceat(Ufunc ufunc, const Array& array, const Array& starts, const UfuncLine& line,
                     void (*on_wait)(bool entering) = nullptr);

// ufunc.at: a[places[k]] = op(a[places[k]], values[k]) for every k in order, so that equal places
// gather every update. A place is a row of `width` elements of `a`, counted in C order; `places`
// holds checked ones as int64, and `values`, if the ufunc is binary, a row for each.
void ufunc_at(Ufunc ufunc, const Array& a, const Array& places, std::int64_t width,
              const Array* values, void (*on_wait)(bool entering) = nullptr);

} // namespace quern
