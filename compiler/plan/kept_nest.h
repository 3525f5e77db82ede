// The nest of kernels that walk along some axes and keep the others, while planners make it: kept
// axes first, then those that are reduced or scanned.
#pragma once
#include "compiler/plan/loop_nest.h"

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

namespace quern {

struct KeptNest : Nest {
    int kept = 0;

    [[nodiscard]] int reduced() const { return ndim - kept; }
    [[nodiscard]] std::int64_t count(int begin, int end) const;

    // From a broadcast shape, of which the axes of `walked` are the others (at least one is made).
    // Axes of extent 1 are left out unless `keep_ones`; where there is `nothing` along the walked
    // ones they have extent 1.
    void expand(std::span<const std::int64_t> shape, std::uint64_t walked,
                std::span<const Operand> given, bool keep_ones, bool nothing);
    // Sorts the axes [begin, end) by the strides of the inputs, then of the outputs.
    // Counts the places of walked elements in C order, before axes are ordered.
    void count_places();
    [[nodiscard]] bool places_in_order() const; // do they still count up, one by one?
    void order_axes(std::span<const Operand> given, int begin, int end);
    // Is the fastest axis of the inputs a walked one?
    [[nodiscard]] bool walks_fastest(std::span<const Operand> given) const;
};

// A plan at its start: its numbers as declared, its arrays with whatever they held, since to clear
// them takes as long as to plan.
template <class Plan> void start_over(Plan& plan) {
    std::destroy_at(&plan);
    ::new (static_cast<void*>(&plan)) Plan;
}

// How each operand lies along `axis`.
[[nodiscard]] std::array<Access, max_operands>
find_access(const KeptNest& nest, std::span<const Operand> operands, int axis);

constexpr int floor_log2(std::int64_t value) {
    return static_cast<int>(
               std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(value, 1)))) -
           1;
}
constexpr int ceil_log2(std::int64_t value) { return floor_log2(2 * value - 1); }

} // namespace quern
