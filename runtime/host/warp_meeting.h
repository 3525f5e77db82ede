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
        set_op(thread, static_cast<std::uint32_t>(op));
        masks_[thread] = mask;
        values_[thread] = value;
        sources_[thread] = source;
    }
    void set_op(unsigned thread, std::uint32_t op) noexcept {
        ops_[thread] = static_cast<WarpOp>(op);
    }
    // For who writes what arrive() takes by itself, and reads the results in place.
    [[nodiscard]] std::uint32_t* masks() noexcept { return masks_.data(); }
    [[nodiscard]] std::uint64_t* values() noexcept { return values_.data(); }
    [[nodiscard]] std::uint32_t* sources() noexcept { return sources_.data(); }
    [[nodiscard]] std::uint64_t result(unsigned thread) const noexcept { return values_[thread]; }
    void set_result(unsigned thread, std::uint64_t value) noexcept { values_[thread] = value; }

    // Of the `waiting` lanes of the warp that begins at thread `first`: gives those their results
    // who have all met that they named, as far as these are `expected`: in any case, if nobody is.
    // Returns the lanes served.
    std::uint32_t resolve(unsigned first, std::uint32_t waiting, std::uint32_t expected) noexcept;

    // The first `count` lanes of the warp, all that are left of it, meet with the same op.
    void meet_all(unsigned first, unsigned count, std::uint32_t op) noexcept;

  private:
    void serve(unsigned first, std::uint32_t group, WarpOp op) noexcept;
    void serve_whole(unsigned first, WarpOp op) noexcept;

    std::array<WarpOp, 1024> ops_{};
    std::array<std::uint32_t, 1024> masks_{}, sources_{};
    std::array<std::uint64_t, 1024> values_{}; // operands, then results
};

} // namespace quern::host
