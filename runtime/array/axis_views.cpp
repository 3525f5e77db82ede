// Views with axes moved, added, dropped or merged into a diagonal.
#include "compiler/base/text.h"
#include "runtime/array/views.h"

#include <algorithm>
#include <bitset>

namespace quern {

AxisError::AxisError(std::int64_t axis, int ndim)
    : Error(ErrorKind::index,
            join("axis ", axis, " is out of bounds for array of dimension ", ndim)),
      axis_(axis), ndim_(ndim) {}

int normalise_axis(std::int64_t axis, int ndim) {
    if (axis < -ndim || axis >= ndim)
        throw AxisError(axis, ndim);
    return static_cast<int>(axis < 0 ? axis + ndim : axis);
}

namespace {

using Axes = std::bitset<max_ndim>;

Axes distinct_axes(std::span<const std::int64_t> axes, int ndim, const char* complaint) {
    Axes seen;
    for (const std::int64_t axis : axes) {
        const auto k = static_cast<std::size_t>(normalise_axis(axis, ndim));
        if (seen[k])
            throw ValueError(complaint);
        seen[k] = true;
    }
    return seen;
}

Array view(const Array& array, std::uint64_t address, Dims shape, Dims strides) {
    return Array(array.buffer(), address, array.dtype(), std::move(shape), std::move(strides),
                 array.writable());
}

Array without_axes(const Array& array, const Axes& gone) {
    const auto kept = static_cast<std::size_t>(array.ndim()) - gone.count();
    Dims shape(kept), strides(kept);
    int to = 0;
    for (int k = 0; k < array.ndim(); ++k)
        if (!gone[static_cast<std::size_t>(k)]) {
            shape[to] = array.shape()[k];
            strides[to++] = array.strides()[k];
        }
    return view(array, array.address(), std::move(shape), std::move(strides));
}

} // namespace

Array transpose(const Array& array) {
    Dims shape = array.shape(), strides = array.strides();
    std::reverse(shape.data(), shape.data() + shape.size());
    std::reverse(strides.data(), strides.data() + strides.size());
    return view(array, array.address(), std::move(shape), std::move(strides));
}

Array transpose(const Array& array, std::span<const std::int64_t> axes) {
    const int ndim = array.ndim();
    if (axes.size() != static_cast<std::size_t>(ndim))
        throw ValueError("axes don't match array");
    (void)distinct_axes(axes, ndim, "repeated axis in transpose");
    Dims shape(axes.size()), strides(axes.size());
    for (int k = 0; k < ndim; ++k) {
        const int from = normalise_axis(axes[static_cast<std::size_t>(k)], ndim);
        shape[k] = array.shape()[from];
        strides[k] = array.strides()[from];
    }
    return view(array, array.address(), std::move(shape), std::move(strides));
}

Array swapaxes(const Array& array, std::int64_t axis1, std::int64_t axis2) {
    const int a = normalise_axis(axis1, array.ndim()), b = normalise_axis(axis2, array.ndim());
    Dims shape = array.shape(), strides = array.strides();
    std::swap(shape[a], shape[b]);
    std::swap(strides[a], strides[b]);
    return view(array, array.address(), std::move(shape), std::move(strides));
}

Array moveaxis(const Array& array, std::span<const std::int64_t> source,
               std::span<const std::int64_t> destination) {
    const int ndim = array.ndim();
    const Axes moved = distinct_axes(source, ndim, "repeated axis in `source` argument");
    const Axes taken = distinct_axes(destination, ndim, "repeated axis in `destination` argument");
    if (source.size() != destination.size())
        throw ValueError("`source` and `destination` arguments must have the same number of "
                         "elements");
    Dims axes(static_cast<std::size_t>(ndim));
    for (std::size_t k = 0; k < source.size(); ++k)
        axes[normalise_axis(destination[k], ndim)] = normalise_axis(source[k], ndim);
    int from = 0;
    for (int k = 0; k < ndim; ++k) {
        if (taken[static_cast<std::size_t>(k)])
            continue;
        while (moved[static_cast<std::size_t>(from)])
            ++from;
        axes[k] = from++;
    }
    return transpose(array, axes.span());
}

Array squeeze(const Array& array) {
    Axes gone;
    for (int k = 0; k < array.ndim(); ++k)
        gone[static_cast<std::size_t>(k)] = array.shape()[k] == 1;
    return without_axes(array, gone);
}

Array squeeze(const Array& array, std::span<const std::int64_t> axes) {
    const Axes gone = distinct_axes(axes, array.ndim(), "duplicate value in 'axis'");
    for (int k = 0; k < array.ndim(); ++k)
        if (gone[static_cast<std::size_t>(k)] && array.shape()[k] != 1)
            throw ValueError("cannot select an axis to squeeze out which has size not equal to "
                             "one");
    return without_axes(array, gone);
}

Array expand_dims(const Array& array, std::span<const std::int64_t> axes) {
    const std::size_t ndim = static_cast<std::size_t>(array.ndim()) + axes.size();
    if (ndim > max_ndim)
        (void)checked_size(Dims(ndim), 1);
    const Axes fresh = distinct_axes(axes, static_cast<int>(ndim), "repeated axis");
    Dims shape(ndim), strides(ndim);
    // A new axis of extent 1 gets the stride that keeps a contiguous array looking contiguous, as
    // NumPy's reshape.
    auto step = static_cast<std::int64_t>(bytes_of(array.dtype()));
    int from = array.ndim() - 1;
    for (int k = static_cast<int>(ndim) - 1; k >= 0; --k) {
        if (fresh[static_cast<std::size_t>(k)]) {
            shape[k] = 1;
            strides[k] = step;
        } else {
            shape[k] = array.shape()[from];
            strides[k] = array.strides()[from--];
            step = strides[k] * std::max<std::int64_t>(shape[k], 1);
        }
    }
    return view(array, array.address(), std::move(shape), std::move(strides));
}

Array diagonal(const Array& array, std::int64_t offset, std::int64_t axis1, std::int64_t axis2) {
    const int ndim = array.ndim();
    if (ndim < 2)
        throw ValueError("diag requires an array of at least two dimensions");
    const int a = normalise_axis(axis1, ndim), b = normalise_axis(axis2, ndim);
    if (a == b)
        throw ValueError("axis1 and axis2 cannot be the same");
    std::int64_t rows = array.shape()[a], columns = array.shape()[b];
    std::uint64_t address = array.address();
    const std::int64_t skipped = offset < 0 ? std::max(offset, -rows) : std::min(offset, columns);
    if (skipped < 0)
        rows += skipped;
    else
        columns -= skipped;
    const std::int64_t count = std::min(rows, columns);
    if (count > 0)
        address += static_cast<std::uint64_t>(skipped < 0 ? -skipped * array.strides()[a]
                                                          : skipped * array.strides()[b]);
    Dims shape(static_cast<std::size_t>(ndim - 1)), strides(shape);
    int to = 0;
    for (int k = 0; k < ndim; ++k)
        if (k != a && k != b) {
            shape[to] = array.shape()[k];
            strides[to++] = array.strides()[k];
        }
    shape[to] = count;
    strides[to] = array.strides()[a] + array.strides()[b];
    return view(array, address, std::move(shape), std::move(strides));
}

} // namespace quern
