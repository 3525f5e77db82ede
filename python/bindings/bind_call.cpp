// The GIL's hook, and small readings of Python's state.
#include "python/bindings/bind_call.h"

#include "compiler/base/error.h"

#include <utility>

namespace py = pybind11;

namespace quern::python {
namespace {

thread_local bool waited = false; // one thread waits for one thing at a time

} // namespace

void drop_gil(bool entering) {
    static thread_local PyThreadState* saved = nullptr;
    if (entering) {
        waited = true;
        saved = PyEval_SaveThread();
    } else {
        PyEval_RestoreThread(saved);
    }
}

bool has_waited() noexcept { return std::exchange(waited, false); }

void warn_of_dropped_imaginary() {
    const py::gil_scoped_acquire gil;
    const py::object category = py::module_::import("numpy.exceptions").attr("ComplexWarning");
    if (PyErr_WarnEx(category.ptr(), "Casting complex values to real discards the imaginary part",
                     1) != 0)
        throw py::error_already_set();
}

std::string origin_of_call() {
    PyFrameObject* frame = PyEval_GetFrame();
    if (frame == nullptr)
        return {};
    const py::object code =
        py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
    return py::str(code.attr("co_filename")).cast<std::string>() + ":" +
           std::to_string(PyFrame_GetLineNumber(frame));
}

std::vector<std::string> options_of(PyObject* options) {
    std::vector<std::string> list;
    if (options == nullptr || options == Py_None)
        return list;
    if (PyUnicode_Check(options))
        throw TypeError(
            "options is one string; pass a tuple of strings: options=('--use_fast_math',)");
    for (const py::handle option : py::reinterpret_borrow<py::object>(options))
        list.push_back(py::cast<std::string>(option));
    return list;
}

} // namespace quern::python
