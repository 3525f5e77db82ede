// Build tool: writes the built-in headers, precompiled, to a file that the library then takes in.
// `quern_cc_precompile c++17 FILE`, or c++17-short, or `prelude FILE FOLDER` of the prelude's
// files.
#include "compiler/host/precompiled.h"
#include "compiler/host/prelude_image.h"
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

namespace quern::host {
std::span<const ShippedImage> shipped_images() { return {}; }

namespace {

// By the names that kernels know the files by: quern/half.cuh, stdint.h.
std::string make_prelude(const std::filesystem::path& folder, std::string& log) {
    std::map<std::string, std::string> texts;
    for (const char* part : {"quern", "standard"})
        for (const auto& entry : std::filesystem::recursive_directory_iterator(folder / part)) {
            if (!entry.is_regular_file())
                continue;
            const auto from = part == std::string_view("quern") ? folder : folder / part;
            std::ifstream file(entry.path(), std::ios::binary);
            texts[std::filesystem::relative(entry.path(), from).string()] =
                std::string(std::istreambuf_iterator<char>(file), {});
        }
    std::vector<SourceFile> pieces;
    for (const auto& [name, text] : texts)
        pieces.push_back({name, text});
    return make_prelude_image(pieces, log);
}

} // namespace
} // namespace quern::host

int main(int count, char** words) {
    if (count < 3)
        return 2;
    std::string log;
    const bool of_prelude = words[1] == quern::host::prelude_image_name && count == 4;
    const std::string made = of_prelude ? quern::host::make_prelude(words[3], log) : "";
    const auto image = of_prelude ? made : quern::host::find_precompiled(words[1], log);
    std::ofstream file(words[2], std::ios::binary);
    file.write(image.data(), static_cast<std::streamsize>(image.size()));
    file.close();
    std::fputs(log.c_str(), stderr);
    return image.empty() || !file ? 1 : 0;
}
