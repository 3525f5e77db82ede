// NumPy's reductions as methods of ndarray, and as one function by name for the module's functions.
#include "compiler/base/error.h"
#include "python/bindings/array_parts.h"
#include "python/bindings/bind_call.h"
#include "python/bindings/bind_error.h"
#include "python/bindings/reduce_options.h"

#include <pybind11/stl.h>

#include <string>
#include <vector>

namespace py = pybind11;

namespace quern::python {
namespace {

Reduction reduction_named(const std::string& name) {
    const auto found = find_reduction(name);
    if (!found)
        throw ValueError("there is no reduction named '" + name + "'");
    return *found;
}

py::object run(Reduction op, const Array& array, const ReduceOptions& options) {
    const ReadReduceOptions read(options);
    std::optional<Array> made = reduce(op, array, read.call, drop_gil);
    if (has_waited()) [[unlikely]]
        surface_warnings();
    return made ? made_object(wrap_array(std::move(*made))) : options.out;
}

std::string explain(const std::string& name, const Array& array, const py::object& axis,
                    const py::object& dtype, bool keepdims) {
    const ReadReduceOptions read({axis, dtype, py::none(), py::none(), py::none(), keepdims, 0});
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
            [op](const Array& self, py::object axis, py::object out, bool keepdims,
                 const py::object& dtype) -> py::object {
                py::object found =
                    run(op, self, {axis, py::none(), out, py::none(), py::none(), keepdims});
                return dtype.is_none() || !out.is_none() ? found : found.attr("astype")(dtype);
            },
            none("axis"), none("out"), py::kw_only(), no("keepdims"), none("dtype"),
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
            [op](Self self, py::object axis, py::object dtype, py::object out, double ddof,
                 bool keepdims, py::object where, const py::object& mean) -> py::object {
                if (!mean.is_none())
                    return py::module_::import("quern").attr(row(op).name.data())(
                        py::handle(self.object), axis, dtype, out, ddof, keepdims,
                        py::arg("where") = where, py::arg("mean") = mean);
                return run(op, self.array(), {axis, dtype, out, py::none(), where, keepdims, ddof});
            },
            none("axis"), none("dtype"), none("out"), py::arg("ddof") = 0.0, no("keepdims"),
            py::kw_only(), py::arg("where") = true, none("mean"), "As the function of this name.");
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
