// The reduction planner: shapes, strides, reduced axes and target become threads along a row or
// across columns. A pure function, like the elementwise one.
#pragma once
#include "compiler/plan/elementwise.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace quern {

enum class ReductionStrategy : std::uint8_t {
    rows,    // the fastest axis is reduced: threads (CPU: vector lanes) along it
    columns, // the fastest axis is kept: threads (CPU: vector lanes) across it
};

// Everything that the generated text depends on besides the types.
struct ReductionLayout {
    Target target = Target::gpu;
    ReductionStrategy strategy = ReductionStrategy::rows;
    std::uint8_t kept_ndim = 0;    // after merging; the last axis is the innermost
    std::uint8_t reduced_ndim = 1; // likewise, at least 1
    std::uint16_t lanes = 1;       // neighbouring elements a thread takes at a time
    std::uint8_t batch_rows = 1;   // GPU rows: rows that a thread has in flight together
    std::uint8_t spread = 1;       // GPU rows: of so many neighbours in a pack one is an element,
    std::uint8_t phase = 0;        // this one
    std::uint8_t index_bits = 32;
    bool masked = false;    // a row begins or ends inside a pack
    bool drifts = false;    // rows: each begins elsewhere in its first pack
    bool scattered = false; // places of reduced elements do not count up in the nest's order
    bool split = false;     // several blocks share an output
    bool atomic = false;    // GPU: and join by atomics what they found
    bool brief = false;     // CPU rows: few elements behind an output
    std::uint8_t step = 0;  // CPU rows: elements from one to the next; 0: not the same for all
    std::uint16_t tile = 0; // CPU columns: that a block sums up at a time
    bool runs = false;      // CPU columns: several belong to one output, neighbours
    bool wraps = false; // columns: rows go on as one line, for short ones leave lanes and threads
                        // idle (CPU: reduced rows, several columns for an output; GPU: kept ones)
    bool folds = false; // CPU columns: each run is folded before it joins its output
    std::uint8_t operand_count = 0;
    std::array<Access, max_operands> access{}; // along the fastest axis

    [[nodiscard]] int ndim() const { return kept_ndim + reduced_ndim; }
    friend bool operator==(const ReductionLayout&, const ReductionLayout&) = default;
};

struct ReductionPlan {
    ReductionLayout layout;
    std::int64_t outputs = 1, reduced = 1;         // elements of each result, elements behind each
    std::array<std::int64_t, max_plan_ndim> shape; // kept extents, then reduced extents
    // Byte strides, one row of layout.ndim() for each operand.
    std::array<std::int64_t, 512> stride_store;
    std::array<std::int64_t, max_operands> start;  // bytes to an operand's first element: axes that
                                                   // ran backwards were turned
    std::array<std::int64_t, max_plan_ndim> place; // scattered: from an element to the next one
    std::int64_t first_place = 0;                  // along an axis, and the first one's own
    [[nodiscard]] std::int64_t stride(int operand, int axis) const {
        return stride_store[static_cast<std::size_t>(operand * layout.ndim() + axis)];
    }
    std::int64_t shift = 0;       // lanes missing from a row's first pack
    std::int64_t packs = 1;       // along the fastest axis
    std::int64_t steps = 1;       // packs behind an output (rows); reduced elements (columns)
    std::int64_t splits = 1;      // blocks that share an output
    std::int64_t chunk = 1;       // steps of each of them
    std::int64_t tiles = 1;       // units of work: rows or tiles of columns
    std::int64_t tiles_along = 1; // columns: tiles along the fastest axis
    std::int64_t length = 1;      // elements along the fastest axis
    std::int64_t run = 1;         // CPU columns: of one output
    std::int64_t span = 1;        // CPU columns: of a tile at most, whole runs
    std::int64_t together = 1;    // CPU columns: rows that are read side by side
    std::int64_t share = 1;       // CPU: units of one block
    bool ahead = false;           // CPU: more is read than the caches hold
    int group_bits = 0;           // GPU: log2 of the threads along a row, or across columns
    std::int64_t partials = 0;    // accumulators that blocks sharing outputs leave to each other
    std::int64_t tickets = 0;     // GPU: counters by which they know who is last, and slots that
                                  // are joined by atomics; CPU: by which they tell that no more
                                  // is needed
    std::int64_t fan = 1;         // GPU: blocks whose results are joined at a time
    std::uint32_t grid = 1, block = 1;
};

struct ReductionRequest {
    std::span<const std::int64_t> shape; // the broadcast shape of the inputs
    std::uint64_t reduced = 0;           // bit d: axis d is reduced
    std::span<const Operand> operands;   // outputs have extent 1 along the reduced axes
    Target target = Target::gpu;
    int processors = 1; // multiprocessors, or the CPU's threads
    std::uint32_t accumulator_bytes = 8;
    bool uses_place = false;          // places along the reduced axes are seen
    bool keep_kept_order = false;     // positions among the outputs are seen
    bool keep_axes = false;           // reduce_dims=False
    bool may_join_atomically = false; // in any order, where that is faster
    bool may_read_between = false;    // the map can be asked about values that take no part
    bool may_settle = false;          // an element can decide a result
    bool ends_early = false;          // mostly the first ones do
    std::int64_t most_steps = 0; // a thread may take at most so many, for its sum is narrow; 0: any
    int narrow_bits = narrow_index_bits;
    // For experiments: 0 leaves the choice to the plan.
    int force_splits = 0;
};

inline constexpr int reduction_block = 256;       // threads of a GPU block
inline constexpr int reduction_batch = 4;         // loads in flight
inline constexpr int reduction_rows_together = 4; // CPU columns
inline constexpr std::uint32_t heavy_accumulator =
    16; // bytes: joining such costs more than loading
inline constexpr int reduction_shared_limit = 32 * 1024;

// False when too many axes are left after merging.
[[nodiscard]] bool plan_reduction(const ReductionRequest& request, ReductionPlan& plan);

// "rows x4 | kept 1, reduced 2 | contiguous | 32-bit | split", for explain() and tests.
[[nodiscard]] std::string describe(const ReductionLayout& layout);

} // namespace quern
