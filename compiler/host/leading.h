// What a text begins with, before its first declaration: which headers it includes there, and the
// same text without those lines.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace quern::host {

struct Leading {
    std::vector<std::string> includes; // "<curand_kernel.h>", each as it was written
    std::vector<std::string> macros; // names that are defined or undefined before the last of them
    std::string rest;                // the text with those lines empty: lines keep their numbers
};

// Reads blanks, comments, #include of a literal name, #define and #undef, and stops at anything
// else.
Leading read_leading(std::string_view text);

// The names of the #define and #undef lines of options; false when there is anything else.
bool read_macros(std::string_view preamble, std::vector<std::string>& names);

} // namespace quern::host
