// Indexing by arrays: NumPy's get, set and their kin over kernels of the index room of ops.
#pragma once
#include "compiler/compile.h"
#include "runtime/array/indexing.h"
#include "runtime/kernel/argument.h"

#include <optional>
#include <vector>

namespace quern {

struct IndexCall {
    IndexMode mode = IndexMode::raise;
    const char* name = "indexing";   // for messages of faults; a literal
    const char* complaint = nullptr; // as FaultSite has it
    void (*on_wait)(bool entering) = nullptr;
};
using Items = std::vector<AdvancedItem>;

// array[items] as a new array in C order, or `out` of that shape and the array's dtype. Throws
// IndexError now for what the host knows; an index out of bounds raises on the CPU now, on a GPU
// as index_check() says. Arrays of bools are waited for: they decide the shape.
[[nodiscard]] Array get_indexed(const Array& array, Items items, const IndexCall& call,
                                const Array* out = nullptr);
// array[items] = value, broadcast and cast; or element += value and its like, for which values have
// the array's dtype. On the CPU the last of several values for one element wins; on a GPU one of
// them. What a wrong index names is not written. Throws ValueError for shapes, and as get_indexed.
void set_indexed(const Array& array, Items items, const Argument& value, const IndexCall& call,
                 IndexAct act = IndexAct::set);
// What array[items] names, by rows: row k of `places` is the `width` elements of the array, in C
// order, from places[k] * width. `shape` is the result's.
struct IndexedPlaces {
    Array places; // int64, in C order
    std::int64_t width = 1;
    Dims shape;
};
[[nodiscard]] IndexedPlaces locate_indexed(const Array& array, Items items, const IndexCall& call);

// Elements in C order at positions, whatever the array's layout: the shape is that of `indices`.
[[nodiscard]] Array take_flat(const Array& array, const Array& indices, const IndexCall& call,
                              const Array* out = nullptr);
// The same written: values are repeated as often as there are indices.
void put_flat(const Array& array, const Array& indices, const Array& values, const IndexCall& call);

// One index for each place of the result, along one axis; the other axes broadcast.
[[nodiscard]] Array take_along(const Array& array, const Array& indices, int axis,
                               const IndexCall& call, const Array* out = nullptr);
void put_along(const Array& array, const Array& indices, int axis, const Argument& value,
               const IndexCall& call);

} // namespace quern
