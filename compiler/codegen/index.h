// The index types of generated text by their width: how they are spelled, and which pieces they
// need.
#pragma once
#include "compiler/base/text.h"

#include <string>
#include <string_view>
#include <vector>

namespace quern {

[[nodiscard]] inline std::string index_type(int bits) {
    return bits == 64   ? "unsigned long long"
           : bits == 32 ? "unsigned int"
           : bits == 16 ? "quern::Narrow<unsigned short>"
                        : "quern::Narrow<unsigned char>";
}
[[nodiscard]] inline std::string signed_index_type(int bits) {
    return bits == 64   ? "long long"
           : bits == 32 ? "int"
           : bits == 16 ? "quern::Narrow<short>"
                        : "quern::Narrow<signed char>";
}
// A zero beside an index in `a ? b : 0`, where a class and an int do not meet.
[[nodiscard]] inline std::string index_zero(std::string_view type) {
    return type.starts_with("quern::") ? join(type, "(0)") : "0";
}

// Which pieces a kernel begins with: those of its index, then its own.
[[nodiscard]] inline std::vector<std::string> index_pieces(int bits, std::string_view own = {}) {
    std::vector<std::string> pieces{"quern/elementwise.cuh"};
    if (bits < 32)
        pieces.emplace_back("quern/narrow_index.cuh");
    if (!own.empty())
        pieces.emplace_back(own);
    return pieces;
}

} // namespace quern
