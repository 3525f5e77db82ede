// XXH3-128, fed piece by piece. Every piece is preceded by its kind and length, so that no two
// lists of pieces collide.
#include "compiler/base/digest.h"

#include <array>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace quern {

struct Hasher::State {
    XXH3_state_t xxh;
};

Hasher::Hasher() : state_(std::make_unique<State>()) { XXH3_128bits_reset(&state_->xxh); }
Hasher::~Hasher() = default;

Hasher& Hasher::add(std::string_view text) {
    const std::array<std::uint64_t, 2> frame{'t', text.size()};
    XXH3_128bits_update(&state_->xxh, frame.data(), sizeof frame);
    XXH3_128bits_update(&state_->xxh, text.data(), text.size());
    return *this;
}

Hasher& Hasher::add(std::uint64_t number) {
    const std::array<std::uint64_t, 2> frame{'n', number};
    XXH3_128bits_update(&state_->xxh, frame.data(), sizeof frame);
    return *this;
}

Digest Hasher::digest() const {
    const XXH128_hash_t hash = XXH3_128bits_digest(&state_->xxh);
    return {hash.high64, hash.low64};
}

Digest digest_of(std::span<const std::byte> bytes) {
    const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
    return {hash.high64, hash.low64};
}

std::string Digest::hex() const {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    text.reserve(32);
    for (const std::uint64_t half : {high, low})
        for (int shift = 60; shift >= 0; shift -= 4)
            text += digits[(half >> shift) & 15];
    return text;
}

} // namespace quern
