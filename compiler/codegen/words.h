// Numbers of a loop nest as words of its index's width, one behind another, as kernels receive
// them.
#pragma once
#include "compiler/plan/elementwise.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace quern {

class Words {
  public:
    Words(void* place, int bits) : at_(static_cast<std::byte*>(place)), bits_(bits) {}

    void put(std::int64_t value) { append(static_cast<std::uint64_t>(value)); }
    // Three words: a division by multiplication.
    void put_divisor(std::int64_t value) {
        const DivisorNumbers numbers = make_divisor(static_cast<std::uint64_t>(value), bits_);
        append(numbers.divisor);
        append(numbers.multiplier);
        append(numbers.shift);
    }
    [[nodiscard]] std::size_t bytes_from(const void* place) const {
        return static_cast<std::size_t>(at_ - static_cast<const std::byte*>(place));
    }

  private:
    void append(std::uint64_t value) { // its low bytes, which come first
        const auto bytes = static_cast<std::size_t>(bits_ / 8);
        std::memcpy(at_, &value, bytes);
        at_ += bytes;
    }

    std::byte* at_;
    int bits_;
};

} // namespace quern
