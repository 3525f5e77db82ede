// New arrays of a shape, empty and filled, and ranges.
#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "python/bindings/array_parts.h"
#include "python/bindings/bind_dtype.h"
#include "python/bindings/bind_scalar.h"
#include "python/bindings/bind_stream.h"
#include "runtime/kernel/fill.h"
#include "runtime/kernel/recorder.h"
#include "runtime/memory/copy.h"

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

Array new_array(const py::object& shape, DType dtype, const py::object& order,
                const py::object& device) {
    Device& place = to_device(device);
    return Array::empty(place, dtype, to_dims(shape), current_stream(place),
                        layout_of(plain_order(order)));
}

Array new_like(const Array& model, const py::object& dtype, const py::object& order,
               const py::object& shape, const py::object& device) {
    Device& place = device.is_none() ? model.device() : to_device(device);
    const char layout = to_order(order, 'K');
    const DType type = dtype_or(dtype, model.dtype());
    if (shape.is_none())
        return empty_like(model, type, place, layout, current_stream(place));
    const Dims extents = to_dims(shape);
    const bool keeps = layout == 'A' || (layout == 'K' && extents.size() == model.ndim());
    const bool f = layout == 'F' || (keeps && model.f_contiguous() && !model.c_contiguous());
    if (layout == 'K' && keeps && !f && !model.c_contiguous())
        return Array::empty_strided(place, type, extents,
                                    strides_like(extents, model.strides(), bytes_of(type)),
                                    current_stream(place));
    return Array::empty(place, type, extents, current_stream(place), f ? Order::f : Order::c);
}

// A new array is dense: its first byte is its lowest.
Array cleared(Array array) {
    if (array.nbytes() > 0) {
        const py::gil_scoped_release release;
        if (current_recorder() != nullptr)
            fill(array, Scalar::of(false), current_stream(array.device()));
        else
            fill_bytes(array.device(), array.address(), 0, static_cast<std::size_t>(array.nbytes()),
                       current_stream(array.device()));
    }
    return array;
}

Array filled(Array array, const py::object& value) {
    assign(array, value, current_stream(array.device()));
    return array;
}

// By a cast, not by assignment: what the dtype cannot hold of a float or a complex number is lost,
// with NumPy's warning.
Array filled_by_cast(Array array, const py::object& value) {
    const Kind kind = row(array.dtype()).kind;
    const bool is_complex = PyComplex_Check(value.ptr()) != 0;
    const bool loses = kind != Kind::complex &&
                       (is_complex || (kind != Kind::floating && PyFloat_Check(value.ptr()) != 0));
    if (!loses)
        return filled(std::move(array), value);
    const py::object cast = numpy_array(value).attr("astype")(numpy_dtype(array.dtype()));
    return filled(std::move(array), cast.attr("item")());
}

// The dtype that an array of copies of the value takes by itself.
DType dtype_of_value(const py::object& value) {
    if (const Array* array = find_array(value.ptr()))
        return array->dtype();
    if (PyFloat_CheckExact(value.ptr()))
        return DType::float64;
    return to_dtype(numpy_array(value).dtype());
}

void add_makers(py::module_& m) {
    const auto of_shape = [&m](const char* name, auto finish, const char* doc) {
        m.def(
            name,
            [finish](const py::object& shape, const py::object& dtype, const py::object& order,
                     const py::object& device) {
                return finish(new_array(shape, dtype_or(dtype, DType::float64), order, device));
            },
            py::arg("shape"), py::arg("dtype") = py::none(), py::arg("order") = "C", py::kw_only(),
            py::arg("device") = py::none(), doc);
    };
    const auto as_is = [](Array array) { return array; };
    const auto ones = [](Array array) { return filled(std::move(array), py::int_(1)); };
    of_shape("empty", as_is, "An array whose values are whatever the memory holds.");
    of_shape("zeros", cleared, "An array of zeros.");
    of_shape("ones", ones, "An array of ones.");
    m.def(
        "full",
        [](const py::object& shape, const py::object& value, const py::object& dtype,
           const py::object& order, const py::object& device) {
            Device* const place = device.is_none() ? nullptr : &to_device(device);
            const py::object filling =
                is_list(value) ? as_array(value, std::nullopt, place) : value;
            const DType type = dtype.is_none() ? dtype_of_value(filling) : to_dtype(dtype);
            return filled_by_cast(new_array(shape, type, order, device), filling);
        },
        py::arg("shape"), py::arg("fill_value"), py::arg("dtype") = py::none(),
        py::arg("order") = "C", py::kw_only(), py::arg("device") = py::none(),
        "An array of copies of `fill_value`, whose dtype it takes by default.");
    const auto like = [&m](const char* name, const char* model, auto finish, const char* doc) {
        m.def(
            name,
            [finish](const py::object& a, const py::object& dtype, const py::object& order,
                     const py::object&, const py::object& shape, const py::object& device) {
                const py::object array = as_array(a);
                return finish(new_like(*find_array(array.ptr()), dtype, order, shape, device));
            },
            py::arg(model), py::arg("dtype") = py::none(), py::arg("order") = "K",
            py::arg("subok") = py::none(), py::arg("shape") = py::none(), py::kw_only(),
            py::arg("device") = py::none(), doc);
    };
    like("empty_like", "prototype", as_is,
         "An uninitialised array with the shape, dtype, layout and device of another.");
    like("zeros_like", "a", cleared,
         "An array of zeros with the shape, dtype, layout and device of another.");
    like("ones_like", "a", ones,
         "An array of ones with the shape, dtype, layout and device of another.");
    m.def(
        "full_like",
        [](const py::object& a, const py::object& value, const py::object& dtype,
           const py::object& order, const py::object&, const py::object& shape,
           const py::object& device) {
            const py::object array = as_array(a);
            const Array made = new_like(*find_array(array.ptr()), dtype, order, shape, device);
            return filled_by_cast(
                made, is_list(value) ? as_array(value, std::nullopt, &made.device()) : value);
        },
        py::arg("a"), py::arg("fill_value"), py::arg("dtype") = py::none(), py::arg("order") = "K",
        py::arg("subok") = py::none(), py::arg("shape") = py::none(), py::kw_only(),
        py::arg("device") = py::none(),
        "An array of copies of `fill_value` with the shape, dtype, layout and device of another.");
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

void bind_array_filled(py::module_& module) {
    add_makers(module);
    add_ranges(module);
}

} // namespace quern::python
