// Recursive descent over statements. It gives up rather than guess.
#include "compiler/spec/statements.h"

namespace quern {
namespace {

struct GiveUp {};

class Parser {
  public:
    explicit Parser(std::span<const Token> tokens) : tokens_(tokens) {}

    std::vector<Statement> body() {
        std::vector<Statement> list;
        while (at_ < tokens_.size())
            list.push_back(statement(0));
        return list;
    }

  private:
    static constexpr int max_depth = 200;

    [[nodiscard]] bool here(std::string_view text) const {
        return at_ < tokens_.size() && tokens_[at_].is(text);
    }
    [[nodiscard]] bool after(std::string_view text) const {
        return at_ + 1 < tokens_.size() && tokens_[at_ + 1].is(text);
    }
    bool accept(std::string_view text) {
        const bool found = here(text);
        at_ += found ? 1 : 0;
        return found;
    }
    void expect(std::string_view text) {
        if (!accept(text))
            throw GiveUp{};
    }

    // From an opening bracket to just after the one that closes it.
    void skip_brackets() {
        std::vector<char> closing;
        do {
            if (at_ >= tokens_.size())
                throw GiveUp{};
            const auto& token = tokens_[at_++];
            if (token.is("("))
                closing.push_back(')');
            else if (token.is("["))
                closing.push_back(']');
            else if (token.is("{"))
                closing.push_back('}');
            else if (token.is(")") || token.is("]") || token.is("}")) {
                if (token.text.front() != closing.back())
                    throw GiveUp{};
                closing.pop_back();
            }
        } while (!closing.empty());
    }

    std::span<const Token> parenthesised() {
        const auto open = at_;
        if (!here("("))
            throw GiveUp{};
        skip_brackets();
        return tokens_.subspan(open + 1, at_ - open - 2);
    }

    Statement statement(int depth) {
        if (depth > max_depth || at_ >= tokens_.size())
            throw GiveUp{};
        using Kind = Statement::Kind;
        if (accept("{")) {
            Statement block{Kind::compound, {}, {}};
            while (!here("}"))
                block.children.push_back(statement(depth + 1));
            ++at_;
            return block;
        }
        if (accept("if")) {
            accept("constexpr");
            Statement branch{Kind::branch, parenthesised(), {}};
            branch.children.push_back(statement(depth + 1));
            if (accept("else"))
                branch.children.push_back(statement(depth + 1));
            return branch;
        }
        if (accept("for") || accept("while")) {
            Statement loop{Kind::loop, parenthesised(), {}};
            loop.children.push_back(statement(depth + 1));
            return loop;
        }
        if (accept("do")) {
            Statement loop{Kind::loop, {}, {}};
            loop.children.push_back(statement(depth + 1));
            expect("while");
            loop.head = parenthesised();
            if (at_ < tokens_.size())
                expect(";");
            return loop;
        }
        if (accept("switch")) {
            Statement choice{Kind::choice, parenthesised(), {}};
            choice.children.push_back(statement(depth + 1));
            return choice;
        }
        if (here("case") || (here("default") && after(":")))
            return label(depth);
        const bool word = at_ < tokens_.size() && tokens_[at_].kind == Token::Kind::identifier;
        if (word && after(":"))
            return label(depth);
        return simple();
    }

    Statement label(int depth) {
        Statement label{Statement::Kind::label, {}, {}};
        const auto begin = at_;
        const bool named = !here("case") && !here("default");
        int open_questions = 0; // case a ? b : c:
        for (;; ++at_) {
            if (at_ >= tokens_.size() || here(";") || here("{") || here("}"))
                throw GiveUp{};
            if (here("?"))
                ++open_questions;
            if (here(":") && open_questions-- == 0)
                break;
        }
        if (!named)
            label.head = tokens_.subspan(begin, at_ - begin);
        ++at_;
        // A label may close a block: `default: }`.
        if (at_ < tokens_.size() && !here("}"))
            label.children.push_back(statement(depth + 1));
        return label;
    }

    Statement simple() {
        static constexpr std::string_view foreign[] = {
            "else", "try", "catch", "asm", "__asm", "__asm__", "namespace", ")", "]", "}"};
        const auto begin = at_;
        while (at_ < tokens_.size() && !here(";")) {
            for (const auto word : foreign)
                if (here(word))
                    throw GiveUp{};
            if (here("(") || here("[") || here("{"))
                skip_brackets();
            else
                ++at_;
        }
        Statement found{Statement::Kind::simple, tokens_.subspan(begin, at_ - begin), {}};
        accept(";");
        return found;
    }

    std::span<const Token> tokens_;
    std::size_t at_ = 0;
};

} // namespace

std::optional<std::vector<Statement>> parse_statements(std::span<const Token> tokens) {
    try {
        return Parser(tokens).body();
    } catch (const GiveUp&) {
        return std::nullopt;
    }
}

} // namespace quern
