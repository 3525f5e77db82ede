// quern.cuda.texture: CUDA arrays, descriptors, texture and surface objects, under CuPy's names.
#include "python/bindings/bind_texture.h"

#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "python/bindings/array_parts.h"
#include "python/bindings/bind_dtype.h"
#include "python/bindings/bind_output.h"
#include "python/bindings/bind_scalar.h"
#include "python/bindings/bind_stream.h"
#include "python/bindings/module.h"

#include <algorithm>
#include <limits>

namespace py = pybind11;

namespace quern::python {
namespace {

// What these own may wait for the device when it goes.
struct DeleteWithoutGil {
    template <class T> void operator()(T* object) const {
        if (PyGILState_Check() == 0)
            return delete object;
        const py::gil_scoped_release release;
        delete object;
    }
};

struct PyResource {
    TexelResource resource;
    py::object array, memory, format; // as given; None where they were not
};

struct PyTextureSettings {
    TextureSettings settings;
};

template <bool Surface> struct PyTexelObject {
    std::unique_ptr<std::shared_ptr<TexelObject>, DeleteWithoutGil> object;
    py::object resource, settings;
};
using PyTexture = PyTexelObject<false>;
using PySurface = PyTexelObject<true>;

std::string type_name(py::handle object) {
    return py::str(py::type::of(object).attr("__name__")).cast<std::string>();
}

int int_of(py::handle object, const char* what) {
    const std::int64_t value = to_int(object, what);
    if (value < std::numeric_limits<int>::min() || value > std::numeric_limits<int>::max())
        throw ValueError(join(what, " is ", value));
    return static_cast<int>(value);
}

// ---- arrays

std::shared_ptr<CudaArray> make_array(const ChannelFormat& format, py::handle width,
                                      py::handle height, py::handle depth, py::handle flags) {
    const CudaArray::Extents extents{to_int(width, "width"), to_int(height, "height"),
                                     to_int(depth, "depth")};
    const int bits = int_of(flags, "flags");
    return {new CudaArray(current_device(), format, extents, static_cast<unsigned>(bits)),
            DeleteWithoutGil{}};
}

// The array that `object` is or stands for, without a copy; nullopt for NumPy's.
std::optional<Array> find_device_array(const CudaArray& self, py::handle object, const char* deed) {
    std::optional<Array> array;
    if (const Array* own = find_array(object.ptr()))
        array = *own;
    else if (!py::isinstance<py::array>(object))
        array = find_foreign_array(object.ptr());
    if (!array && !py::isinstance<py::array>(object))
        throw TypeError(
            join(deed, " wants a quern.ndarray or a numpy.ndarray, not ", type_name(object)));
    if (array && &array->device() != &self.device())
        throw ValueError(join(deed, ": the array is on ", array->device().name(),
                              ", the CUDA "
                              "array on ",
                              self.device().name(), "\n    help: quern.asarray(x, device='",
                              self.device().name(), "')"));
    return array;
}

void check_numpy(const CudaArray& self, const py::array& array, const char* deed) {
    const std::optional<DType> dtype = find_dtype_of(array.dtype());
    if (!dtype)
        throw TypeError(join(deed, ": there are no channels of dtype ",
                             py::str(array.dtype()).cast<std::string>()));
    self.check_fits(deed, to_dims(array.attr("shape")), *dtype);
}

void copy_from(CudaArray& self, py::handle source, py::handle stream) {
    constexpr const char* deed = "CUDAarray.copy_from";
    const CUstream on = to_stream(stream, self.device());
    if (std::optional<Array> array = find_device_array(self, source, deed)) {
        self.check_fits(deed, array->shape(), array->dtype());
        if (!array->c_contiguous())
            array = duplicate(*array, array->dtype(), 'C', on);
        const WaitForDevice waiting;
        return self.copy_from(*array, on);
    }
    const auto given = py::reinterpret_borrow<py::array>(source);
    check_numpy(self, given, deed);
    const auto host =
        py::module_::import("numpy").attr("ascontiguousarray")(given).cast<py::array>();
    const void* bytes = host.data();
    const WaitForDevice waiting;
    self.copy_from_host(bytes, on);
}

void copy_to(CudaArray& self, py::handle target, py::handle stream) {
    constexpr const char* deed = "CUDAarray.copy_to";
    const auto refuse = [&](const char* why) { throw ValueError(join(deed, ": ", why)); };
    const CUstream on = to_stream(stream, self.device());
    if (const std::optional<Array> array = find_device_array(self, target, deed)) {
        self.check_fits(deed, array->shape(), array->dtype());
        if (!array->c_contiguous())
            refuse("the array is not C-contiguous; copy to a new one and assign it");
        if (!array->writable())
            refuse("the array is read-only");
        const WaitForDevice waiting;
        return self.copy_to(*array, on);
    }
    auto host = py::reinterpret_borrow<py::array>(target);
    check_numpy(self, host, deed);
    if ((host.flags() & py::array::c_style) == 0)
        refuse("the array is not C-contiguous; copy to a new one and assign it");
    if (!host.writeable())
        refuse("the array is read-only");
    void* bytes = host.mutable_data();
    const WaitForDevice waiting;
    self.copy_to_host(bytes, on);
}

// ---- descriptors

py::dict describe(const ChannelFormat& format) {
    const auto& bits = format.bits();
    return py::dict(py::arg("x") = bits[0], py::arg("y") = bits[1], py::arg("z") = bits[2],
                    py::arg("w") = bits[3], py::arg("f") = static_cast<int>(format.kind()));
}

template <class T> const T& wanted(py::handle object, const char* argument, const char* type) {
    if (!py::isinstance<T>(object))
        throw TypeError(join("ResourceDescriptor: ", argument, " is a ", type, " here, not ",
                             object.is_none() ? "None" : type_name(object)));
    return py::cast<const T&>(object);
}

Array linear_memory(py::handle object) {
    if (const Array* own = find_array(object.ptr()))
        return *own;
    if (!py::isinstance<py::array>(object))
        if (std::optional<Array> foreign = find_foreign_array(object.ptr()))
            return *std::move(foreign);
    throw TypeError(join("ResourceDescriptor: arr is a quern.ndarray here, not ",
                         object.is_none() ? "None" : type_name(object),
                         py::isinstance<py::array>(object)
                             ? ", which lies in the host's memory: pass quern.asarray(x)"
                             : ""));
}

PyResource make_resource(py::handle type, py::object array, py::object memory, py::object format,
                         py::handle bytes, py::handle width, py::handle height, py::handle pitch) {
    const int kind = int_of(type, "restype");
    const auto made = [&]() -> TexelResource {
        switch (kind) {
        case 0:
            wanted<CudaArray>(array, "cuArr", "CUDAarray");
            return TexelResource::of_array(array.cast<std::shared_ptr<CudaArray>>());
        case 2:
            return TexelResource::of_linear(
                linear_memory(memory),
                wanted<ChannelFormat>(format, "chDesc", "ChannelFormatDescriptor"),
                to_int(bytes, "sizeInBytes"));
        case 3:
            return TexelResource::of_pitch_2d(
                linear_memory(memory),
                wanted<ChannelFormat>(format, "chDesc", "ChannelFormatDescriptor"),
                to_int(width, "width"), to_int(height, "height"), to_int(pitch, "pitchInBytes"));
        case 1:
            throw Error(ErrorKind::not_implemented,
                        "ResourceDescriptor: mipmapped arrays are not supported\n    help: "
                        "cudaResourceTypeArray (0) with a CUDAarray");
        default:
            throw ValueError(join("ResourceDescriptor: restype is ", kind,
                                  "; there are cudaResourceTypeArray (0), cudaResourceTypeLinear "
                                  "(2) and cudaResourceTypePitch2D (3)"));
        }
    };
    return {made(), std::move(array), std::move(memory), std::move(format)};
}

py::dict describe(const PyResource& self) {
    const CUDA_RESOURCE_DESC what = self.resource.descriptor();
    py::dict made(py::arg("resType") = static_cast<int>(self.resource.kind()));
    if (self.resource.kind() == TexelResource::Kind::array) {
        made["cuArr"] = reinterpret_cast<std::uintptr_t>(self.resource.array()->handle());
        return made;
    }
    made["desc"] = describe(self.resource.format());
    if (self.resource.kind() == TexelResource::Kind::linear) {
        made["devPtr"] = what.res.linear.devPtr;
        made["sizeInBytes"] = what.res.linear.sizeInBytes;
    } else {
        made["devPtr"] = what.res.pitch2D.devPtr;
        made["width"] = what.res.pitch2D.width;
        made["height"] = what.res.pitch2D.height;
        made["pitchInBytes"] = what.res.pitch2D.pitchInBytes;
    }
    return made;
}

// Up to `most` items of a tuple or a list; the rest stays as it is.
template <class T, std::size_t Most, class Convert>
void read_items(py::handle object, const char* what, std::array<T, Most>& to, Convert convert) {
    if (object.is_none())
        return;
    if (!py::isinstance<py::tuple>(object) && !py::isinstance<py::list>(object))
        throw TypeError(join("TextureDescriptor: ", what, " is a tuple, not ", type_name(object)));
    const auto items = py::reinterpret_borrow<py::sequence>(object);
    if (items.size() > Most)
        throw ValueError(
            join("TextureDescriptor: ", what, " has ", items.size(), " items; at most ", Most));
    for (std::size_t k = 0; k < items.size(); ++k)
        to[k] = convert(py::object(items[k]));
}

bool flag_of(py::handle object, const char* what) {
    if (object.is_none())
        return false;
    const std::int64_t value = to_int(object, what);
    if (value != 0 && value != 1)
        throw ValueError(join("TextureDescriptor: ", what, " is ", value, "; it is 0 or 1"));
    return value == 1;
}

PyTextureSettings make_settings(py::handle address, py::handle filter, py::handle read,
                                py::handle srgb, py::handle border, py::handle normalized,
                                py::handle anisotropy) {
    TextureSettings made;
    read_items(address, "addressModes", made.address_modes,
               [](const py::object& each) { return int_of(each, "an address mode"); });
    read_items(border, "borderColors", made.border,
               [](const py::object& each) { return each.cast<float>(); });
    made.filter_mode = int_of(filter, "filterMode");
    made.read_mode = int_of(read, "readMode");
    made.srgb = flag_of(srgb, "sRGB");
    made.normalized = flag_of(normalized, "normalizedCoords");
    if (!anisotropy.is_none())
        made.max_anisotropy = int_of(anisotropy, "maxAnisotropy");
    made.check();
    return {made};
}

py::dict describe(const PyTextureSettings& self) {
    const TextureSettings& s = self.settings;
    return py::dict(py::arg("addressMode") =
                        py::make_tuple(s.address_modes[0], s.address_modes[1], s.address_modes[2]),
                    py::arg("filterMode") = s.filter_mode, py::arg("readMode") = s.read_mode,
                    py::arg("sRGB") = static_cast<int>(s.srgb),
                    py::arg("borderColor") =
                        py::make_tuple(s.border[0], s.border[1], s.border[2], s.border[3]),
                    py::arg("normalizedCoords") = static_cast<int>(s.normalized),
                    py::arg("maxAnisotropy") = s.max_anisotropy);
}

// ---- objects

template <bool Surface> PyTexelObject<Surface> keep(std::shared_ptr<TexelObject> object) {
    PyTexelObject<Surface> made;
    made.object.reset(new std::shared_ptr<TexelObject>(std::move(object)));
    return made;
}

PyTexture make_texture(const py::object& resource, const py::object& settings) {
    if (!py::isinstance<PyResource>(resource) || !py::isinstance<PyTextureSettings>(settings))
        throw TypeError(join("TextureObject wants a ResourceDescriptor and a TextureDescriptor, "
                             "not ",
                             type_name(resource), " and ", type_name(settings)));
    PyTexture made =
        keep<false>(TexelObject::texture(resource.cast<const PyResource&>().resource,
                                         settings.cast<const PyTextureSettings&>().settings));
    made.resource = resource;
    made.settings = settings;
    return made;
}

PySurface make_surface(const py::object& resource) {
    if (!py::isinstance<PyResource>(resource))
        throw TypeError(
            join("SurfaceObject wants a ResourceDescriptor, not ", type_name(resource)));
    PySurface made = keep<true>(TexelObject::surface(resource.cast<const PyResource&>().resource));
    made.resource = resource;
    return made;
}

template <bool Surface> std::uint64_t handle_of(const PyTexelObject<Surface>& self) {
    return (*self.object)->handle();
}

// ---- docstrings

constexpr const char* module_format_doc = R"(What one texel is: 1, 2 or 4 channels of one type.

ChannelFormatDescriptor(x, y, z, w, f)

`x`, `y`, `z`, `w` are the bits of each channel, 8, 16 or 32, the same for all there are; the rest is 0. `f` is
cudaChannelFormatKindSigned, cudaChannelFormatKindUnsigned or cudaChannelFormatKindFloat (16 or 32 bits).
Raises: ValueError.
Source: CUDA Runtime API, cudaChannelFormatDesc.)";

constexpr const char* array_doc = R"(Texels on the current device, in an order of the device's own.

CUDAarray(desc, width, height=0, depth=0, flags=0)

Units: extents count texels; 0 means that there is no such direction. `flags`: cudaArraySurfaceLoadStore for surfaces,
cudaArrayLayered for an array of `depth` layers.
Raises: ValueError, or DriverError for extents past the device's limits (device.attributes, MaxTexture...).
Source: CUDA Runtime API, cudaMalloc3DArray.)";

constexpr const char* copy_from_doc =
    R"(Fill the array with `in_arr`, a quern.ndarray of the same device or a NumPy array.

Shape: (depth, height, width * channels) without the directions that are missing, or with the channels as an axis of
their own; dtype: that of a channel. Ordered on `stream`, by default the current one; a NumPy array may be changed
afterwards.
Raises: ValueError for another shape or device, TypeError for another dtype.)";

constexpr const char* copy_to_doc =
    R"(Copy the array's texels to `out_arr`, C-contiguous; shapes as in `copy_from`.

Ordered on `stream`; a NumPy array holds the texels when the call returns.
Raises: ValueError, TypeError.)";

constexpr const char* resource_doc = R"(What a texture or a surface reads.

ResourceDescriptor(restype, cuArr=None, arr=None, chDesc=None, sizeInBytes=0, width=0, height=0, pitchInBytes=0)

cudaResourceTypeArray: the CUDAarray `cuArr`. cudaResourceTypeLinear: the first `sizeInBytes` of `arr`, texels of `chDesc`,
for tex1Dfetch. cudaResourceTypePitch2D: `height` rows of `width` texels, `pitchInBytes` from row to row of `arr`.
Units: texels, but for the names that say bytes. Memory begins at a multiple of 512 bytes, as new arrays do; the pitch
is a multiple of 32.
Raises: ValueError, TypeError; NotImplementedError for mipmaps.
Source: CUDA Runtime API, cudaResourceDesc.)";

constexpr const char* settings_doc = R"(How a texture is read.

TextureDescriptor(addressModes=None, filterMode=0, readMode=0, sRGB=None, borderColors=None, normalizedCoords=None,
                  maxAnisotropy=None)

`addressModes`: up to three, for x, y and z: cudaAddressModeWrap (the default), ...Clamp, ...Mirror, ...Border. Without
normalized coordinates wrap and mirror are clamped, as in CUDA. `filterMode`: cudaFilterModePoint or
cudaFilterModeLinear, which mixes floats with fractions of 8 bits. `readMode`: cudaReadModeElementType, or
cudaReadModeNormalizedFloat, which reads integers of 8 and 16 bits as 0 to 1 or -1 to 1. `borderColors`: up to four
floats, what lies outside with cudaAddressModeBorder; 0 by default.
Units: coordinates count texels, or with `normalizedCoords` the array's whole extent.
Raises: ValueError, TypeError.
Source: CUDA C++ Programming Guide, "Texture Fetching".)";

constexpr const char* texture_doc =
    R"(A texture: an argument of raw kernels for a parameter of type cudaTextureObject_t.

TextureObject(ResDesc, TexDesc)

Lives on its resource's device and keeps the resource. When it goes, it waits for the kernels that took it; a captured
graph that reads it must not outlive it.
Raises: ValueError where the two descriptors do not go together, TypeError, DriverError.)";

constexpr const char* surface_doc =
    R"(A surface: an argument of raw kernels for a parameter of type cudaSurfaceObject_t.

SurfaceObject(ResDesc)

Reads and writes a CUDAarray that was made with flags=cudaArraySurfaceLoadStore.
Raises: ValueError, TypeError, DriverError.)";

} // namespace

const TexelObject* find_texel_object(PyObject* object) noexcept {
    if (py::isinstance<PyTexture>(object))
        return py::cast<const PyTexture&>(py::handle(object)).object->get();
    if (py::isinstance<PySurface>(object))
        return py::cast<const PySurface&>(py::handle(object)).object->get();
    return nullptr;
}

void bind_texture(py::module_& module) {
    py::class_<ChannelFormat>(module, "ChannelFormatDescriptor", module_format_doc)
        .def(py::init([](py::handle x, py::handle y, py::handle z, py::handle w, py::handle f) {
                 return ChannelFormat(
                     {int_of(x, "x"), int_of(y, "y"), int_of(z, "z"), int_of(w, "w")},
                     int_of(f, "f"));
             }),
             py::arg("x"), py::arg("y"), py::arg("z"), py::arg("w"), py::arg("f"))
        .def(
            "get_channel_format", [](const ChannelFormat& self) { return describe(self); },
            "The bits and the kind, by name.");

    py::class_<CudaArray, std::shared_ptr<CudaArray>>(module, "CUDAarray", array_doc)
        .def(py::init(&make_array), py::arg("desc"), py::arg("width"), py::arg("height") = 0,
             py::arg("depth") = 0, py::arg("flags") = 0)
        .def("copy_from", &copy_from, py::arg("in_arr"), py::arg("stream") = py::none(),
             copy_from_doc)
        .def("copy_to", &copy_to, py::arg("out_arr"), py::arg("stream") = py::none(), copy_to_doc)
        .def_property_readonly(
            "ptr",
            [](const CudaArray& self) { return reinterpret_cast<std::uintptr_t>(self.handle()); },
            "The driver's handle.")
        .def_property_readonly("desc", &CudaArray::format, "What a texel is.")
        .def_property_readonly("width", [](const CudaArray& a) { return a.extents().width; })
        .def_property_readonly("height", [](const CudaArray& a) { return a.extents().height; })
        .def_property_readonly("depth", [](const CudaArray& a) { return a.extents().depth; })
        .def_property_readonly("flags", &CudaArray::flags)
        .def_property_readonly("ndim", &CudaArray::ndim, "1 to 3; layers count.");

    py::class_<PyResource>(module, "ResourceDescriptor", resource_doc)
        .def(py::init(&make_resource), py::arg("restype"), py::arg("cuArr") = py::none(),
             py::arg("arr") = py::none(), py::arg("chDesc") = py::none(),
             py::arg("sizeInBytes") = 0, py::arg("width") = 0, py::arg("height") = 0,
             py::arg("pitchInBytes") = 0)
        .def(
            "get_resource_desc", [](const PyResource& self) { return describe(self); },
            "What the driver is told, by CUDA's names.")
        .def_readonly("cuArr", &PyResource::array)
        .def_readonly("arr", &PyResource::memory)
        .def_readonly("chDesc", &PyResource::format);

    py::class_<PyTextureSettings>(module, "TextureDescriptor", settings_doc)
        .def(py::init(&make_settings), py::arg("addressModes") = py::none(),
             py::arg("filterMode") = 0, py::arg("readMode") = 0, py::arg("sRGB") = py::none(),
             py::arg("borderColors") = py::none(), py::arg("normalizedCoords") = py::none(),
             py::arg("maxAnisotropy") = py::none())
        .def(
            "get_texture_desc", [](const PyTextureSettings& self) { return describe(self); },
            "Every setting, by CUDA's names.");

    py::class_<PyTexture>(module, "TextureObject", texture_doc)
        .def(py::init(&make_texture), py::arg("ResDesc"), py::arg("TexDesc"))
        .def_property_readonly("ptr", &handle_of<false>, "The handle that kernels take.")
        .def_readonly("ResDesc", &PyTexture::resource)
        .def_readonly("TexDesc", &PyTexture::settings);

    py::class_<PySurface>(module, "SurfaceObject", surface_doc)
        .def(py::init(&make_surface), py::arg("ResDesc"))
        .def_property_readonly("ptr", &handle_of<true>, "The handle that kernels take.")
        .def_readonly("ResDesc", &PySurface::resource);
}

} // namespace quern::python
