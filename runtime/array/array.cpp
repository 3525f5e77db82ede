// Array: how one is made, and which of them are contiguous.
#include "runtime/array/array.h"

namespace quern {

namespace {

// As in NumPy, a new array without elements steps nowhere.
Dims no_strides(const Dims& shape) { return Dims(static_cast<std::size_t>(shape.size())); }

} // namespace

Array Array::empty(Device& device, DType dtype, const Dims& shape, CUstream stream, Order order) {
    const std::size_t item_bytes = bytes_of(dtype);
    const std::int64_t size = checked_size(shape, item_bytes);
    BufferPtr buffer =
        pool_of(device).allocate(static_cast<std::size_t>(size) * item_bytes, stream);
    const std::uint64_t address = buffer->address();
    return Array(std::move(buffer), address, dtype, shape,
                 size == 0 ? no_strides(shape) : dense_strides(shape, item_bytes, order));
}

Array Array::empty_strided(Device& device, DType dtype, const Dims& shape, Dims strides,
                           CUstream stream) {
    const std::size_t item_bytes = bytes_of(dtype);
    const std::int64_t size = checked_size(shape, item_bytes);
    BufferPtr buffer =
        pool_of(device).allocate(static_cast<std::size_t>(size) * item_bytes, stream);
    const std::uint64_t address = buffer->address();
    return Array(std::move(buffer), address, dtype, shape,
                 size == 0 ? no_strides(shape) : std::move(strides));
}

Array::Array(BufferPtr buffer, std::uint64_t address, DType dtype, Dims shape, Dims strides,
             bool writable)
    : buffer_(std::move(buffer)), address_(address), shape_(std::move(shape)),
      strides_(std::move(strides)), dtype_(dtype), writable_(writable) {
    set_flags();
}

void Array::set_flags() noexcept {
    const int ndim = shape_.size();
    const auto item_bytes = static_cast<std::int64_t>(bytes_of(dtype_));
    size_ = 1;
    for (int k = 0; k < ndim; ++k)
        size_ *= shape_[k];
    c_contiguous_ = f_contiguous_ = true;
    if (size_ == 0)
        return;
    std::int64_t step = item_bytes;
    for (int k = ndim - 1; k >= 0 && c_contiguous_; --k)
        if (shape_[k] != 1) {
            c_contiguous_ = strides_[k] == step;
            step *= shape_[k];
        }
    step = item_bytes;
    for (int k = 0; k < ndim && f_contiguous_; ++k)
        if (shape_[k] != 1) {
            f_contiguous_ = strides_[k] == step;
            step *= shape_[k];
        }
}

Array empty_like(const Array& model, DType dtype, CUstream stream, LikeOrder order) {
    const bool f_only = model.f_contiguous() && !model.c_contiguous();
    if (order == LikeOrder::k && !model.c_contiguous() && !f_only)
        return Array::empty_strided(model.device(), dtype, model.shape(),
                                    strides_like(model.shape(), model.strides(), bytes_of(dtype)),
                                    stream);
    const bool f = order == LikeOrder::f || (order != LikeOrder::c && f_only);
    return Array::empty(model.device(), dtype, model.shape(), stream, f ? Order::f : Order::c);
}

void note_use(const Array& array, CUstream stream) {
    pool_of(array.device()).note_use(*array.buffer().get(), stream);
}

} // namespace quern
