// The tokenizer on what trips tokenizers.
#include "compiler/spec/tokens.h"

#include <gtest/gtest.h>
#include <string>

namespace quern {
namespace {

// Texts of the tokens, each after a letter for its kind, separated by blanks.
std::string shown(std::string_view text) {
    std::string result;
    for (const auto& token : tokenize(text).tokens) {
        if (!result.empty())
            result += ' ';
        result += "insc.#"[static_cast<int>(token.kind)];
        result += token.text;
    }
    return result;
}
bool odd(std::string_view text) { return tokenize(text).odd; }

TEST(Tokens, NamesNumbersPunctuation) {
    EXPECT_EQ(shown("z=x+y"), "iz .= ix .+ iy");
    EXPECT_EQ(shown("a==b<<=c->d::e&&f"), "ia .== ib .<<= ic .-> id .:: ie .&& if");
    EXPECT_EQ(shown("x+++y"), "ix .++ .+ iy");
    EXPECT_EQ(shown("1.5e-3f+.5 0x1p+2 1'000u 0b10"), "n1.5e-3f .+ n.5 n0x1p+2 n1'000u n0b10");
    EXPECT_EQ(shown("x[0].y...z"), "ix .[ n0 .] .. iy .... iz");
    EXPECT_EQ(shown("a<=>b"), "ia .<=> ib");
}

TEST(Tokens, StringsAndCharacters) {
    EXPECT_EQ(shown(R"(f("a // \" b", 'c', '\'', u8"x", L'y'))"),
              R"(if .( s"a // \" b" ., c'c' ., c'\'' ., su8"x" ., cL'y' .))");
    EXPECT_EQ(shown("R\"(a\")b)\" R\"xy(a)\"\n)xy\" z"), "sR\"(a\")b)\" sR\"xy(a)\"\n)xy\" iz");
    EXPECT_TRUE(odd("\"open"));
    EXPECT_TRUE(odd("'open"));
    EXPECT_TRUE(odd("R\"(open"));
    EXPECT_TRUE(odd("\"a\\"));
    EXPECT_FALSE(odd("\"closed\""));
}

TEST(Tokens, Comments) {
    EXPECT_EQ(shown("a // i n\nb /* return\n */ c"), "ia ib ic");
    EXPECT_EQ(shown("a // x \\\n still\nb"), "ia ib");
    EXPECT_EQ(shown("a / b"), "ia ./ ib");
    EXPECT_TRUE(odd("/* open"));
}

TEST(Tokens, Directives) {
    EXPECT_EQ(shown("#define A 1\nx"), "##define A 1 ix");
    EXPECT_EQ(shown("  /* c */ #define A \\\n 2\nx"), "##define A \\\n 2 ix");
    EXPECT_EQ(shown("a # b"), "ia .# ib");
    EXPECT_TRUE(odd("a # b"));
    EXPECT_EQ(shown("#define A /* over\n */ 1\nx"), "##define A /* over\n */ 1 ix");
}

TEST(Tokens, WhatCannotBeReadSurely) {
    EXPECT_TRUE(odd("ret\\\nurn"));
    EXPECT_TRUE(odd("<% %>"));
    EXPECT_TRUE(odd("a @ b"));
    EXPECT_FALSE(odd("complex<::T> a % b"));
    EXPECT_TRUE(odd("a<:0:>"));
    EXPECT_EQ(shown(""), "");
}

TEST(Tokens, EveryPrefixEnds) { // nothing reads past the end
    const std::string_view text =
        "#define A \\\nz = R\"x(a)x\" + u8\"q\\\"\" 'a' /* c */ 1e+5 // e\\\n";
    for (std::size_t end = 0; end <= text.size(); ++end) {
        const std::string copy(text.substr(0, end));
        for (const auto& token : tokenize(copy).tokens)
            EXPECT_LE(token.text.end(), copy.data() + copy.size());
    }
}

TEST(Tokens, Words) {
    EXPECT_TRUE(is_identifier("_a9"));
    EXPECT_FALSE(is_identifier("9a"));
    EXPECT_FALSE(is_identifier(""));
    EXPECT_FALSE(is_identifier("a$"));
    EXPECT_TRUE(is_cpp_keyword("alignas"));
    EXPECT_TRUE(is_cpp_keyword("xor_eq"));
    EXPECT_TRUE(is_cpp_keyword("__asm__"));
    EXPECT_FALSE(is_cpp_keyword("kernel"));
}

} // namespace
} // namespace quern
