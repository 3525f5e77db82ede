// C++ text as tokens: just enough of the language to tell names from comments, strings and
// directives. Never fails; text that it cannot read surely sets `odd`, and readers then assume the
// worst.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace quern {

struct Token {
    enum class Kind : std::uint8_t {
        identifier, // keywords too
        number,
        string, // plain and raw, with prefix
        character,
        punctuation, // longest match: "<<=", "->", "::"
        directive,   // a whole preprocessor line with its continuations, from '#'
    };
    Kind kind = Kind::punctuation;
    std::string_view text; // a piece of the text that was given

    [[nodiscard]] bool is(std::string_view other) const noexcept {
        return text == other && (kind == Kind::punctuation || kind == Kind::identifier);
    }
};

struct TokenList {
    std::vector<Token> tokens;
    // Unfinished strings or comments, spliced lines outside directives, digraphs, stray characters.
    bool odd = false;
};

// `text` must outlive the result.
[[nodiscard]] TokenList tokenize(std::string_view text);

[[nodiscard]] bool is_identifier(std::string_view text) noexcept; // ASCII, as CuPy's names
[[nodiscard]] bool is_cpp_keyword(std::string_view word) noexcept;

} // namespace quern
