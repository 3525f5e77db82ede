// The table of scans: what the array library's cumulative functions compute, once. Each row is the
// text of a kernel that maps every element and joins it to those before.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace quern {

enum class ScanOp : std::uint8_t { sum, product, nan_sum, nan_product };

struct ScanRow {
    ScanOp id;
    std::string_view function; // NumPy's name
    std::string_view name;     // of the kernel, as profilers show it
    std::string_view map_expr, reduce_expr;
    int initial; // what comes before the first element
};

inline constexpr std::string_view scan_in_params = "S x", scan_out_params = "T y",
                                  scan_post_map = "y = a",
                                  scan_type = "quern::Read<T>::type"; // float for two-byte floats

// clang-format off
inline constexpr std::array scan_table{
    // id                   function       kernel              map of an element                                              join     initial
    ScanRow{ScanOp::sum,         "cumsum",     "quern_cumsum",     "quern::convert<_type_reduce>(x)",                                  "a + b", 0},
    ScanRow{ScanOp::product,     "cumprod",    "quern_cumprod",    "quern::convert<_type_reduce>(x)",                                  "a * b", 1},
    ScanRow{ScanOp::nan_sum,     "nancumsum",  "quern_nancumsum",  "x == x ? quern::convert<_type_reduce>(x) : _type_reduce(0)", "a + b", 0},
    ScanRow{ScanOp::nan_product, "nancumprod", "quern_nancumprod", "x == x ? quern::convert<_type_reduce>(x) : _type_reduce(1)", "a * b", 1},
};
// clang-format on

constexpr bool scan_rows_match_ids() {
    for (std::size_t k = 0; k < scan_table.size(); ++k)
        if (static_cast<std::size_t>(scan_table[k].id) != k)
            return false;
    return true;
}
static_assert(scan_rows_match_ids(), "a scan stands in the wrong row");

[[nodiscard]] constexpr const ScanRow& row(ScanOp op) {
    return scan_table[static_cast<std::size_t>(op)];
}

} // namespace quern
