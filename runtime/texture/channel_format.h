// What one texel is: one, two or four channels of one type.
#pragma once
#include "compiler/base/dtype.h"

#include <array>
#include <cstddef>
#include <string>

#include <cuda.h>

namespace quern {

// As cudaChannelFormatKind counts them.
enum class ChannelKind : int { signed_integer = 0, unsigned_integer = 1, floating = 2 };

class ChannelFormat {
  public:
    // Bits of each channel, 0 for those that are missing; the kind by its number. Throws ValueError
    // for what no CUDA array can hold.
    ChannelFormat(const std::array<int, 4>& bits, int kind);

    [[nodiscard]] const std::array<int, 4>& bits() const noexcept { return bits_; }
    [[nodiscard]] ChannelKind kind() const noexcept { return kind_; }
    [[nodiscard]] unsigned channels() const noexcept { return channels_; }
    [[nodiscard]] std::size_t channel_bytes() const noexcept { return bytes_of(dtype_); }
    [[nodiscard]] std::size_t texel_bytes() const noexcept { return channels_ * channel_bytes(); }
    [[nodiscard]] DType dtype() const noexcept { return dtype_; } // of one channel
    [[nodiscard]] CUarray_format format() const noexcept { return format_; }
    [[nodiscard]] bool is_integer() const noexcept { return kind_ != ChannelKind::floating; }
    [[nodiscard]] std::string text() const; // "uint8", "float32 x 4"

  private:
    std::array<int, 4> bits_;
    ChannelKind kind_;
    unsigned channels_ = 0;
    DType dtype_{};
    CUarray_format format_{};
};

} // namespace quern
