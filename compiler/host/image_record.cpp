// See image_record.h. Numbers are those of this machine; a hash over all of it stands in front.
#include "compiler/host/image_record.h"
#include <cstring>
#include <llvm/Support/xxhash.h>

namespace quern::host {
namespace {

constexpr std::string_view mark = "QUERNPCH";

void put(std::string& bytes, std::uint64_t number) {
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

void put(std::string& bytes, std::string_view text) {
    put(bytes, std::uint64_t{text.size()});
    bytes.append(text);
}

// Takes from the front; what is too short leaves `whole` false.
struct Reader {
    std::string_view rest;
    bool whole = true;

    std::string_view take(std::uint64_t size) {
        whole = whole && size <= rest.size();
        if (!whole)
            return {};
        const auto taken = rest.substr(0, size);
        rest.remove_prefix(size);
        return taken;
    }
    std::uint64_t number() {
        std::uint64_t value = 0;
        const auto bytes = take(sizeof value);
        if (whole)
            std::memcpy(&value, bytes.data(), sizeof value);
        return value;
    }
    std::string_view text() { return take(number()); }
};

} // namespace

std::uint64_t hash_of(std::string_view text) { return llvm::xxh3_64bits(llvm::StringRef(text)); }

std::string encode_record(const ImageRecord& record) {
    std::string body;
    put(body, std::uint64_t{record.files.size()});
    for (const auto& file : record.files) {
        put(body, file.path);
        put(body, file.hash);
    }
    put(body, std::string_view(reinterpret_cast<const char*>(record.words.data()),
                               record.words.size() * sizeof record.words[0]));
    put(body, record.image);
    std::string bytes(mark);
    put(bytes, hash_of(body));
    return bytes + body;
}

bool decode_record(std::string_view bytes, ImageRecord& record) {
    Reader reader{bytes};
    if (reader.take(mark.size()) != mark || reader.number() != hash_of(reader.rest))
        return false;
    record = {};
    for (auto count = reader.number(); count > 0 && reader.whole; --count) {
        auto& file = record.files.emplace_back();
        file.path = reader.text();
        file.hash = reader.number();
    }
    const auto words = reader.text();
    record.words.resize(words.size() / sizeof record.words[0]);
    std::memcpy(record.words.data(), words.data(), record.words.size() * sizeof record.words[0]);
    record.image = reader.text();
    return reader.whole;
}

} // namespace quern::host
