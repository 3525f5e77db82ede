// The prelude's files, embedded: found by name, handed to a toolchain as in-memory headers.
#pragma once
#include <string_view>
#include <vector>

namespace quern {

struct PreludePiece {
    std::string_view name; // "quern/complex.cuh", as #include names it
    std::string_view text;
};

[[nodiscard]] const std::vector<PreludePiece>& prelude_pieces(); // in order of name
[[nodiscard]] const PreludePiece& prelude_piece(std::string_view name);

} // namespace quern
