// See fast_call.h.
#include "python/bindings/fast_call.h"

#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "python/bindings/bind_array.h"

#include <algorithm>

namespace py = pybind11;

namespace quern::python {

void read_arguments(std::string_view function, std::span<const char* const> names,
                    std::size_t most_positional, const FastArguments& call,
                    std::span<PyObject*> given) {
    if (call.positional > most_positional)
        throw TypeError(join(function, "() takes at most ", most_positional,
                             " positional arguments but ", call.positional, " were given"));
    std::copy_n(call.values, call.positional, given.begin());
    if (call.keywords == nullptr)
        return;
    const auto keywords = static_cast<std::size_t>(PyTuple_GET_SIZE(call.keywords));
    std::uint64_t named = 0;
    for (std::size_t k = 0; k < keywords; ++k) {
        PyObject* keyword = PyTuple_GET_ITEM(call.keywords, static_cast<Py_ssize_t>(k));
        const auto place = static_cast<std::size_t>(
            std::ranges::find_if(names,
                                 [&](const char* name) {
                                     return PyUnicode_CompareWithASCIIString(keyword, name) == 0;
                                 }) -
            names.begin());
        if (place == names.size())
            throw TypeError(join(function, "() got an unexpected keyword argument '",
                                 py::cast<std::string>(keyword), "'"));
        if (place < call.positional || (named >> place & 1) != 0)
            throw TypeError(
                join(function, "() got multiple values for argument '", names[place], "'"));
        named |= std::uint64_t{1} << place;
        given[place] = call.values[call.positional + k];
    }
}

PyMethodDef fast_entry(const char* name, FastFunction function, const char* text) {
    return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(function)),
            METH_FASTCALL | METH_KEYWORDS, text};
}

void attach_fast(py::handle type, PyMethodDef& entry) {
    type.attr(entry.ml_name) =
        made_object(PyDescr_NewMethod(reinterpret_cast<PyTypeObject*>(type.ptr()), &entry));
}

void define_fast(py::module_& module, PyMethodDef& entry) {
    const py::object name = module.attr("__name__");
    module.attr(entry.ml_name) = made_object(PyCFunction_NewEx(&entry, module.ptr(), name.ptr()));
}

} // namespace quern::python
