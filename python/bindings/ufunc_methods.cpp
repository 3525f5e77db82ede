// reduce, accumulate, reduceat, at and outer of quern.ufunc.
#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "python/bindings/array_parts.h"
#include "python/bindings/bind_call.h"
#include "python/bindings/bind_dtype.h"
#include "python/bindings/bind_error.h"
#include "python/bindings/bind_stream.h"
#include "python/bindings/bind_ufunc.h"
#include "python/bindings/reduce_options.h"
#include "runtime/array/views.h"
#include "runtime/kernel/ufunc_fold.h"

#include <algorithm>
#include <numeric>
#include <span>

namespace py = pybind11;

namespace quern::python {
namespace {

Ufunc ufunc_of(const py::object& self) {
    const std::optional<Ufunc> found = find_ufunc(self.ptr());
    if (!found)
        throw TypeError("a ufunc is wanted");
    return *found;
}

// NumPy gives `out` as a tuple of one.
py::object only_output(const py::object& out) {
    if (!PyTuple_Check(out.ptr()))
        return out;
    if (PyTuple_GET_SIZE(out.ptr()) != 1)
        throw ValueError("The 'out' tuple must have exactly one entry");
    return py::reinterpret_borrow<py::tuple>(out)[0];
}

py::object result_of(std::optional<Array> made, const py::object& out) {
    if (has_waited()) [[unlikely]]
        surface_warnings();
    return made && out.is_none() ? py::cast(std::move(*made)) : out;
}

// What the methods go through: an array, or a list or a number as one.
Array operand(const py::object& given) {
    if (py::isinstance<py::array>(given))
        throw TypeError(join("Unsupported type ", py::str(py::type::of(given)).cast<std::string>(),
                             ": make an array with quern.asarray()"));
    const py::object array = as_array(given);
    return *find_array(array.ptr());
}

py::object reduce(const py::object& self, const py::object& given, const py::object& axis,
                  const py::object& dtype, const py::object& out, bool keepdims,
                  const py::object& initial, const py::object& where) {
    const py::object target = only_output(out);
    const Array array = operand(given);
    const ReadReduceOptions read(array, {axis, dtype, target, initial, where, keepdims, 0});
    return result_of(ufunc_reduce(ufunc_of(self), array, read.call, drop_gil), target);
}

UfuncLine line_of(const Array& array, const py::object& axis, const py::object& dtype,
                  const py::object& out, const char* method) {
    UfuncLine line;
    if (axis.is_none() && array.ndim() > 1)
        throw ValueError(join(method, " does not allow multiple axes"));
    line.axis = axis.is_none() ? 0 : to_int_not_bool(axis, "axis");
    if (!dtype.is_none())
        line.dtype = to_dtype(dtype);
    line.out = array_or_null(out, "out");
    return line;
}

py::object accumulate(const py::object& self, const py::object& given, const py::object& axis,
                      const py::object& dtype, const py::object& out) {
    const py::object target = only_output(out);
    const Array array = operand(given);
    const UfuncLine line = line_of(array, axis, dtype, target, "accumulate");
    return result_of(ufunc_accumulate(ufunc_of(self), array, line, drop_gil), target);
}

// Positions are checked here, on the host: an array of a device is waited for.
py::object reduceat(const py::object& self, const py::object& values, const py::object& indices,
                    const py::object& axis, const py::object& dtype, const py::object& out) {
    const Ufunc ufunc = ufunc_of(self);
    const py::object target = only_output(out);
    const Array array = operand(values);
    const UfuncLine line = line_of(array, axis, dtype, target, "reduceat");
    const CUstream stream = current_stream(array.device());
    const py::array host = host_array(indices);
    if (host.ndim() != 1)
        throw ValueError("reduceat takes one list of indices");
    const char kind = host.dtype().kind();
    if (host.size() > 0 && kind != 'i' && kind != 'u')
        throw TypeError(join("Cannot cast array data from ",
                             py::repr(host.dtype()).cast<std::string>(),
                             " to dtype('int64') according to the rule 'safe'"));
    const py::array_t<std::int64_t, py::array::c_style | py::array::forcecast> starts(host);
    if (array.ndim() > 0) {
        const std::int64_t extent = array.shape()[normalise_axis(line.axis, array.ndim())];
        const std::span<const std::int64_t> given(starts.data(),
                                                  static_cast<std::size_t>(starts.size()));
        const auto beyond = std::ranges::find_if(
            given, [=](std::int64_t start) { return start < 0 || start >= extent; });
        if (beyond != given.end())
            throw Error(ErrorKind::index, join("index ", *beyond, " out-of-bounds in ",
                                               row(ufunc).name, ".reduceat [0, ", extent, ")"));
    }
    Array places = Array::empty(array.device(), DType::int64, Dims{starts.size()}, stream);
    if (starts.size() > 0)
        upload(places, starts, stream);
    return result_of(ufunc_reduceat(ufunc, array, places, line, drop_gil), target);
}

// ufunc(a with axes of extent 1 for each of b's, b); numbers stay what they are
py::object outer(const py::object& self, py::object a, py::object b, const py::kwargs& options) {
    const UfuncRow& wanted = row(ufunc_of(self));
    if (inputs_of(wanted) != 2)
        throw ValueError("outer product only supported for binary functions");
    for (py::object* given : {&a, &b})
        if (is_list(*given))
            *given = as_array(*given);
    const Array *left = find_array(a.ptr()), *right = find_array(b.ptr());
    if (left == nullptr || right == nullptr || right->ndim() == 0)
        return self(a, b, **options);
    std::vector<std::int64_t> axes(static_cast<std::size_t>(right->ndim()));
    std::iota(axes.begin(), axes.end(), left->ndim());
    return self(py::cast(expand_dims(*left, axes)), b, **options);
}

} // namespace

void bind_ufunc_methods(py::module_& module, py::handle type) {
    const auto none = [](const char* name) { return py::arg(name) = py::none(); };
    attach(type, "reduce", &reduce, py::arg("array"), py::arg("axis") = 0, none("dtype"),
           none("out"), py::arg("keepdims") = false, none("initial"), py::arg("where") = true,
           "Joins the elements along one or several axes, or all with axis=None.");
    attach(type, "accumulate", &accumulate, py::arg("array"), py::arg("axis") = 0, none("dtype"),
           none("out"), "Joins every element along an axis to all those before it.");
    attach(type, "reduceat", &reduceat, py::arg("array"), py::arg("indices"), py::arg("axis") = 0,
           none("dtype"), none("out"), "Joins the elements from each index to the next.");
    attach(type, "outer", &outer, py::arg("A"), py::arg("B"),
           "The ufunc of every element of A with every element of B.");
    module.def(
        "ufunc_at",
        [](const py::object& self, const Array& a, const Array& places, std::int64_t width,
           const py::object& values) {
            ufunc_at(ufunc_of(self), a, places, width, array_or_null(values, "b"), drop_gil);
            if (has_waited()) [[unlikely]]
                surface_warnings();
        },
        py::arg("ufunc"), py::arg("a"), py::arg("places"), py::arg("width"), py::arg("values"));
}

} // namespace quern::python
