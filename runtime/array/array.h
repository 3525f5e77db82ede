// dtype, shape and strides over a Buffer. Views share the buffer; nothing here launches a kernel.
#pragma once
#include "compiler/base/dtype.h"
#include "runtime/memory/memory.h"

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>

namespace quern {

inline constexpr int max_ndim = 64; // NumPy 2's

// A short list of 64-bit extents: inline up to 6, on the heap beyond.
class Dims {
  public:
    Dims() = default;
    explicit Dims(std::size_t count);
    Dims(std::initializer_list<std::int64_t> values);
    explicit Dims(std::span<const std::int64_t> values);
    Dims(const Dims& other);
    Dims(Dims&& other) noexcept = default;
    Dims& operator=(const Dims& other);
    Dims& operator=(Dims&& other) noexcept = default;
    ~Dims() = default;

    [[nodiscard]] int size() const noexcept { return count_; }
    [[nodiscard]] std::int64_t* data() noexcept { return heap_ ? heap_.get() : inline_.data(); }
    [[nodiscard]] const std::int64_t* data() const noexcept {
        return heap_ ? heap_.get() : inline_.data();
    }
    [[nodiscard]] std::int64_t& operator[](int k) noexcept { return data()[k]; }
    [[nodiscard]] std::int64_t operator[](int k) const noexcept { return data()[k]; }
    [[nodiscard]] std::span<const std::int64_t> span() const noexcept {
        return {data(), static_cast<std::size_t>(count_)};
    }
    [[nodiscard]] const std::int64_t* begin() const noexcept { return data(); }
    [[nodiscard]] const std::int64_t* end() const noexcept { return data() + count_; }
    friend bool operator==(const Dims& a, const Dims& b) noexcept;
    friend bool operator==(const Dims& a, std::initializer_list<std::int64_t> b) noexcept;

  private:
    int count_ = 0;
    std::array<std::int64_t, 6> inline_{};
    std::unique_ptr<std::int64_t[]> heap_;
};

enum class Order : std::uint8_t { c, f };
// What a new array keeps of its model: C or F as named, F if the model is (and not also C), or its
// order of axes.
enum class LikeOrder : std::uint8_t { c, f, a, k };

// Strides in bytes of a new dense array. `strides_like` keeps the model's order of axes (NumPy's
// order='K').
[[nodiscard]] Dims dense_strides(const Dims& shape, std::size_t item_bytes, Order order = Order::c);
[[nodiscard]] Dims strides_like(const Dims& shape, const Dims& model_strides,
                                std::size_t item_bytes);
// Elements; throws ValueError as Array::empty does.
[[nodiscard]] std::int64_t checked_size(const Dims& shape, std::size_t item_bytes);
// "(2, 3)", "(3,)", "()"
[[nodiscard]] std::string format_shape(const Dims& shape);

class Array {
  public:
    // A new, uninitialised array on `device`, allocated on `stream`. Throws ValueError (a negative
    // extent, a total past 2^63 bytes, more than 64 dimensions) or OutOfMemoryError.
    static Array empty(Device& device, DType dtype, const Dims& shape, CUstream stream,
                       Order order = Order::c);
    // The same with the caller's strides, which must be those of a dense array with its axes in
    // some order.
    static Array empty_strided(Device& device, DType dtype, const Dims& shape, Dims strides,
                               CUstream stream);
    // A view of existing memory; strides in bytes.
    Array(BufferPtr buffer, std::uint64_t address, DType dtype, Dims shape, Dims strides,
          bool writable = true);

    [[nodiscard]] std::uint64_t address() const noexcept { return address_; }
    [[nodiscard]] DType dtype() const noexcept { return dtype_; }
    [[nodiscard]] int ndim() const noexcept { return shape_.size(); }
    [[nodiscard]] const Dims& shape() const noexcept { return shape_; }
    [[nodiscard]] const Dims& strides() const noexcept { return strides_; } // bytes
    [[nodiscard]] std::int64_t size() const noexcept { return size_; }      // elements
    [[nodiscard]] std::int64_t nbytes() const noexcept {
        return size_ * static_cast<std::int64_t>(bytes_of(dtype_));
    }
    [[nodiscard]] bool c_contiguous() const noexcept { return c_contiguous_; }
    [[nodiscard]] bool f_contiguous() const noexcept { return f_contiguous_; }
    [[nodiscard]] bool writable() const noexcept { return writable_; }
    void set_writable(bool writable) noexcept { writable_ = writable; }
    [[nodiscard]] const BufferPtr& buffer() const noexcept { return buffer_; }
    [[nodiscard]] Device& device() const noexcept { return buffer_->device(); }

  private:
    void set_flags() noexcept; // contiguity by NumPy's rules: axes of extent 1 and empty arrays do
                               // not matter

    BufferPtr buffer_;
    std::uint64_t address_;
    Dims shape_, strides_;
    std::int64_t size_ = 0;
    DType dtype_;
    bool c_contiguous_ = false, f_contiguous_ = false, writable_ = true;
};

// Whoever holds the array's memory last must not give it to others before `stream`, which reads or
// writes it, gets here.
void note_use(const Array& array, CUstream stream);

// A new array of the model's shape, on its device.
[[nodiscard]] Array empty_like(const Array& model, DType dtype, CUstream stream,
                               LikeOrder order = LikeOrder::k);

} // namespace quern
