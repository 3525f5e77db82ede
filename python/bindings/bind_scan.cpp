// The cumulative functions and ndarray's methods of the same names.
#include "compiler/base/error.h"
#include "python/bindings/bind_array.h"
#include "python/bindings/bind_call.h"
#include "python/bindings/bind_dtype.h"
#include "python/bindings/bind_error.h"
#include "python/bindings/module.h"
#include "runtime/kernel/cumulative.h"

namespace py = pybind11;

namespace quern::python {
namespace {

CumulativeCall call_of(const py::object& axis, const py::object& dtype, const py::object& out) {
    CumulativeCall call;
    if (!axis.is_none())
        call.axis = to_int_not_bool(axis.ptr(), "axis");
    if (!dtype.is_none())
        call.dtype = to_dtype(dtype);
    if (!out.is_none()) {
        call.out = find_array(out.ptr());
        if (call.out == nullptr)
            throw TypeError("output must be an array");
    }
    return call;
}

py::object run(ScanOp op, const Array& a, const CumulativeCall& call, const py::object& out) {
    Array result = cumulative(op, a, call, drop_gil);
    if (has_waited()) [[unlikely]]
        surface_warnings();
    return out.is_none() ? py::cast(std::move(result)) : out;
}

void add_function(py::module_& module, ScanOp op) {
    module.def(
        row(op).function.data(),
        [op](const Array& a, const py::object& axis, const py::object& dtype,
             const py::object& out) { return run(op, a, call_of(axis, dtype, out), out); },
        py::arg("a"), py::arg("axis") = py::none(), py::arg("dtype") = py::none(),
        py::arg("out") = py::none());
}

// The array API's form: more than one axis need an axis by name.
void add_standard(py::module_& module, const char* name, ScanOp op) {
    module.def(
        name,
        [op](const Array& x, const py::object& axis, const py::object& dtype, const py::object& out,
             bool include_initial) {
            if (axis.is_none() && x.ndim() > 1)
                throw ValueError("For arrays which have more than one dimension ``axis`` argument "
                                 "is required.");
            CumulativeCall call = call_of(axis, dtype, out);
            call.include_initial = include_initial;
            return run(op, x, call, out);
        },
        py::arg("x"), py::pos_only(), py::kw_only(), py::arg("axis") = py::none(),
        py::arg("dtype") = py::none(), py::arg("out") = py::none(),
        py::arg("include_initial") = false);
}

void attach_method(py::handle type, ScanOp op, const char* doc) {
    attach(
        type, row(op).function.data(),
        [op](const Self& self, const py::object& axis, const py::object& dtype,
             const py::object& out) {
            return run(op, self.array(), call_of(axis, dtype, out), out);
        },
        py::arg("axis") = py::none(), py::arg("dtype") = py::none(), py::arg("out") = py::none(),
        doc);
}

} // namespace

void bind_scan(py::module_& module) {
    for (const ScanRow& scan : scan_table)
        add_function(module, scan.id);
    add_standard(module, "cumulative_sum", ScanOp::sum);
    add_standard(module, "cumulative_prod", ScanOp::product);
    const py::handle type = reinterpret_cast<PyObject*>(array_type);
    attach_method(type, ScanOp::sum, "The sum of the elements up to each; see quern.cumsum.");
    attach_method(type, ScanOp::product,
                  "The product of the elements up to each; see quern.cumprod.");
    // For experiments and tests: another plan than the device's own, or the plan as text.
    module.def(
        "_cumulative",
        [](int op, const Array& a, const py::object& axis, const py::object& dtype,
           const py::object& out, int batch, int split, bool explain) {
            CumulativeCall call = call_of(axis, dtype, out);
            call.batch = batch;
            call.split = split;
            const auto which = scan_table.at(static_cast<std::size_t>(op)).id;
            return explain ? py::object(py::str(explain_cumulative(which, a, call)))
                           : run(which, a, call, out);
        },
        py::arg("op"), py::arg("a"), py::arg("axis") = py::none(), py::arg("dtype") = py::none(),
        py::arg("out") = py::none(), py::kw_only(), py::arg("batch") = 0, py::arg("split") = 0,
        py::arg("explain") = false);
}

} // namespace quern::python
