// Facts by walking tokens and statements; macros that could hide something spoil them all.
#include "compiler/spec/body_facts.h"

#include "compiler/spec/statements.h"
#include "compiler/spec/tokens.h"

#include <algorithm>
#include <array>
#include <set>

namespace quern {
namespace {

constexpr std::array cheap_functions{
    std::string_view("abs"),      std::string_view("absolute"), std::string_view("ceil"),
    std::string_view("conj"),     std::string_view("convert"),  std::string_view("divide"),
    std::string_view("fabs"),     std::string_view("floor"),    std::string_view("fmax"),
    std::string_view("fmin"),     std::string_view("isfinite"), std::string_view("isinf"),
    std::string_view("isnan"),    std::string_view("max"),      std::string_view("maximum"),
    std::string_view("min"),      std::string_view("minimum"),  std::string_view("rint"),
    std::string_view("sign"),     std::string_view("signbit"),  std::string_view("sqrt"),
    std::string_view("square"),   std::string_view("trunc"),    std::string_view("where"),
    std::string_view("is_nan"),   std::string_view("clip"),     std::string_view("reciprocal"),
    std::string_view("copysign"), std::string_view("highest"),  std::string_view("lowest")};

using Tokens = std::span<const Token>;

bool is_name(const Token& token) { return token.kind == Token::Kind::identifier; }

// Everything that an operation could hide is taken for granted.
void assume_everything(BodyFacts& facts) {
    facts.uses_i = facts.uses_n = facts.uses_ind = facts.leaves_early = true;
    facts.assigned_first = 0;
}

// --- macros
// ---------------------------------------------------------------------------------------------------------

// A replacement of numbers and arithmetic, `#define N 5`, can neither jump, nor assign, nor name
// anything.
bool is_harmless(Tokens replacement) {
    static constexpr std::array<std::string_view, 9> arithmetic{"(", ")", "+",  "-", "*",
                                                                "/", "%", "<<", ">>"};
    return std::ranges::all_of(replacement, [](const Token& token) {
        return token.kind == Token::Kind::number ||
               (token.kind == Token::Kind::punctuation &&
                std::ranges::find(arithmetic, token.text) != arithmetic.end());
    });
}

// Headers that define no macro a body could trip over.
bool is_known_header(std::string_view name) {
    static constexpr std::array<std::string_view, 26> known{
        "cmath",           "math.h",
        "cstdint",         "stdint.h",
        "cuda_fp16.h",     "cuda_bf16.h",
        "cuda_fp16.hpp",   "math_constants.h",
        "cuComplex.h",     "cupy/complex.cuh",
        "cupy/carray.cuh", "cupy/atomics.cuh",
        "cuda_runtime.h",  "cooperative_groups.h",
        "cfloat",          "float.h",
        "climits",         "limits.h",
        "cstddef",         "stddef.h",
        "cstring",         "string.h",
        "limits",          "type_traits",
        "utility",         "algorithm"};
    return name.starts_with("quern/") || std::ranges::find(known, name) != known.end();
}

// The words of one directive, without '#'; spliced lines are only spaces here.
struct Directive {
    std::string text;
    TokenList list;
    explicit Directive(std::string_view line) : text(line.substr(1)) {
        for (std::size_t at = 0; (at = text.find('\\', at)) != std::string::npos; ++at)
            if (at + 1 < text.size() && (text[at + 1] == '\n' || text[at + 1] == '\r'))
                text[at] = ' ';
        list = tokenize(text);
    }
    Directive(const Directive&) = delete;
    Directive& operator=(const Directive&) = delete;
    [[nodiscard]] bool is(std::string_view word) const {
        return !list.tokens.empty() && list.tokens.front().is(word);
    }
};

class Macros {
  public:
    // Learns from a directive of the preamble.
    void read(std::string_view line) {
        const Directive directive(line);
        const Tokens words = directive.list.tokens;
        if (directive.is("define") && words.size() >= 2) {
            // A '(' that touches the name opens a parameter list.
            const auto& name = words[1].text;
            const auto end =
                static_cast<std::size_t>(name.data() + name.size() - directive.text.data());
            const bool takes_arguments = end < directive.text.size() && directive.text[end] == '(';
            if (takes_arguments || directive.list.odd || !is_harmless(words.subspan(2)))
                risky_.emplace(name);
        } else if (directive.is("include")) {
            const auto open = directive.text.find_first_of("<\"");
            const auto close = open == std::string::npos
                                   ? std::string::npos
                                   : directive.text.find_first_of(">\"", open + 1);
            unknown_ |= close == std::string::npos ||
                        !is_known_header(
                            std::string_view(directive.text).substr(open + 1, close - open - 1));
        }
    }

    // Learns from the compiler's options: -DNAME=value, -D NAME, --define-macro=NAME, -include
    // file.
    void read(std::span<const std::string> options) {
        for (std::size_t k = 0; k < options.size(); ++k) {
            std::string_view option = options[k];
            if (option.starts_with("-include") || option.starts_with("--pre-include"))
                unknown_ = true;
            for (const std::string_view flag : {"--define-macro=", "--define-macro", "-D"}) {
                if (!option.starts_with(flag))
                    continue;
                option.remove_prefix(flag.size());
                if (option.empty() && k + 1 < options.size())
                    option = options[k + 1];
                define(option);
                break;
            }
        }
    }

    [[nodiscard]] bool may_hide(Tokens tokens) const {
        return unknown_ || std::ranges::any_of(tokens, [this](const Token& token) {
                   return is_name(token) && risky_.contains(token.text);
               });
    }

  private:
    void define(std::string_view option) {
        const auto equals = option.find('=');
        const auto name = option.substr(0, std::min(equals, option.find('(')));
        const auto value = equals == std::string_view::npos ? "1" : option.substr(equals + 1);
        const auto list = tokenize(value);
        if (name.size() < std::min(equals, option.size()) || list.odd || !is_harmless(list.tokens))
            risky_.emplace(name);
    }

    std::set<std::string, std::less<>> risky_;
    bool unknown_ = false;
};

// --- leaving early
// ----------------------------------------------------------------------------------------------------

using Words = std::span<const std::string_view>;
constexpr std::array<std::string_view, 7> jumps{"return",  "goto",  "asm",      "__asm",
                                                "__asm__", "throw", "co_return"};
constexpr std::array<std::string_view, 2> loop_jumps{"break", "continue"};

bool contains_any(Tokens tokens, Words words) {
    return std::ranges::any_of(tokens, [words](const Token& token) {
        return is_name(token) && std::ranges::find(words, token.text) != words.end();
    });
}

// May this statement jump out of the statement list that holds it? `loop`, `choice`: what already
// encloses it there.
bool may_leave(const Statement& statement, bool loop, bool choice) {
    using Kind = Statement::Kind;
    if (contains_any(statement.head, jumps))
        return true;
    if (statement.kind == Kind::simple) {
        const bool is_break = statement.head.size() == 1 && statement.head[0].is("break");
        const bool is_continue = statement.head.size() == 1 && statement.head[0].is("continue");
        if (is_break)
            return !loop && !choice;
        if (is_continue)
            return !loop;
    }
    // Inside a lambda or a statement expression, which stay unparsed.
    if (contains_any(statement.head, loop_jumps))
        return true;
    loop |= statement.kind == Kind::loop;
    choice |= statement.kind == Kind::choice;
    return std::ranges::any_of(
        statement.children, [&](const Statement& child) { return may_leave(child, loop, choice); });
}

// --- assigned first
// ---------------------------------------------------------------------------------------------------

enum class Verdict : unsigned char { untouched, assigned, unsure };

bool mentions(Tokens tokens, std::string_view name) {
    return std::ranges::any_of(
        tokens, [name](const Token& token) { return is_name(token) && token.text == name; });
}

bool mentions(const Statement& statement, std::string_view name) {
    return mentions(statement.head, name) ||
           std::ranges::any_of(statement.children,
                               [name](const Statement& child) { return mentions(child, name); });
}

// `a = b = expression` assigns a and b, if the expression mentions neither of them.
Verdict judge_simple(Tokens tokens, std::string_view name) {
    bool is_target = false;
    std::size_t at = 0;
    while (at + 1 < tokens.size() && is_name(tokens[at]) && tokens[at + 1].is("=")) {
        is_target |= tokens[at].text == name;
        at += 2;
    }
    const bool sure = is_target && at < tokens.size() && !mentions(tokens.subspan(at), name);
    return sure ? Verdict::assigned : Verdict::unsure;
}

Verdict judge(const Statement& statement, std::string_view name);

Verdict judge(std::span<const Statement> list, std::string_view name) {
    for (const auto& statement : list) {
        const auto verdict = judge(statement, name);
        if (verdict != Verdict::untouched)
            return verdict;
        if (may_leave(statement, false, false))
            return Verdict::unsure;
    }
    return Verdict::untouched;
}

Verdict judge(const Statement& statement, std::string_view name) {
    using Kind = Statement::Kind;
    if (!mentions(statement, name))
        return Verdict::untouched;
    if (statement.kind == Kind::simple) {
        // An assignment that hides a jump in a lambda: too clever for us.
        const auto verdict = judge_simple(statement.head, name);
        const bool leaves = verdict == Verdict::assigned && may_leave(statement, false, false);
        return leaves ? Verdict::unsure : verdict;
    }
    if (mentions(statement.head, name) || contains_any(statement.head, jumps))
        return Verdict::unsure;
    if (statement.kind == Kind::compound)
        return judge(statement.children, name);
    if (statement.kind == Kind::branch && statement.children.size() == 2) {
        const auto yes = judge(std::span(statement.children).first(1), name);
        const auto no = judge(std::span(statement.children).last(1), name);
        return yes == no ? yes : Verdict::unsure;
    }
    return Verdict::unsure; // in a loop, a switch, or an `if` without `else`
}

bool has_named_label(const Statement& statement) {
    return (statement.kind == Statement::Kind::label && statement.head.empty()) ||
           std::ranges::any_of(statement.children, has_named_label);
}

bool takes_address(Tokens tokens, std::string_view name) {
    for (std::size_t k = 0; k + 1 < tokens.size(); ++k)
        if ((tokens[k].is("&") || tokens[k].is("bitand")) && is_name(tokens[k + 1]) &&
            tokens[k + 1].text == name)
            return true;
    return false;
}

std::uint64_t find_assigned_first(const std::vector<Statement>& body, Tokens operation,
                                  Tokens outside, std::span<const Param> params) {
    if (std::ranges::any_of(body, has_named_label) || mentions(operation, "goto"))
        return 0;
    std::uint64_t bits = 0;
    for (std::size_t k = 0; k < params.size() && k < 64; ++k) {
        const auto& param = params[k];
        if (param.raw || !(param.output || param.non_const))
            continue;
        if (mentions(outside, param.name) || takes_address(operation, param.name))
            continue;
        if (judge(body, param.name) == Verdict::assigned)
            bits |= std::uint64_t{1} << k;
    }
    return bits;
}

// --- mentions
// ---------------------------------------------------------------------------------------------------------

void note_mentions(BodyFacts& facts, const TokenList& list) {
    static constexpr std::array<std::string_view, 7> complex_functions{
        "conj", "polar", "arg", "norm", "proj", "real", "imag"};
    const auto has = [](std::string_view word, std::string_view part) {
        return word.find(part) != std::string_view::npos;
    };
    const Tokens tokens = list.tokens;
    for (std::size_t k = 0; k < tokens.size(); ++k) {
        const auto word = tokens[k].text;
        if (tokens[k].kind == Token::Kind::directive) {
            note_mentions(facts, Directive(word).list);
            continue;
        }
        if (!is_name(tokens[k]))
            continue;
        facts.identifiers.emplace_back(word);
        const bool called = k + 1 < tokens.size() && tokens[k + 1].is("(");
        facts.mentions_complex |=
            has(word, "complex") || has(word, "Complex") || word == "thrust" ||
            (called && std::ranges::find(complex_functions, word) != complex_functions.end());
        const bool bfloat = has(word, "bfloat16") || has(word, "bf16");
        facts.mentions_bfloat16 |= bfloat;
        // __hadd and its kind serve both types.
        facts.mentions_half |=
            has(word, "float16") ? !bfloat : has(word, "half") || has(word, "fp16");
        if (word.starts_with("__h"))
            facts.mentions_half = facts.mentions_bfloat16 = true;
    }
}

} // namespace

BodyFacts find_body_facts(const BodyTexts& texts, std::span<const Param> params) {
    const auto operation = tokenize(texts.operation), loop_prep = tokenize(texts.loop_prep),
               after_loop = tokenize(texts.after_loop), preamble = tokenize(texts.preamble);
    BodyFacts facts;
    for (const auto* list : {&operation, &loop_prep, &after_loop, &preamble})
        note_mentions(facts, *list);
    std::ranges::sort(facts.identifiers);
    const auto repeated = std::ranges::unique(facts.identifiers);
    facts.identifiers.erase(repeated.begin(), repeated.end());

    Macros macros;
    macros.read(texts.options);
    for (const auto& token : preamble.tokens)
        if (token.kind == Token::Kind::directive)
            macros.read(token.text);

    std::vector<Token> inside; // the operation without its #pragma and #line
    std::vector<Token> all;    // inside the kernel: operation, loop_prep, after_loop
    bool hidden = operation.odd || loop_prep.odd || after_loop.odd || preamble.odd;
    for (const auto* list : {&operation, &loop_prep, &after_loop})
        for (const auto& token : list->tokens) {
            if (token.kind == Token::Kind::directive) {
                const Directive directive(token.text);
                hidden |= !(directive.is("pragma") || directive.is("line"));
                continue;
            }
            all.push_back(token);
            if (list == &operation)
                inside.push_back(token);
        }
    if (hidden || macros.may_hide(all)) {
        assume_everything(facts);
        return facts;
    }
    const Tokens outside = Tokens(all).subspan(inside.size());
    facts.uses_i = mentions(all, "i");
    facts.uses_n = mentions(all, "n");
    facts.uses_ind = mentions(all, "_ind");

    const auto body = parse_statements(inside);
    if (!body) {
        facts.leaves_early = contains_any(inside, jumps) || contains_any(inside, loop_jumps);
    } else {
        facts.leaves_early = std::ranges::any_of(
            *body, [](const Statement& statement) { return may_leave(statement, false, false); });
        facts.assigned_first = find_assigned_first(*body, inside, outside, params);
    }
    // A jump written in loop_prep skips the loop.
    facts.leaves_early |= contains_any(outside, jumps);
    return facts;
}

bool is_costly(std::string_view text) {
    const TokenList list = tokenize(text);
    for (std::size_t k = 1; k < list.tokens.size(); ++k)
        if (list.tokens[k].is("(") && list.tokens[k - 1].kind == Token::Kind::identifier &&
            !is_cpp_keyword(list.tokens[k - 1].text) &&
            list.tokens[k - 1].text.size() > 1 && // T(x) is a cast
            std::ranges::find(cheap_functions, list.tokens[k - 1].text) == cheap_functions.end())
            return true;
    return false;
}

} // namespace quern
