// Dims, and what follows from a shape alone: sizes with their overflow checks, strides of new
// arrays, text.
#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "runtime/array/array.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace quern {

Dims::Dims(std::size_t count) : count_(static_cast<int>(count)) {
    if (count > inline_.size())
        heap_ = std::make_unique<std::int64_t[]>(count);
}

Dims::Dims(std::span<const std::int64_t> values) : Dims(values.size()) {
    std::copy(values.begin(), values.end(), data());
}

Dims::Dims(std::initializer_list<std::int64_t> values)
    : Dims(std::span<const std::int64_t>(values.begin(), values.size())) {}

Dims::Dims(const Dims& other) : count_(other.count_), inline_(other.inline_) {
    if (!other.heap_)
        return;
    heap_ = std::make_unique<std::int64_t[]>(static_cast<std::size_t>(count_));
    std::copy(other.begin(), other.end(), heap_.get());
}

Dims& Dims::operator=(const Dims& other) {
    if (this != &other)
        *this = Dims(other);
    return *this;
}

bool operator==(const Dims& a, const Dims& b) noexcept {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

bool operator==(const Dims& a, std::initializer_list<std::int64_t> b) noexcept {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

std::string format_shape(const Dims& shape) {
    std::string text = "(";
    for (int k = 0; k < shape.size(); ++k)
        text += join(k ? ", " : "", shape[k]);
    return text += shape.size() == 1 ? ",)" : ")";
}

std::int64_t checked_size(const Dims& shape, std::size_t item_bytes) {
    if (shape.size() > max_ndim)
        throw ValueError(join("maximum supported dimension for an ndarray is ", max_ndim,
                              ", found ", shape.size()));
    // As NumPy does, zeros are left out of the check: (0, 2**62) is refused although it holds
    // nothing.
    auto nbytes = static_cast<std::int64_t>(item_bytes);
    bool holds_nothing = false;
    for (const std::int64_t extent : shape) {
        if (extent < 0)
            throw ValueError("negative dimensions are not allowed");
        if (extent == 0)
            holds_nothing = true;
        else if (__builtin_mul_overflow(nbytes, extent, &nbytes))
            throw ValueError(join("array is too big; `arr.size * arr.dtype.itemsize` is larger "
                                  "than the maximum possible size: shape ",
                                  format_shape(shape), ", itemsize ", item_bytes));
    }
    return holds_nothing ? 0 : nbytes / static_cast<std::int64_t>(item_bytes);
}

Dims dense_strides(const Dims& shape, std::size_t item_bytes, Order order) {
    const int ndim = shape.size();
    Dims strides(static_cast<std::size_t>(ndim));
    auto step = static_cast<std::int64_t>(item_bytes);
    for (int k = 0; k < ndim; ++k) {
        const int axis = order == Order::c ? ndim - 1 - k : k;
        strides[axis] = step;
        if (shape[axis] != 0)
            step *= shape[axis];
    }
    return strides;
}

Dims strides_like(const Dims& shape, const Dims& model_strides, std::size_t item_bytes) {
    const int ndim = shape.size();
    std::array<int, max_ndim> axes{};
    std::iota(axes.begin(), axes.begin() + ndim, 0);
    std::stable_sort(axes.begin(), axes.begin() + ndim, [&](int a, int b) {
        return std::abs(model_strides[a]) > std::abs(model_strides[b]);
    });
    Dims strides(static_cast<std::size_t>(ndim));
    auto step = static_cast<std::int64_t>(item_bytes);
    for (int k = ndim - 1; k >= 0; --k) {
        const int axis = axes[static_cast<std::size_t>(k)];
        strides[axis] = step;
        if (shape[axis] != 0)
            step *= shape[axis];
    }
    return strides;
}

} // namespace quern
