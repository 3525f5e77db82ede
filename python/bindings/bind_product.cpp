// Products summed over axes: the operator @, and what quern._products calls.
#include "python/bindings/bind_product.h"

#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "python/bindings/bind_array.h"
#include "python/bindings/bind_call.h"
#include "python/bindings/bind_dtype.h"
#include "python/bindings/bind_error.h"
#include "python/bindings/bind_scalar.h"
#include "python/bindings/module.h"
#include "runtime/kernel/product.h"

#include <pybind11/stl.h>

namespace py = pybind11;

namespace quern::python {
namespace {

ProductCall call_of(const py::object& out, const py::object& dtype) {
    ProductCall call;
    if (!out.is_none()) {
        call.out = find_array(out.ptr());
        if (call.out == nullptr)
            throw TypeError(join("out must be a quern.ndarray, not ", Py_TYPE(out.ptr())->tp_name));
    }
    if (!dtype.is_none())
        call.dtype = to_dtype(dtype);
    return call;
}

py::object finish(Array result, const py::object& out) {
    if (has_waited()) [[unlikely]]
        surface_warnings();
    return out.is_none() ? py::cast(std::move(result)) : out;
}

py::object multiply(const Array& a, const Array& b, const py::object& out,
                    const py::object& dtype) {
    return finish(matmul(a, b, call_of(out, dtype), drop_gil), out);
}

py::object dot_of(const Array& a, const Array& b, const py::object& out) {
    const ProductCall call = call_of(out, py::none());
    return finish(dot(a, b, call, drop_gil), out);
}

py::object tensordot_of(const Array& a, const std::vector<std::int64_t>& axes_a, const Array& b,
                        const std::vector<std::int64_t>& axes_b) {
    return finish(tensordot(a, axes_a, b, axes_b, {}, drop_gil), py::none());
}

py::object vdot_of(const Array& a, const Array& b) {
    return finish(vdot(a, b, drop_gil), py::none());
}

py::object contract_of(const Array& a, const std::vector<int>& labels_a, const Array& b,
                       const std::vector<int>& labels_b, const std::vector<int>& labels,
                       const py::object& out, const py::object& dtype, bool conjugate) {
    ProductCall call = call_of(out, dtype);
    call.conjugate = conjugate;
    return finish(contract(a, labels_a, b, labels_b, labels, call, drop_gil), out);
}

std::string explain_contract_of(const Array& a, const std::vector<int>& labels_a, const Array& b,
                                const std::vector<int>& labels_b, const std::vector<int>& labels) {
    return explain_contract(a, labels_a, b, labels_b, labels);
}

} // namespace

PyObject* matmul_operator(PyObject* a, PyObject* b, PyObject* out) noexcept {
    return guarded(
        [&]() -> PyObject* {
            const Array *left = find_array(a), *right = find_array(b);
            if ((left == nullptr && find_scalar(a)) || (right == nullptr && find_scalar(b)))
                throw scalar_in_matmul(left == nullptr ? 0 : 1);
            if (left == nullptr || right == nullptr)
                return Py_NewRef(Py_NotImplemented);
            const auto given = py::reinterpret_borrow<py::object>(out == nullptr ? Py_None : out);
            return multiply(*left, *right, given, py::none()).release().ptr();
        },
        static_cast<PyObject*>(nullptr));
}

void bind_product(py::module_& module) {
    module.def("_matmul", multiply, py::arg("a"), py::arg("b"), py::arg("out"), py::arg("dtype"));
    module.def("_dot", dot_of, py::arg("a"), py::arg("b"), py::arg("out"));
    module.def("_tensordot", tensordot_of, py::arg("a"), py::arg("axes_a"), py::arg("b"),
               py::arg("axes_b"));
    module.def("_vdot", vdot_of, py::arg("a"), py::arg("b"));
    module.def("_contract", contract_of, py::arg("a"), py::arg("labels_a"), py::arg("b"),
               py::arg("labels_b"), py::arg("labels"), py::arg("out") = py::none(),
               py::arg("dtype") = py::none(), py::arg("conjugate") = false);
    module.def("_explain_contract", explain_contract_of, py::arg("a"), py::arg("labels_a"),
               py::arg("b"), py::arg("labels_b"), py::arg("labels"));
}

} // namespace quern::python
