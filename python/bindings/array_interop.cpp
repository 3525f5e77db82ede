// Memory shared with other libraries: __cuda_array_interface__ on GPUs; __array_interface__ and the
// buffer protocol on the CPU. Nothing is copied; who imports keeps the owner alive.
#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "python/bindings/array_parts.h"
#include "python/bindings/bind_dtype.h"
#include "python/bindings/bind_error.h"
#include "python/bindings/bind_scalar.h"
#include "python/bindings/bind_stream.h"
#include "runtime/array/views.h"
#include "runtime/device/faults.h"
#include "runtime/driver/check.h"
#include "runtime/kernel/ahead.h"

#include <memory>
#include <vector>

namespace py = pybind11;

namespace quern::python {
namespace {

// '<V2' is how bfloat16 is written where NumPy has no letter for it.
DType dtype_of_typestr(const py::object& typestr) {
    if (typestr.cast<std::string>() == "<V2")
        return DType::bfloat16;
    return to_dtype(typestr);
}

std::string typestr_of(DType dtype) {
    return py::str(numpy_dtype(dtype).attr("str")).cast<std::string>();
}

Dims contiguous_strides(const Dims& shape, DType dtype) {
    Dims strides(shape.span());
    auto step = static_cast<std::int64_t>(bytes_of(dtype));
    for (int k = shape.size() - 1; k >= 0; --k) {
        strides[k] = step;
        step *= std::max<std::int64_t>(shape[k], 1);
    }
    return strides;
}

// The last holder may let go on any thread, with or without the GIL.
BufferPtr keep_alive(Device& device, std::uint64_t address, std::size_t bytes, PyObject* owner) {
    Py_INCREF(owner);
    const auto release = [owner] {
        if (Py_IsInitialized() == 0)
            return;
        const PyGILState_STATE state = PyGILState_Ensure();
        Py_DECREF(owner);
        PyGILState_Release(state);
    };
    if (device.is_cpu())
        stop_going_ahead();
    return BufferPtr(new ForeignBuffer(device, address, bytes, release));
}

Device& device_of_pointer(std::uint64_t address) {
    const Driver* driver = find_cuda_driver();
    int ordinal = 0;
    if (driver != nullptr && address != 0 &&
        driver->api.cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address) !=
            CUDA_SUCCESS)
        throw ValueError("__cuda_array_interface__: the address is not one of a GPU's memory");
    return find_device(join("cuda:", ordinal));
}

// Our current stream goes on after what the producer has on its own.
void wait_for_producer(Device& device, const py::object& stream) {
    if (stream.is_none())
        return;
    const auto pointer = stream.cast<std::uintptr_t>();
    if (pointer == 0)
        throw ValueError(
            "__cuda_array_interface__: a stream of 0 is ambiguous; 1 is the default stream");
    const auto theirs = reinterpret_cast<CUstream>(pointer == 1 ? 0 : pointer);
    const CUstream ours = current_stream(device);
    if (theirs == ours)
        return;
    Event event(device, false);
    event.record(theirs);
    Stream::external(device, ours).wait(event.handle());
}

} // namespace

Array array_over(Device& device, std::uint64_t address, DType dtype, Dims shape, Dims strides,
                 bool read_only, PyObject* owner) {
    std::uint64_t misaligned = address % bytes_of(dtype);
    std::size_t bytes = bytes_of(dtype);
    for (int k = 0; k < shape.size(); ++k) {
        if (shape[k] < 0)
            throw ValueError("an array interface has a negative extent");
        if (shape[k] > 1)
            misaligned |= static_cast<std::uint64_t>(strides[k]) % bytes_of(dtype);
        bytes *= static_cast<std::size_t>(shape[k]);
    }
    if (misaligned != 0 && bytes > 0)
        throw ValueError(
            join("the elements are not aligned to ", bytes_of(dtype), " bytes: make a copy first"));
    return Array(keep_alive(device, address, bytes, owner), address, dtype, std::move(shape),
                 std::move(strides), !read_only);
}

namespace {

Array import_interface(const py::dict& interface, PyObject* owner, bool on_gpu) {
    const auto entry = [&](const char* name) -> py::object {
        return interface.contains(name) ? py::object(interface[name]) : py::none();
    };
    if (!entry("mask").is_none())
        throw ValueError("quern does not support masked arrays");
    const py::object data = entry("data");
    if (!py::isinstance<py::tuple>(data))
        throw TypeError("an array interface without an address cannot be used");
    const auto pair = py::reinterpret_borrow<py::tuple>(data);
    const auto address = pair[0].is_none() ? 0 : pair[0].cast<std::uint64_t>();
    const bool read_only = pair[1].cast<bool>();
    const DType dtype = dtype_of_typestr(entry("typestr"));
    Dims shape = to_dims(entry("shape"));
    Dims strides = entry("strides").is_none() ? contiguous_strides(shape, dtype)
                                              : to_dims(entry("strides"), "strides");
    if (shape.size() != strides.size())
        throw ValueError("an array interface has another number of strides than extents");
    Device& device = on_gpu ? device_of_pointer(address) : find_device("cpu");
    if (on_gpu)
        wait_for_producer(device, entry("stream"));
    return array_over(device, address, dtype, std::move(shape), std::move(strides), read_only,
                      owner);
}
std::optional<py::dict> find_interface(PyObject* object, const char* name) {
    const auto found = py::reinterpret_steal<py::object>(PyObject_GetAttrString(object, name));
    if (found) {
        if (py::isinstance<py::dict>(found))
            return py::reinterpret_borrow<py::dict>(found);
        return std::nullopt; // a class, whose attribute is the property itself
    }
    if (PyErr_ExceptionMatches(PyExc_AttributeError) == 0)
        throw py::error_already_set();
    PyErr_Clear();
    return std::nullopt;
}

py::dict interface_of(const Array& array) {
    array.device().make_current(); // whoever reads the address finds what was kept back done
    py::dict interface;
    const std::string typestr = typestr_of(array.dtype());
    interface["shape"] = array.shape();
    interface["typestr"] = typestr;
    interface["descr"] = py::make_tuple(py::make_tuple("", typestr));
    interface["strides"] =
        array.c_contiguous() ? py::object(py::none()) : py::cast(array.strides());
    interface["data"] = py::make_tuple(array.size() == 0 ? 0 : array.address(), !array.writable());
    interface["version"] = 3;
    return interface;
}

py::dict gpu_interface(const Array& array) {
    if (array.device().is_cpu())
        throw py::attribute_error("an array on the CPU has no __cuda_array_interface__");
    py::dict interface = interface_of(array);
    interface["descr"] = py::list(interface["descr"]);
    const auto stream = reinterpret_cast<std::uintptr_t>(current_stream(array.device()));
    interface["stream"] = stream == 0 ? 1 : stream;
    return interface;
}

py::dict cpu_interface(const Array& array) {
    if (!array.device().is_cpu())
        throw py::attribute_error("an array on a GPU has no __array_interface__");
    if (array.dtype() ==
        DType::bfloat16) // NumPy would read '<V2' as raw bytes; __array__ gives it its dtype
        throw py::attribute_error("bfloat16 has no __array_interface__");
    stop_going_ahead();
    wait_for_writes(array);
    py::dict interface = interface_of(array);
    interface["descr"] = py::list(interface["descr"]);
    return interface;
}

py::object as_numpy(const Self& self, const py::object& dtype, const py::object& copy) {
    if (!self.array().device().is_cpu())
        throw TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()` "
                        "to construct a "
                        "NumPy array explicitly.");
    stop_going_ahead();
    wait_for_writes(self.array());
    const py::array view = host_view(self.array(), self.object);
    if (!self.array().writable())
        view.attr("flags").attr("writeable") = false;
    return py::module_::import("numpy").attr("array")(view, dtype, py::arg("copy") = copy);
}

// The buffer protocol

struct BufferFormat {
    DType dtype;
    const char* format;
};
constexpr BufferFormat format_table[] = {
    {DType::boolean, "?"},    {DType::int8, "b"},        {DType::int16, "h"},
    {DType::int32, "i"},      {DType::int64, "l"},       {DType::uint8, "B"},
    {DType::uint16, "H"},     {DType::uint32, "I"},      {DType::uint64, "L"},
    {DType::float16, "e"},    {DType::float32, "f"},     {DType::float64, "d"},
    {DType::complex64, "Zf"}, {DType::complex128, "Zd"},
};

const char* format_of(DType dtype) {
    for (const BufferFormat& known : format_table)
        if (known.dtype == dtype)
            return known.format;
    return nullptr;
}

const char* why_no_buffer(const Array& array, int flags) {
    const auto asks = [flags](int what) { return (flags & what) == what; };
    if (!array.device().is_cpu())
        return "an array on a GPU has no buffer that the host can read: use `.get()`";
    if (format_of(array.dtype()) == nullptr)
        return "bfloat16 has no buffer format: use `.get()`";
    if (asks(PyBUF_WRITABLE) && !array.writable())
        return "the array is read-only";
    if (asks(PyBUF_C_CONTIGUOUS) && !array.c_contiguous())
        return "the array is not C-contiguous";
    if (asks(PyBUF_F_CONTIGUOUS) && !array.f_contiguous())
        return "the array is not Fortran contiguous";
    if (asks(PyBUF_ANY_CONTIGUOUS) && !array.c_contiguous() && !array.f_contiguous())
        return "the array is not contiguous";
    if (!asks(PyBUF_STRIDES) && !array.c_contiguous())
        return "the array is not C-contiguous";
    return nullptr;
}

} // namespace

Array share(const py::array& host) {
    const auto extents = [&](const py::ssize_t* values) {
        return Dims(std::span(values, static_cast<std::size_t>(host.ndim())));
    };
    return array_over(find_device("cpu"), reinterpret_cast<std::uint64_t>(host.data()),
                      to_dtype(host.dtype()), extents(host.shape()), extents(host.strides()),
                      !host.writeable(), host.ptr());
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
    view->obj = nullptr;
    return guarded(
        [&] {
            const Array& array = *find_array(self);
            if (const char* why = why_no_buffer(array, flags)) {
                PyErr_SetString(PyExc_BufferError, why);
                return -1;
            }
            stop_going_ahead();
            wait_for_writes(array);
            const auto ndim = static_cast<std::size_t>(array.ndim());
            auto numbers = std::make_unique<Py_ssize_t[]>(2 * ndim + 1);
            for (std::size_t k = 0; k < ndim; ++k) {
                numbers[k] = array.shape()[static_cast<int>(k)];
                numbers[ndim + k] = array.strides()[static_cast<int>(k)];
            }
            static char nothing = 0; // an empty array may have no address
            view->buf = array.address() == 0 ? &nothing : reinterpret_cast<void*>(array.address());
            view->len = array.nbytes();
            view->itemsize = static_cast<Py_ssize_t>(bytes_of(array.dtype()));
            view->readonly = array.writable() ? 0 : 1;
            view->ndim = array.ndim();
            view->format =
                (flags & PyBUF_FORMAT) != 0 ? const_cast<char*>(format_of(array.dtype())) : nullptr;
            view->shape = (flags & PyBUF_ND) != 0 ? numbers.get() : nullptr;
            view->strides =
                (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? numbers.get() + ndim : nullptr;
            view->suboffsets = nullptr;
            view->internal = numbers.release();
            view->obj = Py_NewRef(self);
            return 0;
        },
        -1);
}

void release_buffer(PyObject*, Py_buffer* view) {
    delete[] static_cast<Py_ssize_t*>(view->internal);
}

std::optional<Array> find_foreign_array(PyObject* object) {
    if (PyObject_HasAttrString(object, "__cupy_get_ndarray__") != 0) {
        const py::object given = py::handle(object).attr("__cupy_get_ndarray__")();
        if (const Array* array = find_array(given.ptr()))
            return *array;
        throw TypeError("__cupy_get_ndarray__ must give a quern array");
    }
    if (const std::optional<py::dict> interface =
            find_interface(object, "__cuda_array_interface__"))
        return import_interface(*interface, object, true);
    if (const std::optional<py::dict> interface = find_interface(object, "__array_interface__"))
        return import_interface(*interface, object, false);
    return std::nullopt;
}

void bind_array_interop(py::handle type) {
    attach_property(type, "__cuda_array_interface__", &gpu_interface,
                    "Version 3; of an array on a GPU.");
    attach_property(type, "__array_interface__", &cpu_interface,
                    "Version 3; of an array on the CPU.");
    attach(type, "__array__", &as_numpy, py::arg("dtype") = py::none(),
           py::arg("copy") = py::none());
}

} // namespace quern::python
