// Every spelling that numpy.dtype() takes for our types, and the near misses that it refuses
// (checked against NumPy 2.4).
#include "compiler/base/dtype.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace quern {
namespace {

TEST(FindDtype, NamesAndCodesOfTheTable) {
    for (const DTypeRow& known : dtype_table) {
        EXPECT_EQ(find_dtype(known.name), known.id) << known.name;
        if (known.code != 0) {
            EXPECT_EQ(find_dtype(std::string(1, known.code)), known.id);
            EXPECT_EQ(find_dtype(std::string("<") + known.code), known.id);
        }
    }
}

TEST(FindDtype, OtherSpellings) {
    const std::vector<std::pair<DType, std::vector<const char*>>> spellings{
        {DType::boolean, {"bool_", "b1", "|b1", "<b1", "=?"}},
        {DType::int8, {"byte", "i1", "|i1"}},
        {DType::int16, {"short", "i2", "<i2"}},
        {DType::int32, {"intc", "i4", "<i4", "=i4", "|i4"}},
        {DType::int64,
         {"int", "int_", "long", "longlong", "intp", "i8", "q", "p", "n", "=q", "<i8"}},
        {DType::uint8, {"ubyte", "u1"}},
        {DType::uint16, {"ushort", "u2"}},
        {DType::uint32, {"uintc", "u4"}},
        {DType::uint64, {"uint", "ulong", "ulonglong", "uintp", "u8", "Q", "P", "N"}},
        {DType::float16, {"half", "f2", "<f2"}},
        {DType::float32, {"single", "f4", "<f4", "=f4", "=f"}},
        {DType::float64, {"double", "float", "f8", "<f8"}},
        {DType::complex64, {"csingle", "c8", "<c8"}},
        {DType::complex128, {"cdouble", "complex", "c16", "=c16"}},
    };
    for (const auto& [dtype, texts] : spellings)
        for (const char* text : texts)
            EXPECT_EQ(find_dtype(text), dtype) << text;
}

TEST(FindDtype, Refused) {
    for (const char* text :
         {"", "<", ">f4", ">i8", "!f4", "g", "G", "O", "S", "U", "V", "c", "M", "m", "E", "x"})
        EXPECT_FALSE(find_dtype(text).has_value()) << text;
    for (const char* text :
         {"float_", "complex_", "bool8", "cfloat", "longdouble", "float128", "Float32", " f4",
          "f4 ", "<int32", "=float", "<bfloat16", "i3", "f16", "c4", "L8", "1f4", "f4,f4", "bf16"})
        EXPECT_FALSE(find_dtype(text).has_value()) << text;
    EXPECT_FALSE(find_dtype(std::string_view("\0", 1)).has_value()) << "bfloat16 has no code";
}

} // namespace
} // namespace quern
