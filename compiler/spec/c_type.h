// A C++ type as a kernel's parameter list spells it: what a value of it is, or what a pointer
// points at. What the text does not tell for sure is `unknown`, never guessed.
#pragma once
#include "compiler/base/dtype.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace quern {

struct CType {
    enum class Kind : std::uint8_t {
        unknown, // typedefs that were not found, template parameters, structs, enums
        boolean,
        character, // plain char
        signed_integer,
        unsigned_integer,
        floating,
        bfloat16,
        complex, // of two parts
        vector,  // float4 and its like: one or more parts
        texture, // cudaTextureObject_t
        surface, // cudaSurfaceObject_t
    };
    bool pointer = false; // then the rest tells what it points at
    Kind kind = Kind::unknown;
    std::uint32_t bytes = 0;   // 0: not known
    Kind part = Kind::unknown; // of a complex or a vector
    std::uint32_t part_bytes = 0;

    friend bool operator==(const CType&, const CType&) = default;
};

// Names that stand for other types in a program: typedefs, `using` and simple macros. A name that
// the program defines in two ways stands for "".
using TypeAliases = std::map<std::string, std::string, std::less<>>;

// "const float* __restrict__", "unsigned int", "thrust::complex<double>*", "float (*)[16]"
[[nodiscard]] CType read_c_type(std::string_view text, const TypeAliases& aliases = {});

// May an array of `dtype` be what such a pointer points at? Yes, unless the widths or the kinds of
// numbers cannot fit: float* takes float32 and complex64, never float64 or int32.
[[nodiscard]] bool points_at(const CType& pointer, DType dtype) noexcept;

} // namespace quern
