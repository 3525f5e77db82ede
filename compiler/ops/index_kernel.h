// Kernels of indexing: what stands between brackets, as the specs of elementwise kernels.
#pragma once
#include "compiler/spec/kernel_spec.h"

#include <compare>
#include <vector>

namespace quern {

enum class IndexMode : std::uint8_t { raise, wrap, clip }; // what an index past the end means

enum class IndexAct : std::uint8_t {
    get, // y = the element
    set, // the element = value
    add, // the element += value; the next two likewise, by atomics on GPUs
    max,
    min,
    locate, // y = the element's address - located_base, of an array that nobody reads
};
inline constexpr std::int64_t located_base = std::int64_t{1} << 40;

// Reads as: operands in the result's shape; x or y tells where the element for indices 0 lies, and
// each index array moves it. `flat`: one index array, into all elements of a raw array in C order.
struct IndexForm {
    IndexAct act{};
    IndexMode mode{};
    bool flat = false;
    std::vector<DType> indices; // dtype of each index array
    // Extents and strides are below 2^31: a place is one product of 32 bits, and a GPU's loads
    // stand in no branch.
    bool narrow = false;
    friend auto operator<=>(const IndexForm&, const IndexForm&) = default;
};

inline constexpr std::size_t most_index_arrays = 18; // as many as a kernel's parameters allow

// Parameters: [place x,] (index, extent, stride)..., [value,] word, call -> y. In the flat form:
// [raw x,] index, extent, [raw value, count,] word, call -> y, where values are repeated.
[[nodiscard]] ElementwiseSpec index_spec(const IndexForm& form);

// y where `mask` is true = a value, or the one of `values` at its own position, again from the
// start after `count`.
[[nodiscard]] ElementwiseSpec putmask_spec(bool repeated);

// Masks. A chunk is a run of elements that one thread goes through.
enum class MaskAct : std::uint8_t {
    count, // raw mask, chunk, size -> counts of true elements
    find,  // raw ends (counts summed up to each chunk), raw mask, chunk, size -> raw places
    pick,  // raw ends, raw mask, chunk, size, raw x -> raw y: the elements themselves
    fill,  // raw ends, raw mask, chunk, size, raw x, length -> raw y: y where true = the next of x,
           // again from its start after `length`
};
[[nodiscard]] ElementwiseSpec mask_spec(MaskAct act);

// places -> one index for each of `axes`: int64 place, extents... -> int64 i0, i1, ...
[[nodiscard]] ElementwiseSpec unravel_spec(int axes);
inline constexpr int most_unravelled_axes = 29;

} // namespace quern
