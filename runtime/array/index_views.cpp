// Views by basic indexing: integers, slices, new axes and one ellipsis, with Python's and NumPy's
// rules.
#include "compiler/base/text.h"
#include "runtime/array/views.h"

#include <algorithm>
#include <limits>

namespace quern {

Slice normalise_slice(std::optional<std::int64_t> start, std::optional<std::int64_t> stop,
                      std::optional<std::int64_t> step, std::int64_t extent) {
    std::int64_t by = step.value_or(1);
    if (by == 0)
        throw ValueError("slice step cannot be zero");
    by = std::max(by, -std::numeric_limits<std::int64_t>::max()); // so that -by exists, as CPython
    const bool down = by < 0;
    const std::int64_t low = down ? -1 : 0, high = down ? extent - 1 : extent;
    const auto bound = [&](std::int64_t at) {
        return at < 0 ? std::max(at + extent, low) : std::min(at, high);
    };
    const std::int64_t from = start ? bound(*start) : (down ? high : low);
    const std::int64_t to = stop ? bound(*stop) : (down ? low : high);
    std::int64_t count = 0;
    if (down && to < from)
        count = (from - to - 1) / -by + 1;
    if (!down && from < to)
        count = (to - from - 1) / by + 1;
    return {from, by, count};
}

namespace {

// The result's axes while an index is read from left to right.
struct Walk {
    const Array& array;
    std::uint64_t address;
    Dims shape, strides;
    int axis = 0, to = 0;

    void put(std::int64_t extent, std::int64_t stride) {
        shape[to] = extent;
        strides[to++] = stride;
    }
    void take(const Slice& part) {
        const std::int64_t stride = array.strides()[axis++];
        if (part.count > 0)
            address += static_cast<std::uint64_t>(part.start * stride);
        // A step past the extent is never taken twice: its product may overflow, so wrap as NumPy
        // does.
        put(part.count, static_cast<std::int64_t>(static_cast<std::uint64_t>(part.step) *
                                                  static_cast<std::uint64_t>(stride)));
    }
    void take_whole() {
        put(array.shape()[axis], array.strides()[axis]);
        ++axis;
    }
    void take_one(std::int64_t index) {
        const std::int64_t extent = array.shape()[axis];
        if (index < -extent || index >= extent)
            throw Error(ErrorKind::index, join("index ", index, " is out of bounds for axis ", axis,
                                               " with size ", extent));
        address += static_cast<std::uint64_t>((index < 0 ? index + extent : index) *
                                              array.strides()[axis]);
        ++axis;
    }
};

} // namespace

Array slice(const Array& array, int axis, const Slice& part) {
    Dims shape = array.shape(), strides = array.strides();
    const std::int64_t stride = strides[axis];
    const std::uint64_t skipped =
        part.count > 0 ? static_cast<std::uint64_t>(part.start * stride) : 0;
    shape[axis] = part.count;
    strides[axis] = static_cast<std::int64_t>(static_cast<std::uint64_t>(part.step) *
                                              static_cast<std::uint64_t>(stride));
    return Array(array.buffer(), array.address() + skipped, array.dtype(), std::move(shape),
                 std::move(strides), array.writable());
}

void check_index_counts(int ndim, int consumed, int result_ndim, int ellipses) {
    if (ellipses > 1)
        throw Error(ErrorKind::index, "an index can only have a single ellipsis ('...')");
    if (consumed > ndim)
        throw Error(ErrorKind::index, join("too many indices for array: array is ", ndim,
                                           "-dimensional, but ", consumed, " were indexed"));
    if (result_ndim > max_ndim)
        throw Error(ErrorKind::index, join("number of dimensions must be within [0, ", max_ndim,
                                           "], indexing result would have ", result_ndim));
}

Array basic_index(const Array& array, std::span<const IndexItem> items) {
    int consumed = 0, dropped = 0, added = 0, ellipses = 0;
    for (const IndexItem& item : items) {
        if (std::holds_alternative<NewAxis>(item))
            ++added;
        else if (std::holds_alternative<Ellipsis>(item))
            ++ellipses;
        else
            ++consumed;
        dropped += std::holds_alternative<std::int64_t>(item);
    }
    const int ndim = array.ndim() - dropped + added;
    check_index_counts(array.ndim(), consumed, ndim, ellipses);
    Walk walk{array, array.address(), Dims(static_cast<std::size_t>(ndim)),
              Dims(static_cast<std::size_t>(ndim))};
    for (const IndexItem& item : items) {
        if (const auto* index = std::get_if<std::int64_t>(&item)) {
            walk.take_one(*index);
        } else if (const auto* part = std::get_if<SliceIndex>(&item)) {
            walk.take(
                normalise_slice(part->start, part->stop, part->step, array.shape()[walk.axis]));
        } else if (std::holds_alternative<NewAxis>(item)) {
            walk.put(1, 0);
        } else {
            for (int k = array.ndim() - consumed; k > 0; --k)
                walk.take_whole();
        }
    }
    while (walk.axis < array.ndim())
        walk.take_whole();
    return Array(array.buffer(), walk.address, array.dtype(), std::move(walk.shape),
                 std::move(walk.strides), array.writable());
}

} // namespace quern
