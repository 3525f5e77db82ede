// Arrays of whatever Python holds that can become one.
#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "python/bindings/array_parts.h"
#include "python/bindings/bind_dtype.h"
#include "python/bindings/bind_error.h"
#include "python/bindings/bind_scalar.h"
#include "python/bindings/bind_stream.h"
#include "python/bindings/fast_call.h"
#include "python/bindings/subclass.h"
#include "runtime/array/views.h"
#include "runtime/kernel/fill.h"

#include <algorithm>

namespace py = pybind11;

namespace quern::python {
namespace {

struct Wanted {
    std::optional<DType> dtype;
    std::optional<bool> copy; // nullopt: only if needed
    char order = 'K';
    int ndmin = 0;
    Device* device = nullptr; // nullptr: where the value is, else the current one
    bool subok = false;       // a subclass's instance may be returned as it is
};

bool fits(const Array& array, const Wanted& wanted) {
    if (wanted.dtype && *wanted.dtype != array.dtype())
        return false;
    if (wanted.device != nullptr && wanted.device != &array.device())
        return false;
    return wanted.order == 'K' || (wanted.order == 'C' && array.c_contiguous()) ||
           (wanted.order == 'F' && array.f_contiguous()) ||
           (wanted.order == 'A' && (array.c_contiguous() || array.f_contiguous()));
}

[[noreturn]] void refuse_copy(const char* why) {
    throw ValueError(join("Unable to avoid copy while creating an array as requested: ", why,
                          " (copy=None copies only if needed)"));
}

py::object with_ndim(py::object object, int ndmin) {
    const Array& array = *find_array(object.ptr());
    if (array.ndim() >= ndmin)
        return object;
    Dims shape(static_cast<std::size_t>(ndmin));
    for (int k = 0; k < ndmin; ++k) {
        const int from = k - (ndmin - array.ndim());
        shape[k] = from < 0 ? 1 : array.shape()[from];
    }
    return Self{object.ptr()}.view(*reshape_view(array, shape));
}

py::object from_array(const py::object& object, const Wanted& wanted) {
    const Array& array = *find_array(object.ptr());
    if (fits(array, wanted) && wanted.copy != true) {
        const bool as_it_is = wanted.subok || Py_TYPE(object.ptr()) == array_type;
        return with_ndim(
            as_it_is ? object : made_object(wrap_view_as(array_type, Array(array), object.ptr())),
            wanted.ndmin);
    }
    if (wanted.copy == false)
        refuse_copy("another dtype, layout or device was asked for");
    Array moved = array;
    if (wanted.device != nullptr && wanted.device != &array.device()) {
        moved = duplicate_on(array, *wanted.device);
        Wanted rest = wanted;
        rest.copy = std::nullopt;
        if (fits(moved, rest))
            return with_ndim(py::cast(std::move(moved)), wanted.ndmin);
    }
    const CUstream stream = current_stream(moved.device());
    return with_ndim(
        py::cast(duplicate(moved, wanted.dtype.value_or(moved.dtype()), wanted.order, stream)),
        wanted.ndmin);
}

// A number of Python's as an array of its own dtype: a fill, where an upload would wait.
std::optional<Array> from_number(PyObject* value, const Wanted& wanted) {
    if (!PyFloat_CheckExact(value) || wanted.copy == false || wanted.ndmin != 0 ||
        wanted.dtype.value_or(DType::float64) != DType::float64)
        return std::nullopt;
    Device& device = wanted.device != nullptr ? *wanted.device : current_device();
    const CUstream stream = current_stream(device);
    Array made = Array::empty(device, DType::float64, Dims(), stream);
    fill(made, Scalar::of(PyFloat_AS_DOUBLE(value)), stream);
    return made;
}

// A new array for the values of `host`, which NumPy has laid out as `order` says.
Array empty_for(const py::array& host, char order, DType dtype, Device& device, CUstream stream) {
    const Dims shape = to_dims(host.attr("shape"));
    const bool c = (host.flags() & py::array::c_style) != 0;
    const bool f = (host.flags() & py::array::f_style) != 0;
    if (order == 'K' && !c && !f)
        return Array::empty_strided(
            device, dtype, shape,
            strides_like(shape, to_dims(host.attr("strides")), bytes_of(dtype)), stream);
    return Array::empty(device, dtype, shape, stream,
                        order == 'F' || (f && !c) ? Order::f : Order::c);
}

// NumPy's array of the values, in the dtype and layout that are wanted. Throws what NumPy does.
py::array laid_out(const py::object& value, const Wanted& wanted) {
    const bool plain = wanted.order == 'K' && !wanted.dtype;
    if (plain && Py_TYPE(value.ptr()) == py::detail::npy_api::get().PyArray_Type_) {
        const auto host = py::reinterpret_borrow<py::array>(value);
        if (host.ndim() >= wanted.ndmin)
            return host;
    }
    PYBIND11_CONSTINIT static py::gil_safe_call_once_and_store<py::object> stored;
    const py::object& make = stored
                                 .call_once_and_store_result([] {
                                     return py::object(py::module_::import("numpy").attr("array"));
                                 })
                                 .get_stored();
    py::dict options;
    if (wanted.dtype)
        options["dtype"] = numpy_dtype(*wanted.dtype);
    if (wanted.order != 'K')
        options["order"] = std::string(1, wanted.order);
    if (wanted.ndmin > 0)
        options["ndmin"] = wanted.ndmin;
    options["copy"] = py::none();
    return make(value, **options).cast<py::array>();
}

py::object from_host(const py::object& value, const Wanted& wanted) {
    if (std::optional<Array> number = from_number(value.ptr(), wanted))
        return py::cast(std::move(*number));
    const py::array host = laid_out(value, wanted);
    const DType dtype = native_dtype_of(host);
    Device& device = wanted.device != nullptr ? *wanted.device : current_device();
    if (wanted.copy == false) {
        if (!is_native(host.dtype()))
            refuse_copy("the bytes are in another machine's order");
        if (!device.is_cpu() || host.ptr() != value.ptr())
            refuse_copy(device.is_cpu()
                            ? "another dtype or layout was asked for, or the value is no array"
                            : "the values are in host memory, the array on a GPU");
        return made_object(wrap_view(share(host), host.ptr()));
    }
    const CUstream stream = current_stream(device);
    Array made = empty_for(host, wanted.order, dtype, device, stream);
    if (made.size() > 0)
        upload(made, host, stream);
    return py::cast(std::move(made));
}

py::object from_nested(const py::object& list, const Wanted& wanted) {
    if (wanted.copy == false)
        refuse_copy("the value is no array");
    Wanted rest = wanted;
    rest.copy = std::nullopt;
    return from_array(py::cast(join_nested(list, wanted.dtype, wanted.device)), rest);
}

py::object make_array(const py::object& value, const Wanted& wanted) {
    if (find_array(value.ptr()) != nullptr)
        return from_array(value, wanted);
    if (holds_arrays(value))
        return from_nested(value, wanted);
    if (is_list(value) || py::isinstance<py::array>(value))
        return from_host(value, wanted);
    if (py::hasattr(value, wrapped_array))
        return make_array(value.attr(wrapped_array)(), wanted);
    if (py::hasattr(value, "__cuda_array_interface__"))
        if (std::optional<Array> foreign = find_foreign_array(value.ptr())) {
            return from_array(made_object(wrap_view(std::move(*foreign), value.ptr())), wanted);
        }
    return from_host(value, wanted);
}

Wanted wanted_of(const py::object& dtype, const py::object& copy, const py::object& order,
                 int ndmin, const py::object& device) {
    Wanted wanted;
    if (!dtype.is_none())
        wanted.dtype = to_dtype(dtype);
    wanted.copy = to_copy_rule(copy);
    wanted.order = to_order(order, 'K');
    wanted.ndmin = ndmin;
    if (ndmin > max_ndim)
        throw ValueError(join("ndmin bigger than allowable number of dimensions ", max_ndim));
    if (!device.is_none())
        wanted.device = &to_device(device);
    return wanted;
}

// A buffer's memory as it lies. What only a copy makes an array of goes by way of NumPy, which also
// tells what is wrong.
py::object from_buffer(const py::object& buffer, const py::object& dtype, py::ssize_t count,
                       py::ssize_t offset, const py::object& device) {
    Device& place = device.is_none() ? current_device() : to_device(device);
    const bool plain = dtype.is_none() || is_native(py::dtype::from_args(dtype));
    if (place.is_cpu() && plain && PyObject_CheckBuffer(buffer.ptr()) != 0) {
        const DType type = dtype.is_none() ? DType::float64 : to_dtype(dtype);
        const auto item = static_cast<py::ssize_t>(bytes_of(type));
        const auto view = py::reinterpret_steal<py::object>(PyMemoryView_FromObject(buffer.ptr()));
        if (!view)
            throw py::error_already_set();
        const Py_buffer* memory = PyMemoryView_GET_BUFFER(view.ptr());
        const py::ssize_t left = memory->len - offset;
        const auto address =
            reinterpret_cast<std::uint64_t>(memory->buf) + static_cast<std::uint64_t>(offset);
        if (offset >= 0 && left > 0 && count != 0 && PyBuffer_IsContiguous(memory, 'C') != 0 &&
            (count < 0 ? left % item == 0 : count <= left / item) &&
            address % static_cast<std::uint64_t>(item) == 0) {
            const std::int64_t length = count < 0 ? left / item : count;
            return made_object(wrap_view(array_over(place, address, type, Dims{length}, Dims{item},
                                                    memory->readonly != 0, view.ptr()),
                                         view.ptr()));
        }
    }
    const py::object host = py::module_::import("numpy").attr("frombuffer")(
        buffer, dtype.is_none() ? py::object(py::str("float64")) : dtype, count, offset);
    return make_array(host, wanted_of(py::none(), py::none(), py::none(), 0, device));
}

PyObject* frombuffer(PyObject*, PyObject* const* values, Py_ssize_t positional,
                     PyObject* keywords) noexcept {
    static constexpr std::array names{"buffer", "dtype", "count", "offset", "device"};
    return guarded(
        [&] {
            std::array<PyObject*, names.size()> given{nullptr, Py_None, nullptr, nullptr, Py_None};
            read_arguments("frombuffer", names, 4,
                           {values, static_cast<std::size_t>(positional), keywords}, given);
            if (given[0] == nullptr)
                throw TypeError("frombuffer() missing required argument 'buffer' (pos 1)");
            const auto object = [&](std::size_t k) {
                return py::reinterpret_borrow<py::object>(given[k]);
            };
            const auto number = [&](std::size_t k, py::ssize_t otherwise) {
                return given[k] == nullptr ? otherwise : to_int(given[k], names[k]);
            };
            return from_buffer(object(0), object(1), number(2, -1), number(3, 0), object(4))
                .release()
                .ptr();
        },
        static_cast<PyObject*>(nullptr));
}

void add_frombuffer(py::module_& m) {
    static PyMethodDef entry = fast_entry(
        "frombuffer", &frombuffer,
        "frombuffer(buffer, dtype=None, count=-1, offset=0, *, device=None)\n--\n\n"
        "A 1-D array over the memory of a buffer, read-only where that is; on a GPU, or of "
        "unaligned values, a copy.\n\n"
        "`dtype` is float64 unless told; `count` elements, -1: all, from byte `offset` on.\n"
        "Raises: TypeError for what is no buffer; ValueError for sizes that do not fit.\n"
        "Source: NumPy, `numpy.frombuffer`.");
    define_fast(m, entry);
}

void add_conversions(py::module_& m) {
    m.def(
        "array",
        [](const py::object& value, const py::object& dtype, const py::object& copy,
           const py::object& order, bool subok, int ndmin, const py::object&,
           const py::object& device) {
            Wanted wanted = wanted_of(dtype, copy, order, ndmin, device);
            wanted.subok = subok;
            return make_array(value, wanted);
        },
        py::arg("obj"), py::arg("dtype") = py::none(), py::arg("copy") = true,
        py::arg("order") = "K", py::arg("subok") = false, py::arg("ndmin") = 0, py::kw_only(),
        py::arg("blocking") = false, py::arg("device") = py::none(),
        "Make an array from anything NumPy takes, from a quern array, or from an object with a "
        "device's memory.\n\n"
        "Objects with `__cuda_array_interface__` are used where they are unless a copy is asked "
        "for. `copy=None` copies only\nif needed; `copy=False` never does, and on the CPU then "
        "shares a NumPy array's memory.\n"
        "Shapes: at least `ndmin` axes.\n"
        "Raises: TypeError for a dtype that no device has; ValueError if `copy=False` cannot be.\n"
        "Source: NumPy, `numpy.array`; CuPy, `cupy.array`.");
    m.def(
        "asarray",
        [](const py::object& value, const py::object& dtype, const py::object& order,
           const py::object& copy, const py::object&, const py::object& device) {
            return make_array(value, wanted_of(dtype, copy, order, 0, device));
        },
        py::arg("a"), py::arg("dtype") = py::none(), py::arg("order") = py::none(), py::kw_only(),
        py::arg("copy") = py::none(), py::arg("blocking") = false, py::arg("device") = py::none(),
        "Like `array`, but a quern array that already fits is returned as it is.\n\n"
        "With `device=` the result is on that device, copied there if it must be.");
    m.def(
        "asanyarray",
        [](const py::object& value, const py::object& dtype, const py::object& order,
           const py::object& copy, const py::object&, const py::object& device) {
            Wanted wanted = wanted_of(dtype, copy, order, 0, device);
            wanted.subok = true;
            return make_array(value, wanted);
        },
        py::arg("a"), py::arg("dtype") = py::none(), py::arg("order") = py::none(), py::kw_only(),
        py::arg("copy") = py::none(), py::arg("blocking") = false, py::arg("device") = py::none(),
        "The same as `asarray`, but an instance of a subclass that fits stays one.");
    const auto in_order = [&m](const char* name, char order, const char* doc) {
        m.def(
            name,
            [order](const py::object& value, const py::object& dtype) {
                Wanted wanted = wanted_of(dtype, py::none(), py::none(), 1, py::none());
                wanted.order = order;
                return make_array(value, wanted);
            },
            py::arg("a"), py::arg("dtype") = py::none(), doc);
    };
    in_order("ascontiguousarray", 'C',
             "An array in C order with at least one axis; the array itself if it is one.");
    in_order("asfortranarray", 'F',
             "An array in Fortran order with at least one axis; the array itself if it is one.");
    m.def(
        "copy",
        [](const py::object& value, const py::object& order) {
            return make_array(value, wanted_of(py::none(), py::bool_(true), order, 0, py::none()));
        },
        py::arg("a"), py::arg("order") = "K",
        "A copy of `a`, in its own layout unless `order` says otherwise.");
}

} // namespace

py::object as_array(const py::object& value, std::optional<DType> dtype, Device* device) {
    return find_array(value.ptr()) != nullptr
               ? value
               : make_array(value, {.dtype = dtype, .device = device});
}

void bind_array_makers(py::module_& module) {
    add_frombuffer(module);
    add_conversions(module);
    // An array comes back from a pickle on its own device if this machine has it, else on the
    // current one.
    module.def("_rebuild_array", [](const py::array& values, const std::string& name) {
        Wanted wanted;
        const std::vector<std::string> names = device_names();
        if (std::find(names.begin(), names.end(), name) != names.end())
            wanted.device = &find_device(name);
        wanted.copy = true;
        return make_array(values, wanted);
    });
}

} // namespace quern::python
