// Texture and surface objects: what is read, how, and the handle that kernels take.
#pragma once
#include "runtime/texture/cuda_array.h"

#include <optional>

namespace quern {

// What an object reads: a CUDA array, linear memory, or rows of memory a pitch apart. Numbers are
// cudaResourceType's. Each maker throws ValueError.
class TexelResource {
  public:
    enum class Kind : int { array = 0, linear = 2, pitch_2d = 3 };

    static TexelResource of_array(std::shared_ptr<CudaArray> array);
    // `bytes` of contiguous memory, from its first element on.
    static TexelResource of_linear(const Array& memory, const ChannelFormat& format,
                                   std::int64_t bytes);
    // Texels wide and high; bytes from row to row.
    static TexelResource of_pitch_2d(const Array& memory, const ChannelFormat& format,
                                     std::int64_t width, std::int64_t height,
                                     std::int64_t pitch_bytes);

    [[nodiscard]] Kind kind() const noexcept { return kind_; }
    [[nodiscard]] Device& device() const noexcept;
    [[nodiscard]] const ChannelFormat& format() const noexcept { return format_; }
    [[nodiscard]] const std::shared_ptr<CudaArray>& array() const noexcept { return array_; }
    [[nodiscard]] const std::optional<Array>& memory() const noexcept { return memory_; }
    [[nodiscard]] CUDA_RESOURCE_DESC descriptor() const noexcept;
    // Throws ValueError where the device wants the memory to begin or to step elsewhere.
    void check_alignment() const;

  private:
    TexelResource(Kind kind, const ChannelFormat& format) : kind_(kind), format_(format) {}
    Kind kind_;
    ChannelFormat format_;
    std::shared_ptr<CudaArray> array_;
    std::optional<Array> memory_;
    std::size_t bytes_ = 0, width_ = 0, height_ = 0, pitch_bytes_ = 0;
};

// How a texture is read. Numbers are those of cudaTextureAddressMode, cudaTextureFilterMode and
// cudaTextureReadMode.
struct TextureSettings {
    std::array<int, 3> address_modes{0, 0, 0};
    int filter_mode = 0, read_mode = 0;
    bool srgb = false, normalized = false;
    std::array<float, 4> border{0, 0, 0, 0};
    int max_anisotropy = 0;

    void check() const; // throws ValueError
};

class TexelObject {
  public:
    // Throw ValueError where resource and settings do not go together, or DriverError.
    static std::shared_ptr<TexelObject> texture(TexelResource resource,
                                                const TextureSettings& settings);
    static std::shared_ptr<TexelObject> surface(TexelResource resource);
    ~TexelObject(); // waits for the kernels that took it; the caller holds no GIL
    TexelObject(const TexelObject&) = delete;
    TexelObject& operator=(const TexelObject&) = delete;

    [[nodiscard]] bool is_surface() const noexcept { return is_surface_; }
    [[nodiscard]] std::uint64_t handle() const noexcept { return handle_; }
    [[nodiscard]] Device& device() const noexcept { return resource_.device(); }
    // A kernel on `stream` takes it.
    void note_use(CUstream stream) const noexcept;

  private:
    TexelObject(TexelResource resource, bool is_surface)
        : resource_(std::move(resource)), is_surface_(is_surface) {}
    TexelResource resource_;
    bool is_surface_;
    std::uint64_t handle_ = 0;
    mutable std::atomic<bool> used_{false};
};

} // namespace quern
