// The planner of selection: rows of values of which some ranks are wanted become warps, blocks, or
// several blocks a row. A pure function.
#pragma once
#include "compiler/plan/elementwise.h"

#include <cstdint>
#include <string>

namespace quern {

enum class SelectRoad : std::uint8_t {
    brief_rows, // a thread sorts a row in registers
    short_rows, // a thread picks from a row that has been sorted (CPU: sorts it)
    whole_rows, // a block reads a row once for each digit of the keys (CPU: divides it at pivots,
                // or lists first what lies between keys of a sample)
    split_rows, // several blocks count a row's digits, another one goes on from their sums (CPU:
                // list what lies between such keys)
};

// Everything that the text depends on besides the types.
struct SelectLayout {
    SelectRoad road = SelectRoad::whole_rows;
    bool threads = true;         // blocks of many threads; else of one, for the CPU
    std::uint8_t vectors = 0;    // CPU: bytes of those that divide rows or parts of them, or 0
    std::uint8_t digit_bits = 8; // of a key, for each reading
    std::uint8_t targets = 2;    // ranks that one reading looks for
    std::uint16_t held = 1;      // brief rows, short ones of the CPU: values of one thread
    friend bool operator==(const SelectLayout&, const SelectLayout&) = default;
};

struct SelectPlan {
    SelectLayout layout;
    int passes = 1;           // readings of a row for each batch of ranks
    std::int64_t splits = 1;  // blocks that share a row
    std::int64_t chunk = 1;   // elements of each of them
    std::int64_t sampled = 0; // elements of a row that a CPU looks at before
    std::uint32_t grid = 1, block = 1;
};

struct SelectRequest {
    std::int64_t rows = 1, length = 1; // each at least 1
    std::int64_t places = 1;           // quantiles of each row, two ranks each
    std::uint32_t item_bytes = 4;
    Target target = Target::gpu;
    int vector_bytes = 0; // CPU: of vectors whose lanes it can move
    int processors = 1;
    int force_splits = 0; // for experiments: 0 leaves the choice to the plan
};

inline constexpr int select_block = 256;          // threads of a GPU block
inline constexpr int select_brief = 32;           // rows that a thread of a GPU sorts
inline constexpr int select_sorted_on_gpu = 1024; // rows that are sorted on a GPU before
inline constexpr int select_sorted_on_cpu = 256;  // rows that are sorted on the CPU
inline constexpr int select_many_targets = 16;
inline constexpr int select_brackets = 16; // quantiles of a row that a CPU samples, at most

[[nodiscard]] SelectPlan plan_select(const SelectRequest& request);

// "split rows | digits of 11 bits, 3 readings | 2 ranks", for explain() and tests.
[[nodiscard]] std::string describe(const SelectPlan& plan);

} // namespace quern
