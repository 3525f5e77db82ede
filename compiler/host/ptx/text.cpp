// See text.h.
#include "compiler/host/ptx/text.h"
#include <bit>
#include <cctype>
#include <cstdlib>

namespace quern::host::ptx {
namespace {

struct Token {
    enum Kind { end, word, argument, number, mark } kind = end;
    std::string text; // a mark is one character
    unsigned index = 0;
    unsigned line = 0;
};

bool starts_word(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%';
}
bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$'; }

class Lexer {
  public:
    Lexer(std::string_view text, const std::string& unique) : text_(text), unique_(unique) {}

    std::vector<Token> run() {
        std::vector<Token> tokens;
        for (;;) {
            skip_space();
            Token token = next();
            tokens.push_back(token);
            if (token.kind == Token::end)
                return tokens;
        }
    }

  private:
    // The next character with LLVM's escapes undone; `width` is what it takes in the text.
    char peek(std::size_t at, std::size_t& width) const {
        width = 1;
        if (at >= text_.size())
            return 0;
        if (text_[at] != '$' || at + 1 >= text_.size())
            return text_[at];
        width = 2;
        switch (text_[at + 1]) {
        case '$':
            return '$';
        case '(':
            return '{';
        case '|':
            return '|';
        case ')':
            return '}';
        default:
            width = 1;
            return '\1'; // an operand begins
        }
    }
    char peek() const {
        std::size_t width;
        return peek(at_, width);
    }
    char peek_after() const {
        std::size_t width, ignored;
        peek(at_, width);
        return peek(at_ + width, ignored);
    }
    char take() {
        std::size_t width;
        const char c = peek(at_, width);
        at_ += width;
        line_ += c == '\n';
        return c;
    }

    void skip_space() {
        for (;;) {
            const char c = peek();
            if (c && std::isspace(static_cast<unsigned char>(c))) {
                take();
            } else if (c == '/' && peek_after() == '/') {
                while (at_ < text_.size() && peek() != '\n')
                    skip_any();
            } else if (c == '/' && peek_after() == '*') {
                take();
                take();
                while (at_ < text_.size() && !(peek() == '*' && peek_after() == '/'))
                    skip_any();
                for (int i = 0; i < 2 && at_ < text_.size(); ++i)
                    take();
            } else {
                return;
            }
        }
    }
    void skip_any() {
        if (peek() == '\1')
            ++at_;
        else
            take();
    }

    Token next() {
        Token token;
        token.line = line_;
        if (at_ >= text_.size())
            return token;
        char c = peek();
        if (c == '\1' && text_.substr(at_, 6) != "${:uid") {
            read_argument(token);
            return token;
        }
        if (c == '%' && peek_after() == '%')
            take(); // an asm without operands keeps both
        c = peek();
        if (starts_word(c) || c == '\1') {
            token.kind = Token::word;
            read_word(token.text, true);
            while (peek() == '.' || (peek() == ':' && peek_after() == ':')) { // .u32, ::evict_last
                if (take() == ':') {
                    take();
                    token.text += "::";
                } else {
                    token.text += '.';
                }
                read_word(token.text, false);
            }
            return token;
        }
        if (std::isdigit(static_cast<unsigned char>(c))) {
            token.kind = Token::number;
            read_number(token.text);
            return token;
        }
        token.kind = Token::mark;
        token.text = std::string(1, take());
        return token;
    }

    void read_word(std::string& text, bool first) {
        while (at_ < text_.size()) {
            const char c = peek();
            if (c == '\1' && text_.substr(at_, 6) == "${:uid") {
                at_ += 7;
                text += unique_;
            } else if (in_word(c) || (first && c == '%')) {
                text += take();
            } else {
                return;
            }
            first = false;
        }
    }

    void read_number(std::string& text) {
        const bool bits = peek() == '0' &&
                          std::string_view("fFdDxXbB").find(peek_after()) != std::string_view::npos;
        while (at_ < text_.size()) {
            const char c = peek();
            const bool sign = !bits && (c == '+' || c == '-') && !text.empty() &&
                              (text.back() == 'e' || text.back() == 'E');
            if (!sign && c != '.' && !std::isalnum(static_cast<unsigned char>(c)))
                return;
            text += take();
        }
    }

    void read_argument(Token& token) { // $3 or ${3:c}
        token.kind = Token::argument;
        ++at_;
        const bool braced = at_ < text_.size() && text_[at_] == '{';
        at_ += braced;
        const auto first = at_;
        while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])))
            token.index = token.index * 10 + static_cast<unsigned>(text_[at_++] - '0');
        if (at_ == first)
            throw Refusal("this inline assembly is not PTX");
        if (braced) {
            if (at_ >= text_.size() || text_[at_] != '}')
                throw Refusal("PTX operands take no modifier letters");
            ++at_;
        }
    }

    std::string_view text_;
    const std::string& unique_;
    std::size_t at_ = 0;
    unsigned line_ = 0;
};

class Parser {
  public:
    explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

    std::vector<Statement> run() {
        std::vector<Statement> statements;
        while (here().kind != Token::end) {
            if (skip(";"))
                continue;
            Statement statement;
            statement.line = here().line;
            try {
                read(statement);
            } catch (Refusal& refusal) {
                refusal.line = statement.line;
                throw;
            }
            statements.push_back(std::move(statement));
        }
        return statements;
    }

  private:
    const Token& here() const { return tokens_[at_]; }
    bool is(const char* mark) const { return here().kind == Token::mark && here().text == mark; }
    bool skip(const char* mark) {
        const bool found = is(mark);
        at_ += found;
        return found;
    }
    void want(const char* mark, const Statement& statement) {
        if (!skip(mark))
            throw Refusal(
                "PTX: '" + std::string(mark) + "' is missing" +
                (statement.text.empty() ? "" : " in '" + statement.text + "'") +
                (here().kind == Token::end ? " at the end" : " before '" + here().text + "'"));
    }
    std::string want_word() {
        if (here().kind != Token::word)
            throw Refusal("PTX: a name was expected" +
                          (here().text.empty() ? std::string() : " before '" + here().text + "'"));
        return tokens_[at_++].text;
    }

    void read(Statement& statement) {
        if (skip("{")) {
            statement.kind = Statement::open;
            return;
        }
        if (skip("}")) {
            statement.kind = Statement::close;
            return;
        }
        if (is(".")) {
            read_declaration(statement);
            return;
        }
        if (skip("@")) {
            const bool negated = skip("!");
            statement.predicate = read_plain();
            statement.predicate.negated = negated;
        }
        statement.text = want_word();
        if (statement.predicate.kind == Operand::none && skip(":")) {
            statement.kind = Statement::label;
            return;
        }
        split(statement.text, statement.words);
        if (!is(";") && here().kind != Token::end && !is("}"))
            do
                statement.operands.push_back(read_operand(statement));
            while (skip(","));
        want(";", statement);
    }

    static void split(const std::string& text, std::vector<std::string>& words) {
        std::size_t first = 0;
        for (std::size_t dot; (dot = text.find('.', first)) != text.npos; first = dot + 1)
            words.push_back(text.substr(first, dot - first));
        words.push_back(text.substr(first));
    }

    void read_declaration(Statement& statement) {
        statement.kind = Statement::declaration;
        skip(".");
        const std::string what = want_word(); // reg, or reg.u32 where no space stands between
        std::vector<std::string> words;
        split(what, words);
        if (words[0] != "reg")
            throw Refusal("PTX directive '." + words[0] + "' in inline assembly");
        if (words.size() == 1) {
            want(".", statement);
            split(want_word(), words);
        }
        if (words.size() != 2)
            throw Refusal("PTX: '.reg' of this kind");
        statement.words = {words[1]};
        do {
            const std::string name = want_word();
            if (skip("<")) { // r<3> declares r0, r1, r2
                if (here().kind != Token::number)
                    throw Refusal("PTX: a count was expected after '" + name + "<'");
                const auto count = std::strtoul(tokens_[at_++].text.c_str(), nullptr, 0);
                if (count > 4096)
                    throw Refusal("PTX: too many registers '" + name + "'");
                for (unsigned long i = 0; i < count; ++i)
                    statement.names.push_back(name + std::to_string(i));
                want(">", statement);
            } else {
                statement.names.push_back(name);
            }
        } while (skip(","));
        want(";", statement);
    }

    Operand read_operand(const Statement& statement) {
        if (skip("!")) {
            Operand operand = read_plain();
            operand.negated = true;
            return operand;
        }
        if (skip("[")) {
            Operand operand;
            operand.kind = Operand::address;
            do
                operand.parts.push_back(is("-") || !skip("(") ? read_plain()
                                                              : read_group(statement));
            while (skip("+") || is("-"));
            while (skip(",")) // textures, tensors and bulk copies: named later, not here
                operand.also.push_back(read_operand(statement));
            want("]", statement);
            return operand;
        }
        if (skip("{")) {
            Operand operand;
            operand.kind = Operand::vector;
            do
                operand.parts.push_back(read_operand(statement));
            while (skip(","));
            want("}", statement);
            return operand;
        }
        Operand operand = skip("(") ? read_group(statement) : read_plain();
        if (skip("|"))
            operand.also.push_back(read_plain());
        return operand;
    }

    Operand read_group(const Statement& statement) {
        Operand operand = read_plain();
        want(")", statement);
        return operand;
    }

    Operand read_plain() {
        Operand operand;
        if (skip("-") || skip("~")) {
            const bool complement = tokens_[at_ - 1].text == "~";
            operand = read_plain();
            if (operand.kind == Operand::integer)
                operand.bits = complement ? ~operand.bits : ~operand.bits + 1;
            else if (operand.kind == Operand::real && !complement)
                operand.bits ^= std::uint64_t{1} << 63;
            else
                throw Refusal("PTX: only numbers take a sign");
            return operand;
        }
        const Token& token = here();
        if (token.kind == Token::argument) {
            operand.kind = Operand::argument;
            operand.index = token.index;
        } else if (token.kind == Token::number) {
            read_number(token.text, operand);
        } else if (token.kind == Token::word) {
            operand.kind = Operand::name;
            operand.text = token.text;
            if (token.text == "WARP_SZ") {
                operand.kind = Operand::integer;
                operand.bits = 32;
            }
        } else {
            throw Refusal("PTX: an operand was expected" +
                          (token.text.empty() ? std::string() : " before '" + token.text + "'"));
        }
        ++at_;
        return operand;
    }

    static void read_number(const std::string& text, Operand& operand) {
        char* end = nullptr;
        const auto prefix = text.size() > 1 && text[0] == '0' ? text[1] : '\0';
        const char* digits = text.c_str();
        operand.kind = Operand::integer;
        if (prefix == 'f' || prefix == 'F' || prefix == 'd' || prefix == 'D') {
            const bool single = prefix == 'f' || prefix == 'F';
            operand.kind = single ? Operand::single : Operand::real;
            operand.bits = std::strtoull(digits + 2, &end, 16);
            if (text.size() != (single ? 10U : 18U))
                throw Refusal("PTX: the number '" + text + "' has not the digits of its type");
        } else if (prefix == 'b' || prefix == 'B') {
            operand.bits = std::strtoull(digits + 2, &end, 2);
        } else if (text.find_first_of(prefix == 'x' || prefix == 'X' ? "." : ".eE") != text.npos) {
            operand.kind = Operand::real;
            operand.bits = std::bit_cast<std::uint64_t>(std::strtod(digits, &end));
        } else {
            operand.bits = std::strtoull(digits, &end, 0);
            if (*end == 'U')
                ++end;
        }
        if (*end)
            throw Refusal("PTX: '" + text + "' is no number");
    }

    std::vector<Token> tokens_;
    std::size_t at_ = 0;
};

} // namespace

std::vector<Statement> read_text(std::string_view assembly, const std::string& unique) {
    return Parser(Lexer(assembly, unique).run()).run();
}

} // namespace quern::host::ptx
