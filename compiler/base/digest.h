// 128-bit digests (XXH3) for cache keys and checksums. Not cryptographic: trust comes from file
// ownership.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace quern {

struct Digest {
    std::uint64_t high = 0, low = 0;
    friend bool operator==(const Digest&, const Digest&) = default;
    friend auto operator<=>(const Digest&, const Digest&) = default;
    [[nodiscard]] std::string hex() const; // 32 digits
};

// Feeds are framed (length first), so that ("ab","c") and ("a","bc") differ.
class Hasher {
  public:
    Hasher();
    ~Hasher();
    Hasher& add(std::string_view text);
    Hasher& add(std::uint64_t number);
    [[nodiscard]] Digest digest() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

[[nodiscard]] Digest digest_of(std::span<const std::byte> bytes);

} // namespace quern
