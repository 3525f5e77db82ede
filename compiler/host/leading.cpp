// See leading.h.
#include "compiler/host/leading.h"
#include <algorithm>
#include <optional>

namespace quern::host {
namespace {

constexpr auto none = std::string_view::npos;

bool is_blank(char letter) { return letter == ' ' || letter == '\t' || letter == '\r'; }

bool is_of_name(char letter) {
    return letter == '_' || (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
           (letter >= 'A' && letter <= 'Z');
}

std::string_view without_blanks(std::string_view text) {
    while (!text.empty() && is_blank(text.front()))
        text.remove_prefix(1);
    return text;
}

// Takes the word away from the front of the line, if it is there.
bool take(std::string_view& line, std::string_view word) {
    if (!line.starts_with(word) || (line.size() > word.size() && is_of_name(line[word.size()])))
        return false;
    line = without_blanks(line.substr(word.size()));
    return true;
}

std::string_view name_at(std::string_view line) {
    return line.substr(
        0, static_cast<std::size_t>(std::ranges::find_if_not(line, is_of_name) - line.begin()));
}

// Whether the next line belongs to this one.
bool goes_on(std::string_view line) {
    while (!line.empty() && is_blank(line.back()))
        line.remove_suffix(1);
    return line.ends_with('\\');
}

// The end of the blanks and comments that begin at `at`; nothing when a comment does not end.
std::optional<std::size_t> skip_comments(std::string_view text, std::size_t at) {
    while (at < text.size()) {
        if (is_blank(text[at]) || text[at] == '\n') {
            ++at;
        } else if (text.substr(at, 2) == "//") {
            const auto end = std::min(text.find('\n', at), text.size());
            if (goes_on(text.substr(at, end - at)))
                return std::nullopt;
            at = end;
        } else if (text.substr(at, 2) == "/*") {
            at = text.find("*/", at + 2);
            if (at == none)
                return std::nullopt;
            at += 2;
        } else {
            break;
        }
    }
    return at;
}

// <name> or "name", with nothing but a comment after it.
std::string_view header_on(std::string_view line) {
    if (line.empty() || (line[0] != '<' && line[0] != '"'))
        return {};
    const auto end = line.find(line[0] == '<' ? '>' : '"', 1);
    if (end == none || end == 1)
        return {};
    const auto after = without_blanks(line.substr(end + 1));
    return after.empty() || after.starts_with("//") ? line.substr(0, end + 1) : std::string_view();
}

} // namespace

Leading read_leading(std::string_view text) {
    Leading found;
    found.rest = text;
    std::vector<std::string> macros; // since the last #include
    for (std::size_t at = 0;;) {
        const auto start = skip_comments(text, at);
        if (!start || *start >= text.size() || text[*start] != '#')
            break;
        const auto end = std::min(text.find('\n', *start), text.size());
        auto line = without_blanks(text.substr(*start + 1, end - *start - 1));
        if (goes_on(line) || line.find("/*") != none)
            break;
        if (take(line, "define") || take(line, "undef")) {
            const auto name = name_at(line);
            if (name.empty())
                break;
            macros.emplace_back(name);
        } else if (take(line, "include")) {
            const auto header = header_on(line);
            if (header.empty())
                break;
            found.includes.emplace_back(header);
            found.macros.insert(found.macros.end(), macros.begin(), macros.end());
            macros.clear();
            std::fill_n(found.rest.begin() + static_cast<std::ptrdiff_t>(*start), end - *start,
                        ' ');
        } else {
            break;
        }
        at = end;
    }
    return found;
}

bool read_macros(std::string_view preamble, std::vector<std::string>& names) {
    while (!preamble.empty()) {
        const auto end = std::min(preamble.find('\n'), preamble.size());
        auto line = preamble.substr(0, end);
        preamble.remove_prefix(std::min(end + 1, preamble.size()));
        if (!take(line, "#define") && !take(line, "#undef"))
            return false;
        names.emplace_back(name_at(line));
    }
    return true;
}

} // namespace quern::host
