// The planner of row kernels on GPUs: which threads have a row, and how much of it they hold. A
// pure function, like the others.
#pragma once
#include "compiler/plan/elementwise.h"

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace quern {

// Everything that the generated text depends on besides the types.
struct RowLayout {
    std::uint8_t kept_ndim = 0; // after merging; a row lies along the axis behind them
    std::uint8_t lanes = 1;     // neighbouring elements a thread takes at a time
    std::uint8_t packs = 1;     // that a thread holds in registers
    std::uint8_t index_bits = 32;
    bool masked = false;      // a row ends inside a pack,
    bool shifted = false;     // and begins inside one: packs begin at whole addresses
    bool partial = false;     // threads hold less than they could
    bool rest = false;        // a row is longer than they hold: its end is read in every walk,
    bool parks = false;       // as far as shared memory does not hold it
    std::uint8_t columns = 0; // neighbouring threads with neighbouring rows; 0: parts of one row
    bool panels = false;      // columns in panels that blocks take by turns
    std::uint8_t ahead = 0;   // packs of the next panel that come in shared memory meanwhile
    std::uint8_t cluster_bits = 0; // log2 of the blocks that have a row together
    std::uint16_t block = 256;
    bool several = false; // rows a block, each along its threads: how many the plan tells
    std::uint8_t operand_count = 0;
    std::array<Access, max_operands> access{}; // along a row

    [[nodiscard]] int ndim() const { return kept_ndim + 1; }
    // log2 of the threads of a row in a block, where its size tells; else -1: the plan does.
    [[nodiscard]] int block_bits() const {
        return columns > 0 || several ? -1 : std::countr_zero(block);
    }
    friend bool operator==(const RowLayout&, const RowLayout&) = default;
};

struct RowPlan {
    RowLayout layout;
    std::int64_t rows = 1, length = 1, packs = 1;  // packs of a row
    std::array<std::int64_t, max_plan_ndim> shape; // kept extents, then the length
    std::array<std::int64_t, 512> stride_store;    // bytes, layout.ndim() for each operand
    [[nodiscard]] std::int64_t stride(int operand, int axis) const {
        return stride_store[static_cast<std::size_t>(operand * layout.ndim() + axis)];
    }
    int group_bits = 0;            // log2 of the threads of a row, of all its blocks
    std::int64_t parked = 0;       // packs of a thread in shared memory
    std::int64_t rounds = 0;       // that every cluster has a whole panel in,
    std::int64_t last_columns = 0; // and how many columns each has in the last one
    std::uint32_t grid = 1, shared_bytes = 0;
};

// Which layouts will do: others are planned by other kernels.
enum class RowWays : std::uint8_t {
    all,
    along,  // rows that lie along memory
    panels, // rows that lie across it, held in panels
};

struct RowRequest {
    std::span<const std::int64_t> shape;
    std::uint64_t reduced = 0;         // bit d: axis d is along a row
    std::span<const Operand> operands; // of one value a row where they do not vary along it
    int processors = 1;
    std::uint32_t shared_bytes = 0;                // that a block can have
    int joining_walks = 0;                         // after each all threads of a row meet
    std::uint32_t join_bytes = 0, widest_join = 0; // accumulators of all walks; the largest
    std::uint32_t walk_join_bytes = 0; // of one walk, at most; 0 where only a compiler knows
    int most_cluster_bits = 0;         // of blocks that can wait for each other
    bool uses_place = false;
    bool keeps = false; // values of elements between walks
    RowWays ways = RowWays::all;
    std::int64_t most_steps = 0; // elements that a thread may join; 0: any number
    int narrow_bits = narrow_index_bits;
};

inline constexpr int row_bytes_held = 128;                     // a thread's own, of all inputs
inline constexpr int row_packs_held = 8, row_packs_wanted = 4; // a thread's, at most and at least
inline constexpr int row_elements_kept = 16; // a thread's, where it keeps more than inputs
inline constexpr int row_block = 256;        // threads of a block, unless a row takes more
inline constexpr int row_columns = 16; // that neighbouring threads have, where rows lie across
inline constexpr int column_packs_held = 32; // a thread's, where packs are single elements
inline constexpr int panel_row_bytes = 256;  // that a warp has of a row across a panel,
inline constexpr int panel_block = 512;      // threads of its blocks,
inline constexpr int panel_bytes_held = 288; // and what one of them has in registers
inline constexpr int panel_rows = 384;       // of fewer its blocks would do little but join

// False where neither rows nor what is across them is the fastest axis, or rows are too long for
// how few they are: other kernels do better.
[[nodiscard]] bool plan_rows(const RowRequest& request, RowPlan& plan);

// Where `clusters` of a panel plan's run at once: its grid, and how they share the panels.
void share_panels(int clusters, RowPlan& plan);

[[nodiscard]] std::string describe(const RowLayout& layout);

} // namespace quern
