// Quantiles and selection for the functions of quern._order, which decide dtypes as NumPy does.
#include "compiler/base/error.h"
#include "python/bindings/bind_array.h"
#include "python/bindings/bind_call.h"
#include "python/bindings/bind_dtype.h"
#include "python/bindings/bind_error.h"
#include "python/bindings/module.h"
#include "runtime/kernel/quantile.h"

#include <pybind11/stl.h>

namespace py = pybind11;

namespace quern::python {
namespace {

py::object run(const Array& a, const Array& q, const py::object& axis, const std::string& method,
               const py::object& dtype, bool keepdims, const py::object& out, bool skip_nan,
               int splits, bool explain) {
    QuantileCall call;
    std::vector<std::int64_t> axes;
    call.all_axes = !read_axes(axis, axes);
    call.axes = axes;
    const auto found = find_method(method);
    if (!found)
        throw ValueError("there is no method named '" + method + "'");
    call.method = *found;
    call.result = to_dtype(dtype);
    call.keepdims = keepdims;
    call.skip_nan = skip_nan;
    call.splits = splits;
    if (!out.is_none()) {
        call.out = find_array(out.ptr());
        if (call.out == nullptr)
            throw TypeError(std::string("out must be a quern.ndarray, not ") +
                            Py_TYPE(out.ptr())->tp_name);
    }
    if (explain)
        return py::str(explain_quantile(a, q, call));
    Array result = quantile(a, q, call, drop_gil);
    if (has_waited()) [[unlikely]]
        surface_warnings();
    return out.is_none() ? py::cast(std::move(result)) : out;
}

} // namespace

void bind_quantile(py::module_& module) {
    module.def("_quantile", run, py::arg("a"), py::arg("q"), py::arg("axis"), py::arg("method"),
               py::arg("dtype"), py::arg("keepdims"), py::arg("out"), py::arg("skip_nan"),
               py::kw_only(), py::arg("splits") = 0, py::arg("explain") = false);
    std::vector<std::pair<std::string, bool>> methods;
    for (const QuantileRow& method : quantile_table)
        if (method.id != QuantileMethod::median && method.id != QuantileMethod::rank)
            methods.emplace_back(method.name, method.takes);
    module.attr("_quantile_methods") = py::dict(py::cast(methods));
}

} // namespace quern::python
