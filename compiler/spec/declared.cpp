// Finds declarations by their tokens.
#include "compiler/spec/declared.h"

#include "compiler/spec/tokens.h"

#include <algorithm>
#include <charconv>

namespace quern {
namespace {

std::string_view trim(std::string_view text) {
    const auto first = text.find_first_not_of(" \t\r\n");
    if (first == text.npos)
        return {};
    return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

void define(TypeAliases& aliases, std::string_view name, std::string_view meaning) {
    if (!is_identifier(name) || trim(meaning) == name)
        return;
    const auto [place, added] = aliases.try_emplace(std::string(name), trim(meaning));
    if (!added && place->second != trim(meaning))
        place->second.clear();
}

// The text from the first to the last of these tokens.
std::string_view between(std::string_view text, const Token& first, const Token& last) {
    const auto begin = static_cast<std::size_t>(first.text.data() - text.data());
    return text.substr(begin, static_cast<std::size_t>(last.text.data() - text.data()) +
                                  last.text.size() - begin);
}

void define_macro(TypeAliases& aliases, std::string_view line) { // "#define NAME tokens"
    line.remove_prefix(1);
    line = trim(line);
    if (!line.starts_with("define"))
        return;
    line = trim(line.substr(6));
    const auto end = std::min(line.find_first_of(" \t("), line.size());
    if (end < line.size() && line[end] != '(')
        define(aliases, line.substr(0, end), line.substr(end));
}

std::vector<DeclaredParam> read_list(std::span<const Token> tokens, bool with_names,
                                     const TypeAliases& aliases) {
    std::vector<DeclaredParam> params;
    int depth = 0;
    std::size_t begin = 0;
    const auto finish = [&](std::size_t end) {
        if (begin == end)
            return;
        DeclaredParam param;
        std::size_t name = end; // the last word before any brackets
        int square = 0;
        for (std::size_t k = end; with_names && k-- > begin;) {
            square += tokens[k].is("]") ? 1 : tokens[k].is("[") ? -1 : 0;
            if (square != 0 || tokens[k].is("["))
                continue;
            if (tokens[k].kind == Token::Kind::identifier && k > begin &&
                !is_cpp_keyword(tokens[k].text) && !tokens[k - 1].is("::"))
                name = k;
            break;
        }
        for (std::size_t k = begin; k < end; ++k) {
            if (k == name) {
                param.name = tokens[k].text;
                continue;
            }
            const bool apart = !param.type.empty() && tokens[k].kind == Token::Kind::identifier &&
                               tokens[k - 1].kind == Token::Kind::identifier;
            param.type.append(apart ? " " : "").append(tokens[k].text);
        }
        param.c_type = read_c_type(param.type, aliases);
        params.push_back(std::move(param));
    };
    for (std::size_t k = 0; k < tokens.size(); ++k) {
        const Token& token = tokens[k];
        depth += token.is("(") || token.is("[") || token.is("<")   ? 1
                 : token.is(")") || token.is("]") || token.is(">") ? -1
                 : token.is(">>")                                  ? -2
                                                                   : 0;
        if (depth == 0 && token.is(",")) {
            finish(k);
            begin = k + 1;
        }
    }
    finish(tokens.size());
    if (params.size() == 1 && params[0].type == "void")
        params.clear();
    return params;
}

// Whether the declaration whose name stands at `at` says __global__.
bool is_kernel(std::span<const Token> tokens, std::size_t at) {
    while (at-- > 0) {
        const Token& token = tokens[at];
        if (token.is(";") || token.is("}") || token.is("{") || token.kind == Token::Kind::directive)
            return false;
        if (token.is("__global__"))
            return true;
    }
    return false;
}

} // namespace

TypeAliases find_aliases(std::string_view text, std::span<const std::string> options) {
    TypeAliases aliases;
    for (std::size_t k = 0; k < options.size(); ++k) {
        std::string_view option = options[k];
        if (option.starts_with("--define-macro="))
            option.remove_prefix(15);
        else if (option == "-D" && k + 1 < options.size())
            option = options[++k];
        else if (option.starts_with("-D"))
            option.remove_prefix(2);
        else
            continue;
        option = trim(option);
        if (const auto equals = option.find('='); equals != option.npos)
            define(aliases, option.substr(0, equals), option.substr(equals + 1));
    }
    const TokenList list = tokenize(text);
    const std::span<const Token> tokens = list.tokens;
    for (std::size_t k = 0; k < tokens.size(); ++k) {
        if (tokens[k].kind == Token::Kind::directive) {
            define_macro(aliases, tokens[k].text);
            continue;
        }
        const bool is_typedef = tokens[k].is("typedef"), is_using = tokens[k].is("using");
        if (!is_typedef && !is_using)
            continue;
        std::size_t end = k + 1;
        while (end < tokens.size() && !tokens[end].is(";") && !tokens[end].is("{"))
            ++end;
        if (end == tokens.size() || tokens[end].is("{"))
            continue; // of a struct, an enum or a function
        if (is_typedef && end - k >= 3)
            define(aliases, tokens[end - 1].text, between(text, tokens[k + 1], tokens[end - 2]));
        else if (is_using && end - k >= 4 && tokens[k + 2].is("="))
            define(aliases, tokens[k + 1].text, between(text, tokens[k + 3], tokens[end - 1]));
    }
    return aliases;
}

std::optional<std::vector<DeclaredParam>>
find_declared(std::string_view text, std::string_view name, const TypeAliases& aliases) {
    const TokenList list = tokenize(text);
    const std::span<const Token> tokens = list.tokens;
    std::optional<std::vector<DeclaredParam>> found;
    for (std::size_t k = 0; k + 1 < tokens.size(); ++k) {
        if (!tokens[k].is(name) || !tokens[k + 1].is("(") || !is_kernel(tokens, k))
            continue;
        int depth = 0;
        std::size_t end = k + 1;
        for (; end < tokens.size(); ++end) {
            depth += tokens[end].is("(") ? 1 : tokens[end].is(")") ? -1 : 0;
            if (depth == 0 || tokens[end].kind == Token::Kind::directive)
                break;
        }
        if (end == tokens.size() || depth != 0)
            return std::nullopt;
        auto params = read_list(tokens.subspan(k + 2, end - k - 2), true, aliases);
        if (found && (found->size() != params.size() ||
                      !std::ranges::equal(*found, params, {}, &DeclaredParam::c_type,
                                          &DeclaredParam::c_type)))
            return std::nullopt;
        found = std::move(params);
    }
    return found;
}

std::vector<DeclaredParam> read_declared(std::string_view list, bool with_names,
                                         const TypeAliases& aliases) {
    const TokenList tokens = tokenize(list);
    return read_list(tokens.tokens, with_names, aliases);
}

std::vector<DeclaredParam> read_described(std::string_view text) {
    std::vector<DeclaredParam> params;
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        DeclaredParam param;
        const auto name = line.find('\t'), parts = line.find('\t', name + 1);
        if (parts == line.npos)
            return {};
        param.type = line.substr(0, name);
        param.name = line.substr(name + 1, parts - name - 1);
        param.c_type = read_c_type(param.type);
        for (const char *at = line.data() + parts + 1, *last = line.data() + line.size();
             at < last;) {
            std::uint32_t offset = 0, bytes = 0;
            const auto colon = std::from_chars(at, last, offset);
            if (colon.ptr == last)
                return {};
            const auto space = std::from_chars(colon.ptr + 1, last, bytes);
            param.parts.emplace_back(offset, bytes);
            at = space.ptr + 1;
        }
        params.push_back(std::move(param));
    }
    return params;
}

} // namespace quern
