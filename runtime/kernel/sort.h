// Stable sorts of rows, of any length and dtype: what NumPy's sorts, orders and sets are made of.
#pragma once
#include "compiler/compile.h"
#include "runtime/array/array.h"

#include <optional>
#include <string>

namespace quern {

struct SortCall {
    CUstream stream = nullptr;
    int key_bits = 0;             // values below 2 ^ key_bits differ in these bits alone; 0: in all
    bool gpu_layout = false;      // for experiments and tests: a GPU's layout on whatever device
    std::optional<SortRoad> road; // likewise, and with the right lengths only
    int held = 0, block = 0;      // likewise: values of a thread and threads of a block
};

// `rows` is (rows, length) in C order; NaN stands behind all other values, -0.0 and 0.0 are equal,
// and what is equal keeps its order. Writes the sorted rows to `values` and, as int64, the places
// that they had in their row to `places`; either may be null. With `given`, int64 of the same
// shape, an element's place is what stands there. All are in C order; none shares memory with
// `rows`. Thread safe.
void sort_rows(const Array& rows, const Array* values, const Array* places, const Array* given,
               const SortCall& call, void (*on_wait)(bool entering) = nullptr);

// The plan of such a call, as text.
[[nodiscard]] std::string explain_sort(const Array& rows, bool with_places, const SortCall& call);

} // namespace quern
