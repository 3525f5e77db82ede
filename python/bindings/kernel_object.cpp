// Results of a call, and what a parameter tells of itself.
#include "python/bindings/kernel_object.h"

namespace py = pybind11;

namespace quern::python {

PyObject* pack_results(const KernelSpec& spec, bool as_tuple, PyObject* const* outputs, int given,
                       std::vector<Array>& made) {
    const auto output = [&](int k, std::size_t& next) -> PyObject* {
        if (k < given)
            return Py_NewRef(outputs[k]);
        return wrap_array(std::move(made[next++]));
    };
    std::size_t next = 0;
    if (spec.nout == 1 && !as_tuple)
        return output(0, next);
    PyObject* tuple = PyTuple_New(spec.nout);
    if (tuple == nullptr)
        return nullptr;
    for (int k = 0; k < spec.nout; ++k) {
        PyObject* item = output(k, next);
        if (item == nullptr) {
            Py_DECREF(tuple);
            return nullptr;
        }
        PyTuple_SET_ITEM(tuple, k, item);
    }
    return tuple;
}

std::string ParameterInfo::text() const {
    return std::string(param.raw ? "raw " : "") + (param.non_const ? "_non_const " : "") +
           (param.placeholder ? std::string(1, param.placeholder)
                              : std::string(row(param.dtype).name)) +
           " " + param.name;
}

py::tuple infos(const KernelSpec& spec, int begin, int end) {
    py::tuple tuple(end - begin);
    for (int k = begin; k < end; ++k)
        tuple[k - begin] = py::cast(ParameterInfo{spec.params[static_cast<std::size_t>(k)]});
    return tuple;
}

void bind_parameter_info(py::module_& module) {
    py::class_<ParameterInfo>(module, "ParameterInfo",
                              "One parameter of a kernel, as its author wrote it.")
        .def_property_readonly("name", [](const ParameterInfo& info) { return info.param.name; })
        .def_property_readonly("dtype",
                               [](const ParameterInfo& info) -> py::object {
                                   if (info.param.placeholder)
                                       return py::none();
                                   return numpy_dtype(info.param.dtype);
                               })
        .def_property_readonly("ctype",
                               [](const ParameterInfo& info) {
                                   return info.param.placeholder
                                              ? std::string(1, info.param.placeholder)
                                              : std::string(row(info.param.dtype).spelling);
                               })
        .def_property_readonly("raw", [](const ParameterInfo& info) { return info.param.raw; })
        .def_property_readonly(
            "is_const",
            [](const ParameterInfo& info) { return !info.param.output && !info.param.non_const; })
        .def("__str__", &ParameterInfo::text)
        .def("__repr__",
             [](const ParameterInfo& info) { return "<ParameterInfo '" + info.text() + "'>"; });
}

} // namespace quern::python
