// Views: another shape, order or part of the same memory. Pure functions that share the buffer,
// launch nothing and copy nothing; rules and messages are NumPy's.
#pragma once
#include "compiler/base/error.h"
#include "runtime/array/array.h"

#include <optional>
#include <span>
#include <variant>

namespace quern {

// An axis that is not there. NumPy's AxisError is a ValueError and an IndexError.
class AxisError : public Error {
  public:
    AxisError(std::int64_t axis, int ndim);
    [[nodiscard]] std::int64_t axis() const noexcept { return axis_; }
    [[nodiscard]] int ndim() const noexcept { return ndim_; }

  private:
    std::int64_t axis_;
    int ndim_;
};
[[nodiscard]] int normalise_axis(std::int64_t axis, int ndim); // -1 is the last; throws AxisError

// Shapes. `infer_shape` replaces one negative extent by what remains of `size`.
[[nodiscard]] Dims broadcast_shapes(std::span<const Dims> shapes);
[[nodiscard]] Dims infer_shape(std::int64_t size, const Dims& shape);
[[nodiscard]] Array broadcast_to(const Array& array, const Dims& shape); // not writable
// nullopt: these elements in this order are no view of the memory, a copy is needed.
[[nodiscard]] std::optional<Array> reshape_view(const Array& array, const Dims& shape,
                                                Order order = Order::c);
// The same bytes as another dtype; the last axis grows or shrinks when the sizes differ.
[[nodiscard]] Array view_dtype(const Array& array, DType dtype);

// The real (0) or imaginary (1) parts of complex elements.
[[nodiscard]] Array complex_part(const Array& array, int part);

// Axes. Negative ones count from the end.
[[nodiscard]] Array transpose(const Array& array); // reverses all axes
[[nodiscard]] Array transpose(const Array& array, std::span<const std::int64_t> axes);
[[nodiscard]] Array swapaxes(const Array& array, std::int64_t axis1, std::int64_t axis2);
[[nodiscard]] Array moveaxis(const Array& array, std::span<const std::int64_t> source,
                             std::span<const std::int64_t> destination);
[[nodiscard]] Array squeeze(const Array& array); // every axis of extent 1
[[nodiscard]] Array squeeze(const Array& array, std::span<const std::int64_t> axes);
[[nodiscard]] Array expand_dims(const Array& array, std::span<const std::int64_t> axes);
[[nodiscard]] Array diagonal(const Array& array, std::int64_t offset = 0, std::int64_t axis1 = 0,
                             std::int64_t axis2 = 1);

// Indexing. A normalised slice takes `count` elements from `start` in steps of `step`, all inside
// the extent.
struct Slice {
    std::int64_t start = 0, step = 1, count = 0;
    friend bool operator==(const Slice&, const Slice&) = default;
};
[[nodiscard]] Slice normalise_slice(std::optional<std::int64_t> start,
                                    std::optional<std::int64_t> stop,
                                    std::optional<std::int64_t> step, std::int64_t extent);
[[nodiscard]] Array slice(const Array& array, int axis, const Slice& part);

struct SliceIndex { // as written: x[start:stop:step]
    std::optional<std::int64_t> start, stop, step;
};
struct NewAxis {};
struct Ellipsis {};
using IndexItem = std::variant<std::int64_t, SliceIndex, NewAxis, Ellipsis>;
// What basic and advanced indices have in common: throws IndexError for a second ellipsis, for
// more axes than the array has, and for a result with too many.
void check_index_counts(int ndim, int consumed, int result_ndim, int ellipses);
[[nodiscard]] Array basic_index(const Array& array, std::span<const IndexItem> items);

// Bytes [low, high) that an array may touch; equal when it holds nothing.
struct ByteBounds {
    std::uint64_t low = 0, high = 0;
};
[[nodiscard]] ByteBounds byte_bounds(const Array& array) noexcept;
[[nodiscard]] bool may_share_memory(const Array& a, const Array& b) noexcept;

} // namespace quern
