// Numbers of a loop nest as words of 4 or 8 bytes, one behind another, as kernels receive them.
#pragma once
#include "compiler/plan/elementwise.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace quern {

class Words {
  public:
    Words(void* place, bool wide) : at_(static_cast<std::byte*>(place)), wide_(wide) {}

    void put(std::int64_t value) { put_bits(static_cast<std::uint64_t>(value)); }
    // Three words: a division by multiplication.
    void put_divisor(std::int64_t value) {
        const DivisorNumbers numbers = make_divisor(static_cast<std::uint64_t>(value), wide_);
        put_bits(numbers.divisor);
        put_bits(numbers.multiplier);
        put_bits(numbers.shift);
    }
    [[nodiscard]] std::size_t bytes_from(const void* place) const {
        return static_cast<std::size_t>(at_ - static_cast<const std::byte*>(place));
    }

  private:
    void put_bits(std::uint64_t value) {
        if (wide_)
            append(value);
        else
            append(static_cast<std::uint32_t>(value));
    }
    template <class Word> void append(Word word) {
        std::memcpy(at_, &word, sizeof word);
        at_ += sizeof word;
    }

    std::byte* at_;
    bool wide_;
};

} // namespace quern
