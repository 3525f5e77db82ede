// The headers of a CUDA toolkit that a text begins with, read once and kept as an image upon the
// built-in one.
#pragma once
#include "compiler/host/front_end.h"
#include "compiler/host/image_record.h"
#include "compiler/host/leading.h"
#include <memory>

namespace quern::host {

inline constexpr const char* leading_path = "/quern/leading.cuh";
inline constexpr const char* leading_image_path = "/quern/leading.pch";

struct LeadingImage {
    std::string text; // the #include lines that it stands for
    ImageRecord record;
};

// Null when there is nothing to gain, when the text or the options could change what the headers
// mean, or when they do not compile by themselves: then the text is read as it is. So it is when
// nobody has made the image yet; then that is begun, in the background.
std::shared_ptr<const LeadingImage> find_leading_image(const FrontEndInput& input,
                                                       const Leading& leading,
                                                       std::string_view precompiled);

// Reads the lines into `record`, for the plainest x86-64; false, with the reason in `log`, when
// they do not compile.
bool build_leading_image(const FrontEndInput& input, const std::string& text,
                         std::string_view precompiled, ImageRecord& record, std::string& log);

} // namespace quern::host
