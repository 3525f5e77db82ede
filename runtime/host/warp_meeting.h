// What lanes of a warp tell each other when they meet: every lane brings an operand, and gets its
// result when all whom it named have come.
#pragma once
#include <array>
#include <cstdint>

namespace quern::host {

// The numbers by which kernels ask for each (device/barriers.cuh).
enum class WarpOp : std::uint8_t {
    sync,
    read,
    ballot,
    match,
    add,
    min_unsigned,
    max_unsigned,
    min_signed,
    max_signed,
    bit_and,
    bit_or,
    bit_xor
};

class WarpMeeting {
  public:
    void arrive(unsigned thread, int op, std::uint32_t mask, std::uint64_t value,
                std::uint32_t source) noexcept {
        ops_[thread] = static_cast<WarpOp>(op);
        masks_[thread] = mask | 1U << (thread & 31);
        values_[thread] = value;
        sources_[thread] = source;
    }
    [[nodiscard]] std::uint64_t result(unsigned thread) const noexcept { return values_[thread]; }
    void set_result(unsigned thread, std::uint64_t value) noexcept { values_[thread] = value; }

    // Of the `waiting` lanes of the warp that begins at thread `first`: gives those their results
    // who have all met that they named, as far as these are `expected`. Returns the lanes served.
    std::uint32_t resolve(unsigned first, std::uint32_t waiting, std::uint32_t expected) noexcept;

  private:
    void serve(unsigned first, std::uint32_t group, WarpOp op) noexcept;

    std::array<WarpOp, 1024> ops_{};
    std::array<std::uint32_t, 1024> masks_{}, sources_{};
    std::array<std::uint64_t, 1024> values_{}; // operands, then results
};

} // namespace quern::host
