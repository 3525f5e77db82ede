// New arrays: empty and filled ones, ranges, and whatever Python holds that can become one.
#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "python/bindings/array_parts.h"
#include "python/bindings/bind_dtype.h"
#include "python/bindings/bind_scalar.h"
#include "python/bindings/bind_stream.h"
#include "runtime/array/views.h"
#include "runtime/kernel/fill.h"
#include "runtime/memory/copy.h"

#include <algorithm>

namespace py = pybind11;

namespace quern::python {
namespace {

Order layout_of(char order) { return order == 'F' ? Order::f : Order::c; }

char plain_order(const py::object& order) {
    const char letter = to_order(order, 'C');
    if (letter != 'C' && letter != 'F')
        throw ValueError("only 'C' or 'F' order is permitted");
    return letter;
}

DType dtype_or(const py::object& dtype, DType otherwise) {
    return dtype.is_none() ? otherwise : to_dtype(dtype);
}

Array new_array(const py::object& shape, const py::object& dtype, const py::object& order,
                const py::object& device) {
    Device& place = to_device(device);
    return Array::empty(place, dtype_or(dtype, DType::float64), to_dims(shape),
                        current_stream(place), layout_of(plain_order(order)));
}

Array new_like(const Array& model, const py::object& dtype, const py::object& order,
               const py::object& shape, const py::object& device) {
    Device& place = device.is_none() ? model.device() : to_device(device);
    const char layout = to_order(order, 'K');
    const DType type = dtype_or(dtype, model.dtype());
    if (shape.is_none())
        return empty_like(model, type, place, layout, current_stream(place));
    const Dims extents = to_dims(shape);
    const bool f =
        layout == 'F' || (layout != 'C' && model.f_contiguous() && !model.c_contiguous());
    return Array::empty(place, type, extents, current_stream(place), f ? Order::f : Order::c);
}

// A new array is dense: its first byte is its lowest.
Array cleared(Array array) {
    if (array.nbytes() > 0) {
        const py::gil_scoped_release release;
        fill_bytes(array.device(), array.address(), 0, static_cast<std::size_t>(array.nbytes()),
                   current_stream(array.device()));
    }
    return array;
}

Array filled(Array array, const py::object& value) {
    assign(array, value, current_stream(array.device()));
    return array;
}

// What Python holds as a NumPy array; arrays of ours inside lists are fetched.
py::object host_values(const py::object& value) {
    if (const Array* array = find_array(value.ptr()))
        return download(*array, current_stream(array->device()));
    if (!py::isinstance<py::list>(value) && !py::isinstance<py::tuple>(value))
        return value;
    const auto holds_arrays = [](const auto& self, py::handle list) -> bool {
        for (const py::handle item : list) {
            if (find_array(item.ptr()) != nullptr)
                return true;
            if ((py::isinstance<py::list>(item) || py::isinstance<py::tuple>(item)) &&
                self(self, item))
                return true;
        }
        return false;
    };
    if (!holds_arrays(holds_arrays, value))
        return value;
    py::list values;
    for (const py::handle item : value)
        values.append(host_values(py::reinterpret_borrow<py::object>(item)));
    return values;
}

struct Wanted {
    std::optional<DType> dtype;
    std::optional<bool> copy; // nullopt: only if needed
    char order = 'K';
    int ndmin = 0;
    Device* device = nullptr; // nullptr: where the value is, else the current one
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
    if (fits(array, wanted) && wanted.copy != true)
        return with_ndim(object, wanted.ndmin);
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

py::object from_host(const py::object& value, const Wanted& wanted) {
    const py::module_ numpy = py::module_::import("numpy");
    py::dict options;
    if (wanted.dtype)
        options["dtype"] = numpy_dtype(*wanted.dtype);
    options["order"] = std::string(1, wanted.order);
    options["ndmin"] = wanted.ndmin;
    options["copy"] = py::none();
    const auto host = numpy.attr("array")(host_values(value), **options).cast<py::array>();
    const DType dtype = to_dtype(host.dtype());
    Device& device = wanted.device != nullptr ? *wanted.device : current_device();
    if (wanted.copy == false) {
        if (!device.is_cpu() || host.ptr() != value.ptr())
            refuse_copy(device.is_cpu()
                            ? "another dtype or layout was asked for, or the value is no array"
                            : "the values are in host memory, the array on a GPU");
        const std::optional<Array> shared = find_foreign_array(host.ptr());
        if (!shared)
            refuse_copy("the memory is not one that quern can use");
        return py::reinterpret_steal<py::object>(wrap_view(Array(*shared), host.ptr()));
    }
    const bool f =
        (host.flags() & py::array::f_style) != 0 && (host.flags() & py::array::c_style) == 0;
    const CUstream stream = current_stream(device);
    Array made =
        Array::empty(device, dtype, to_dims(host.attr("shape")), stream, f ? Order::f : Order::c);
    if (made.size() > 0)
        upload(made, host, stream);
    return py::cast(std::move(made));
}

py::object make_array(const py::object& value, const Wanted& wanted) {
    if (find_array(value.ptr()) != nullptr)
        return from_array(value, wanted);
    if (py::hasattr(value, "__cupy_get_ndarray__"))
        return make_array(value.attr("__cupy_get_ndarray__")(), wanted);
    if (!py::isinstance<py::array>(value) && py::hasattr(value, "__cuda_array_interface__"))
        if (std::optional<Array> foreign = find_foreign_array(value.ptr())) {
            PyObject* view = wrap_view(std::move(*foreign), value.ptr());
            if (view == nullptr)
                throw py::error_already_set();
            return from_array(py::reinterpret_steal<py::object>(view), wanted);
        }
    return from_host(value, wanted);
}

std::optional<bool> copy_rule(const py::object& copy) {
    if (copy.is_none())
        return std::nullopt;
    return copy.cast<bool>();
}

void add_makers(py::module_& m) {
    m.def("empty", &new_array, py::arg("shape"), py::arg("dtype") = py::none(),
          py::arg("order") = "C", py::kw_only(), py::arg("device") = py::none());
    m.def(
        "zeros",
        [](const py::object& shape, const py::object& dtype, const py::object& order,
           const py::object& device) { return cleared(new_array(shape, dtype, order, device)); },
        py::arg("shape"), py::arg("dtype") = py::none(), py::arg("order") = "C", py::kw_only(),
        py::arg("device") = py::none());
    m.def(
        "full",
        [](const py::object& shape, const py::object& value, const py::object& dtype,
           const py::object& order, const py::object& device) {
            return filled(new_array(shape, dtype, order, device), value);
        },
        py::arg("shape"), py::arg("fill_value"), py::arg("dtype"), py::arg("order") = "C",
        py::kw_only(), py::arg("device") = py::none());
    const auto like = [&m](const char* name, auto finish) {
        m.def(
            name,
            [finish](const Array& a, const py::object& dtype, const py::object& order,
                     const py::object& shape, const py::object& device) {
                return finish(new_like(a, dtype, order, shape, device));
            },
            py::arg("a"), py::arg("dtype") = py::none(), py::arg("order") = "K",
            py::arg("shape") = py::none(), py::kw_only(), py::arg("device") = py::none());
    };
    like("empty_like", [](Array array) { return array; });
    like("zeros_like", [](Array array) { return cleared(std::move(array)); });
    m.def(
        "full_like",
        [](const Array& a, const py::object& value, const py::object& dtype,
           const py::object& order, const py::object& shape, const py::object& device) {
            return filled(new_like(a, dtype, order, shape, device), value);
        },
        py::arg("a"), py::arg("fill_value"), py::arg("dtype") = py::none(), py::arg("order") = "K",
        py::arg("shape") = py::none(), py::kw_only(), py::arg("device") = py::none());
}

Scalar scalar_of(const py::handle& object, const char* what) {
    if (const std::optional<Scalar> scalar = find_scalar(object.ptr()))
        return *scalar;
    throw TypeError(join(what, " must be a scalar, not ", Py_TYPE(object.ptr())->tp_name));
}

void add_ranges(py::module_& m) {
    m.def(
        "_range",
        [](const py::object& start, const py::object& step, std::int64_t count,
           const py::object& dtype, const py::object& device) {
            Device& place = to_device(device);
            const CUstream stream = current_stream(place);
            Array result = Array::empty(place, to_dtype(dtype), Dims{count}, stream);
            const Scalar first = scalar_of(start, "start"), by = scalar_of(step, "step");
            const py::gil_scoped_release release;
            if (count > 0)
                fill_range(result, first, by, stream);
            return result;
        },
        "start + i * step for i below count, in the dtype.");
    m.def(
        "_linspace",
        [](const py::object& start, const py::object& stop, const py::object& step,
           std::int64_t count, bool endpoint, const py::object& dtype, const py::object& device) {
            Device& place = to_device(device);
            const CUstream stream = current_stream(place);
            Array result = Array::empty(place, to_dtype(dtype), Dims{count}, stream);
            const Scalar first = scalar_of(start, "start"), last = scalar_of(stop, "stop"),
                         by = scalar_of(step, "step");
            const py::gil_scoped_release release;
            if (count > 0)
                fill_linspace(result, first, last, by, endpoint, stream);
            return result;
        },
        "start + i * step for i below count, in float64 or complex128, then as the dtype.");
}

} // namespace

void bind_array_makers(py::module_& module) {
    add_makers(module);
    add_ranges(module);
    module.def(
        "array",
        [](const py::object& value, const py::object& dtype, const py::object& copy,
           const py::object& order, int ndmin, const py::object& device) {
            Wanted wanted;
            if (!dtype.is_none())
                wanted.dtype = to_dtype(dtype);
            wanted.copy = copy_rule(copy);
            wanted.order = to_order(order, 'K');
            wanted.ndmin = ndmin;
            if (ndmin > max_ndim)
                throw ValueError(
                    join("ndmin bigger than allowable number of dimensions ", max_ndim));
            if (!device.is_none())
                wanted.device = &to_device(device);
            return make_array(value, wanted);
        },
        py::arg("obj"), py::arg("dtype") = py::none(), py::arg("copy") = true,
        py::arg("order") = "K", py::arg("ndmin") = 0, py::kw_only(),
        py::arg("device") = py::none());
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
