// Symbols as C++ spells them.
#pragma once
#include <string>
#include <string_view>

namespace quern {

// "_Z5scaleIfEvPT_" -> "void scale<float>(float*)"; any other text comes back as it is.
[[nodiscard]] std::string demangle(const std::string& symbol);

// Of a demangled function: "ns::scale<float>", and "float*, int", the text between its last
// brackets.
struct DemangledFunction {
    std::string name, params;
};
[[nodiscard]] DemangledFunction split_function(std::string_view demangled);

} // namespace quern
