// CUDA arrays, textures and surfaces on the CPU: texels in rows, and the descriptions that handles
// stand for.
#pragma once
#include <cuda.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace quern::host {

struct TexelArray {
    CUDA_ARRAY3D_DESCRIPTOR shape{};
    std::shared_ptr<std::byte> bytes; // textures, surfaces and pending copies hold it too
    std::size_t row_bytes = 0, plane_bytes = 0, rows = 1, planes = 1;
};

// What a texture or a surface reads, and how. Extents are in texels; one where there is no such
// direction.
struct HostTexture {
    std::shared_ptr<std::byte> bytes; // of an array; nullptr over device memory
    std::byte* data = nullptr;
    std::size_t row_bytes = 0, plane_bytes = 0;
    std::array<std::int64_t, 3> size{1, 1, 1};
    std::int64_t layers = 1;
    CUarray_format format{};
    std::uint32_t channels = 1, channel_bytes = 1;
    bool is_surface = false;
    struct Row { // what a kernel reads by itself
        const std::byte* texels = nullptr;
        std::uint32_t width = 0;
    } row;

    std::array<CUaddress_mode, 3> address{};
    bool linear = false, normalized = false, as_floats = false, srgb = false;
    std::array<float, 4> border{};
};

[[nodiscard]] std::uint32_t bytes_of_channel(CUarray_format format) noexcept; // 0: not known here

// Four channels, as bits; see device/textures.cuh.
using Channels = std::uint32_t __attribute__((vector_size(16)));

// sampler.cpp
[[nodiscard]] Channels fetch_texel(const HostTexture& texture, std::int64_t x) noexcept;
[[nodiscard]] Channels sample(const HostTexture& texture, unsigned axes,
                              std::array<double, 3> coordinates, int layer) noexcept;

// Hooks that kernels call by name. A handle that is none ends the launch.
extern "C" {
const HostTexture::Row* quern_host_texture_row(unsigned long long handle, unsigned type);
Channels quern_host_texture_fetch(unsigned long long handle, int x);
Channels quern_host_texture_sample(unsigned long long handle, unsigned axes, float x, float y,
                                   float z, int layer);
void* quern_host_surface_place(unsigned long long handle, unsigned bytes, unsigned axes, int x,
                               int y, int z, int layer, int mode);
}

} // namespace quern::host
