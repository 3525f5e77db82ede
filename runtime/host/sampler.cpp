// What a texture answers: CUDA's formats, address modes and filters ("Texture Fetching" in the
// programming guide). Fractions of linear filtering have eight bits.
#include "runtime/host/textures.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace quern::host {
namespace {

template <class T> T load(const std::byte* place) noexcept {
    T value;
    std::memcpy(&value, place, sizeof value);
    return value;
}

float from_half(std::uint16_t bits) noexcept {
    const std::uint32_t sign = (bits & 0x8000u) << 16, magnitude = bits & 0x7fffu;
    if (magnitude >= 0x7c00) // infinity, NaN
        return std::bit_cast<float>(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
    const float value = std::bit_cast<float>(magnitude << 13) * 0x1p112f; // subnormals too
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
}

float from_srgb(float value) noexcept {
    return value <= 0.04045f ? value / 12.92f : std::pow((value + 0.055f) / 1.055f, 2.4f);
}

float float_at(const HostTexture& texture, const std::byte* place, unsigned channel) noexcept {
    switch (texture.format) {
    case CU_AD_FORMAT_UNSIGNED_INT8: {
        const float value = static_cast<float>(load<std::uint8_t>(place)) / 255.0f;
        return texture.srgb && channel < 3 ? from_srgb(value) : value;
    }
    case CU_AD_FORMAT_UNSIGNED_INT16:
        return static_cast<float>(load<std::uint16_t>(place)) / 65535.0f;
    case CU_AD_FORMAT_SIGNED_INT8: // both lowest numbers are -1
        return std::max(static_cast<float>(load<std::int8_t>(place)) / 127.0f, -1.0f);
    case CU_AD_FORMAT_SIGNED_INT16:
        return std::max(static_cast<float>(load<std::int16_t>(place)) / 32767.0f, -1.0f);
    case CU_AD_FORMAT_HALF:
        return from_half(load<std::uint16_t>(place));
    default:
        return load<float>(place);
    }
}

std::uint32_t integer_at(const HostTexture& texture, const std::byte* place) noexcept {
    switch (texture.format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
        return load<std::uint8_t>(place);
    case CU_AD_FORMAT_SIGNED_INT8:
        return static_cast<std::uint32_t>(load<std::int8_t>(place));
    case CU_AD_FORMAT_UNSIGNED_INT16:
        return load<std::uint16_t>(place);
    case CU_AD_FORMAT_SIGNED_INT16:
        return static_cast<std::uint32_t>(load<std::int16_t>(place));
    default:
        return load<std::uint32_t>(place);
    }
}

constexpr std::int64_t border = -1;

std::int64_t index_in(std::int64_t i, std::int64_t size, CUaddress_mode mode) noexcept {
    if (i >= 0 && i < size)
        return i;
    switch (mode) {
    case CU_TR_ADDRESS_MODE_WRAP:
        return (i % size + size) % size;
    case CU_TR_ADDRESS_MODE_BORDER:
        return border;
    default: // a mirrored coordinate lies at most half a texel outside: the edge's own mirror image
        return std::clamp<std::int64_t>(i, 0, size - 1);
    }
}

// std::floor is a call on the oldest x86-64. |x| < 2^62.
std::int64_t floor_of(double x) noexcept {
    const auto toward_zero = static_cast<std::int64_t>(x);
    return toward_zero - (static_cast<double>(toward_zero) > x ? 1 : 0);
}

struct Tap { // along one axis: two texels, and the weight of the second in 256ths
    std::int64_t first = 0, second = 0;
    int weight = 0;
};

Tap tap(const HostTexture& texture, std::size_t axis, double x) noexcept {
    const std::int64_t size = texture.size[axis];
    CUaddress_mode mode = texture.address[axis];
    // Far outside is as good as just outside; not a number is 0.
    x = x != x ? 0 : std::clamp(x, -0x1p32, 0x1p32);
    if (texture.normalized) {
        const std::int64_t turns = floor_of(x);
        if (mode == CU_TR_ADDRESS_MODE_WRAP)
            x -= static_cast<double>(turns);
        else if (mode == CU_TR_ADDRESS_MODE_MIRROR)
            x = (turns & 1) == 0 ? x - static_cast<double>(turns)
                                 : 1 - (x - static_cast<double>(turns));
        x *= static_cast<double>(size);
    } else if (mode != CU_TR_ADDRESS_MODE_BORDER) {
        mode = CU_TR_ADDRESS_MODE_CLAMP;
    }
    if (!texture.linear) {
        const std::int64_t place = index_in(floor_of(x), size, mode);
        return {place, place, 0};
    }
    const std::int64_t fixed = floor_of((x - 0.5) * 256 + 0.5);
    const std::int64_t lower = fixed >> 8;
    return {index_in(lower, size, mode), index_in(lower + 1, size, mode),
            static_cast<int>(fixed & 255)};
}

const std::byte* texel(const HostTexture& texture, std::int64_t x, std::int64_t y,
                       std::int64_t z) noexcept { // nullptr: the border
    if (x == border || y == border || z == border)
        return nullptr;
    return texture.data + static_cast<std::size_t>(z) * texture.plane_bytes +
           static_cast<std::size_t>(y) * texture.row_bytes +
           static_cast<std::size_t>(x) * texture.channels * texture.channel_bytes;
}

using Bits = std::array<std::uint32_t, 4>;

// A texel that is read as it is; nullptr is the border.
Channels one_texel(const HostTexture& texture, const std::byte* place) noexcept {
    Bits out{}; // channels that the format lacks are 0, the last too
    for (unsigned c = 0; c < texture.channels; ++c) {
        if (place == nullptr)
            out[c] = texture.as_floats ? std::bit_cast<std::uint32_t>(texture.border[c]) : 0;
        else
            out[c] = texture.as_floats ? std::bit_cast<std::uint32_t>(float_at(texture, place, c))
                                       : integer_at(texture, place);
        if (place != nullptr)
            place += texture.channel_bytes;
    }
    return std::bit_cast<Channels>(out);
}

} // namespace

Channels fetch_texel(const HostTexture& texture, std::int64_t x) noexcept {
    if (x < 0 || x >= texture.size[0])
        return Channels{};
    return one_texel(texture, texel(texture, x, 0, 0));
}

Channels sample(const HostTexture& texture, unsigned axes, std::array<double, 3> coordinates,
                int layer) noexcept {
    std::array<Tap, 3> taps{};
    for (unsigned axis = 0; axis < axes; ++axis)
        taps[axis] = tap(texture, axis, coordinates[axis]);
    if (layer >= 0)
        taps[2].first = std::min<std::int64_t>(layer, texture.layers - 1);
    if (!texture.linear)
        return one_texel(texture, texel(texture, taps[0].first, taps[1].first, taps[2].first));
    std::array<float, 4> sums{};
    for (unsigned corner = 0; corner < 1u << axes; ++corner) {
        float weight = 1;
        std::array<std::int64_t, 3> at{0, 0, taps[2].first};
        for (unsigned axis = 0; axis < axes; ++axis) {
            const bool second = (corner >> axis & 1) != 0;
            const int part = second ? taps[axis].weight : 256 - taps[axis].weight;
            weight *= static_cast<float>(part) / 256;
            at[axis] = second ? taps[axis].second : taps[axis].first;
        }
        if (weight == 0) // what is not asked for may be infinite
            continue;
        const std::byte* place = texel(texture, at[0], at[1], at[2]);
        for (unsigned c = 0; c < texture.channels; ++c)
            sums[c] += weight * (place == nullptr
                                     ? texture.border[c]
                                     : float_at(texture, place + c * texture.channel_bytes, c));
    }
    Bits out{}; // channels that the format lacks are 0, the last too
    for (unsigned c = 0; c < texture.channels; ++c)
        out[c] = std::bit_cast<std::uint32_t>(sums[c]);
    return std::bit_cast<Channels>(out);
}

} // namespace quern::host
