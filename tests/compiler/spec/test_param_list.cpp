// Parameter lists: what is accepted, and the full text of each complaint.
#include "compiler/base/error.h"
#include "compiler/spec/complaint.h"
#include "compiler/spec/kernel_spec.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

std::string refusal(std::string_view in, std::string_view out, std::string_view name = "saxpy") {
    try {
        (void)make_elementwise_spec({.in_params = in,
                                     .out_params = out,
                                     .operation = "",
                                     .name = name,
                                     .preamble = {},
                                     .loop_prep = {},
                                     .after_loop = {},
                                     .options = {},
                                     .origin = {}});
    } catch (const SpecError& error) {
        return error.what();
    }
    return "accepted";
}

std::string refusal_of_list(std::string_view list, bool output = false) {
    try {
        (void)parse_params(list, output);
    } catch (const SpecError& error) {
        return error.what();
    }
    return "accepted";
}

TEST(ParamList, ReadsTypesNamesAndColumns) {
    const auto params = parse_params("T a, raw float32 table ,  raw _non_const U  y", false);
    ASSERT_EQ(params.size(), 3u);
    EXPECT_EQ(params[0].name, "a");
    EXPECT_EQ(params[0].placeholder, 'T');
    EXPECT_FALSE(params[0].raw);
    EXPECT_EQ(params[0].begin, 0u);
    EXPECT_EQ(params[0].end, 3u);
    EXPECT_EQ(params[1].name, "table");
    EXPECT_EQ(params[1].placeholder, 0);
    EXPECT_EQ(params[1].dtype, DType::float32);
    EXPECT_TRUE(params[1].raw);
    EXPECT_EQ(params[1].begin, 9u);
    EXPECT_EQ(params[1].end, 22u);
    EXPECT_TRUE(params[2].raw);
    EXPECT_TRUE(params[2].non_const);
    EXPECT_EQ(params[2].placeholder, 'U');
    EXPECT_EQ(params[2].begin, 41u);
    EXPECT_EQ(params[2].end, 45u);
}

TEST(ParamList, EmptyListsAreNoParameters) {
    EXPECT_TRUE(parse_params("", false).empty());
    EXPECT_TRUE(parse_params(" \n ", true).empty());
    EXPECT_TRUE(parse_params("T x", true).front().output);
}

TEST(ParamList, TakesNumPysSpellings) {
    const auto params =
        parse_params("int a, float b, bool c, f4 d, complex64 e, bfloat16 f, half g", false);
    const DType expected[] = {DType::int64,     DType::float64,  DType::boolean, DType::float32,
                              DType::complex64, DType::bfloat16, DType::float16};
    for (std::size_t k = 0; k < params.size(); ++k)
        EXPECT_EQ(params[k].dtype, expected[k]) << params[k].name;
}

TEST(ParamList, UnknownKeywords) {
    EXPECT_EQ(refusal("T a, const T x", "T y"),
              "kernel 'saxpy': Unknown keyword \"const\"\n"
              "    T a, const T x -> T y\n"
              "         ^\n"
              "    help: inputs are const by themselves; leave the word out");
    EXPECT_EQ(refusal("T x", "const T y"), "kernel 'saxpy': Unknown keyword \"const\"\n"
                                           "    T x -> const T y\n"
                                           "           ^\n"
                                           "    help: outputs are written to; leave the word out");
    EXPECT_EQ(refusal("unsigned int x", "T y"),
              "kernel 'saxpy': Unknown keyword \"unsigned\"\n"
              "    unsigned int x -> T y\n"
              "    ^\n"
              "    help: types are NumPy's, one word each: uint32, int64, ...");
    EXPECT_EQ(refusal_of_list("T x T y"),
              "Unknown keyword \"T\"\n"
              "    T x T y\n"
              "    ^\n"
              "    help: a parameter is \"[raw] TYPE NAME\"; parameters are separated by commas");
}

TEST(ParamList, SyntaxErrors) {
    EXPECT_EQ(refusal("x", "T y"), "kernel 'saxpy': Syntax error: x\n"
                                   "    x -> T y\n"
                                   "    ^\n"
                                   "    help: give it a name: \"x x\"");
    EXPECT_EQ(refusal("T x, count", "T y"), "kernel 'saxpy': Syntax error: count\n"
                                            "    T x, count -> T y\n"
                                            "         ^\n"
                                            "    help: give it a type: \"T count\"");
    EXPECT_EQ(refusal("T x,", "T y"), "kernel 'saxpy': Syntax error: an empty parameter\n"
                                      "    T x, -> T y\n"
                                      "        ^\n"
                                      "    help: leave out the comma, or write TYPE NAME");
    EXPECT_EQ(refusal_of_list("float32"), "Syntax error: float32\n"
                                          "    float32\n"
                                          "    ^\n"
                                          "    help: give it a name: \"float32 x\"");
    EXPECT_EQ(refusal_of_list("raw x"), "Syntax error: \"raw\" stands where the type should\n"
                                        "    raw x\n"
                                        "    ^\n"
                                        "    help: a parameter is \"[raw] TYPE NAME\"");
}

TEST(ParamList, UnknownTypes) {
    EXPECT_EQ(refusal("T a, flaot32 x", "T y"), "kernel 'saxpy': unknown type \"flaot32\"\n"
                                                "    T a, flaot32 x -> T y\n"
                                                "         ^\n"
                                                "    help: did you mean float32?");
    EXPECT_EQ(refusal("uint12 x", "T y"), "kernel 'saxpy': unknown type \"uint12\"\n"
                                          "    uint12 x -> T y\n"
                                          "    ^\n"
                                          "    help: did you mean uint16 or uint32?");
    EXPECT_EQ(refusal_of_list("float* x"),
              "unknown type \"float*\"\n"
              "    float* x\n"
              "    ^\n"
              "    help: arrays need no mark: write \"raw float\" for a whole array");
    EXPECT_EQ(refusal_of_list("size_t x"), "unknown type \"size_t\"\n"
                                           "    size_t x\n"
                                           "    ^\n"
                                           "    help: NumPy calls it uint64");
    EXPECT_EQ(refusal_of_list("uint32_t x"), "unknown type \"uint32_t\"\n"
                                             "    uint32_t x\n"
                                             "    ^\n"
                                             "    help: NumPy calls it uint32");
    EXPECT_EQ(refusal_of_list("banana x"),
              "unknown type \"banana\"\n"
              "    banana x\n"
              "    ^\n"
              "    help: types are bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, "
              "float16, "
              "bfloat16, float32, float64, complex64, complex128, or one letter for a placeholder");
    EXPECT_EQ(refusal_of_list("? x"), "a type of one character must be a letter, not \"?\"\n"
                                      "    ? x\n"
                                      "    ^\n"
                                      "    help: write it out: bool");
    EXPECT_EQ(refusal_of_list("i x"),
              "'i' cannot be a placeholder: it is the name of the loop's index\n"
              "    i x\n"
              "    ^\n"
              "    help: choose another letter, T for example");
}

TEST(ParamList, ReservedNames) {
    EXPECT_EQ(refusal("T i", "T y"),
              "kernel 'saxpy': Can not use 'i' as a parameter name: it is the loop's index\n"
              "    T i -> T y\n"
              "      ^\n"
              "    help: choose another name");
    EXPECT_EQ(refusal("T x", "T n"), "kernel 'saxpy': 'n' is reserved: it is the loop's size\n"
                                     "    T x -> T n\n"
                                     "             ^\n"
                                     "    help: choose another name");
    const std::pair<std::string_view, std::string_view> reserved[] = {
        {"T _ind", "'_ind' is reserved: _ind is the loop's indexer"},
        {"T _index", "'_index' is reserved: _ind is the loop's indexer"},
        {"T __quern_x", "'__quern_x' is reserved: names beginning with __ belong to the compiler"},
        {"T quern_x",
         "'quern_x' is reserved: names beginning with quern_ belong to generated code"},
        {"T while", "'while' is reserved: it is a word of C++"},
        {"T float", "'float' is reserved: it is a word of C++"},
        {"T and", "'and' is reserved: it is a word of C++"},
        {"T threadIdx", "'threadIdx' is reserved: it is a variable of CUDA"}};
    for (const auto& [list, headline] : reserved)
        EXPECT_EQ(refusal_of_list(list).substr(0, headline.size()), headline);
    EXPECT_EQ(refusal_of_list("T _x, T x_, T _, T I, T N, T ind"), "accepted");
}

TEST(ParamList, MalformedNames) {
    EXPECT_EQ(refusal_of_list("T 2x"),
              "\"2x\" is not a name\n"
              "    T 2x\n"
              "      ^\n"
              "    help: names are letters, digits and _, and do not begin with a digit");
    EXPECT_EQ(refusal_of_list("T *x"),
              "\"*x\" is not a name\n"
              "    T *x\n"
              "      ^\n"
              "    help: arrays need no mark; \"raw T x\" gives the whole array as x[k]");
    EXPECT_EQ(refusal_of_list("T \xC3\xA9, T *x").substr(0, 19), "\"\xC3\xA9\" is not a name\n");
}

TEST(ParamList, DuplicatesCarryBothCarets) {
    EXPECT_EQ(refusal("T x, raw U y", "T x"), "kernel 'saxpy': two parameters are called 'x'\n"
                                              "    T x, raw U y -> T x\n"
                                              "      ^               ^\n"
                                              "    help: give one of them another name");
    EXPECT_EQ(refusal("T U, U x", "T y"),
              "kernel 'saxpy': 'U' is both a placeholder and a parameter\n"
              "    T U, U x -> T y\n"
              "      ^\n"
              "    help: give the parameter another name");
}

TEST(ParamList, OutputsAreWrittenAnyway) {
    EXPECT_EQ(refusal("T x", "_non_const T y"),
              "kernel 'saxpy': _non_const is for inputs\n"
              "    T x -> _non_const T y\n"
              "           ^\n"
              "    help: outputs can be written as they are; leave the word out");
}

TEST(ParamList, AtMostSixty) {
    std::string list;
    for (int k = 0; k < 60; ++k)
        list += (k ? ", T x" : "T x") + std::to_string(k);
    EXPECT_EQ(refusal_of_list(list), "accepted");
    const auto text = refusal_of_list(list + ", T last");
    EXPECT_TRUE(text.starts_with("61 parameters are more than the 60 that a kernel can take\n"))
        << text;
    EXPECT_TRUE(text.ends_with("    help: pack some of them into one array")) << text;
}

TEST(ParamList, NewlinesAreFlattened) {
    EXPECT_EQ(refusal("T a,\n\tconst T x", "T y"),
              "kernel 'saxpy': Unknown keyword \"const\"\n"
              "    T a,  const T x -> T y\n"
              "          ^\n"
              "    help: inputs are const by themselves; leave the word out");
}

TEST(Complaint, CaretsCountCharacters) {
    EXPECT_EQ(format_carets("\xC3\xA9 x", {3}), "    \xC3\xA9 x\n      ^");
    EXPECT_EQ(format_carets("abc", {2, 0, 2}), "    abc\n    ^ ^");
    EXPECT_EQ(format_carets("abc", {}), "    abc");
    EXPECT_EQ(format_complaint("", {"no", "", {}, {"why"}, "do"}), "no\n    why\n    help: do");
}

} // namespace
} // namespace quern
