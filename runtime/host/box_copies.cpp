// cuMemcpy2D, cuMemcpy3D: rows and planes between memory and CUDA arrays.
#include "runtime/host/state.h"

#include <algorithm>
#include <cstring>

namespace quern::host {
namespace {

// One end of a copy: where its first byte lies, and the steps from row to row and plane to plane.
struct Side {
    std::byte* start = nullptr;
    std::size_t row_bytes = 0, plane_bytes = 0;
    std::shared_ptr<std::byte> array; // held while the copy waits
};

struct SideWords { // the descriptor says the same twice, under two names
    CUmemorytype type;
    const void* host;
    CUdeviceptr device;
    CUarray array;
    std::size_t x_bytes, y, z, pitch, height;
};

CUresult side_of(const SideWords& said, const CUDA_MEMCPY3D& how, Side& side) {
    if (said.type == CU_MEMORYTYPE_ARRAY) {
        const TexelArray* array = state().arrays.find(said.array);
        if (array == nullptr)
            return CUDA_ERROR_INVALID_HANDLE;
        const auto within = [](std::size_t first, std::size_t count, std::size_t all) {
            return first <= all && count <= all - first;
        };
        if (!within(said.x_bytes, how.WidthInBytes, array->row_bytes) ||
            !within(said.y, how.Height, array->rows) || !within(said.z, how.Depth, array->planes))
            return CUDA_ERROR_INVALID_VALUE;
        side = {array->bytes.get(), array->row_bytes, array->plane_bytes, array->bytes};
    } else if (said.type == CU_MEMORYTYPE_HOST || said.type == CU_MEMORYTYPE_DEVICE ||
               said.type == CU_MEMORYTYPE_UNIFIED) {
        const auto base = said.type == CU_MEMORYTYPE_HOST
                              ? reinterpret_cast<std::uintptr_t>(said.host)
                              : said.device;
        const std::size_t row = said.pitch != 0 ? said.pitch : said.x_bytes + how.WidthInBytes;
        const std::size_t rows = said.height != 0 ? said.height : said.y + how.Height;
        if (base == 0 || row < said.x_bytes + how.WidthInBytes ||
            (how.Depth > 1 && rows < said.y + how.Height))
            return CUDA_ERROR_INVALID_VALUE;
        side = {reinterpret_cast<std::byte*>(base), row, row * rows, nullptr};
    } else {
        return CUDA_ERROR_INVALID_VALUE;
    }
    side.start += said.z * side.plane_bytes + said.y * side.row_bytes + said.x_bytes;
    const std::size_t bytes =
        (how.Depth - 1) * side.plane_bytes + (how.Height - 1) * side.row_bytes + how.WidthInBytes;
    return state().memory.may_access(reinterpret_cast<std::uintptr_t>(side.start), bytes)
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}

CUresult copy(const CUDA_MEMCPY3D& how, CUstream handle, bool wait) {
    QUERN_CHECK(check_context());
    Stream* stream = state().streams.find(handle);
    if (stream == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    if (how.WidthInBytes == 0 || how.Height == 0 || how.Depth == 0)
        return CUDA_SUCCESS;
    Side from, to;
    QUERN_CHECK(side_of({how.srcMemoryType, how.srcHost, how.srcDevice, how.srcArray,
                         how.srcXInBytes, how.srcY, how.srcZ, how.srcPitch, how.srcHeight},
                        how, from));
    QUERN_CHECK(side_of({how.dstMemoryType, how.dstHost, how.dstDevice, how.dstArray,
                         how.dstXInBytes, how.dstY, how.dstZ, how.dstPitch, how.dstHeight},
                        how, to));
    const auto work = [from, to, width = how.WidthInBytes, rows = how.Height, planes = how.Depth] {
        for (std::size_t z = 0; z < planes; ++z)
            for (std::size_t y = 0; y < rows; ++y)
                std::memmove(to.start + z * to.plane_bytes + y * to.row_bytes,
                             from.start + z * from.plane_bytes + y * from.row_bytes, width);
    };
    const bool host =
        how.srcMemoryType == CU_MEMORYTYPE_HOST || how.dstMemoryType == CU_MEMORYTYPE_HOST;
    wait |= host && !stream->capture; // never leaves a caller's memory in use
    QUERN_CHECK(state().streams.submit(*stream, CU_GRAPH_NODE_TYPE_MEMCPY, work,
                                       [&](bool) -> Work { return work; }));
    return !wait || state().streams.idle(*stream) ? CUDA_SUCCESS
                                                  : state().streams.synchronize(*stream);
}

CUresult copy_2d(const CUDA_MEMCPY2D* how, CUstream stream, bool wait) noexcept {
    return guarded([&] {
        if (how == nullptr)
            return CUDA_ERROR_INVALID_VALUE;
        CUDA_MEMCPY3D box{};
        box.srcMemoryType = how->srcMemoryType;
        box.srcHost = how->srcHost;
        box.srcDevice = how->srcDevice;
        box.srcArray = how->srcArray;
        box.srcXInBytes = how->srcXInBytes;
        box.srcY = how->srcY;
        box.srcPitch = how->srcPitch;
        box.dstMemoryType = how->dstMemoryType;
        box.dstHost = how->dstHost;
        box.dstDevice = how->dstDevice;
        box.dstArray = how->dstArray;
        box.dstXInBytes = how->dstXInBytes;
        box.dstY = how->dstY;
        box.dstPitch = how->dstPitch;
        box.WidthInBytes = how->WidthInBytes;
        box.Height = how->Height;
        box.Depth = 1;
        return copy(box, stream, wait);
    });
}

CUresult copy_3d(const CUDA_MEMCPY3D* how, CUstream stream, bool wait) noexcept {
    return guarded(
        [&] { return how == nullptr ? CUDA_ERROR_INVALID_VALUE : copy(*how, stream, wait); });
}

} // namespace

CUresult cuMemcpy2D(const CUDA_MEMCPY2D* how) { return copy_2d(how, nullptr, true); }
CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D* how, CUstream s) { return copy_2d(how, s, false); }
CUresult cuMemcpy3D(const CUDA_MEMCPY3D* how) { return copy_3d(how, nullptr, true); }
CUresult cuMemcpy3DAsync(const CUDA_MEMCPY3D* how, CUstream s) { return copy_3d(how, s, false); }

} // namespace quern::host
