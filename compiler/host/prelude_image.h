// The headers that generated kernels begin with, as an image upon the built-in one: shipped, so
// that a process's first kernels need not read them.
#pragma once
#include "compiler/host/leading_image.h"

namespace quern::host {

inline constexpr std::string_view prelude_image_name = "prelude"; // among shipped_images()

// Whether these are the files that the image was made of.
bool are_the_prelude(std::span<const SourceFile> headers);

// Null where the text includes anything else, or where what is handed along is not what the image
// was made of.
std::shared_ptr<const LeadingImage> find_prelude_image(const FrontEndInput& input,
                                                       const Leading& leading);

// For the build: of all that kernels may be handed along. Empty, with the reason in `log`,
// when Clang fails on them.
std::string make_prelude_image(std::span<const SourceFile> pieces, std::string& log);

} // namespace quern::host
