// The table of NumPy's reductions: each row is the spec of a reduction kernel, with the types left
// open, and the rule by which they close.
#pragma once
#include "compiler/base/dtype.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quern {

enum class Reduction : std::uint8_t {
    sum,
    prod,
    max,
    min,
    ptp,
    any,
    all,
    argmax,
    argmin,
    count_nonzero,
    mean,
    masked_mean,
    var,
    std,
    nansum,
    nanprod,
    nanmean,
    nanvar,
    nanstd,
    nanargmax,
    nanargmin,
    fmax,
    fmin,
    logical_xor,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    gcd,
    lcm,
    hypot,
    logaddexp,
    logaddexp2,
};

// What is accumulated, and what comes out, by the dtype that goes in.
enum class ReductionTypes : std::uint8_t {
    total,   // integers widen to 64 bits; two-byte floats accumulate in float
    same,    // the dtype itself
    truth,   // bool
    place,   // a value and its position; int64 comes out
    count,   // int64
    average, // integers become float64
    counted, // the same, with the number of elements that took part
    moments, // count, shift and two sums; a real float comes out
    loop,    // of a ufunc, which chose the dtype; two-byte floats accumulate in float
};

struct ReductionRow {
    Reduction id;
    std::string_view name;
    ReductionTypes types;
    bool refuses_empty; // no identity: NumPy's ValueError
    bool skips_nan;
    bool rounds; // joins of floats, so that their order is seen
    // `v` is the element as quern_value; a and b are accumulators, quern_part their type and
    // quern_inner that of a thread's own.
    std::string_view map, join, post, start;
    std::string_view settled = ""; // of the two values an accumulator has, one that stays
};

// clang-format off
inline constexpr std::array reduction_table{
    //           id                        name             types                    empty  nan    rounds map                              join                           post                              start
    ReductionRow{Reduction::sum,           "sum",           ReductionTypes::total,   false, false, true,  "v",                              "a + b",                       "a",                              "0"},
    ReductionRow{Reduction::prod,          "prod",          ReductionTypes::total,   false, false, true,  "v",                              "a * b",                       "a",                              "1"},
    ReductionRow{Reduction::max,           "max",           ReductionTypes::same,    true,  false, false, "v",                              "quern::highest(a, b)",        "a",                              "quern::Limits<quern_value>::low()"},
    ReductionRow{Reduction::min,           "min",           ReductionTypes::same,    true,  false, false, "v",                              "quern::lowest(a, b)",         "a",                              "quern::Limits<quern_value>::high()"},
    ReductionRow{Reduction::ptp,           "ptp",           ReductionTypes::same,    true,  false, false, "quern_part(v)",                   "quern::widened(a, b)",        "a.high - a.low",                 "quern_part()"},
    ReductionRow{Reduction::any,           "any",           ReductionTypes::truth,   false, false, false, "v",                              "a || b",                      "a",                              "false", "true"},
    ReductionRow{Reduction::all,           "all",           ReductionTypes::truth,   false, false, false, "v",                              "a && b",                      "a",                              "true", "false"},
    ReductionRow{Reduction::argmax,        "argmax",        ReductionTypes::place,   true,  false, false, "quern_inner(v, _J)",               "quern::greatest(a, b)",       "a.first_place()",                  "quern_part(quern::Limits<quern_value>::low())"},
    ReductionRow{Reduction::argmin,        "argmin",        ReductionTypes::place,   true,  false, false, "quern_inner(v, _J)",               "quern::least(a, b)",          "a.first_place()",                  "quern_part(quern::Limits<quern_value>::high())"},
    ReductionRow{Reduction::count_nonzero, "count_nonzero", ReductionTypes::count,   false, false, false, "quern::convert<bool>(v)",        "a + b",                       "a",                              "0"},
    ReductionRow{Reduction::mean,          "mean",          ReductionTypes::average, false, false, true,  "v",                              "a + b",                       "quern::ratio(a, count)",   "0"},
    ReductionRow{Reduction::masked_mean,   "masked_mean",   ReductionTypes::counted, false, false, true,  "quern_inner(v)",                  "a + b",                       "a.mean()",                       "quern_part()"},
    ReductionRow{Reduction::var,           "var",           ReductionTypes::moments, false, false, true,  "quern_inner(v)",                   "quern::combined(a, b)",       "a.variance(ddof)",               "quern_part()"},
    ReductionRow{Reduction::std,           "std",           ReductionTypes::moments, false, false, true,  "quern_inner(v)",                   "quern::combined(a, b)",       "sqrt(a.variance(ddof))",         "quern_part()"},
    ReductionRow{Reduction::nansum,        "nansum",        ReductionTypes::total,   false, true,  true,  "v",                              "a + b",                       "a",                              "0"},
    ReductionRow{Reduction::nanprod,       "nanprod",       ReductionTypes::total,   false, true,  true,  "v",                              "a * b",                       "a",                              "1"},
    ReductionRow{Reduction::nanmean,       "nanmean",       ReductionTypes::counted, false, true,  true,  "quern_inner(v)",                  "a + b",                       "a.mean()",                       "quern_part()"},
    ReductionRow{Reduction::nanvar,        "nanvar",        ReductionTypes::moments, false, true,  true,  "quern_inner(v)",                   "quern::combined(a, b)",       "a.nan_variance(ddof)",           "quern_part()"},
    ReductionRow{Reduction::nanstd,        "nanstd",        ReductionTypes::moments, false, true,  true,  "quern_inner(v)",                   "quern::combined(a, b)",       "sqrt(a.nan_variance(ddof))",     "quern_part()"},
    ReductionRow{Reduction::nanargmax,     "nanargmax",     ReductionTypes::place,   true,  true,  false, "quern_inner(v, _J)",               "quern::greatest(a, b)",       "a.place()",                        "quern_part(quern::Limits<quern_value>::low())"},
    ReductionRow{Reduction::nanargmin,     "nanargmin",     ReductionTypes::place,   true,  true,  false, "quern_inner(v, _J)",               "quern::least(a, b)",          "a.place()",                        "quern_part(quern::Limits<quern_value>::high())"},
    ReductionRow{Reduction::fmax,          "fmax",          ReductionTypes::loop,    true,  false, false, "v",                              "quern::ufunc::fmax(a, b)",    "a",                              "quern::passed_over<quern_value>(quern::Limits<quern_value>::low())"},
    ReductionRow{Reduction::fmin,          "fmin",          ReductionTypes::loop,    true,  false, false, "v",                              "quern::ufunc::fmin(a, b)",    "a",                              "quern::passed_over<quern_value>(quern::Limits<quern_value>::high())"},
    ReductionRow{Reduction::logical_xor,   "logical_xor",   ReductionTypes::truth,   false, false, false, "v",                              "a != b",                      "a",                              "false"},
    ReductionRow{Reduction::bitwise_and,   "bitwise_and",   ReductionTypes::loop,    false, false, false, "v",                              "a & b",                       "a",                              "quern_part(-1)"},
    ReductionRow{Reduction::bitwise_or,    "bitwise_or",    ReductionTypes::loop,    false, false, false, "v",                              "a | b",                       "a",                              "0"},
    ReductionRow{Reduction::bitwise_xor,   "bitwise_xor",   ReductionTypes::loop,    false, false, false, "v",                              "a ^ b",                       "a",                              "0"},
    ReductionRow{Reduction::gcd,           "gcd",           ReductionTypes::loop,    false, false, false, "v",                              "quern::ufunc::gcd(a, b)",     "a",                              "0"},
    ReductionRow{Reduction::lcm,           "lcm",           ReductionTypes::loop,    true,  false, false, "v",                              "quern::ufunc::lcm(a, b)",     "a",                              "1"},
    ReductionRow{Reduction::hypot,         "hypot",         ReductionTypes::loop,    false, false, true,  "v",                              "quern::ufunc::hypot(a, b)",   "a",                              "0"},
    ReductionRow{Reduction::logaddexp,     "logaddexp",     ReductionTypes::loop,    false, false, true,  "v",                              "quern::ufunc::logaddexp(a, b)","a",                              "quern::Limits<quern_value>::low()"},
    ReductionRow{Reduction::logaddexp2,    "logaddexp2",    ReductionTypes::loop,    false, false, true,  "v",                              "quern::ufunc::logaddexp2(a, b)","a",                              "quern::Limits<quern_value>::low()"},
};
// clang-format on

constexpr bool reduction_rows_match_ids() {
    for (std::size_t k = 0; k < reduction_table.size(); ++k)
        if (static_cast<std::size_t>(reduction_table[k].id) != k)
            return false;
    return true;
}
static_assert(reduction_rows_match_ids(), "a reduction stands in the wrong row");

[[nodiscard]] constexpr const ReductionRow& row(Reduction op) {
    return reduction_table[static_cast<std::size_t>(op)];
}

// How a reduction computes one input dtype.
struct ReductionTyping {
    DType value = DType::float32;  // what elements are converted to first
    DType result = DType::float32; // what comes out by itself
    std::string accumulator;       // C++ type of a and b
    std::string inner;             // a narrower one that a thread's own sum fits in, or ""
    std::int64_t inner_steps = 0;  // of so many elements at most; 0: of any number
    std::uint32_t accumulator_bytes = 8;
    bool inner_takes_packs =
        false;          // `inner` has a constructor from a pack of neighbours and its place
    bool exact = false; // joins round nothing
};

// How a thread meets its elements: side by side in vector lanes (CPU), or one after another, in
// any order, from the first to the last, or in packs of neighbours.
enum class Meeting : std::uint8_t { lanes, any, rising, packs };

// `dtype`: what the caller asked to compute in. `narrow`: positions fit 31 bits. Throws TypeError
// where NumPy does.
[[nodiscard]] ReductionTyping type_reduction(Reduction op, DType in, std::optional<DType> dtype,
                                             bool narrow, Meeting meeting);

} // namespace quern
