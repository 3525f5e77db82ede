// Build tool: writes the built-in headers, precompiled, to a file that the library then takes in.
// `quern_cc_precompile c++17 FILE`, or c++17-short
#include "compiler/host/precompiled.h"
#include <cstdio>
#include <fstream>

namespace quern::host {
std::span<const ShippedImage> shipped_images() { return {}; }
} // namespace quern::host

int main(int count, char** words) {
    if (count != 3)
        return 2;
    std::string log;
    const auto image = quern::host::find_precompiled(words[1], log);
    std::ofstream file(words[2], std::ios::binary);
    file.write(image.data(), static_cast<std::streamsize>(image.size()));
    file.close();
    std::fputs(log.c_str(), stderr);
    return image.empty() || !file ? 1 : 0;
}
