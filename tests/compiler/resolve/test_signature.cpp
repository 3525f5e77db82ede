// Every rule of the vote, and the full text of each complaint.
#include "compiler/base/error.h"
#include "compiler/resolve/signature.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

ArgType array(DType dtype, int ndim = 1) { return {ArgType::Kind::array, dtype, ndim, nullptr}; }
ArgType scalar(DType dtype = DType::float64) { return {ArgType::Kind::scalar, dtype, 0, nullptr}; }
ArgType missing() { return {}; }
ArgType structure(std::string spelling) {
    auto layout = std::make_shared<StructLayout>();
    layout->spelling = std::move(spelling);
    return {ArgType::Kind::structure, DType::float32, 0, std::move(layout)};
}

ElementwiseSpec spec(std::string_view in, std::string_view out, std::string_view name = "saxpy") {
    ElementwiseText text;
    text.in_params = in;
    text.out_params = out;
    text.name = name;
    return make_elementwise_spec(text);
}

std::string refusal(const ElementwiseSpec& kernel, const std::vector<ArgType>& args,
                    ErrorKind kind = ErrorKind::resolve) {
    try {
        (void)resolve(kernel, args);
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), kind);
        return error.what();
    }
    return "accepted";
}

using Placeholders = std::vector<std::pair<char, std::string>>;

TEST(Resolve, InputArraysDecide) {
    const auto signature =
        resolve(spec("T a, T x, T y", "T out"),
                std::vector{scalar(), array(DType::float32), array(DType::float32, 2)});
    ASSERT_EQ(signature.params.size(), 4u);
    EXPECT_FALSE(signature.params[0].is_array);
    EXPECT_EQ(signature.params[0].dtype, DType::float32);
    EXPECT_TRUE(signature.params[1].is_array);
    EXPECT_TRUE(signature.params[3].is_array);
    EXPECT_EQ(signature.params[3].dtype, DType::float32);
    EXPECT_EQ(signature.placeholders, (Placeholders{{'T', "float"}}));
}

TEST(Resolve, GivenOutputsDecideFirst) {
    const auto kernel = spec("T x", "T y");
    EXPECT_EQ(resolve(kernel, std::vector{scalar(), array(DType::int8)}).params[0].dtype,
              DType::int8);
    EXPECT_EQ(refusal(kernel, {array(DType::float64), array(DType::float32)}),
              "kernel 'saxpy': T is both float32 and float64 (Type is mismatched.)\n"
              "    T x -> T y\n"
              "    ^      ^\n"
              "    y is float32 (argument 2), x is float64 (argument 1)\n"
              "    help: cast one of them, or give x its own variable: \"U x -> T y\"");
}

TEST(Resolve, PlaceholdersInOrderOfAppearance) {
    const auto signature =
        resolve(spec("int32 k, U x, T y", "V z, T w"),
                std::vector{scalar(), array(DType::complex64), array(DType::float16),
                            array(DType::boolean), missing()});
    EXPECT_EQ(signature.placeholders,
              (Placeholders{{'U', "complex<float>"}, {'T', "float16"}, {'V', "bool"}}));
    EXPECT_EQ(signature.params[0].dtype, DType::int32);
    EXPECT_EQ(signature.params[4].dtype, DType::float16);
    EXPECT_TRUE(signature.params[4].is_array);
}

TEST(Resolve, FixedTypesNeedNoVote) {
    const auto signature = resolve(spec("float32 x, raw int64 t", "bool y"),
                                   std::vector{scalar(), array(DType::int64)});
    EXPECT_TRUE(signature.placeholders.empty());
    EXPECT_EQ(signature.params[2].dtype, DType::boolean);
}

TEST(Resolve, RawArraysVote) {
    EXPECT_EQ(resolve(spec("raw T x", "T y"), std::vector{array(DType::uint16, 3)}).params[1].dtype,
              DType::uint16);
}

TEST(Resolve, TwoArraysDisagree) {
    EXPECT_EQ(refusal(spec("T a, T x, T y", "T out"),
                      {scalar(), array(DType::float32), array(DType::float64)}),
              "kernel 'saxpy': T is both float32 and float64 (Type is mismatched.)\n"
              "    T a, T x, T y -> T out\n"
              "         ^    ^\n"
              "    x is float32 (argument 2), y is float64 (argument 3)\n"
              "    help: cast one of them, or give y its own variable: \"T a, T x, U y -> T out\"");
    EXPECT_EQ(
        refusal(spec("T x, raw T y, U u, V v", "T out"),
                {array(DType::int8), array(DType::uint8), array(DType::int8), array(DType::int8)}),
        "kernel 'saxpy': T is both int8 and uint8 (Type is mismatched.)\n"
        "    T x, raw T y, U u, V v -> T out\n"
        "    ^        ^\n"
        "    x is int8 (argument 1), y is uint8 (argument 2)\n"
        "    help: cast one of them, or give y its own variable: \"T x, raw W y, U u, V v -> T "
        "out\"");
}

TEST(Resolve, ArraysAgainstFixedTypes) {
    EXPECT_EQ(refusal(spec("float32 x", "T y"), {array(DType::float64)}),
              "kernel 'saxpy': Type is mismatched: x must be float32, argument 1 is float64\n"
              "    float32 x -> T y\n"
              "    ^\n"
              "    help: cast it, x.astype(\"float32\"), or give x a type variable: \"U x\"");
    EXPECT_EQ(refusal(spec("T x", "float32 y"), {array(DType::float64), array(DType::float64)}),
              "kernel 'saxpy': Type is mismatched: y must be float32, argument 2 is float64\n"
              "    T x -> float32 y\n"
              "           ^\n"
              "    help: give an array of float32, or leave the outputs out");
}

TEST(Resolve, NumberOfArguments) {
    const auto kernel = spec("T a, T x", "T out");
    EXPECT_EQ(refusal(kernel, {array(DType::int8)}),
              "kernel 'saxpy': Wrong number of arguments for 'saxpy': it takes 2, or 3 with the "
              "output, but 1 was "
              "given\n"
              "    T a, T x -> T out\n"
              "         ^\n"
              "    help: the first that is missing is x");
    EXPECT_EQ(refusal(kernel, std::vector(5, array(DType::int8))),
              "kernel 'saxpy': Wrong number of arguments for 'saxpy': it takes 2, or 3 with the "
              "output, but 5 were "
              "given\n"
              "    T a, T x -> T out\n"
              "    help: leave out the last 2");
    EXPECT_EQ(refusal(spec("T x", "T y, T z"), {array(DType::int8), array(DType::int8)}),
              "kernel 'saxpy': Wrong number of arguments for 'saxpy': it takes 1, or 3 with the "
              "outputs, but 2 were "
              "given\n"
              "    T x -> T y, T z\n"
              "                ^\n"
              "    help: give all 2 outputs or none");
    EXPECT_EQ(
        refusal(spec("raw T x", ""), {}),
        "kernel 'saxpy': Wrong number of arguments for 'saxpy': it takes 1, but 0 were given\n"
        "    raw T x ->\n"
        "        ^\n"
        "    help: the first that is missing is x");
}

TEST(Resolve, ScalarsWhereArraysBelong) {
    EXPECT_EQ(refusal(spec("raw T x", "T y"), {scalar()}),
              "kernel 'saxpy': raw parameter x must be an array, argument 1 is a scalar\n"
              "    raw T x -> T y\n"
              "        ^\n"
              "    help: give an array, or leave out the word raw");
    EXPECT_EQ(refusal(spec("T x", "T y"), {array(DType::int8), scalar()}),
              "kernel 'saxpy': output y must be an array, argument 2 is a scalar\n"
              "    T x -> T y\n"
              "           ^\n"
              "    help: give an array, or leave the outputs out to get new ones");
    EXPECT_EQ(refusal(spec("T x", "T y"), {missing()}), "kernel 'saxpy': input x is not given\n"
                                                        "    T x -> T y\n"
                                                        "    ^\n"
                                                        "    help: inputs are always needed");
}

TEST(Resolve, NothingDecides) {
    const auto undecided = ErrorKind::undecided;
    EXPECT_EQ(refusal(spec("T a", "T y", "fill"), {scalar(DType::int32)}, undecided),
              "kernel 'fill': nothing decides T\n"
              "    T a -> T y\n"
              "    ^      ^\n"
              "    a is a scalar (argument 1), y is not given; scalars do not decide types\n"
              "    help: give the output, or write the type: \"int32 a -> int32 y\"");
    EXPECT_EQ(refusal(spec("T x", "U y"), {array(DType::int8)}, undecided),
              "kernel 'saxpy': nothing decides U\n"
              "    T x -> U y\n"
              "           ^\n"
              "    y is not given\n"
              "    help: give the output, or write the type: \"T x -> float32 y\"");
    EXPECT_EQ(
        refusal(spec("T x, S a", "T y"), {array(DType::int8), scalar(DType::float32)}, undecided),
        "kernel 'saxpy': nothing decides S\n"
        "    T x, S a -> T y\n"
        "         ^\n"
        "    a is a scalar (argument 2); scalars do not decide types\n"
        "    help: write the type: \"T x, float32 a -> T y\"");
}

TEST(Resolve, Structures) {
    const auto signature = resolve(spec("T x, S s", "T y"),
                                   std::vector{array(DType::float32), structure("quern_struct_1")});
    EXPECT_EQ(signature.placeholders, (Placeholders{{'T', "float"}, {'S', "quern_struct_1"}}));
    ASSERT_TRUE(signature.params[1].layout);
    EXPECT_EQ(signature.params[1].layout->spelling, "quern_struct_1");
    EXPECT_FALSE(signature.params[1].is_array);
    EXPECT_FALSE(signature.params[0].layout);
    EXPECT_EQ(
        refusal(spec("S s, S t, T x", "T y"),
                {structure("quern_struct_1"), structure("quern_struct_1"), array(DType::int8)}),
        "accepted");
}

TEST(Resolve, StructuresInTheWrongPlace) {
    EXPECT_EQ(refusal(spec("float32 s, T x", "T y"), {structure("s1"), array(DType::int8)}),
              "kernel 'saxpy': Type is mismatched: s must be float32, argument 1 is a structure\n"
              "    float32 s, T x -> T y\n"
              "    ^\n"
              "    help: give s a type variable: \"U s\"");
    EXPECT_EQ(refusal(spec("S s, S t, T x", "T y"),
                      {structure("s1"), structure("s2"), array(DType::int8)}),
              "kernel 'saxpy': Type is mismatched: S is two different structures\n"
              "    S s, S t, T x -> T y\n"
              "    ^    ^\n"
              "    s is a structure (argument 1), t is a structure (argument 2)\n"
              "    help: give t a type variable: \"U t\"");
    EXPECT_EQ(refusal(spec("T s, T x", "T y"), {structure("s1"), array(DType::int8)}),
              "kernel 'saxpy': Type is mismatched: T is both an array's type and a structure\n"
              "    T s, T x -> T y\n"
              "    ^    ^\n"
              "    x is int8 (argument 2), s is a structure (argument 1)\n"
              "    help: give s a type variable: \"U s\"");
    EXPECT_EQ(refusal(spec("S s", "S y"), {structure("s1")}),
              "kernel 'saxpy': Type is mismatched: S is a structure, which y cannot be\n"
              "    S s -> S y\n"
              "    ^      ^\n"
              "    s is a structure (argument 1), y is not given\n"
              "    help: give y a type of its own; arrays of structures do not exist here");
    EXPECT_EQ(refusal(spec("S s, S a, T x", "T y"), {structure("s1"), scalar(), array(DType::int8)})
                  .substr(0, 76),
              "kernel 'saxpy': Type is mismatched: S is a structure, which a cannot be\n    ");
    EXPECT_EQ(
        refusal(spec("raw S s, T x", "T y"), {structure("s1"), array(DType::int8)}).substr(0, 75),
        "kernel 'saxpy': raw parameter s must be an array, argument 1 is a structure");
    EXPECT_EQ(refusal(spec("T x", "T y"), {array(DType::int8), structure("s1")}).substr(0, 68),
              "kernel 'saxpy': output y must be an array, argument 2 is a structure");
}

TEST(Resolve,
     ChecksComeInOrder) { // number, then kinds in order, then votes, then what is undecided
    const auto kernel = spec("raw T a, float32 x, S s", "T out");
    EXPECT_EQ(refusal(kernel, {scalar()}).substr(16, 15), "Wrong number of");
    EXPECT_EQ(refusal(kernel, {scalar(), structure("s1"), scalar()}).substr(16, 15),
              "raw parameter a");
    EXPECT_EQ(refusal(kernel, {array(DType::int8), array(DType::int8), scalar()}).substr(16, 18),
              "Type is mismatched");
    EXPECT_EQ(
        refusal(kernel, {array(DType::int8), array(DType::float32), scalar()}, ErrorKind::undecided)
            .substr(16, 17),
        "nothing decides S");
}

TEST(Resolve, EveryDtypeHasItsSpelling) {
    const auto kernel = spec("T x", "T y");
    for (const auto& entry : dtype_table) {
        const auto signature = resolve(kernel, std::vector{array(entry.id)});
        EXPECT_EQ(signature.placeholders[0].second, entry.spelling);
        EXPECT_EQ(signature.params[1].dtype, entry.id);
    }
}

} // namespace
} // namespace quern
