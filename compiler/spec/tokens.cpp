// The tokenizer: one pass, longest match, no state beyond the position.
#include "compiler/spec/tokens.h"

#include <algorithm>
#include <array>

namespace quern {
namespace {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) {
    // Bytes past ASCII belong to names: C++ allows letters of other scripts there.
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' ||
           static_cast<unsigned char>(c) >= 0x80;
}
constexpr bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Longest first.
constexpr std::array<std::string_view, 26> long_punctuation{
    "<<=", ">>=", "<=>", "->*", "...", "::", "->", ".*", "++", "--", "<<", ">>", "<=",
    ">=",  "==",  "!=",  "&&",  "||",  "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^="};
constexpr std::string_view short_punctuation = "{}[]()<>;:?.+-*/%^&|~!=,";
constexpr std::array<std::string_view, 4> digraphs{"<%", "%>", "%:", ":>"};

class Reader {
  public:
    explicit Reader(std::string_view text) : text_(text) {}

    TokenList read() {
        while (at_ < text_.size())
            step();
        return std::move(list_);
    }

  private:
    [[nodiscard]] char peek(std::size_t ahead = 0) const {
        return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
    }

    void emit(Token::Kind kind, std::size_t begin) {
        list_.tokens.push_back({kind, text_.substr(begin, at_ - begin)});
        line_is_empty_ = false;
    }

    void step() {
        const char c = peek();
        const std::size_t begin = at_;
        if (c == '\n') {
            line_is_empty_ = true;
            ++at_;
        } else if (is_space(c)) {
            ++at_;
        } else if (c == '\\') {
            skip_splice();
        } else if (c == '/' && (peek(1) == '/' || peek(1) == '*')) {
            skip_comment();
        } else if (c == '#' && line_is_empty_) {
            skip_directive();
            emit(Token::Kind::directive, begin);
        } else if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
            skip_number();
            emit(Token::Kind::number, begin);
        } else if (is_letter(c)) {
            while (is_letter(peek()) || is_digit(peek()))
                ++at_;
            after_word(begin);
        } else if (c == '"' || c == '\'') {
            skip_quoted(c);
            emit(c == '"' ? Token::Kind::string : Token::Kind::character, begin);
        } else {
            skip_punctuation();
            emit(Token::Kind::punctuation, begin);
        }
    }

    // A word may be the prefix of a literal: u8"...", LR"(...)".
    void after_word(std::size_t begin) {
        const auto word = text_.substr(begin, at_ - begin);
        const bool raw =
            word == "R" || word == "u8R" || word == "uR" || word == "UR" || word == "LR";
        const bool prefix = word == "u8" || word == "u" || word == "U" || word == "L";
        if (raw && peek() == '"') {
            skip_raw_string();
            emit(Token::Kind::string, begin);
        } else if (prefix && (peek() == '"' || peek() == '\'')) {
            const char quote = peek();
            skip_quoted(quote);
            emit(quote == '"' ? Token::Kind::string : Token::Kind::character, begin);
        } else {
            emit(Token::Kind::identifier, begin);
        }
    }

    void skip_splice() {
        // Between tokens a spliced line is only a space; glued to a name it could join two halves
        // of it.
        list_.odd = true;
        ++at_;
    }

    void skip_comment() {
        if (peek(1) == '*') {
            const auto end = text_.find("*/", at_ + 2);
            list_.odd |= end == std::string_view::npos;
            at_ = end == std::string_view::npos ? text_.size() : end + 2;
        } else {
            skip_line();
        }
    }

    // To the newline that ends the logical line, which stays.
    void skip_line() {
        while (at_ < text_.size() && peek() != '\n') {
            const bool spliced =
                peek() == '\\' && (peek(1) == '\n' || (peek(1) == '\r' && peek(2) == '\n'));
            at_ += spliced ? (peek(1) == '\r' ? 3 : 2) : 1;
        }
    }

    // Like skip_line, but a block comment may carry a directive over a newline.
    void skip_directive() {
        while (at_ < text_.size() && peek() != '\n') {
            if (peek() == '/' && peek(1) == '*') {
                skip_comment();
            } else if (peek() == '\\' && (peek(1) == '\n' || peek(1) == '\r')) {
                at_ += peek(1) == '\r' && peek(2) == '\n' ? 3 : 2;
            } else {
                ++at_;
            }
        }
        at_ = std::min(at_, text_.size());
    }

    void skip_number() {
        while (at_ < text_.size()) {
            const char c = peek();
            const bool exponent = (c == 'e' || c == 'E' || c == 'p' || c == 'P') &&
                                  (peek(1) == '+' || peek(1) == '-');
            // 0xE+1 is one token to the standard as well.
            if (exponent)
                at_ += 2;
            else if (is_digit(c) || is_letter(c) || c == '.' || (c == '\'' && is_word(peek(1))))
                ++at_;
            else
                break;
        }
    }
    static bool is_word(char c) { return is_digit(c) || is_letter(c); }

    void skip_quoted(char quote) {
        ++at_;
        while (at_ < text_.size() && peek() != quote && peek() != '\n')
            at_ += peek() == '\\' ? 2 : 1;
        list_.odd |= peek() != quote;
        at_ = std::min(at_ + (peek() == quote ? 1 : 0), text_.size());
    }

    void skip_raw_string() {
        const auto open = text_.find('(', at_);
        if (open == std::string_view::npos || open - at_ > 17) {
            list_.odd = true;
            at_ = text_.size();
            return;
        }
        const auto delimiter = text_.substr(at_ + 1, open - at_ - 1);
        for (auto close = text_.find(')', open); close != std::string_view::npos;
             close = text_.find(')', close + 1)) {
            const auto rest = text_.substr(close + 1);
            if (rest.starts_with(delimiter) && rest.substr(delimiter.size()).starts_with('"')) {
                at_ = close + delimiter.size() + 2;
                return;
            }
        }
        list_.odd = true;
        at_ = text_.size();
    }

    void skip_punctuation() {
        const auto rest = text_.substr(at_);
        const auto starts = [rest](std::string_view mark) { return rest.starts_with(mark); };
        if (std::ranges::any_of(digraphs, starts) || (rest.starts_with("<:") && peek(2) != ':'))
            list_.odd = true;
        if (const auto* mark = std::ranges::find_if(long_punctuation, starts);
            mark != long_punctuation.end()) {
            at_ += mark->size();
            return;
        }
        list_.odd |= short_punctuation.find(peek()) == std::string_view::npos;
        ++at_;
    }

    std::string_view text_;
    std::size_t at_ = 0;
    bool line_is_empty_ = true; // only spaces and comments so far: a '#' opens a directive
    TokenList list_;
};

// Sorted, for binary search. Alternative spellings (and, bitand, ...) are keywords too.
constexpr std::array<std::string_view, 96> keywords{
    "alignas",       "alignof",     "and",
    "and_eq",        "asm",         "auto",
    "bitand",        "bitor",       "bool",
    "break",         "case",        "catch",
    "char",          "char16_t",    "char32_t",
    "char8_t",       "class",       "co_await",
    "co_return",     "co_yield",    "compl",
    "concept",       "const",       "const_cast",
    "consteval",     "constexpr",   "constinit",
    "continue",      "decltype",    "default",
    "delete",        "do",          "double",
    "dynamic_cast",  "else",        "enum",
    "explicit",      "export",      "extern",
    "false",         "float",       "for",
    "friend",        "goto",        "if",
    "inline",        "int",         "long",
    "mutable",       "namespace",   "new",
    "noexcept",      "not",         "not_eq",
    "nullptr",       "operator",    "or",
    "or_eq",         "private",     "protected",
    "public",        "register",    "reinterpret_cast",
    "requires",      "return",      "short",
    "signed",        "sizeof",      "static",
    "static_assert", "static_cast", "struct",
    "switch",        "template",    "this",
    "thread_local",  "throw",       "true",
    "try",           "typedef",     "typeid",
    "typename",      "typeof",      "union",
    "unsigned",      "using",       "virtual",
    "void",          "volatile",    "wchar_t",
    "while",         "xor",         "xor_eq",
    "__asm",         "__asm__",     "__restrict__"};

constexpr std::size_t plain_keywords = keywords.size() - 3; // the last three stand out of order

static_assert(std::ranges::is_sorted(keywords.begin(), keywords.begin() + plain_keywords));

} // namespace

TokenList tokenize(std::string_view text) { return Reader(text).read(); }

bool is_identifier(std::string_view text) noexcept {
    const auto letter = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    };
    return !text.empty() && letter(text.front()) &&
           std::ranges::all_of(text, [&](char c) { return letter(c) || is_digit(c); });
}

bool is_cpp_keyword(std::string_view word) noexcept {
    const auto* plain_end = keywords.begin() + plain_keywords;
    return std::binary_search(keywords.begin(), plain_end, word) ||
           std::find(plain_end, keywords.end(), word) != keywords.end();
}

} // namespace quern
