// A CUDA array: texels that a device keeps in an order of its own, for textures and surfaces.
#pragma once
#include "runtime/array/array.h"
#include "runtime/texture/channel_format.h"

#include <atomic>
#include <memory>

namespace quern {

// Whether what `used` was given to the device is now done with, so that a handle may go: waits for
// the device. Not while this thread captures, which waiting would break.
[[nodiscard]] bool is_done_with(const Device& device, bool used) noexcept;

class CudaArray {
  public:
    struct Extents { // texels; 0: there is no such direction. The depth of a layered array: layers
        std::int64_t width = 0, height = 0, depth = 0;
    };

    // Uninitialised. `flags` are cudaArrayLayered (1) and cudaArraySurfaceLoadStore (2). Throws
    // ValueError, OutOfMemoryError or DriverError.
    CudaArray(Device& device, const ChannelFormat& format, Extents extents, unsigned flags);
    ~CudaArray(); // waits if it must; the caller holds no GIL
    CudaArray(const CudaArray&) = delete;
    CudaArray& operator=(const CudaArray&) = delete;

    [[nodiscard]] Device& device() const noexcept { return device_; }
    [[nodiscard]] CUarray handle() const noexcept { return handle_; }
    [[nodiscard]] const ChannelFormat& format() const noexcept { return format_; }
    [[nodiscard]] const Extents& extents() const noexcept { return extents_; }
    [[nodiscard]] unsigned flags() const noexcept { return flags_; }
    [[nodiscard]] bool takes_surfaces() const noexcept;
    [[nodiscard]] int ndim() const noexcept; // 1 to 3; layers count
    [[nodiscard]] std::string text() const;  // "a (19, 67) array of uint8 x 4"

    // Throws unless `shape` and `dtype` are those of this array's texels: (depth, height, width *
    // channels), or with the channels as an axis of their own.
    void check_fits(const char* deed, const Dims& shape, DType dtype) const;
    // C-contiguous arrays that fit, of this device, or of the host. Ordered on `stream`; those of
    // the host have arrived when it returns, and the caller holds no GIL.
    void copy_from(const Array& source, CUstream stream);
    void copy_to(const Array& target, CUstream stream);
    void copy_from_host(const void* source, CUstream stream);
    void copy_to_host(void* target, CUstream stream);

    void note_use() noexcept { used_.store(true, std::memory_order_relaxed); }

  private:
    [[noreturn]] void throw_out_of_memory() const;
    struct Place;
    void copy(const Place& from, const Place& to, CUstream stream);

    Device& device_;
    ChannelFormat format_;
    Extents extents_;
    unsigned flags_;
    CUarray handle_ = nullptr;
    std::atomic<bool> used_{false};
};

} // namespace quern
