// Made, copied and given back through the driver table.
#include "runtime/texture/cuda_array.h"

#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "runtime/driver/check.h"
#include "runtime/memory/pool_state.h"

#include <algorithm>

namespace quern {
namespace {

constexpr unsigned layered_flag = CUDA_ARRAY3D_LAYERED, surface_flag = CUDA_ARRAY3D_SURFACE_LDST;

const DriverApi& api_with_arrays(const Device& device) {
    const DriverApi& api = device.api();
    if (api.cuArray3DCreate == nullptr || api.cuMemcpy3DAsync == nullptr)
        throw Error(ErrorKind::not_implemented,
                    join("the driver of ", device.name(), " has no CUDA arrays"));
    return api;
}

std::size_t at_least_one(std::int64_t extent) {
    return static_cast<std::size_t>(std::max<std::int64_t>(extent, 1));
}

} // namespace

bool is_done_with(const Device& device, bool used) noexcept {
    if (!used)
        return true;
    const ContextScope context(device);
    if (!context.ok())
        return false;
    CUstreamCaptureStatus capturing = CU_STREAM_CAPTURE_STATUS_NONE;
    const DriverApi& api = device.api();
    if (api.cuStreamIsCapturing != nullptr &&
        (api.cuStreamIsCapturing(current_stream(device), &capturing) != CUDA_SUCCESS ||
         capturing != CU_STREAM_CAPTURE_STATUS_NONE))
        return false;
    const RelaxedCapture relaxed(api);
    return api.cuCtxSynchronize() == CUDA_SUCCESS;
}

CudaArray::CudaArray(Device& device, const ChannelFormat& format, Extents extents, unsigned flags)
    : device_(device), format_(format), extents_(extents), flags_(flags) {
    const auto [width, height, depth] = extents;
    const std::string asked = join("CUDAarray(width=", width, ", height=", height,
                                   ", depth=", depth, ", flags=", flags, ")");
    if ((flags & ~(layered_flag | surface_flag)) != 0)
        throw ValueError(join(asked, ": flags are cudaArrayLayered (1) and "
                                     "cudaArraySurfaceLoadStore (2); others are not supported"));
    const bool layered = (flags & layered_flag) != 0;
    if (width < 1 || height < 0 || depth < 0)
        throw ValueError(join(asked, ": the width is at least 1, and nothing is negative"));
    if (layered ? depth == 0 : depth != 0 && height == 0)
        throw ValueError(join(asked, layered ? ": depth counts the layers, at least 1"
                                             : ": an array with a depth needs a height"));
    CUDA_ARRAY3D_DESCRIPTOR shape{};
    shape.Width = static_cast<std::size_t>(width);
    shape.Height = static_cast<std::size_t>(height);
    shape.Depth = static_cast<std::size_t>(depth);
    shape.Format = format.format();
    shape.NumChannels = format.channels();
    shape.Flags = flags;
    const DriverApi& api = api_with_arrays(device);
    device.make_current();
    const auto create = [&] {
        const RelaxedCapture relaxed(api);
        return api.cuArray3DCreate(&handle_, &shape);
    };
    CUresult status = create();
    if (status == CUDA_ERROR_OUT_OF_MEMORY) { // the pool may hold what nobody uses
        pool_of(device).free_all_blocks();
        status = create();
    }
    if (status == CUDA_ERROR_OUT_OF_MEMORY)
        throw_out_of_memory();
    check(api, status, "make ", text(), " on ", device.name(),
          "; the driver's limits are in device.attributes, MaxTexture...");
}

void CudaArray::throw_out_of_memory() const {
    const MemoryPool& pool = pool_of(device_);
    const std::size_t bytes = at_least_one(extents_.width) * at_least_one(extents_.height) *
                              at_least_one(extents_.depth) * format_.texel_bytes();
    throw OutOfMemoryError(
        join("cannot make ", text(), " on ", device_.name(), ": it takes ", format_bytes(bytes),
             ", live arrays hold ", format_bytes(pool.used_bytes()),
             ". Release arrays, or what other libraries and processes hold on this device"),
        {bytes, pool.used_bytes(), pool.total_bytes(), pool.limit()});
}

CudaArray::~CudaArray() {
    if (!is_done_with(device_, used_.load(std::memory_order_relaxed)))
        return;
    const ContextScope context(device_);
    const RelaxedCapture relaxed(device_.api());
    if (context.ok())
        device_.api().cuArrayDestroy(handle_);
}

bool CudaArray::takes_surfaces() const noexcept { return (flags_ & surface_flag) != 0; }

int CudaArray::ndim() const noexcept {
    return 1 + (extents_.height != 0 ? 1 : 0) + (extents_.depth != 0 ? 1 : 0);
}

std::string CudaArray::text() const {
    std::string shape = join(extents_.width);
    if (extents_.height != 0)
        shape = join(extents_.height, ", ", shape);
    if (extents_.depth != 0)
        shape = join(extents_.depth, ", ", shape);
    return join("a (", shape, ndim() == 1 ? ",)" : ")", " CUDA array of ", format_.text());
}

void CudaArray::check_fits(const char* deed, const Dims& shape, DType dtype) const {
    if (dtype != format_.dtype())
        throw TypeError(join(deed, ": the array is ", row(dtype).name, ", the channels of ", text(),
                             " are ", row(format_.dtype()).name,
                             "\n    help: x.astype(...) for other values, x.view(...) for the "
                             "same bytes"));
    Dims wanted(static_cast<std::size_t>(ndim()));
    int axis = 0;
    if (extents_.depth != 0)
        wanted[axis++] = extents_.depth;
    if (extents_.height != 0)
        wanted[axis++] = extents_.height;
    wanted[axis] = extents_.width * format_.channels();
    const auto with_channels = [&] { // an axis of their own
        if (shape.size() != wanted.size() + 1 || shape[shape.size() - 1] != format_.channels() ||
            shape[axis] != extents_.width)
            return false;
        return std::equal(shape.begin(), shape.begin() + axis, wanted.begin());
    };
    if (!(shape == wanted) && !with_channels())
        throw ValueError(join(deed, ": the array has shape ", format_shape(shape), ", ", text(),
                              " wants ", format_shape(wanted),
                              ", channels side by side, or the channels as an axis of their own"));
}

struct CudaArray::Place { // one end of a copy; the rest of the descriptor is the same for both
    CUmemorytype type = CU_MEMORYTYPE_ARRAY;
    const void* host = nullptr;
    CUdeviceptr device = 0;
    CUarray array = nullptr;
};

void CudaArray::copy(const Place& from, const Place& to, CUstream stream) {
    CUDA_MEMCPY3D how{};
    how.WidthInBytes = at_least_one(extents_.width) * format_.texel_bytes();
    how.Height = at_least_one(extents_.height);
    how.Depth = at_least_one(extents_.depth);
    how.srcMemoryType = from.type;
    how.srcHost = from.host;
    how.srcDevice = from.device;
    how.srcArray = from.array;
    how.dstMemoryType = to.type;
    how.dstHost = const_cast<void*>(to.host);
    how.dstDevice = to.device;
    how.dstArray = to.array;
    how.srcPitch = how.dstPitch = how.WidthInBytes;
    how.srcHeight = how.dstHeight = how.Height;
    note_use();
    device_.make_current();
    const DriverApi& api = device_.api();
    check(api, api.cuMemcpy3DAsync(&how, stream), "copy ",
          to.type == CU_MEMORYTYPE_ARRAY ? "to " : "from ", text(), " on ", device_.name());
}

void CudaArray::copy_from(const Array& source, CUstream stream) {
    copy({CU_MEMORYTYPE_DEVICE, nullptr, source.address(), nullptr},
         {CU_MEMORYTYPE_ARRAY, nullptr, 0, handle_}, stream);
    pool_of(device_).note_use(*source.buffer().get(), stream);
}

void CudaArray::copy_to(const Array& target, CUstream stream) {
    copy({CU_MEMORYTYPE_ARRAY, nullptr, 0, handle_},
         {CU_MEMORYTYPE_DEVICE, nullptr, target.address(), nullptr}, stream);
    pool_of(device_).note_use(*target.buffer().get(), stream);
}

void CudaArray::copy_from_host(const void* source, CUstream stream) {
    copy({CU_MEMORYTYPE_HOST, source, 0, nullptr}, {CU_MEMORYTYPE_ARRAY, nullptr, 0, handle_},
         stream);
    Stream::external(device_, stream).synchronize();
}

void CudaArray::copy_to_host(void* target, CUstream stream) {
    copy({CU_MEMORYTYPE_ARRAY, nullptr, 0, handle_}, {CU_MEMORYTYPE_HOST, target, 0, nullptr},
         stream);
    Stream::external(device_, stream).synchronize();
}

} // namespace quern
