// Descriptions become the driver's; what the runtime API does to them first (a wrapped address
// without normalized coordinates is clamped) is done here, for both drivers.
#include "runtime/texture/texture.h"

#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "runtime/driver/check.h"

#include <algorithm>

namespace quern {
namespace {

const DriverApi& api_with_textures(const Device& device) {
    const DriverApi& api = device.api();
    if (api.cuTexObjectCreate == nullptr || api.cuSurfObjectCreate == nullptr)
        throw Error(ErrorKind::not_implemented,
                    join("the driver of ", device.name(), " has no texture objects"));
    return api;
}

std::size_t attribute(const Device& device, CUdevice_attribute which) {
    CUdevice handle = 0;
    int value = 0;
    check(device.api(), device.api().cuDeviceGet(&handle, device.ordinal()), "find ",
          device.name());
    check(device.api(), device.api().cuDeviceGetAttribute(&value, which, handle), "ask ",
          device.name(), " for what textures want");
    return static_cast<std::size_t>(std::max(value, 1));
}

void check_contiguous(const Array& memory, const char* what) {
    if (!memory.c_contiguous() && !memory.f_contiguous())
        throw ValueError(join(what, " wants contiguous memory; the array of shape ",
                              format_shape(memory.shape()),
                              " is a strided view\n    help: quern.ascontiguousarray(x)"));
}

// cudaArray... and the like, for messages.
void check_number(const char* name, int value, std::initializer_list<const char*> meanings) {
    if (value >= 0 && static_cast<std::size_t>(value) < meanings.size())
        return;
    std::string known;
    int number = 0;
    for (const char* meaning : meanings) {
        known += join(number == 0 ? "" : ", ", meaning, " (", number, ")");
        ++number;
    }
    throw ValueError(join(name, " is ", value, "; there are ", known));
}

} // namespace

TexelResource TexelResource::of_array(std::shared_ptr<CudaArray> array) {
    TexelResource made(Kind::array, array->format());
    made.array_ = std::move(array);
    return made;
}

TexelResource TexelResource::of_linear(const Array& memory, const ChannelFormat& format,
                                       std::int64_t bytes) {
    const std::string asked = join("linear memory with sizeInBytes=", bytes);
    check_contiguous(memory, "linear memory of a texture");
    const auto texel = static_cast<std::int64_t>(format.texel_bytes());
    if (bytes < texel || bytes % texel != 0)
        throw ValueError(join(asked, ": texels of ", format.text(), " have ", texel,
                              " bytes; give a multiple, at least one"));
    if (bytes > memory.nbytes())
        throw ValueError(join(asked, ": the array has ", memory.nbytes(), " bytes"));
    TexelResource made(Kind::linear, format);
    made.memory_ = memory;
    made.bytes_ = static_cast<std::size_t>(bytes);
    return made;
}

TexelResource TexelResource::of_pitch_2d(const Array& memory, const ChannelFormat& format,
                                         std::int64_t width, std::int64_t height,
                                         std::int64_t pitch_bytes) {
    const std::string asked = join("pitched memory with width=", width, ", height=", height,
                                   ", pitchInBytes=", pitch_bytes);
    check_contiguous(memory, "pitched memory of a texture");
    constexpr std::int64_t most = std::int64_t{1} << 31;
    if (width < 1 || height < 1 || pitch_bytes < 1 || width >= most || height >= most ||
        pitch_bytes >= most)
        throw ValueError(join(asked, ": width and height count texels, pitchInBytes the bytes from "
                                     "row to row; each is at least 1"));
    const std::int64_t row = width * static_cast<std::int64_t>(format.texel_bytes());
    if (pitch_bytes < row)
        throw ValueError(join(asked, ": a row of ", width, " texels of ", format.text(), " has ",
                              row, " bytes"));
    if (const std::int64_t needed = (height - 1) * pitch_bytes + row; needed > memory.nbytes())
        throw ValueError(join(asked, " needs ", needed, " bytes; the array has ", memory.nbytes()));
    TexelResource made(Kind::pitch_2d, format);
    made.memory_ = memory;
    made.width_ = static_cast<std::size_t>(width);
    made.height_ = static_cast<std::size_t>(height);
    made.pitch_bytes_ = static_cast<std::size_t>(pitch_bytes);
    return made;
}

Device& TexelResource::device() const noexcept {
    return array_ ? array_->device() : memory_->device();
}

CUDA_RESOURCE_DESC TexelResource::descriptor() const noexcept {
    CUDA_RESOURCE_DESC made{};
    switch (kind_) {
    case Kind::array:
        made.resType = CU_RESOURCE_TYPE_ARRAY;
        made.res.array.hArray = array_->handle();
        break;
    case Kind::linear:
        made.resType = CU_RESOURCE_TYPE_LINEAR;
        made.res.linear.devPtr = memory_->address();
        made.res.linear.format = format_.format();
        made.res.linear.numChannels = format_.channels();
        made.res.linear.sizeInBytes = bytes_;
        break;
    case Kind::pitch_2d:
        made.resType = CU_RESOURCE_TYPE_PITCH2D;
        made.res.pitch2D.devPtr = memory_->address();
        made.res.pitch2D.format = format_.format();
        made.res.pitch2D.numChannels = format_.channels();
        made.res.pitch2D.width = width_;
        made.res.pitch2D.height = height_;
        made.res.pitch2D.pitchInBytes = pitch_bytes_;
        break;
    }
    return made;
}

void TexelResource::check_alignment() const {
    if (kind_ == Kind::array)
        return;
    const std::size_t start = attribute(device(), CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT);
    if (memory_->address() % start != 0)
        throw ValueError(join("the memory of a texture begins at a multiple of ", start,
                              " bytes; this array begins ", memory_->address() % start,
                              " bytes past one\n    help: x.copy(), new arrays begin there"));
    if (kind_ != Kind::pitch_2d)
        return;
    const std::size_t step = attribute(device(), CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT);
    if (pitch_bytes_ % step != 0)
        throw ValueError(join("pitchInBytes is a multiple of ", step, " on ", device().name(),
                              ", not ", pitch_bytes_,
                              "\n    help: give the rows of the array more elements than the "
                              "texture's width"));
}

void TextureSettings::check() const {
    for (const int mode : address_modes)
        check_number("an address mode", mode,
                     {"cudaAddressModeWrap", "cudaAddressModeClamp", "cudaAddressModeMirror",
                      "cudaAddressModeBorder"});
    check_number("filterMode", filter_mode, {"cudaFilterModePoint", "cudaFilterModeLinear"});
    check_number("readMode", read_mode, {"cudaReadModeElementType", "cudaReadModeNormalizedFloat"});
    if (max_anisotropy < 0 || max_anisotropy > 16)
        throw ValueError(join("maxAnisotropy is ", max_anisotropy, "; it is 0 to 16"));
}

std::shared_ptr<TexelObject> TexelObject::texture(TexelResource resource,
                                                  const TextureSettings& settings) {
    settings.check();
    resource.check_alignment();
    const ChannelFormat& format = resource.format();
    const bool narrow = format.channel_bytes() < 4;
    const bool as_integers = format.is_integer() && settings.read_mode == 0;
    if (format.is_integer() && !narrow && settings.read_mode != 0)
        throw ValueError(join("cudaReadModeNormalizedFloat reads integers of 8 and 16 bits as "
                              "fractions; this texture is of ",
                              format.text(), "\n    help: readMode=cudaReadModeElementType"));
    if (as_integers && settings.filter_mode != 0)
        throw ValueError(join("cudaFilterModeLinear mixes floats; this texture of ", format.text(),
                              " is read as integers\n    help: ",
                              narrow ? "readMode=cudaReadModeNormalizedFloat, or " : "",
                              "filterMode=cudaFilterModePoint"));
    if (as_integers && std::ranges::any_of(settings.border, [](float c) { return c != 0; }))
        throw ValueError(join("borderColors are floats; this texture of ", format.text(),
                              " is read as integers, whose border is 0"));
    if (settings.srgb && (format.dtype() != DType::uint8 || as_integers))
        throw ValueError(join("sRGB needs channels of uint8 read as cudaReadModeNormalizedFloat, "
                              "not ",
                              format.text(), as_integers ? " read as integers" : ""));
    CUDA_TEXTURE_DESC how{};
    if (resource.kind() != TexelResource::Kind::linear) { // which is read by whole numbers only
        for (std::size_t axis = 0; axis < 3; ++axis) {
            how.addressMode[axis] = static_cast<CUaddress_mode>(settings.address_modes[axis]);
            if (!settings.normalized && how.addressMode[axis] != CU_TR_ADDRESS_MODE_BORDER)
                how.addressMode[axis] = CU_TR_ADDRESS_MODE_CLAMP;
        }
        how.filterMode = static_cast<CUfilter_mode>(settings.filter_mode);
        how.flags |= settings.normalized ? CU_TRSF_NORMALIZED_COORDINATES : 0u;
    } else {
        std::ranges::fill(how.addressMode, CU_TR_ADDRESS_MODE_CLAMP);
    }
    how.flags |= settings.read_mode == 0 ? CU_TRSF_READ_AS_INTEGER : 0u;
    how.flags |= settings.srgb ? CU_TRSF_SRGB : 0u;
    how.maxAnisotropy = static_cast<unsigned>(settings.max_anisotropy);
    std::ranges::copy(settings.border, how.borderColor);

    std::shared_ptr<TexelObject> made(new TexelObject(std::move(resource), false));
    const Device& device = made->device();
    const DriverApi& api = api_with_textures(device);
    const CUDA_RESOURCE_DESC what = made->resource_.descriptor();
    device.make_current();
    CUtexObject handle = 0;
    check(api, api.cuTexObjectCreate(&handle, &what, &how, nullptr), "make a texture of ",
          made->resource_.format().text(), " on ", device.name());
    made->handle_ = handle;
    return made;
}

std::shared_ptr<TexelObject> TexelObject::surface(TexelResource resource) {
    if (resource.kind() != TexelResource::Kind::array)
        throw ValueError("a surface is of a CUDA array; linear and pitched memory is written "
                         "through a pointer\n    help: ResourceDescriptor(cudaResourceTypeArray, "
                         "cuArr=CUDAarray(..., flags=cudaArraySurfaceLoadStore))");
    if (!resource.array()->takes_surfaces())
        throw ValueError(join(resource.array()->text(),
                              " was made without cudaArraySurfaceLoadStore, which surfaces "
                              "need\n    help: CUDAarray(desc, width, height, depth, "
                              "flags=cudaArraySurfaceLoadStore)"));
    std::shared_ptr<TexelObject> made(new TexelObject(std::move(resource), true));
    const Device& device = made->device();
    const DriverApi& api = api_with_textures(device);
    const CUDA_RESOURCE_DESC what = made->resource_.descriptor();
    device.make_current();
    CUsurfObject handle = 0;
    check(api, api.cuSurfObjectCreate(&handle, &what), "make a surface of ",
          made->resource_.array()->text(), " on ", device.name());
    made->handle_ = handle;
    return made;
}

TexelObject::~TexelObject() {
    if (handle_ == 0 || !is_done_with(device(), used_.load(std::memory_order_relaxed)))
        return;
    const ContextScope context(device());
    const DriverApi& api = device().api();
    if (context.ok())
        is_surface_ ? api.cuSurfObjectDestroy(handle_) : api.cuTexObjectDestroy(handle_);
}

void TexelObject::note_use(CUstream stream) const noexcept {
    used_.store(true, std::memory_order_relaxed);
    if (resource_.array())
        resource_.array()->note_use();
    else
        pool_of(device()).note_use(*resource_.memory()->buffer().get(), stream);
}

} // namespace quern
