// Encoding and decoding of cache entries. Reading trusts no length before the checksum over all
// bytes has been found right.
#include "compiler/cache/entry.h"

#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace quern {
namespace {

struct Header {
    std::array<char, 8> magic{'Q', 'U', 'E', 'R', 'N', 'B', 'I', 'N'};
    std::uint32_t format = entry_format;
    std::uint32_t name_count = 0;
    Digest key;
    std::uint64_t payload_bytes = 0;
    double toolchain_ms = 0;
    Digest checksum; // of all the bytes before this field and all after it
};
static_assert(std::is_trivially_copyable_v<Header> && sizeof(Header) == 64,
              "the header goes to disk as it is");

Digest checksum_of(std::span<const std::byte> entry) {
    const std::string_view text(reinterpret_cast<const char*>(entry.data()), entry.size());
    return Hasher()
        .add(text.substr(0, offsetof(Header, checksum)))
        .add(text.substr(sizeof(Header)))
        .digest();
}

class Writer {
  public:
    explicit Writer(std::size_t expected) {
        bytes_.reserve(expected);
        bytes_.resize(sizeof(Header));
    }
    void add(const void* data, std::uint64_t size) {
        append(&size, sizeof size);
        append(data, size);
    }
    void add(std::string_view text) { add(text.data(), text.size()); }
    std::vector<std::byte> bytes_;

  private:
    void append(const void* data, std::size_t size) {
        const auto* from = static_cast<const std::byte*>(data);
        bytes_.insert(bytes_.end(), from, from + size);
    }
};

struct Reader {
    std::span<const std::byte> rest;
    bool good = true;

    std::span<const std::byte> take(std::uint64_t size) {
        good = good && size <= rest.size();
        if (!good)
            return {};
        const auto piece = rest.first(size);
        rest = rest.subspan(size);
        return piece;
    }
    std::span<const std::byte> field() {
        std::uint64_t size = 0;
        const auto piece = take(sizeof size);
        if (good)
            std::memcpy(&size, piece.data(), sizeof size);
        return take(size);
    }
    std::string text() {
        const auto piece = field();
        return {reinterpret_cast<const char*>(piece.data()), piece.size()};
    }
};

} // namespace

std::vector<std::byte> encode_entry(const Digest& key, const Binary& binary) {
    Writer writer(binary.image.size() + binary.log.size() + 1024);
    for (const auto& [expression, lowered] : binary.lowered_names) {
        writer.add(expression);
        writer.add(lowered);
    }
    writer.add(binary.log);
    writer.add(binary.facts);
    writer.add(binary.image.data(), binary.image.size());
    std::vector<std::byte> bytes = std::move(writer.bytes_);

    Header header;
    header.name_count = static_cast<std::uint32_t>(binary.lowered_names.size());
    header.key = key;
    header.toolchain_ms = binary.toolchain_ms;
    header.payload_bytes = bytes.size() - sizeof header;
    std::memcpy(bytes.data(), &header, sizeof header);
    header.checksum = checksum_of(bytes);
    std::memcpy(bytes.data(), &header, sizeof header);
    return bytes;
}

std::optional<Binary> decode_entry(const Digest& key, std::span<const std::byte> bytes) {
    Header header;
    if (bytes.size() < sizeof header)
        return std::nullopt;
    std::memcpy(&header, bytes.data(), sizeof header);
    if (header.magic != Header{}.magic || header.format != entry_format || header.key != key)
        return std::nullopt;
    if (header.payload_bytes != bytes.size() - sizeof header)
        return std::nullopt;
    if (checksum_of(bytes) != header.checksum)
        return std::nullopt;

    Reader reader{bytes.subspan(sizeof header)};
    Binary binary;
    for (std::uint32_t k = 0; k < header.name_count && reader.good; ++k) {
        std::string expression = reader.text();
        binary.lowered_names.emplace_back(std::move(expression), reader.text());
    }
    binary.log = reader.text();
    binary.facts = reader.text();
    binary.toolchain_ms = header.toolchain_ms;
    const auto image = reader.field();
    if (!reader.good || !reader.rest.empty())
        return std::nullopt;
    binary.image.assign(image.begin(), image.end());
    return binary;
}

} // namespace quern
