// Types that carry bytes from place to place, whatever they mean.
#pragma once
#include "compiler/base/dtype.h"

#include <bit>
#include <cstdint>
#include <optional>

namespace quern {

// Bits are moved and never read. None for other widths than 1, 2, 4, 8 and 16.
[[nodiscard]] constexpr std::optional<DType> carrier_of(std::int64_t bytes) {
    switch (bytes) {
    case 1:
        return DType::uint8;
    case 2:
        return DType::uint16;
    case 4:
        return DType::uint32;
    case 8:
        return DType::uint64;
    case 16:
        return DType::complex128;
    default:
        return std::nullopt;
    }
}

// The bytes of the widest carrier that divides all numbers whose bits are in `bits`.
[[nodiscard]] constexpr std::int64_t widest_carrier(std::uint64_t bits) {
    return std::int64_t{1} << std::countr_zero(bits | 16);
}

} // namespace quern
