// Symbols as C++ spells them, taken apart.
#include "compiler/base/demangle.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

TEST(Demangle, NamesAndParameters) {
    const auto split = [](const char* symbol) { return split_function(demangle(symbol)); };
    EXPECT_EQ(demangle("plain"), "plain");
    EXPECT_EQ(split("plain").name, "plain");
    EXPECT_EQ(split("_Z5twicePf").name, "twice");
    EXPECT_EQ(split("_Z5twicePf").params, "float*");
    EXPECT_EQ(split("_Z5scaleIfLi4EEvPT_i").name, "scale<float, 4>");
    EXPECT_EQ(split("_Z5scaleIfLi4EEvPT_i").params, "float*, int");
    EXPECT_EQ(split("_ZN5inner5minusEPf").name, "inner::minus");
    EXPECT_EQ(split_function("void run<void (*)(int)>(void (*)(int), float)").params,
              "void (*)(int), float");
    EXPECT_EQ(split_function("void run<void (*)(int)>(void (*)(int), float)").name,
              "run<void (*)(int)>");
    EXPECT_EQ(demangle("_Znonsense"), "_Znonsense");
}

} // namespace
} // namespace quern
