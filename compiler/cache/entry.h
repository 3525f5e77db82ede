// One cache entry as bytes: magic, format, key, checksum over everything, then lowered names, log,
// facts and image.
#pragma once
#include "compiler/backend/backend.h"
#include "compiler/base/digest.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace quern {

inline constexpr std::uint32_t entry_format = 2; // also names the folder: "v2"

[[nodiscard]] std::vector<std::byte> encode_entry(const Digest& key, const Binary& binary);

// Nothing, unless the bytes are exactly what encode_entry made for this key.
[[nodiscard]] std::optional<Binary> decode_entry(const Digest& key,
                                                 std::span<const std::byte> bytes);

} // namespace quern
