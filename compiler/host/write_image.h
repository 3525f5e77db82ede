// Clang's tree of a text, written down for others to begin with: a precompiled image.
#pragma once
#include <string>

namespace clang {
class CompilerInstance;
}

namespace quern::host {

// Of what an opened session reads. False when it does not compile, or when an image would not hold
// all that Clang has to say about it.
bool write_image(clang::CompilerInstance& instance, std::string& image);

} // namespace quern::host
