// The dtype table: every element type quern knows, once. A new dtype is one row here.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace quern {

enum class DType : std::uint8_t {
    boolean,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
    float16,
    bfloat16,
    float32,
    float64,
    complex64,
    complex128,
};
inline constexpr std::size_t dtype_count = 15;

enum class Kind : std::uint8_t { boolean, signed_integer, unsigned_integer, floating, complex };

struct DTypeRow {
    DType id;
    std::string_view name; // NumPy's name
    char code; // NumPy's one-letter code; bfloat16 has none of its own ('V' in ml_dtypes): 0
    std::uint8_t bytes; // size and alignment of one element
    Kind kind;
    std::string_view spelling; // in CUDA C++
    std::string_view header;   // prelude piece that defines the spelling, or ""
};

// clang-format off
inline constexpr std::array<DTypeRow, dtype_count> dtype_table{{
    // id                name       code bytes kind                    CUDA C++              prelude piece
    {DType::boolean,    "bool",       '?', 1,  Kind::boolean,          "bool",               ""},
    {DType::int8,       "int8",       'b', 1,  Kind::signed_integer,   "signed char",        ""},
    {DType::int16,      "int16",      'h', 2,  Kind::signed_integer,   "short",              ""},
    {DType::int32,      "int32",      'i', 4,  Kind::signed_integer,   "int",                ""},
    {DType::int64,      "int64",      'l', 8,  Kind::signed_integer,   "long long",          ""},
    {DType::uint8,      "uint8",      'B', 1,  Kind::unsigned_integer, "unsigned char",      ""},
    {DType::uint16,     "uint16",     'H', 2,  Kind::unsigned_integer, "unsigned short",     ""},
    {DType::uint32,     "uint32",     'I', 4,  Kind::unsigned_integer, "unsigned int",       ""},
    {DType::uint64,     "uint64",     'L', 8,  Kind::unsigned_integer, "unsigned long long", ""},
    {DType::float16,    "float16",    'e', 2,  Kind::floating,         "float16",            "quern/half.cuh"},
    {DType::bfloat16,   "bfloat16",   0,   2,  Kind::floating,         "bfloat16",           "quern/bfloat16.cuh"},
    {DType::float32,    "float32",    'f', 4,  Kind::floating,         "float",              ""},
    {DType::float64,    "float64",    'd', 8,  Kind::floating,         "double",             ""},
    {DType::complex64,  "complex64",  'F', 8,  Kind::complex,          "complex<float>",     "quern/complex.cuh"},
    {DType::complex128, "complex128", 'D', 16, Kind::complex,          "complex<double>",    "quern/complex.cuh"},
}};
// clang-format on

constexpr bool rows_match_ids(const std::array<DTypeRow, dtype_count>& table) {
    for (std::size_t k = 0; k < table.size(); ++k)
        if (static_cast<std::size_t>(table[k].id) != k)
            return false;
    return true;
}
static_assert(rows_match_ids(dtype_table), "a dtype row stands in the wrong place");

[[nodiscard]] constexpr const DTypeRow& row(DType dtype) {
    return dtype_table[static_cast<std::size_t>(dtype)];
}
[[nodiscard]] constexpr std::size_t bytes_of(DType dtype) { return row(dtype).bytes; }

// Find a dtype by any of NumPy's spellings: "float32", "f4", "single", "int", "half", "<f4"...
[[nodiscard]] std::optional<DType> find_dtype(std::string_view spelling) noexcept;

} // namespace quern
