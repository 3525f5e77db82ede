// The constructor's checks and what a spec carries.
#include "compiler/base/error.h"
#include "compiler/spec/kernel_spec.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

ElementwiseText text(std::string_view in, std::string_view out, std::string_view operation,
                     std::string_view name = "saxpy") {
    ElementwiseText made;
    made.in_params = in;
    made.out_params = out;
    made.operation = operation;
    made.name = name;
    return made;
}

std::string refusal(const ElementwiseText& made) {
    try {
        (void)make_elementwise_spec(made);
    } catch (const SpecError& error) {
        EXPECT_EQ(error.kind(), ErrorKind::spec);
        return error.what();
    }
    return "accepted";
}

TEST(KernelSpec, CarriesEverything) {
    auto made = text("T a, T x", "T out, int32 flag", "out = a * x; flag = i");
    made.preamble = "// none";
    made.loop_prep = "int k = 0";
    made.after_loop = "k++";
    made.reduce_dims = false;
    made.no_return = made.return_tuple = true;
    made.options = {"-lineinfo"};
    made.origin = "script.py:12";
    const auto spec = make_elementwise_spec(made);
    EXPECT_EQ(spec.name, "saxpy");
    EXPECT_EQ(spec.nin, 2);
    EXPECT_EQ(spec.nout, 2);
    ASSERT_EQ(spec.params.size(), 4u);
    EXPECT_FALSE(spec.params[1].output);
    EXPECT_TRUE(spec.params[2].output);
    EXPECT_EQ(spec.params[3].dtype, DType::int32);
    EXPECT_EQ(spec.in_params, "T a, T x");
    EXPECT_EQ(spec.out_params, "T out, int32 flag");
    EXPECT_EQ(spec.operation, "out = a * x; flag = i");
    EXPECT_EQ(spec.preamble, "// none");
    EXPECT_EQ(spec.loop_prep, "int k = 0");
    EXPECT_EQ(spec.after_loop, "k++");
    EXPECT_FALSE(spec.reduce_dims);
    EXPECT_TRUE(spec.no_return);
    EXPECT_TRUE(spec.return_tuple);
    EXPECT_EQ(spec.options, std::vector<std::string>{"-lineinfo"});
    EXPECT_EQ(spec.origin, "script.py:12");
    EXPECT_TRUE(spec.facts.uses_i);
    EXPECT_EQ(spec.facts.assigned_first, 0b1100u);
}

TEST(KernelSpec, Names) {
    EXPECT_EQ(refusal(text("T x", "T y", "", "1abc")),
              "Invalid kernel name: \"1abc\"\n"
              "    help: a name is letters, digits and _, and does not begin with a digit");
    EXPECT_EQ(refusal(text("T x", "T y", "", "")),
              "Invalid kernel name: \"\"\n"
              "    help: a name is letters, digits and _, and does not begin with a digit");
    EXPECT_EQ(refusal(text("T x", "T y", "", "while")),
              "Invalid kernel name: \"while\"\n"
              "    help: it is a word of C++; choose another name");
    EXPECT_EQ(refusal(text("T x", "T y", "", "a b")).substr(0, 26), "Invalid kernel name: \"a b\"");
    EXPECT_EQ(refusal(text("T x", "T y", "", "_k9")), "accepted");
}

TEST(KernelSpec, NoParameterAtAll) {
    EXPECT_EQ(refusal(text("", " ", "")), "kernel 'saxpy': both parameter lists are empty\n"
                                          "    help: a kernel needs a parameter to work on, "
                                          "ElementwiseKernel(\"T x\", \"T y\", \"y = x\") "
                                          "for example");
    EXPECT_EQ(refusal(text("", "T y", "")), "accepted");
    EXPECT_EQ(refusal(text("T x", "", "")), "accepted");
}

TEST(KernelSpec, Carets) {
    const auto spec = make_elementwise_spec(text("T a, T x,\n raw T y", "T out", ""));
    EXPECT_EQ(params_with_carets(spec, {}), "    T a, T x,  raw T y -> T out");
    EXPECT_EQ(params_with_carets(spec, {1, 3}), "    T a, T x,  raw T y -> T out\n"
                                                "         ^                ^");
    EXPECT_EQ(params_with_carets(spec, {2, 0}), "    T a, T x,  raw T y -> T out\n"
                                                "    ^              ^");
    const auto no_output = make_elementwise_spec(text("raw T x", "", ""));
    EXPECT_EQ(params_with_carets(no_output, {0}), "    raw T x ->\n"
                                                  "        ^");
    const auto no_input = make_elementwise_spec(text("", "T y", ""));
    EXPECT_EQ(params_with_carets(no_input, {0}), "     -> T y\n"
                                                 "        ^");
}

} // namespace
} // namespace quern
