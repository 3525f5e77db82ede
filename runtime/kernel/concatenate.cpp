// Concatenation: every part has its slice of the target, and the one copy of fill.h writes it
// there; parts of an element a line are interleaved, and on a GPU a few dense ones are one launch.
#include "runtime/kernel/concatenate.h"

#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "runtime/array/views.h"
#include "runtime/driver/check.h"
#include "runtime/kernel/fill.h"
#include "runtime/kernel/indexing.h"
#include "runtime/kernel/interleave.h"
#include "runtime/kernel/pieces.h"
#include "runtime/kernel/recorder.h"
#include "runtime/stream/stream.h"

#include <algorithm>
#include <limits>
#include <numeric>
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

Array target_of(const ConcatenateCall& call, std::span<const Array> parts, const Dims& shape) {
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
        Device& device = parts.front().device();
        return Array::empty(device, dtype, shape, current_stream(device), f ? Order::f : Order::c);
    }
    if (!(call.out->shape() == shape))
        throw ValueError("Output array is the wrong shape");
    if (!call.out->writable())
        throw ValueError("output array is read-only");
    return *call.out;
}

// How many parts, from the first on, differ in nothing but their address.
std::size_t alike(std::span<const Array> parts, const Array& target, bool may_overlap) {
    const Array& first = parts.front();
    const auto end = std::ranges::find_if_not(parts, [&](const Array& part) {
        return part.dtype() == target.dtype() && part.shape() == first.shape() &&
               part.strides() == first.strides() && &part.device() == &target.device() &&
               !(may_overlap && may_share_memory(part, target));
    });
    return std::max<std::size_t>(static_cast<std::size_t>(end - parts.begin()), 1);
}

// Are so many parts like this one written sooner by one kernel than by a copy of each?
bool worth_gathering(const Array& part, std::size_t count, const Array& target) {
    if (part.size() == 0 || part.ndim() == max_ndim)
        return false;
    if (target.device().is_cpu())
        return count >= 32 && part.nbytes() <= 1 << 16;
    return count >= 8 && part.nbytes() <= 1 << 18;
}

// The array as `rows` equal pieces of `axis`, which come first.
Array rows_of(const Array& array, int axis, std::int64_t rows) {
    std::vector<std::int64_t> shape(array.shape().begin(), array.shape().end());
    shape[static_cast<std::size_t>(axis)] /= rows;
    shape.insert(shape.begin() + axis, rows);
    const std::int64_t from = axis, to = 0;
    return moveaxis(*reshape_view(array, Dims(shape)), std::span(&from, 1), std::span(&to, 1));
}

// The parts, which are alike, into `target` from `start` of the axis on: to the kernel of indexing
// they are one array, in which an index array says where each begins. False, and nothing is done,
// where they lie too far apart for an array's size, or a graph would keep the address of the index
// array's values.
bool gather(std::span<const Array> parts, const Array& target, int axis, std::int64_t start) {
    Device& device = target.device();
    const CUstream stream = current_stream(device);
    if (current_recorder() != nullptr || is_capturing(device, stream))
        return false;
    const Array& first = *std::ranges::min_element(parts, {}, &Array::address);
    std::vector<std::int64_t> starts;
    std::int64_t step = 0, last = 0;
    for (const Array& part : parts) {
        starts.push_back(static_cast<std::int64_t>(part.address() - first.address()));
        step = std::gcd(step, starts.back());
        last = std::max(last, starts.back());
    }
    step = std::max<std::int64_t>(step, 1);
    if (last / step >= std::numeric_limits<std::int64_t>::max() / first.nbytes())
        return false;
    for (std::int64_t& start : starts)
        start /= step;
    std::vector<std::int64_t> shape{last / step + 1}, strides{step};
    shape.insert(shape.end(), first.shape().begin(), first.shape().end());
    strides.insert(strides.end(), first.strides().begin(), first.strides().end());
    const Array whole(first.buffer(), first.address(), first.dtype(), Dims(shape), Dims(strides));
    const Array index =
        Array::empty(device, DType::int64, Dims{static_cast<std::int64_t>(starts.size())}, stream);
    device.make_current();
    check(device.api(), // which takes the values along: nothing is waited for
          device.api().cuMemcpyHtoDAsync(index.address(), starts.data(),
                                         starts.size() * sizeof starts[0], stream),
          "copy the places of arrays to ", device.name());
    const auto rows = static_cast<std::int64_t>(parts.size());
    const Array place =
        rows_of(slice(target, axis, {start, 1, rows * first.shape()[axis]}), axis, rows);
    const IndexCall call{.mode = IndexMode::clip};
    if (place.c_contiguous())
        static_cast<void>(get_indexed(whole, {ArrayIndex{index}}, call, &place));
    else // a part at a time, then across
        copy_into(place, get_indexed(whole, {ArrayIndex{index}}, call), stream);
    for (const Array& part : parts)
        note_use(part, stream);
    return true;
}

} // namespace

Array concatenate(std::span<const Array> parts, const ConcatenateCall& call) {
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
    Array target = target_of(call, parts, shape);
    const CUstream stream = current_stream(target.device());
    if (call.out == nullptr &&
        (interleave(parts, axis, target, stream) || join_pieces(parts, axis, target, stream)))
        return target;
    std::int64_t start = 0;
    std::size_t like = 0; // where the parts that are alike end
    for (std::size_t k = 0; k < parts.size(); ++k) {
        const Array& part = parts[k];
        const std::int64_t count = call.axis ? part.shape()[axis] : part.size();
        if (call.axis && k == like) {
            const std::size_t many = alike(parts.subspan(k), target, call.out != nullptr);
            like = k + many;
            if (worth_gathering(part, many, target) &&
                gather(parts.subspan(k, many), target, axis, start)) {
                start += static_cast<std::int64_t>(many) * count;
                k = like - 1;
                continue;
            }
        }
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
            const CUstream there = current_stream(part.device());
            Array dense = Array::empty(part.device(), part.dtype(), part.shape(), there);
            copy_into(dense, part, there);
            copy_into(place, *reshape_view(dense, place.shape()), stream);
        }
    }
    return target;
}

} // namespace quern
