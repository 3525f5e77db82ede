// A NumPy structured dtype as a C++ struct with exactly its offsets, for structured scalars passed
// by value.
#pragma once
#include "compiler/base/dtype.h"
#include "compiler/resolve/signature.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace quern {

struct StructField {
    std::string name;
    std::uint32_t offset_bytes = 0;
    DType dtype = DType::float32;               // meaningful without `nested`
    std::shared_ptr<const StructLayout> nested; // a field that is a structure itself
    std::vector<std::uint32_t> extents;         // of a sub-array field; empty: one element
};

struct StructFields {
    std::vector<StructField> fields; // in any order
    std::uint32_t itemsize_bytes = 0;
    std::uint32_t alignment = 1; // as NumPy says; 1 for a packed dtype
};

// The C++ struct has NumPy's size and offsets; static_asserts in its text hold that. Gaps become
// named char members. A field at an offset that C++ cannot align (packed dtypes; complex in aligned
// ones) is held as bytes and converts to and from its type by itself: `float v = s.x; s.x = v;`
// work, `auto` and references do not see through it. Structs of equal content have equal spelling.
// Throws TypeError: overlapping fields, a name that is no C++ name, a nested structure out of line,
// a field past the end, no field at all.
[[nodiscard]] std::shared_ptr<const StructLayout>
make_struct_layout(const StructFields& description);

} // namespace quern
