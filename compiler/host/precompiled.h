// The built-in headers, precompiled for a language standard, with or without the floats of two
// bytes.
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace quern::host {

struct FrontEndInput;

// Shipped, or built on first use and then shared by every thread. Empty, with the reason in `log`,
// when Clang fails on them.
std::string_view find_precompiled(const std::string& image, std::string& log);
std::string image_name(const FrontEndInput& input); // "c++17", "c++17-short"

// What the build made with this very compiler and put into the library (precompile/shipped.cmake);
// nothing in the tool that makes them.
struct ShippedImage {
    std::string_view name, bytes; // a NUL follows the bytes
};
std::span<const ShippedImage> shipped_images();

} // namespace quern::host
