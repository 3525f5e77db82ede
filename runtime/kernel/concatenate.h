// Arrays one after another along an axis: the types, the shape, then a copy of each, or one kernel
// for many that are alike.
#pragma once
#include "runtime/array/array.h"

#include "compiler/compile.h"

#include <optional>
#include <span>

namespace quern {

struct ConcatenateCall {
    std::optional<std::int64_t> axis; // none: all elements in C order, one axis
    std::optional<DType> dtype;       // none: what the arrays promote to
    const Array* out = nullptr;
    Casting casting = Casting::same_kind;
};

// `out`, or a new array: in Fortran order if all of `parts` are, else in C order. A part whose
// bytes lie together in both is one copy of the driver's, any other one launch; many small parts
// of one shape and dtype are a launch or two together. On the device's current stream.
// Throws ValueError for shapes and a read-only `out`; TypeError where `casting` forbids the types.
[[nodiscard]] Array concatenate(std::span<const Array> parts, const ConcatenateCall& call);

} // namespace quern
