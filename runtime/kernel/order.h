// NumPy's sorts and partitions over those of rows: their axes, layouts and outputs.
#pragma once
#include "runtime/kernel/sort.h"

#include <optional>
#include <vector>

namespace quern {

// `a` sorted along an axis (none: all elements in C order), on the current stream of its device: a
// new array that keeps the order of `a`'s axes. Throws AxisError.
[[nodiscard]] Array sort(const Array& a, std::optional<std::int64_t> axis, SortCall call = {},
                         void (*on_wait)(bool entering) = nullptr);
// The places, int64 and in C order, that would sort `a`.
[[nodiscard]] Array argsort(const Array& a, std::optional<std::int64_t> axis, SortCall call = {},
                            void (*on_wait)(bool entering) = nullptr);
// The `given` places in each of `rows`, (rows, length) in C order as they are, in the order of the
// elements that are there: equal ones stay as they are given.
[[nodiscard]] Array argsort_given(const Array& rows, const Array& given,
                                  void (*on_wait)(bool entering) = nullptr);
// Both, of `a` taken as one row.
struct SortedWithPlaces {
    Array values, places;
};
[[nodiscard]] SortedWithPlaces sort_with_places(const Array& a, SortCall call = {},
                                                void (*on_wait)(bool entering) = nullptr);
// `a` along an axis with the values at `wanted` (places from 0 to the axis's extent) where a sort
// would put them and no greater ones before them; and the places that would do so. Throws
// AxisError.
[[nodiscard]] Array partition(const Array& a, std::vector<std::int64_t> wanted,
                              std::optional<std::int64_t> axis,
                              void (*on_wait)(bool entering) = nullptr);
[[nodiscard]] Array argpartition(const Array& a, std::vector<std::int64_t> wanted,
                                 std::optional<std::int64_t> axis,
                                 void (*on_wait)(bool entering) = nullptr);
// Sorts where `a` lies. Throws ValueError if it is read-only.
void sort_in_place(const Array& a, std::int64_t axis, void (*on_wait)(bool entering) = nullptr);

[[nodiscard]] std::string explain_order(const Array& a, std::optional<std::int64_t> axis,
                                        bool with_places, const SortCall& call);

} // namespace quern
