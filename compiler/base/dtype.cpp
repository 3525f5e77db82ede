// Every spelling of a dtype that numpy.dtype() takes on 64-bit Linux (NumPy 2) for our types.
#include "compiler/base/dtype.h"

#include <utility>

namespace quern {
namespace {

using Spelling = std::pair<std::string_view, DType>;

// C names and Python names; the table's own names come first and are not repeated here.
constexpr Spelling long_names[]{
    {"bool_", DType::boolean},      {"byte", DType::int8},          {"short", DType::int16},
    {"intc", DType::int32},         {"int", DType::int64},          {"int_", DType::int64},
    {"long", DType::int64},         {"longlong", DType::int64},     {"intp", DType::int64},
    {"ubyte", DType::uint8},        {"ushort", DType::uint16},      {"uintc", DType::uint32},
    {"uint", DType::uint64},        {"ulong", DType::uint64},       {"ulonglong", DType::uint64},
    {"uintp", DType::uint64},       {"half", DType::float16},       {"single", DType::float32},
    {"float", DType::float64},      {"double", DType::float64},     {"csingle", DType::complex64},
    {"cdouble", DType::complex128}, {"complex", DType::complex128},
};

// May follow a byte order mark. "l" and "L" are the table's own codes.
constexpr Spelling short_codes[]{
    {"q", DType::int64},      {"p", DType::int64},        {"n", DType::int64},
    {"Q", DType::uint64},     {"P", DType::uint64},       {"N", DType::uint64},
    {"b1", DType::boolean},   {"i1", DType::int8},        {"i2", DType::int16},
    {"i4", DType::int32},     {"i8", DType::int64},       {"u1", DType::uint8},
    {"u2", DType::uint16},    {"u4", DType::uint32},      {"u8", DType::uint64},
    {"f2", DType::float16},   {"f4", DType::float32},     {"f8", DType::float64},
    {"c8", DType::complex64}, {"c16", DType::complex128},
};

} // namespace

std::optional<DType> find_dtype(std::string_view spelling) noexcept {
    if (spelling.empty())
        return std::nullopt;
    const bool marked = std::string_view("<=|").find(spelling.front()) != std::string_view::npos;
    if (marked)
        spelling.remove_prefix(1);
    if (spelling.size() == 1)
        for (const DTypeRow& known : dtype_table)
            if (known.code == spelling.front() && known.code != 0)
                return known.id;
    for (const auto& [text, dtype] : short_codes)
        if (text == spelling)
            return dtype;
    if (marked)
        return std::nullopt; // NumPy: a byte order goes with codes, not with names
    for (const DTypeRow& known : dtype_table)
        if (known.name == spelling)
            return known.id;
    for (const auto& [text, dtype] : long_names)
        if (text == spelling)
            return dtype;
    return std::nullopt;
}

} // namespace quern
