// Places in sorted arrays, distinct values, and elements that are kept: what searches and sets are
// made of. All arrays are 1-D, dense and on one device; everything runs on its current stream.
#pragma once
#include "runtime/array/array.h"

#include <optional>
#include <span>

namespace quern {

using OnWait = void (*)(bool entering);

enum class Side : std::uint8_t { left, right };
// int64 places of `wanted`, of any shape in C order and `sorted`'s dtype, in `sorted`, or with
// `sorter` (int64, null for none) in what it puts in order.
[[nodiscard]] Array search_sorted(const Array& sorted, const Array& wanted, Side side,
                                  const Array* sorter, OnWait on_wait = nullptr);
// What the straight lines between the points (`xp`, `fp`) have at `x`, in one launch: `x`, of any
// shape in C order, and the rising `xp`, not empty, are float64; `fp`, and what lies left and right
// of all points (0-d; null: the first and the last value), float64 or complex128.
[[nodiscard]] Array interpolate(const Array& x, const Array& xp, const Array& fp, const Array* left,
                                const Array* right, OnWait on_wait = nullptr);
// Is each of `wanted` (its dtype and any shape in C order) one of `values`? `invert`: is it none?
// On a CPU by a table where they are integers that lie near each other, which waits for their
// range; else by searches in the sorted values; where `wanted` too is sorted (`are_sorted`: both
// are) they are walked along.
[[nodiscard]] Array is_in(const Array& values, bool are_sorted, const Array& wanted, bool invert,
                          OnWait on_wait = nullptr);

// How many of the first of some rows of one length stand in order already, read at `places` where
// there are any. Waits for it on a CPU, if the rows are long and it may; else it is 0.
[[nodiscard]] std::size_t count_in_order(std::span<const Array> rows, const Array* places,
                                         OnWait on_wait = nullptr);

// The distinct values of `a` in order. One synchronisation, for their number.
struct Distinct {
    Array values;
    std::optional<Array> firsts, inverse, counts; // int64, as asked for
};
struct DistinctCall {
    bool firsts = false, inverse = false, counts = false;
    bool one_nan = true; // all NaN are one value; else each is one of its own
};
[[nodiscard]] Distinct distinct(const Array& a, const DistinctCall& call, OnWait on_wait = nullptr);

// Which elements of the sorted `a` have no neighbour like them.
[[nodiscard]] Array lonely(const Array& sorted, OnWait on_wait = nullptr);

} // namespace quern
