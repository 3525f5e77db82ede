// Array routines that are kernels of ours: copies with casts, fills, ranges. They take the same
// road as every kernel.
#pragma once
#include "runtime/kernel/elementwise.h"

namespace quern {

// An array's elements as what carries so many bytes (carrier.h).
[[nodiscard]] Array in_units(const Array& array);

// target[...] = source, broadcast and cast without a check ('unsafe'); any layouts; across devices
// too.
void copy_into(const Array& target, const Array& source, CUstream stream);
void fill(const Array& target, const Scalar& value, CUstream stream);
// target[i] = start + i * step, 1-D, computed in the target's dtype as NumPy's arange does.
void fill_range(const Array& target, const Scalar& start, const Scalar& step, CUstream stream);
// target[i] = start + i * step in float64 (or complex128), then cast; the last is `stop` exactly
// when `endpoint`.
void fill_linspace(const Array& target, const Scalar& start, const Scalar& stop, const Scalar& step,
                   bool endpoint, CUstream stream);
// target[r, k] = source[r, places[r, k]] of rows in C order, for int64 places that are known to be
// those of elements.
void gather(const Array& target, const Array& source, const Array& places, CUstream stream);

} // namespace quern
