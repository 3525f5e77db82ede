// Advanced indexing, NumPy's rules: integers, slices, ellipsis, new axes and arrays between
// brackets become a view of the elements for indices 0, and arrays that move it. Pure functions.
#pragma once
#include "runtime/array/views.h"

#include <vector>

namespace quern {

struct ArrayIndex { // of bools: as many axes as it has; of integers: one
    Array array;
};
struct TruthIndex { // a bool without axes: an axis of one element or none
    bool value;
};
using AdvancedItem =
    std::variant<std::int64_t, SliceIndex, NewAxis, Ellipsis, TruthIndex, ArrayIndex>;

// Throws IndexError for arrays of neither bools nor integers, for bools whose extents are not the
// array's, and as check_index_counts.
void check_index(const Dims& shape, std::span<const AdvancedItem> items);

// One index array, in the result's shape: its strides are 0 along axes that are not the index's.
struct IndexedAxis {
    Array index; // integers
    int axis;    // of the array that is indexed
    std::int64_t extent, stride;
};
struct IndexPlan {
    Array elements; // the result's shape over the indexed array; strides 0 along the index's axes
    std::vector<IndexedAxis> indexed;
    int index_axis = 0, index_ndim = 0; // the index's axes in the result
    // The index arrays take the first axes and nothing else is asked for: each element of the index
    // is a row of so many elements of the array.
    bool takes_rows = false;

    [[nodiscard]] Dims index_shape() const;
    [[nodiscard]] bool index_is_empty() const;
};
// `items` were checked, and hold no arrays of bools. Throws IndexError where index arrays do not
// broadcast, and for integers out of bounds.
[[nodiscard]] IndexPlan plan_index(const Array& array, std::span<const AdvancedItem> items);

// The first index in the memory of the CPU that is out of bounds, in NumPy's order. Throws its
// IndexError; returns if there is none.
void refuse_wrong_index(const IndexPlan& plan);
[[noreturn]] void refuse_index(std::int64_t index, std::int64_t axis, std::int64_t extent);

} // namespace quern
