// cuArray*, cuTexObject*, cuSurfObject*, and what kernels ask of their handles. A handle is the
// address of a HostTexture.
#include "runtime/host/textures.h"

#include "runtime/host/hooks.h"
#include "runtime/host/state.h"

#include <algorithm>

namespace quern::host {
namespace {

bool is_channel_count(unsigned channels) { return channels == 1 || channels == 2 || channels == 4; }

bool is_float(CUarray_format format) {
    return format == CU_AD_FORMAT_HALF || format == CU_AD_FORMAT_FLOAT;
}

int limit(CUdevice_attribute which) {
    int value = 0;
    return host::cuDeviceGetAttribute(&value, which, 0) == CUDA_SUCCESS ? value : 0;
}

struct Extents {
    CUdevice_attribute width, height, depth; // 0: must be 0
};

// As large as an H200's may be.
bool fits(const CUDA_ARRAY3D_DESCRIPTOR& shape) {
    const bool layered = (shape.Flags & CUDA_ARRAY3D_LAYERED) != 0;
    const Extents most =
        layered && shape.Height == 0 ? Extents{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH,
                                               {},
                                               CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS}
        : layered                    ? Extents{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH,
                            CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT,
                            CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS}
        : shape.Height == 0          ? Extents{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH, {}, {}}
        : shape.Depth == 0           ? Extents{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH,
                                     CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT,
                                     {}}
                                     : Extents{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH,
                                     CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT,
                                     CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH};
    const auto within = [](std::size_t extent, CUdevice_attribute which) {
        return extent <= static_cast<std::size_t>(which == 0 ? 0 : limit(which));
    };
    return shape.Width != 0 && (!layered || shape.Depth != 0) && within(shape.Width, most.width) &&
           within(shape.Height, most.height) && within(shape.Depth, most.depth);
}

CUresult texels_of_array(CUarray handle, HostTexture& texture) {
    const TexelArray* array = state().arrays.find(handle);
    if (array == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    const auto extent = [](std::size_t texels) {
        return std::max<std::int64_t>(static_cast<std::int64_t>(texels), 1);
    };
    const auto& shape = array->shape;
    const bool layered = (shape.Flags & CUDA_ARRAY3D_LAYERED) != 0;
    texture.bytes = array->bytes;
    texture.data = array->bytes.get();
    texture.row_bytes = array->row_bytes;
    texture.plane_bytes = array->plane_bytes;
    texture.size = {extent(shape.Width), extent(shape.Height), layered ? 1 : extent(shape.Depth)};
    texture.layers = layered ? extent(shape.Depth) : 1;
    texture.format = shape.Format;
    texture.channels = shape.NumChannels;
    texture.channel_bytes = bytes_of_channel(shape.Format);
    return CUDA_SUCCESS;
}

CUresult texels_of_memory(CUdeviceptr start, CUarray_format format, unsigned channels,
                          std::size_t width, std::size_t height, std::size_t row_bytes,
                          HostTexture& texture) {
    const std::size_t texel = std::size_t{bytes_of_channel(format)} * channels;
    if (texel == 0 || !is_channel_count(channels) || width == 0 || height == 0 ||
        row_bytes < width * texel || start == 0 ||
        start % static_cast<unsigned>(limit(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT)) != 0 ||
        !state().memory.may_access(start, row_bytes * (height - 1) + width * texel))
        return CUDA_ERROR_INVALID_VALUE;
    texture.data = reinterpret_cast<std::byte*>(start);
    texture.row_bytes = row_bytes;
    texture.size = {static_cast<std::int64_t>(width), static_cast<std::int64_t>(height), 1};
    texture.format = format;
    texture.channels = channels;
    texture.channel_bytes = bytes_of_channel(format);
    return CUDA_SUCCESS;
}

CUresult texels_of(const CUDA_RESOURCE_DESC& resource, HostTexture& texture) {
    switch (resource.resType) {
    case CU_RESOURCE_TYPE_ARRAY:
        return texels_of_array(resource.res.array.hArray, texture);
    case CU_RESOURCE_TYPE_LINEAR: {
        const auto& linear = resource.res.linear;
        const std::size_t texel = std::size_t{bytes_of_channel(linear.format)} * linear.numChannels;
        const std::size_t width = texel == 0 ? 0 : linear.sizeInBytes / texel;
        if (width >
            static_cast<std::size_t>(limit(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH)))
            return CUDA_ERROR_INVALID_VALUE;
        return texels_of_memory(linear.devPtr, linear.format, linear.numChannels, width, 1,
                                linear.sizeInBytes, texture);
    }
    case CU_RESOURCE_TYPE_PITCH2D: {
        const auto& pitch = resource.res.pitch2D;
        const auto past = [](std::size_t value, CUdevice_attribute which) {
            return value > static_cast<std::size_t>(limit(which));
        };
        if (past(pitch.width, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH) ||
            past(pitch.height, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT) ||
            past(pitch.pitchInBytes, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH) ||
            pitch.pitchInBytes %
                    static_cast<std::size_t>(limit(CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT)) !=
                0)
            return CUDA_ERROR_INVALID_VALUE;
        return texels_of_memory(pitch.devPtr, pitch.format, pitch.numChannels, pitch.width,
                                pitch.height, pitch.pitchInBytes, texture);
    }
    default:
        return CUDA_ERROR_NOT_SUPPORTED; // mipmaps
    }
}

CUresult keep(HostTexture texture, unsigned long long* handle) {
    *handle = reinterpret_cast<std::uintptr_t>(state().textures.make(std::move(texture)));
    return CUDA_SUCCESS;
}

HostTexture* find(unsigned long long handle, bool surface) noexcept {
    HostTexture* found = state().textures.find(reinterpret_cast<const void*>(handle));
    return found != nullptr && found->is_surface == surface ? found : nullptr;
}

CUresult drop(unsigned long long handle, bool surface) {
    return guarded([&]() -> CUresult {
        QUERN_CHECK(check_context());
        HostTexture* texture = find(handle, surface);
        if (texture == nullptr)
            return CUDA_ERROR_INVALID_VALUE;
        state().textures.destroy(texture);
        return CUDA_SUCCESS;
    });
}

const HostTexture& used(unsigned long long handle, bool surface) {
    const HostTexture* found = find(handle, surface);
    if (found == nullptr) [[unlikely]]
        leave_kernel(CUDA_ERROR_ILLEGAL_ADDRESS);
    return *found;
}

} // namespace

std::uint32_t bytes_of_channel(CUarray_format format) noexcept {
    switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
        return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
        return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
        return 4;
    default:
        return 0; // packed and compressed ones
    }
}

CUresult cuArray3DCreate(CUarray* handle, const CUDA_ARRAY3D_DESCRIPTOR* shape) {
    return guarded([&]() -> CUresult {
        QUERN_CHECK(check_context());
        QUERN_CHECK(state().streams.check_unsafe_call());
        if (handle == nullptr || shape == nullptr || !is_channel_count(shape->NumChannels))
            return CUDA_ERROR_INVALID_VALUE;
        constexpr unsigned known_flags = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST;
        if ((shape->Flags & ~known_flags) != 0 || bytes_of_channel(shape->Format) == 0)
            return CUDA_ERROR_NOT_SUPPORTED;
        if (!fits(*shape))
            return CUDA_ERROR_INVALID_VALUE;
        TexelArray array;
        array.shape = *shape;
        array.row_bytes = shape->Width * bytes_of_channel(shape->Format) * shape->NumChannels;
        array.rows = std::max<std::size_t>(shape->Height, 1);
        array.planes = std::max<std::size_t>(shape->Depth, 1);
        array.plane_bytes = array.row_bytes * array.rows;
        std::uintptr_t base = 0;
        QUERN_CHECK(
            state().memory.allocate(array.planes * array.plane_bytes, BlockKind::device, 0, base));
        array.bytes = {reinterpret_cast<std::byte*>(base), [](std::byte* bytes) {
                           (void)state().memory.release(reinterpret_cast<std::uintptr_t>(bytes),
                                                        BlockKind::device, BlockKind::device);
                       }};
        *handle = reinterpret_cast<CUarray>(state().arrays.make(std::move(array)));
        return CUDA_SUCCESS;
    });
}

CUresult cuArrayDestroy(CUarray handle) {
    return guarded([&]() -> CUresult {
        QUERN_CHECK(check_context());
        TexelArray* array = state().arrays.find(handle);
        if (array == nullptr)
            return CUDA_ERROR_INVALID_HANDLE;
        state().arrays.destroy(array);
        return CUDA_SUCCESS;
    });
}

CUresult cuTexObjectCreate(CUtexObject* handle, const CUDA_RESOURCE_DESC* resource,
                           const CUDA_TEXTURE_DESC* how, const CUDA_RESOURCE_VIEW_DESC* view) {
    return guarded([&]() -> CUresult {
        QUERN_CHECK(check_context());
        if (handle == nullptr || resource == nullptr || how == nullptr)
            return CUDA_ERROR_INVALID_VALUE;
        if (view != nullptr)
            return CUDA_ERROR_NOT_SUPPORTED;
        HostTexture texture;
        QUERN_CHECK(texels_of(*resource, texture));
        const bool narrow = texture.channel_bytes < 4; // wider integers stay what they are
        texture.as_floats =
            is_float(texture.format) || (narrow && (how->flags & CU_TRSF_READ_AS_INTEGER) == 0);
        texture.linear = how->filterMode == CU_TR_FILTER_MODE_LINEAR;
        texture.normalized = (how->flags & CU_TRSF_NORMALIZED_COORDINATES) != 0;
        texture.srgb = (how->flags & CU_TRSF_SRGB) != 0;
        if (texture.linear && !texture.as_floats)
            return CUDA_ERROR_INVALID_VALUE; // integers are not mixed
        for (std::size_t axis = 0; axis < 3; ++axis) {
            if (how->addressMode[axis] > CU_TR_ADDRESS_MODE_BORDER)
                return CUDA_ERROR_INVALID_VALUE;
            texture.address[axis] = how->addressMode[axis];
        }
        std::copy_n(how->borderColor, 4, texture.border.begin());
        texture.row = {texture.data, static_cast<std::uint32_t>(texture.size[0])};
        return keep(std::move(texture), handle);
    });
}

CUresult cuTexObjectDestroy(CUtexObject handle) { return drop(handle, false); }

CUresult cuSurfObjectCreate(CUsurfObject* handle, const CUDA_RESOURCE_DESC* resource) {
    return guarded([&]() -> CUresult {
        QUERN_CHECK(check_context());
        if (handle == nullptr || resource == nullptr || resource->resType != CU_RESOURCE_TYPE_ARRAY)
            return CUDA_ERROR_INVALID_VALUE;
        HostTexture surface;
        QUERN_CHECK(texels_of(*resource, surface));
        const TexelArray* array = state().arrays.find(resource->res.array.hArray);
        if ((array->shape.Flags & CUDA_ARRAY3D_SURFACE_LDST) == 0)
            return CUDA_ERROR_INVALID_VALUE;
        surface.is_surface = true;
        return keep(std::move(surface), handle);
    });
}

CUresult cuSurfObjectDestroy(CUsurfObject handle) { return drop(handle, true); }

extern "C" {
const HostTexture::Row* quern_host_texture_row(unsigned long long handle, unsigned type) {
    const HostTexture& texture = used(handle, false);
    const bool as_stored = texture.format != CU_AD_FORMAT_HALF &&
                           texture.as_floats == is_float(texture.format) &&
                           type == texture.format * 8u + texture.channels;
    return as_stored ? &texture.row : nullptr;
}

Channels quern_host_texture_fetch(unsigned long long handle, int x) {
    return fetch_texel(used(handle, false), x);
}

Channels quern_host_texture_sample(unsigned long long handle, unsigned axes, float x, float y,
                                   float z, int layer) {
    return sample(used(handle, false), axes, {x, y, z}, layer);
}

void* quern_host_surface_place(unsigned long long handle, unsigned bytes, unsigned axes, int x,
                               int y, int z, int layer, int mode) {
    const HostTexture& surface = used(handle, true);
    const std::int64_t texel = std::int64_t{surface.channels} * surface.channel_bytes;
    // A layer takes the place of the third direction.
    const bool layered = layer != -1;
    std::array<std::int64_t, 3> at{x, y, layered ? layer : z};
    const std::array<std::int64_t, 3> last{surface.size[0] * texel - bytes,
                                           (axes > 1 ? surface.size[1] : 1) - 1,
                                           (layered    ? surface.layers
                                            : axes > 2 ? surface.size[2]
                                                       : 1) -
                                               1};
    for (std::size_t axis = 0; axis < 3; ++axis) {
        if (at[axis] >= 0 && at[axis] <= last[axis])
            continue;
        if (mode == 0) // cudaBoundaryModeZero
            return nullptr;
        if (mode != 1 || last[axis] < 0) // cudaBoundaryModeTrap
            leave_kernel(CUDA_ERROR_LAUNCH_FAILED);
        at[axis] = std::clamp<std::int64_t>(at[axis], 0, last[axis]); // cudaBoundaryModeClamp
    }
    return surface.data + static_cast<std::size_t>(at[2]) * surface.plane_bytes +
           static_cast<std::size_t>(at[1]) * surface.row_bytes + static_cast<std::size_t>(at[0]);
}
}

} // namespace quern::host
