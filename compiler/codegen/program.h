// Programs that the prelude holds whole: types and numbers of a call become macros, and the piece
// with the kernels is included.
#pragma once
#include "compiler/base/dtype.h"
#include "compiler/plan/sort.h"

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace quern {

struct ProgramText {
    std::string_view piece;                                         // "quern/search.cuh"
    std::span<const DType> types;                                   // QUERN_T0, QUERN_T1...
    std::span<const std::pair<std::string_view, int>> numbers = {}; // macros
};

[[nodiscard]] std::string emit_program(const ProgramText& program);

// The numbers of the program "quern/sort.cuh", whose one type is what is sorted.
[[nodiscard]] std::array<std::pair<std::string_view, int>, 7>
sort_numbers(const SortLayout& layout);

} // namespace quern
