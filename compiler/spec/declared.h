// The parameters of a kernel as its program's text declares them, for toolchains that do not tell
// the types.
#pragma once
#include "compiler/spec/c_type.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quern {

struct DeclaredParam {
    std::string type, name; // as written; the name may be missing
    CType c_type;
    // Of a struct passed by value, where it is known: offset and bytes of every scalar in it.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> parts;

    friend bool operator==(const DeclaredParam&, const DeclaredParam&) = default;
};

// What typedefs, `using` and simple macros of the text, and -D options, make of names.
[[nodiscard]] TypeAliases find_aliases(std::string_view text, std::span<const std::string> options);

// The parameter list of the __global__ function `name`; nullopt when the text has none, or several
// that differ.
[[nodiscard]] std::optional<std::vector<DeclaredParam>>
find_declared(std::string_view text, std::string_view name, const TypeAliases& aliases);

// A list between brackets: "float const*, int", with or without names.
[[nodiscard]] std::vector<DeclaredParam> read_declared(std::string_view list, bool with_names,
                                                       const TypeAliases& aliases);

// What the host compiler keeps in its objects (compiler/host/describe.h).
[[nodiscard]] std::vector<DeclaredParam> read_described(std::string_view text);

} // namespace quern
