// The table of NumPy's methods for quantiles: where among n sorted values a quantile lies, and what
// is made of its two neighbours.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace quern {

enum class QuantileMethod : std::uint8_t {
    linear,
    lower,
    higher,
    midpoint,
    nearest,
    inverted_cdf,
    averaged_inverted_cdf,
    closest_observation,
    interpolated_inverted_cdf,
    hazen,
    weibull,
    median_unbiased,
    normal_unbiased,
    median, // the mean of the two in the middle
    rank,   // q is a rank, from 0
};

struct QuantileRow {
    QuantileMethod id;
    std::string_view name;
    bool takes; // one of the values, nothing between them
    // Expressions in double. `place`: by n and q, from 0. `part`: by v, the place, and low, the
    // whole number below it: the way from the lower neighbour to the upper.
    std::string_view place, part;
};

// clang-format off
inline constexpr std::array quantile_table{
    //          id                                         name                         takes  place                                                             part
    QuantileRow{QuantileMethod::linear,                    "linear",                    false, "(n - 1) * q",                                                    "v - low"},
    QuantileRow{QuantileMethod::lower,                     "lower",                     true,  "floor((n - 1) * q)",                                             "0.0"},
    QuantileRow{QuantileMethod::higher,                    "higher",                    true,  "ceil((n - 1) * q)",                                              "0.0"},
    QuantileRow{QuantileMethod::midpoint,                  "midpoint",                  false, "0.5 * (floor((n - 1) * q) + ceil((n - 1) * q))",                 "v == low ? 0.0 : 0.5"},
    QuantileRow{QuantileMethod::nearest,                   "nearest",                   true,  "rint((n - 1) * q)",                                              "0.0"},
    QuantileRow{QuantileMethod::inverted_cdf,              "inverted_cdf",              true,  "ceil(n * q - 1)",                                                "0.0"},
    QuantileRow{QuantileMethod::averaged_inverted_cdf,     "averaged_inverted_cdf",     false, "n * q - 1",                                                      "v == low ? 0.5 : 1.0"},
    QuantileRow{QuantileMethod::closest_observation,       "closest_observation",       true,  "rint(n * q) - 1",                                                "0.0"},
    QuantileRow{QuantileMethod::interpolated_inverted_cdf, "interpolated_inverted_cdf", false, "n * q - 1",                                                      "v - low"},
    QuantileRow{QuantileMethod::hazen,                     "hazen",                     false, "n * q + 0.5 - 1",                                                "v - low"},
    QuantileRow{QuantileMethod::weibull,                   "weibull",                   false, "n * q + q - 1",                                                  "v - low"},
    QuantileRow{QuantileMethod::median_unbiased,           "median_unbiased",           false, "n * q + (1.0 / 3.0 + q * (1 - 1.0 / 3.0 - 1.0 / 3.0)) - 1",      "v - low"},
    QuantileRow{QuantileMethod::normal_unbiased,           "normal_unbiased",           false, "n * q + (3.0 / 8.0 + q * (1 - 3.0 / 8.0 - 3.0 / 8.0)) - 1",      "v - low"},
    QuantileRow{QuantileMethod::median,                    "median",                    false, "(n - 1) * 0.5",                                                  "v - low"},
    QuantileRow{QuantileMethod::rank,                      "rank",                      true,  "q",                                                              "0.0"},
};
// clang-format on

constexpr bool quantile_rows_match_ids() {
    for (std::size_t k = 0; k < quantile_table.size(); ++k)
        if (static_cast<std::size_t>(quantile_table[k].id) != k)
            return false;
    return true;
}
static_assert(quantile_rows_match_ids(), "a method stands in the wrong row");

[[nodiscard]] constexpr const QuantileRow& row(QuantileMethod method) {
    return quantile_table[static_cast<std::size_t>(method)];
}
[[nodiscard]] constexpr std::optional<QuantileMethod> find_method(std::string_view name) {
    const auto found = std::ranges::find(quantile_table, name, &QuantileRow::name);
    return found == quantile_table.end() ? std::nullopt : std::optional(found->id);
}

} // namespace quern
