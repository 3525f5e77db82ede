// Kernels that write lines of elements, each element or piece of a line from an array of its own.
#pragma once
#include "compiler/spec/kernel_spec.h"

#include <compare>
#include <optional>

namespace quern {

enum class LineWay : std::uint8_t {
    words,  // a line is one element of the output, as wide as its elements together
    stored, // elements are stored one behind the other: a CPU's vectors interleave them
    found,  // each element of the output looks where it comes from: a GPU's threads are neighbours
};

struct LineForm {
    LineWay way{};
    std::size_t parts = 2;  // arrays, at most `most_line_parts`
    std::int64_t bytes = 1; // of an element
    friend auto operator<=>(const LineForm&, const LineForm&) = default;
};

inline constexpr std::size_t most_line_parts = 8;

// The line's own type where there is one: of two or four parts, at most 16 bytes together.
[[nodiscard]] std::optional<DType> line_type(std::size_t parts, std::int64_t bytes);

// Parameters: the arrays, then the lines; where elements are found the arrays are raw, and lines of
// elements one array; where they are stored that one is raw.
[[nodiscard]] ElementwiseSpec line_spec(const LineForm& form);

// Arrays one behind the other, on a GPU.
struct PieceForm {
    std::size_t parts = 2;  // arrays, at most `most_line_parts`
    std::int64_t bytes = 1; // of an element
    bool lines = false;     // each array has a piece of every line; there are below 2^32 elements
    friend auto operator<=>(const PieceForm&, const PieceForm&) = default;
};

// Parameters: the arrays, raw; where in a line the piece of each ends, int64; the lines as one
// array.
[[nodiscard]] ElementwiseSpec piece_spec(const PieceForm& form);

} // namespace quern
