// A cubin is ELF64. Its section .nv.info.SYMBOL is a row of attributes, one for each parameter
// among them.
#include "runtime/kernel/cubin_params.h"

#include <cstdint>
#include <cstring>
#include <elf.h>

namespace quern {
namespace {

// Format and number come first in an attribute; then two bytes, which are its value or, in the one
// format that has more, the size of what follows.
enum : std::uint8_t { sized_format = 4, param_attribute = 0x17, wide_param_attribute = 0x45 };

struct Image {
    std::span<const std::byte> bytes;

    [[nodiscard]] std::span<const std::byte> part(std::uint64_t at, std::uint64_t size) const {
        if (at > bytes.size() || size > bytes.size() - at)
            return {};
        return bytes.subspan(at, size);
    }
    template <class T> [[nodiscard]] std::optional<T> at(std::uint64_t offset) const {
        const auto from = part(offset, sizeof(T));
        if (from.size() != sizeof(T))
            return std::nullopt;
        T value;
        std::memcpy(&value, from.data(), sizeof value);
        return value;
    }
};

std::string_view text_at(std::span<const std::byte> table, std::uint64_t offset) {
    if (offset >= table.size())
        return {};
    const auto* text = reinterpret_cast<const char*>(table.data()) + offset;
    return {text, strnlen(text, table.size() - offset)};
}

std::optional<std::size_t> count_params(std::span<const std::byte> attributes) {
    const Image info{attributes};
    std::size_t count = 0;
    for (std::uint64_t at = 0; at < attributes.size();) {
        const auto format = info.at<std::uint8_t>(at), attribute = info.at<std::uint8_t>(at + 1);
        const auto size = info.at<std::uint16_t>(at + 2);
        if (!size || *format == 0 || *format > sized_format)
            return std::nullopt;
        count += *format == sized_format &&
                 (*attribute == param_attribute || *attribute == wide_param_attribute);
        at += 4 + (*format == sized_format ? *size : 0u);
    }
    return count;
}

} // namespace

std::optional<std::size_t> count_cubin_params(std::span<const std::byte> bytes,
                                              std::string_view symbol) noexcept {
    constexpr std::string_view prefix = ".nv.info.";
    const Image image{bytes};
    const auto header = image.at<Elf64_Ehdr>(0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != EM_CUDA)
        return std::nullopt;
    const auto section = [&](std::size_t k) {
        return image.at<Elf64_Shdr>(header->e_shoff + k * header->e_shentsize);
    };
    const auto names = section(header->e_shstrndx);
    if (!names)
        return std::nullopt;
    const auto table = image.part(names->sh_offset, names->sh_size);
    for (std::size_t k = 0; k < header->e_shnum; ++k)
        if (const auto found = section(k)) {
            const std::string_view name = text_at(table, found->sh_name);
            if (name.starts_with(prefix) && name.substr(prefix.size()) == symbol)
                return count_params(image.part(found->sh_offset, found->sh_size));
        }
    return std::nullopt;
}

} // namespace quern
