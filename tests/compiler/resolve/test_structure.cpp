// Layouts of structured dtypes: golden text, refusals, and a C++ compiler as the judge of offsets
// and sizes.
#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "compiler/resolve/structure.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace quern {
namespace {

StructField field(std::string name, std::uint32_t offset, DType dtype,
                  std::vector<std::uint32_t> extents = {}) {
    return {std::move(name), offset, dtype, nullptr, std::move(extents)};
}
StructField nested(std::string name, std::uint32_t offset,
                   std::shared_ptr<const StructLayout> layout,
                   std::vector<std::uint32_t> extents = {}) {
    return {std::move(name), offset, DType::float32, std::move(layout), std::move(extents)};
}
std::string refusal(const StructFields& description) {
    try {
        (void)make_struct_layout(description);
    } catch (const TypeError& error) {
        return error.what();
    }
    return "accepted";
}

// np.dtype([('x', 'f4'), ('n', 'i1'), ('v', 'f8', (2, 3))], align=True)
StructFields aligned() {
    return {{field("x", 0, DType::float32), field("n", 4, DType::int8),
             field("v", 8, DType::float64, {2, 3})},
            56,
            8};
}
// np.dtype([('n', 'i1'), ('x', 'f4'), ('c', 'c8')])
StructFields packed() {
    return {{field("n", 0, DType::int8), field("x", 1, DType::float32),
             field("c", 5, DType::complex64)},
            13,
            1};
}

std::string with_name(const StructLayout& layout, std::string_view name) {
    std::string text = layout.definition;
    for (auto at = text.find(layout.spelling); at != std::string::npos;
         at = text.find(layout.spelling))
        text.replace(at, layout.spelling.size(), name);
    return text;
}

TEST(Structure, Aligned) {
    const auto layout = make_struct_layout(aligned());
    EXPECT_EQ(layout->bytes, 56u);
    EXPECT_EQ(layout->alignment, 8u);
    EXPECT_TRUE(layout->headers.empty());
    EXPECT_EQ(layout->spelling.substr(0, 13), "quern_struct_");
    EXPECT_EQ(layout->spelling.size(), 29u);
    EXPECT_EQ(with_name(*layout, "NAME"), "struct alignas(8) NAME {\n"
                                          "    float x;\n"
                                          "    signed char n;\n"
                                          "    unsigned char quern_pad_0[3];\n"
                                          "    double v[2][3];\n"
                                          "};\n"
                                          "static_assert(sizeof(NAME) == 56, \"size\");\n"
                                          "static_assert(offsetof(NAME, x) == 0, \"offset\");\n"
                                          "static_assert(offsetof(NAME, n) == 4, \"offset\");\n"
                                          "static_assert(offsetof(NAME, v) == 8, \"offset\");\n");
}

TEST(Structure, PackedFieldsAreHeldAsBytes) {
    const auto layout = make_struct_layout(packed());
    EXPECT_EQ(layout->alignment, 1u);
    EXPECT_EQ(layout->headers, std::vector<std::string>{"quern/complex.cuh"});
    EXPECT_NE(layout->definition.find("    quern_unaligned<float> x;\n"), std::string::npos);
    EXPECT_NE(layout->definition.find("    signed char n;\n"), std::string::npos);
}

TEST(Structure,
     PackedButNaturalIsPlain) { // np.dtype([('x', 'f4'), ('y', 'f4')]), alignment 1 to NumPy
    const auto layout =
        make_struct_layout({{field("x", 0, DType::float32), field("y", 4, DType::float32)}, 8, 1});
    EXPECT_EQ(layout->alignment, 4u);
    EXPECT_EQ(layout->definition.find("unaligned"), std::string::npos);
}

TEST(Structure, SpellingFollowsContent) {
    const auto spelling = make_struct_layout(aligned())->spelling;
    EXPECT_EQ(make_struct_layout(aligned())->spelling, spelling);
    auto shuffled = aligned();
    std::swap(shuffled.fields[0], shuffled.fields[2]);
    EXPECT_EQ(make_struct_layout(shuffled)->spelling, spelling);
    auto renamed = aligned();
    renamed.fields[0].name = "y";
    EXPECT_NE(make_struct_layout(renamed)->spelling, spelling);
    auto longer = aligned();
    longer.itemsize_bytes = 64;
    EXPECT_NE(make_struct_layout(longer)->spelling, spelling);
    auto retyped = aligned();
    retyped.fields[0].dtype = DType::int32;
    EXPECT_NE(make_struct_layout(retyped)->spelling, spelling);
}

TEST(Structure, Refusals) {
    EXPECT_EQ(refusal({{}, 8, 1}), "structured dtype: it has no fields\n"
                                   "    help: give it one, or pass the bytes as an array of uint8");
    EXPECT_EQ(refusal({{field("x", 0, DType::float32), field("y", 2, DType::float32)}, 8, 1}),
              "structured dtype: fields 'x' and 'y' overlap\n"
              "    help: pass one of the views; a C++ struct holds each byte once");
    EXPECT_EQ(refusal({{field("x", 0, DType::float64)}, 4, 1}),
              "structured dtype: field 'x' ends at byte 8 of 4\n"
              "    help: make the itemsize larger");
    EXPECT_EQ(refusal({{field("class", 0, DType::float64)}, 8, 1}),
              "structured dtype: field 'class' cannot be a member of a C++ struct\n"
              "    help: rename it: letters, digits and _, not a word of C++, not beginning with "
              "__ or quern_");
    EXPECT_EQ(refusal({{field("a b", 0, DType::float64)}, 8, 1}).substr(0, 23),
              "structured dtype: field");
    EXPECT_EQ(refusal({{field("x", 0, DType::int8, {0})}, 8, 1}),
              "structured dtype: field 'x' is empty\n"
              "    help: leave it out");
    EXPECT_EQ(refusal({{field("x", 0, DType::int8), field("x", 1, DType::int8)}, 8, 1}),
              "structured dtype: two fields are called 'x'\n"
              "    help: rename one of them");
    const auto inner = make_struct_layout({{field("v", 0, DType::float64)}, 8, 8});
    EXPECT_EQ(
        refusal({{nested("s", 4, inner)}, 12, 1}),
        "structured dtype: the structure in field 's' lies at byte 4, but needs a multiple of 8\n"
        "    help: make the dtypes with align=True");
}

TEST(Structure, ACompilerAgrees) {
    if (std::system("c++ --version > /dev/null 2>&1") != 0)
        GTEST_SKIP() << "no c++ on this machine";
    const auto inner = make_struct_layout(packed());
    const auto outer = make_struct_layout(
        {{nested("first", 3, inner, {2}), field("k", 32, DType::int64), nested("second", 40, inner),
          field("z", 56, DType::complex128), field("flags", 72, DType::boolean, {5})},
         80,
         8});
    const auto wide =
        make_struct_layout({{field("z", 16, DType::complex128), nested("o", 32, outer)}, 112, 16});
    const auto folder = std::filesystem::path(testing::TempDir());
    const auto file = folder / join("quern_structure_", ::getpid(), ".cpp");
    std::ofstream source(file);
    source << "#include <cstddef>\n#define __device__\n"
              "template <class T> struct alignas(2 * sizeof(T)) complex { T real, imag; };\n"
           << make_struct_layout(aligned())->definition << inner->definition << outer->definition
           << wide->definition << "float use(" << inner->spelling << "& s, " << wide->spelling
           << "& w) { s.x = 2.5f; s.c = complex<float>{1, 2}; w.o.first[1].x = s.x; return s.x * 2 "
              "+ w.o.second.x; }\n"
           << "static_assert(__is_trivially_copyable(" << wide->spelling << "));\n";
    source.close();
    const auto command = join("c++ -std=c++17 -Wall -Werror -fsyntax-only ", file.string());
    EXPECT_EQ(std::system(command.c_str()), 0) << wide->definition;
    std::filesystem::remove(file);
}

} // namespace
} // namespace quern
