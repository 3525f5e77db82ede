// What every call asks of an output that its caller gave.
#pragma once
#include "compiler/base/dtype.h"
#include "runtime/array/array.h"

namespace quern {

// Throws ValueError where `out` is read-only, or on another device than the operands.
void check_given_output(const Array& out, const Device& device);

// Also where it is not exactly of `shape`; TypeError where a `result` is not cast to its dtype.
void check_given_output(const Array& out, const Device& device, const Dims& shape, DType result);

} // namespace quern
