// The elementwise planner: shapes, strides, item sizes and target become a loop nest. A pure
// function: nothing here reads a device, a setting or a clock, so that every plan can be tested,
// printed and keyed.
#pragma once
#include "compiler/base/arch.h"
#include "compiler/plan/body.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace quern {

inline constexpr int max_plan_ndim = 64;
inline constexpr int max_operands = 60;

// GPU kernels index by so many bits where that is enough, else by 64. Tests plan with 8 or 16, so
// that small arrays stand where those of 2^31 elements would.
inline constexpr int narrow_index_bits = 32;

// One array argument that takes part in broadcasting. Strides in bytes.
struct Operand {
    const std::int64_t* shape = nullptr;
    const std::int64_t* strides = nullptr;
    int ndim = 0;
    std::uint32_t item_bytes = 4;
    std::uint64_t address = 0;
    bool output = false;
    bool place = false; // only its address is wanted: how it lies costs nothing
};

enum class Strategy : std::uint8_t {
    vector,    // GPU: each thread takes neighbouring elements of a row, moved 16 bytes at a time
    scattered, // GPU: each thread takes some elements a block apart; any strides; also one element
               // a thread
    tile,      // GPU: operands whose fast axis disagrees with the output's go through shared memory
    range,     // CPU: each block is a plain loop over a range of elements
    blocked,   // CPU: each block is a run of small two-dimensional tiles
};

// How an operand's elements lie along the innermost axis.
enum class Access : std::uint8_t {
    contiguous, // one after the other
    repeated,   // the same element all along (stride 0)
    strided,    // anything else
    tiled,      // contiguous along the tile's other axis
    gathered,   // CPU: strided, and put side by side before they are looked at
};

// Everything that the generated text depends on besides the types. Part of the kernel's key.
struct ElementwiseLayout {
    Strategy strategy = Strategy::vector;
    std::uint8_t ndim = 1;  // after merging; the last axis is the innermost
    std::uint8_t lanes = 1; // elements a thread takes at a time; along a side of a CPU's tile
    std::uint8_t index_bits = 32;
    bool peel = false;    // vector: the first step is cut short so that the others are aligned
    bool swift = false;   // vector: the body's form without branches, several steps a thread
    bool pairs = false;   // vector with `swift`, one axis: two steps a turn, a block apart
    bool packed = false;  // tile: the lanes of every operand are aligned to move together
    bool gathers = false; // vector: reads places, and may run in blocks of `gather_block` threads
    std::uint8_t operand_count = 0;
    std::array<Access, max_operands> access{};

    friend bool operator==(const ElementwiseLayout&, const ElementwiseLayout&) = default;
};

struct ElementwisePlan {
    ElementwiseLayout layout;
    std::int64_t count = 0;                        // elements
    std::array<std::int64_t, max_plan_ndim> shape; // layout.ndim extents, outermost first
    // Byte strides, one row of layout.ndim for each operand.
    std::array<std::int64_t, 512> stride_store;
    [[nodiscard]] std::int64_t stride(int operand, int axis) const {
        return stride_store[static_cast<std::size_t>(operand * layout.ndim + axis)];
    }
    std::int64_t shift = 0; // vector with `peel`: lanes missing from the first step
    std::int64_t steps = 0; // iterations of the grid's loop, before they are spread over threads;
                            // CPU: tiles or elements
    std::uint32_t grid = 1, block = 1;
    // Of one block, CPU: elements (range) or tiles (blocked); GPU, `swift`: steps.
    std::int64_t share = 0;
};

struct PlanRequest {
    std::span<const std::int64_t> shape; // the broadcast shape
    std::span<const Operand> operands;   // each broadcasts to `shape`
    Target target = Target::gpu;
    BodyNeeds body;
    int block_size = 128;
    bool block_size_given = false;
    int threads = 1; // CPU: workers
    int narrow_bits = narrow_index_bits;
};

// Steps of a thread, a block apart, where a body is long and there are enough: the later ones'
// loads meet the earlier ones' arithmetic.
inline constexpr int swift_turns = 4;
inline constexpr std::int64_t swift_steps = 1 << 19; // that fill a GPU without them
// Two of them at once spare a part of what is not arithmetic, and hide more of what waits, as long
// as registers do not leave much fewer threads on a multiprocessor: of one step, of all operands.
inline constexpr int paired_bytes = 96;

// Threads of a block where an array is read here and there, with few registers each, and results
// from which on such blocks pay (H200: 2^26 floats from 512 MB take 0.3 % less than in blocks of
// 128, 2^22 1 % more).
inline constexpr int gather_block = 1024;
inline constexpr std::int64_t gather_block_results = 1 << 24;
// Likewise where each row of results is read out of one row, which few blocks then share (H200,
// 4096 rows of 3000 floats: 44 us, in blocks of 128 66).
inline constexpr std::int64_t row_gather_results = 1 << 20;

// GPU tiles are square, of 256 threads and 32 lanes along a side; items of a byte or two go in
// lanes of four bytes.
inline constexpr int tile_extent = 32, tile_block = 256;

// False when the operands have too many axes left after merging for the plan's fixed store (the
// caller says so).
[[nodiscard]] bool plan_elementwise(const PlanRequest& request, ElementwisePlan& plan);

// "vector x4 | 1 axis | contiguous contiguous contiguous | 32-bit", for explain() and tests.
[[nodiscard]] std::string describe(const ElementwiseLayout& layout);

// Divisor<Index> of the prelude, as numbers: x / divisor == (high(x * multiplier) + x) >> shift.
struct DivisorNumbers {
    std::uint64_t divisor, multiplier, shift;
};
[[nodiscard]] DivisorNumbers make_divisor(std::uint64_t divisor, int bits);

} // namespace quern
