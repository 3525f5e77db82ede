// The scan planner: shapes, strides, the scanned axis and the target become threads along rows or
// across columns, and tiles that learn of their predecessors. A pure function, like the others.
#pragma once
#include "compiler/plan/elementwise.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace quern {

enum class ScanStrategy : std::uint8_t {
    rows,       // the scanned axis is the fastest: threads along it
    short_rows, // GPU: likewise, but one pack a thread covers a row
    columns,    // the fastest axis is kept: threads (CPU: vector lanes) across it
};

// Everything that the generated text depends on besides the types.
struct ScanLayout {
    Target target = Target::gpu;
    ScanStrategy strategy = ScanStrategy::rows;
    std::uint8_t kept_ndim = 0; // after merging; the scanned axis comes behind them
    std::uint8_t lanes = 1;     // neighbouring elements a thread takes at a time
    std::uint8_t batch = 1; // GPU: packs that a thread holds: along the scanned axis, or of rows
    std::uint8_t group_bits = 0; // GPU: log2 of the threads along a row, or across columns
    bool block_rows = false;     // GPU rows: a block walks along a row, not a warp
    std::uint8_t index_bits = 32;
    bool split = false; // several blocks share a row or column
    std::uint8_t operand_count = 0;
    std::array<Access, max_operands> access{}; // along the fastest axis

    [[nodiscard]] int ndim() const { return kept_ndim + 1; }
    [[nodiscard]] int fastest() const {
        return strategy == ScanStrategy::columns ? kept_ndim - 1 : kept_ndim;
    }
    friend bool operator==(const ScanLayout&, const ScanLayout&) = default;
};

struct ScanPlan {
    ScanLayout layout;
    std::int64_t lines = 1, length = 1;            // rows or columns, elements of each
    std::array<std::int64_t, max_plan_ndim> shape; // kept extents, then the scanned one
    // Byte strides, one row of layout.ndim() for each operand.
    std::array<std::int64_t, 512> stride_store;
    [[nodiscard]] std::int64_t stride(int operand, int axis) const {
        return stride_store[static_cast<std::size_t>(operand * layout.ndim() + axis)];
    }
    std::int64_t packs = 1;  // along the fastest axis
    std::int64_t strips = 1; // columns: groups of neighbouring columns that go together
    std::int64_t tiles = 1;  // along each line
    std::int64_t chunk = 1;  // CPU: elements of a tile along its line
    std::int64_t units = 1;  // of work: tiles of all lines
    std::int64_t share = 1;  // CPU: units of one block; GPU, split: chains of one scanning warp
    // Split: chains of totals, tiles of each, and on GPUs blocks that do nothing but join them.
    std::int64_t values = 0, steps = 0, scanners = 0;
    std::uint32_t grid = 1, block = 1;
};

struct ScanRequest {
    std::span<const std::int64_t> shape; // of the inputs, broadcast, and of every output
    int axis = 0;
    std::span<const Operand> operands;
    Target target = Target::gpu;
    int processors = 1; // multiprocessors, or the CPU's threads
    std::uint32_t accumulator_bytes = 8;
    int narrow_bits = narrow_index_bits;
    // For experiments: 0 leaves the choice to the plan.
    int force_batch = 0;
    int force_split = 0; // 1: one block (CPU: thread) a line; more: several
};

inline constexpr int scan_block = 256;     // threads of a GPU block
inline constexpr int scan_blocks = 4;      // GPU, split: on a multiprocessor at a time, at least
inline constexpr int scan_columns = 16;    // GPU, split: neighbours that one block has
inline constexpr int scan_head_bytes = 64; // before the totals: the number of the next tile
// CPU, split: bytes of a tile, which stays in a core's second cache while it is looked at twice
inline constexpr int cpu_scan_tile = 256 * 1024;
inline constexpr int cpu_scan_columns = 1024; // columns that a CPU block carries at a time

// False when too many axes are left after merging.
[[nodiscard]] bool plan_scan(const ScanRequest& request, ScanPlan& plan);

// Bytes of room that a split scan needs for totals of `accumulator_bytes`, and how many of them are
// cleared before.
struct ScanRoom {
    std::int64_t bytes = 0, cleared = 0;
};
[[nodiscard]] ScanRoom scan_room(const ScanPlan& plan, std::uint32_t accumulator_bytes);

// "rows x4, 4 packs | kept 1 | contiguous contiguous | 32-bit | split", for explain() and tests.
[[nodiscard]] std::string describe(const ScanLayout& layout);

} // namespace quern
