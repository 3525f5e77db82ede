// An image as it is kept outside of the process: with what was read to make it.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace quern::host {

struct ImageRecord {
    struct File {
        std::string path;
        std::uint64_t hash = 0;
    };
    std::vector<File> files;          // on disk, that the image took in
    std::vector<std::uint64_t> words; // hashes of the identifiers that it met, in order
    std::string image;                // Clang's
};

std::uint64_t hash_of(std::string_view text);
std::string encode_record(const ImageRecord& record);
bool decode_record(std::string_view bytes, ImageRecord& record); // false unless whole

} // namespace quern::host
