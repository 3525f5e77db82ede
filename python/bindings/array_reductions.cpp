// NumPy's reductions as methods of ndarray, and as one function by name for the module's functions.
#include "compiler/base/error.h"
#include "python/bindings/array_parts.h"
#include "python/bindings/bind_call.h"
#include "python/bindings/bind_dtype.h"
#include "python/bindings/bind_error.h"
#include "python/bindings/bind_scalar.h"
#include "runtime/kernel/reduce.h"

#include <pybind11/stl.h>

#include <string>
#include <vector>

namespace py = pybind11;

namespace quern::python {
namespace {

// One call's options as Python gave them.
struct Options {
    py::object axis, dtype, out, initial, where;
    bool keepdims = false;
    double ddof = 0;
};

const Array* array_or_null(const py::object& object, const char* what) {
    if (object.is_none())
        return nullptr;
    if (Array* array = find_array(object.ptr()))
        return array;
    throw TypeError(std::string(what) + " must be a quern.ndarray, not " +
                    Py_TYPE(object.ptr())->tp_name);
}

// where=True is no mask at all.
const Array* mask_of(const py::object& where) {
    if (where.ptr() == Py_True)
        return nullptr;
    return array_or_null(where, "where");
}

struct ReadOptions {
    ReduceCall call;
    std::vector<std::int64_t> axes;

    explicit ReadOptions(const Options& options) {
        if (!options.axis.is_none()) {
            call.all_axes = false;
            if (PyTuple_Check(options.axis.ptr())) {
                for (const py::handle item : options.axis)
                    axes.push_back(to_int(item, "axis"));
            } else {
                axes.push_back(to_int(options.axis, "axis"));
            }
            call.axes = axes;
        }
        call.keepdims = options.keepdims;
        call.ddof = options.ddof;
        if (!options.dtype.is_none())
            call.dtype = to_dtype(options.dtype);
        call.out = array_or_null(options.out, "out");
        call.where = mask_of(options.where);
        if (!options.initial.is_none()) {
            call.initial = find_scalar(options.initial.ptr());
            if (!call.initial)
                throw TypeError(std::string("initial must be a number, not ") +
                                Py_TYPE(options.initial.ptr())->tp_name);
        }
    }
};

Reduction reduction_named(const std::string& name) {
    const auto found = find_reduction(name);
    if (!found)
        throw ValueError("there is no reduction named '" + name + "'");
    return *found;
}

py::object run(Reduction op, const Array& array, const Options& options) {
    const ReadOptions read(options);
    std::optional<Array> made = reduce(op, array, read.call, drop_gil);
    if (has_waited()) [[unlikely]]
        surface_warnings();
    return made ? py::reinterpret_steal<py::object>(wrap_array(std::move(*made))) : options.out;
}

std::string explain(const std::string& name, const Array& array, const py::object& axis,
                    const py::object& dtype, bool keepdims) {
    const ReadOptions read({axis, dtype, py::none(), py::none(), py::none(), keepdims, 0});
    return explain_reduce(reduction_named(name), array, read.call);
}

const auto none = [](const char* name) { return py::arg(name) = py::none(); };
const auto no = [](const char* name) { return py::arg(name) = false; };

void attach_totals(py::handle type) {
    for (const Reduction op : {Reduction::sum, Reduction::prod})
        attach(
            type, row(op).name.data(),
            [op](const Array& self, py::object axis, py::object dtype, py::object out,
                 bool keepdims, py::object initial, py::object where) {
                return run(op, self, {axis, dtype, out, initial, where, keepdims});
            },
            none("axis"), none("dtype"), none("out"), no("keepdims"), none("initial"),
            py::arg("where") = true, "As the function of this name.");
}

void attach_extremes(py::handle type) {
    for (const Reduction op : {Reduction::max, Reduction::min})
        attach(
            type, row(op).name.data(),
            [op](const Array& self, py::object axis, py::object out, bool keepdims,
                 py::object initial, py::object where) {
                return run(op, self, {axis, py::none(), out, initial, where, keepdims});
            },
            none("axis"), none("out"), no("keepdims"), none("initial"), py::arg("where") = true,
            "As the function of this name.");
    for (const Reduction op : {Reduction::any, Reduction::all})
        attach(
            type, row(op).name.data(),
            [op](const Array& self, py::object axis, py::object out, bool keepdims,
                 py::object where) {
                return run(op, self, {axis, py::none(), out, py::none(), where, keepdims});
            },
            none("axis"), none("out"), no("keepdims"), py::kw_only(), py::arg("where") = true,
            "As the function of this name.");
    for (const Reduction op : {Reduction::argmax, Reduction::argmin})
        attach(
            type, row(op).name.data(),
            [op](const Array& self, py::object axis, py::object out, bool keepdims) {
                return run(op, self, {axis, py::none(), out, py::none(), py::none(), keepdims});
            },
            none("axis"), none("out"), py::kw_only(), no("keepdims"),
            "As the function of this name.");
    attach(
        type, "ptp",
        [](const Array& self, py::object axis, py::object out, bool keepdims) {
            return run(Reduction::ptp, self,
                       {axis, py::none(), out, py::none(), py::none(), keepdims});
        },
        none("axis"), none("out"), no("keepdims"), "As the function of this name.");
}

void attach_moments(py::handle type) {
    attach(
        type, "mean",
        [](const Array& self, py::object axis, py::object dtype, py::object out, bool keepdims,
           py::object where) {
            return run(Reduction::mean, self, {axis, dtype, out, py::none(), where, keepdims});
        },
        none("axis"), none("dtype"), none("out"), no("keepdims"), py::kw_only(),
        py::arg("where") = true, "As the function of this name.");
    for (const Reduction op : {Reduction::var, Reduction::std})
        attach(
            type, row(op).name.data(),
            [op](const Array& self, py::object axis, py::object dtype, py::object out, double ddof,
                 bool keepdims, py::object where) {
                return run(op, self, {axis, dtype, out, py::none(), where, keepdims, ddof});
            },
            none("axis"), none("dtype"), none("out"), py::arg("ddof") = 0.0, no("keepdims"),
            py::kw_only(), py::arg("where") = true, "As the function of this name.");
}

} // namespace

void bind_array_reductions(py::module_& module, py::handle type) {
    attach_totals(type);
    attach_extremes(type);
    attach_moments(type);
    module.def(
        "reduce",
        [](const std::string& name, const Array& array, py::object axis, py::object dtype,
           py::object out, bool keepdims, py::object initial, py::object where, double ddof) {
            return run(reduction_named(name), array,
                       {axis, dtype, out, initial, where, keepdims, ddof});
        },
        py::arg("name"), py::arg("a"), none("axis"), none("dtype"), none("out"), no("keepdims"),
        none("initial"), py::arg("where") = true, py::arg("ddof") = 0.0,
        "The reduction of that name.");
    module.def("explain_reduce", &explain, py::arg("name"), py::arg("a"), none("axis"),
               none("dtype"), no("keepdims"), "The plan of such a reduction, as text.");
}

} // namespace quern::python
