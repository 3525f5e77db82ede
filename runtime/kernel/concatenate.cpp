// Concatenation: every part has its slice of the target, and the one copy of fill.h writes it
// there; parts of an element a line are interleaved.
#include "runtime/kernel/concatenate.h"

#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "runtime/array/views.h"
#include "runtime/kernel/fill.h"
#include "runtime/kernel/interleave.h"

#include <algorithm>
#include <vector>

namespace quern {
namespace {

std::string dtype_text(DType dtype) { return join("dtype('", row(dtype).name, "')"); }

void check_casts(std::span<const Array> parts, DType to, Casting casting) {
    static constexpr std::array<std::string_view, 5> names{"no", "equiv", "safe", "same_kind",
                                                           "unsafe"};
    for (const Array& part : parts)
        if (!can_cast(part.dtype(), to, casting))
            throw TypeError(join("Cannot cast array data from ", dtype_text(part.dtype()), " to ",
                                 dtype_text(to), " according to the rule '",
                                 names[static_cast<std::size_t>(casting)], "'"));
}

Dims joined_shape(std::span<const Array> parts, int axis) {
    const Array& first = parts.front();
    Dims shape = first.shape();
    for (std::size_t k = 1; k < parts.size(); ++k) {
        const Array& part = parts[k];
        if (part.ndim() != first.ndim())
            throw ValueError(join("all the input arrays must have same number of dimensions, but "
                                  "the array at index 0 has ",
                                  first.ndim(), " dimension(s) and the array at index ", k, " has ",
                                  part.ndim(), " dimension(s)"));
        for (int d = 0; d < first.ndim(); ++d)
            if (d == axis)
                shape[d] += part.shape()[d];
            else if (part.shape()[d] != first.shape()[d])
                throw ValueError(join("all the input array dimensions except for the concatenation "
                                      "axis must match exactly, but along dimension ",
                                      d, ", the array at index 0 has size ", first.shape()[d],
                                      " and the array at index ", k, " has size ",
                                      part.shape()[d]));
    }
    return shape;
}

Array target_of(const ConcatenateCall& call, std::span<const Array> parts, const Dims& shape,
                CUstream stream) {
    std::vector<DType> dtypes;
    for (const Array& part : parts)
        dtypes.push_back(part.dtype());
    const DType dtype = call.out != nullptr ? call.out->dtype()
                        : call.dtype        ? *call.dtype
                                            : result_type(dtypes);
    check_casts(parts, dtype, call.casting);
    if (call.out == nullptr) {
        const bool f = call.axis && std::ranges::all_of(parts, [](const Array& part) {
                           return part.f_contiguous() && !part.c_contiguous();
                       });
        return Array::empty(parts.front().device(), dtype, shape, stream, f ? Order::f : Order::c);
    }
    if (!(call.out->shape() == shape))
        throw ValueError("Output array is the wrong shape");
    if (!call.out->writable())
        throw ValueError("output array is read-only");
    return *call.out;
}

} // namespace

Array concatenate(std::span<const Array> parts, const ConcatenateCall& call, CUstream stream) {
    if (parts.empty())
        throw ValueError("need at least one array to concatenate");
    Dims shape;
    int axis = 0;
    if (call.axis) {
        if (parts.front().ndim() == 0)
            throw ValueError("zero-dimensional arrays cannot be concatenated");
        axis = normalise_axis(*call.axis, parts.front().ndim());
        shape = joined_shape(parts, axis);
    } else {
        std::int64_t size = 0;
        for (const Array& part : parts)
            size += part.size();
        shape = Dims{size};
    }
    Array target = target_of(call, parts, shape, stream);
    if (call.axis && call.out == nullptr && interleave(parts, axis, target, stream))
        return target;
    std::int64_t start = 0;
    for (const Array& part : parts) {
        const std::int64_t count = call.axis ? part.shape()[axis] : part.size();
        const Array place = slice(target, axis, {start, 1, count});
        start += count;
        if (part.size() == 0)
            continue;
        if (call.axis) {
            copy_into(place, part, stream);
        } else if (const std::optional<Array> flat = reshape_view(part, place.shape())) {
            copy_into(place, *flat, stream);
        } else if (const std::optional<Array> shaped = reshape_view(place, part.shape())) {
            copy_into(*shaped, part, stream);
        } else { // an `out` of its own strides, and elements in no plain order
            Array dense = Array::empty(part.device(), part.dtype(), part.shape(), stream);
            copy_into(dense, part, stream);
            copy_into(place, *reshape_view(dense, place.shape()), stream);
        }
    }
    return target;
}

} // namespace quern
