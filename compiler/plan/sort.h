// The planner of sorts: rows of values become several rows a block, a block a row, or several
// blocks a row. A pure function.
#pragma once
#include "compiler/plan/elementwise.h"

#include <cstdint>
#include <optional>
#include <string>

namespace quern {

enum class SortRoad : std::uint8_t {
    short_rows, // several rows a block, merged (CPU: one after the other)
    whole_rows, // a block takes a row through all digits of its keys
    split_rows, // several blocks share a row, one launch a digit
    dealt_rows, // CPU: several deal a row out into cells, each of which is sorted by one
};

// Everything that the text depends on besides the type.
struct SortLayout {
    SortRoad road = SortRoad::whole_rows;
    bool threads = true;       // blocks of many threads; else of one, for the CPU
    bool pairs = false;        // places travel with the values
    bool wide = false;         // counts of 64 bits
    std::uint8_t vectors = 0;  // CPU: bytes of those that divide values alone at pivots, or 0
    std::uint8_t held = 1;     // values of one thread
    std::uint16_t block = 512; // threads
    friend bool operator==(const SortLayout&, const SortLayout&) = default;
};

struct SortPlan {
    SortLayout layout;
    int passes = 1;          // digits of a key
    std::int64_t tile = 1;   // elements that a block has at a time
    std::int64_t splits = 1; // blocks that share a row
    std::int64_t cells = 1;  // dealt rows: of a row
    std::uint32_t grid = 1;
    std::int64_t rows_per_block = 1; // short rows
};

struct SortRequest {
    std::int64_t rows = 1, length = 1; // each at least 1
    std::uint32_t item_bytes = 4;      // of a value
    bool pairs = false;
    int vector_bytes = 0; // CPU: of vectors of such values whose lanes it can move
    Target target = Target::gpu;
    int processors = 1;
    int key_bits = 0;              // that differ, from the lowest; 0: all of them
    int force_held = 0;            // for experiments: 0 leaves the choice to the plan
    int force_block = 0;           // likewise: threads
    std::optional<SortRoad> force; // likewise
};

inline constexpr int sort_digit_bits = 8; // of a key, for each pass

[[nodiscard]] SortPlan plan_sort(const SortRequest& request);

// "split rows | 4 digits of 8 bits | tiles of 8192", for explain() and tests.
[[nodiscard]] std::string describe(const SortPlan& plan);

} // namespace quern
