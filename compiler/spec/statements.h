// The statements of a body, as a tree over its tokens: control flow is seen, expressions are left
// flat.
#pragma once
#include "compiler/spec/tokens.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace quern {

struct Statement {
    enum class Kind : std::uint8_t {
        simple,   // an expression, a declaration, `return x`: `head` holds all of it, without ';'
        compound, // { children }
        branch,   // if (head) children[0] else children[1]
        loop,     // for, while, do: `head` holds what stands in the parentheses
        choice,   // switch (head) children[0]
        label,    // `case 1:`, `default:`, `name:` before children[0]; a name's label has an empty
                  // head
    };
    Kind kind = Kind::simple;
    std::span<const Token> head;
    std::vector<Statement> children;
};

// The body as a list of statements; the last ';' may be missing. Nothing when the brackets do not
// pair, or the text holds what this small grammar does not know (try, asm, a lonely else). Refers
// to `tokens`.
[[nodiscard]] std::optional<std::vector<Statement>> parse_statements(std::span<const Token> tokens);

} // namespace quern
