// Promotion and casting as tables that a reader can check against NumPy; tests do, over all pairs.
#include "compiler/resolve/promote.h"

#include <algorithm>
#include <array>

namespace quern {
namespace {

constexpr std::size_t index_of(DType dtype) { return static_cast<std::size_t>(dtype); }

// One letter per dtype, in the order of dtype_table: NumPy's codes, and X for bfloat16, which has
// none of its own.
constexpr std::string_view letters = "?bhilBHILeXfdFD";

constexpr bool letters_match_table() {
    for (std::size_t k = 0; k < dtype_count; ++k)
        if (dtype_table[k].code != (letters[k] == 'X' ? 0 : letters[k]))
            return false;
    return letters.size() == dtype_count;
}
static_assert(letters_match_table(), "a new dtype needs a row and a column in the tables below");

using Table = std::array<std::string_view, dtype_count>;

constexpr Table promotion{
    // ?bhilBHILeXfdFD
    "?bhilBHILeXfdFD", // bool
    "bbhilhildeXfdFD", // int8
    "hhhilhildfffdFD", // int16
    "iiiiliildddddDD", // int32
    "lllllllldddddDD", // int64
    "BhhilBHILeXfdFD", // uint8
    "HiiilHHILfffdFD", // uint16
    "IllllIIILddddDD", // uint32
    "LddddLLLLddddDD", // uint64
    "eefddefddeffdFD", // float16
    "XXfddXfddfXfdFD", // bfloat16
    "fffddffddfffdFD", // float32
    "dddddddddddddDD", // float64
    "FFFDDFFDDFFFDFD", // complex64
    "DDDDDDDDDDDDDDD", // complex128
};

constexpr std::array<std::string_view, 4> weak_promotion{
    // ?bhilBHILeXfdFD
    "?bhilBHILeXfdFD", // bool
    "lbhilBHILeXfdFD", // int
    "dddddddddeffdFD", // float
    "DDDDDDDDDFFFDFD", // complex
};

// A letter where the cast is allowed.
constexpr Table safe_casts{
    // to: ?bhilBHILeXfdFD
    "?bhilBHILeXfdFD", // bool
    ".bhil....eXfdFD", // int8
    "..hil......fdFD", // int16
    "...il.......d.D", // int32
    "....l.......d.D", // int64
    "..hilBHILeXfdFD", // uint8
    "...il.HIL..fdFD", // uint16
    "....l..IL...d.D", // uint32
    "........L...d.D", // uint64
    ".........e.fdFD", // float16
    "..........XfdFD", // bfloat16
    "...........fdFD", // float32
    "............d.D", // float64
    ".............FD", // complex64
    "..............D", // complex128
};

// ml_dtypes lets complex values go to bfloat16 as the same kind; so do we, rather than differ.
constexpr Table same_kind_casts{
    // to: ?bhilBHILeXfdFD
    "?bhilBHILeXfdFD", // bool
    ".bhil....eXfdFD", // int8
    ".bhil....eXfdFD", // int16
    ".bhil....eXfdFD", // int32
    ".bhil....eXfdFD", // int64
    ".bhilBHILeXfdFD", // uint8
    ".bhilBHILeXfdFD", // uint16
    ".bhilBHILeXfdFD", // uint32
    ".bhilBHILeXfdFD", // uint64
    ".........eXfdFD", // float16
    "..........XfdFD", // bfloat16
    ".........eXfdFD", // float32
    ".........eXfdFD", // float64
    "..........X..FD", // complex64
    "..........X..FD", // complex128
};

constexpr bool is_symmetric(const Table& table) {
    for (std::size_t a = 0; a < dtype_count; ++a)
        for (std::size_t b = 0; b < dtype_count; ++b)
            if (table[a][b] != table[b][a])
                return false;
    return true;
}
static_assert(is_symmetric(promotion));

constexpr DType dtype_of(char letter) { return static_cast<DType>(letters.find(letter)); }

} // namespace

DType result_type(DType a, DType b) noexcept {
    return dtype_of(promotion[index_of(a)][index_of(b)]);
}

DType result_type(std::span<const DType> dtypes) noexcept {
    const auto higher = [](DType a, DType b) { return row(a).kind < row(b).kind; };
    DType joined = *std::ranges::max_element(dtypes, higher);
    for (const DType dtype : dtypes)
        joined = result_type(joined, dtype);
    return joined;
}

DType result_type(DType array, WeakScalar scalar) noexcept {
    return dtype_of(weak_promotion[static_cast<std::size_t>(scalar)][index_of(array)]);
}

DType default_dtype(WeakScalar scalar) noexcept {
    static constexpr std::array defaults{DType::boolean, DType::int64, DType::float64,
                                         DType::complex128};
    return defaults[static_cast<std::size_t>(scalar)];
}

std::optional<Casting> find_casting(std::string_view name) noexcept {
    static constexpr std::array<std::string_view, 5> names{"no", "equiv", "safe", "same_kind",
                                                           "unsafe"};
    for (std::size_t k = 0; k < names.size(); ++k)
        if (names[k] == name)
            return static_cast<Casting>(k);
    return std::nullopt;
}

bool can_cast(DType from, DType to, Casting casting) noexcept {
    switch (casting) {
    case Casting::no:
    case Casting::equiv:
        return from == to; // every dtype here is of the machine's byte order
    case Casting::safe:
        return safe_casts[index_of(from)][index_of(to)] != '.';
    case Casting::same_kind:
        return same_kind_casts[index_of(from)][index_of(to)] != '.';
    case Casting::unsafe:
        return true;
    }
    return false;
}

} // namespace quern
