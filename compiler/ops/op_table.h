// The op table: what the array library computes, once. Each row is the spec of an elementwise
// kernel.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace quern {

enum class Op : std::uint8_t { copy, convert, fill, range, linspace, floor_to_integer, gather };

struct OpRow {
    Op id;
    std::string_view name; // of the kernel, as profilers show it
    std::string_view in_params, out_params, operation;
};

// clang-format off
inline constexpr std::array op_table{
    // id                  kernel                   inputs                      output  CUDA expression
    OpRow{Op::copy,             "quern_copy",       "T x",                      "T y", "y = x"},
    OpRow{Op::convert,          "quern_convert",    "S x",                      "T y", "y = quern::convert<T>(x)"},
    OpRow{Op::fill,             "quern_fill",       "T value",                  "T y", "y = value"},
    OpRow{Op::range,            "quern_arange",     "T start, T next",          "T y", "y = static_cast<T>(start + (next - start) * i)"},
    OpRow{Op::linspace,         "quern_linspace",   "D start, D step",          "D y", "y = static_cast<double>(i) * step + start"},
    OpRow{Op::floor_to_integer, "quern_floor",      "float64 x",                "T y", "y = static_cast<T>(static_cast<long long>(floor(x)))"},
    OpRow{Op::gather,           "quern_gather",     "raw T x, int64 place, int64 first", "T y", "y = x[first + place]"},
};
// clang-format on

constexpr bool rows_match_ids() {
    for (std::size_t k = 0; k < op_table.size(); ++k)
        if (static_cast<std::size_t>(op_table[k].id) != k)
            return false;
    return true;
}
static_assert(rows_match_ids(), "an op stands in the wrong row");

[[nodiscard]] constexpr const OpRow& row(Op op) { return op_table[static_cast<std::size_t>(op)]; }

} // namespace quern
