// Each ErrorKind becomes one Python type: quern's own from quern/_errors.py, the rest built in.
#include "python/bindings/bind_error.h"

#include "compiler/base/error.h"
#include "python/bindings/module.h"
#include "runtime/array/views.h"
#include "runtime/device/waits.h"

#include <array>
#include <exception>

namespace py = pybind11;

namespace quern::python {
namespace {

struct KindRow {
    ErrorKind kind;
    const char* own;    // the class in quern._errors, or nullptr
    PyObject** builtin; // where `own` is nullptr
};

const std::array kind_table{
    KindRow{ErrorKind::value, nullptr, &PyExc_ValueError},
    KindRow{ErrorKind::type, nullptr, &PyExc_TypeError},
    KindRow{ErrorKind::index, nullptr, &PyExc_IndexError},
    KindRow{ErrorKind::overflow, nullptr, &PyExc_OverflowError},
    KindRow{ErrorKind::not_implemented, nullptr, &PyExc_NotImplementedError},
    KindRow{ErrorKind::runtime, nullptr, &PyExc_RuntimeError},
    KindRow{ErrorKind::io, nullptr, &PyExc_OSError},
    KindRow{ErrorKind::spec, "SpecError", nullptr},
    KindRow{ErrorKind::resolve, "ResolveError", nullptr},
    KindRow{ErrorKind::undecided, "UndecidedTypeError", nullptr},
    KindRow{ErrorKind::compile, "CompileError", nullptr},
    KindRow{ErrorKind::driver, "DriverError", nullptr},
    KindRow{ErrorKind::memory, "OutOfMemoryError", nullptr},
};

py::object type_of(ErrorKind kind) {
    for (const KindRow& row : kind_table)
        if (row.kind == kind) {
            if (row.own != nullptr)
                return py::module_::import("quern._errors").attr(row.own);
            return py::reinterpret_borrow<py::object>(*row.builtin);
        }
    return py::reinterpret_borrow<py::object>(PyExc_RuntimeError);
}

// The text of a compiler or of a user's source may be any bytes.
py::str text_of(const std::string& bytes) {
    PyObject* text =
        PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace");
    if (text == nullptr)
        throw py::error_already_set();
    return py::reinterpret_steal<py::str>(text);
}

py::tuple arguments_of(const Error& error) {
    const py::str text = text_of(error.what());
    if (const auto* compile = dynamic_cast<const CompileError*>(&error))
        return py::make_tuple(text, text_of(compile->name()), text_of(compile->source()),
                              text_of(compile->log()));
    if (const auto* driver = dynamic_cast<const DriverError*>(&error))
        return py::make_tuple(text, driver->code(), driver->name());
    if (const auto* memory = dynamic_cast<const OutOfMemoryError*>(&error)) {
        const OutOfMemoryError::Figures& figures = memory->figures();
        return py::make_tuple(text, figures.requested_bytes, figures.used_bytes, figures.pool_bytes,
                              figures.limit_bytes);
    }
    return py::make_tuple(text);
}

void raise(const Error& error) {
    if (const auto* axis = dynamic_cast<const AxisError*>(&error)) { // NumPy's own class
        const py::object type = py::module_::import("numpy.exceptions").attr("AxisError");
        PyErr_SetObject(type.ptr(), type(axis->axis(), axis->ndim()).ptr());
        return;
    }
    const bool forbidden = dynamic_cast<const WaitForbidden*>(&error) != nullptr;
    const py::object type =
        forbidden ? py::object(py::module_::import("quern._errors").attr("DeviceSynchronized"))
                  : type_of(error.kind());
    PyErr_SetObject(type.ptr(), type(*arguments_of(error)).ptr());
}

} // namespace

void set_python_error() noexcept {
    try {
        try {
            throw;
        } catch (py::error_already_set& error) {
            error.restore();
        } catch (const Error& error) {
            raise(error);
        } catch (const py::builtin_exception& error) {
            error.set_error();
        } catch (const std::bad_alloc& error) {
            PyErr_SetString(PyExc_MemoryError, error.what());
        } catch (const std::exception& error) {
            PyErr_SetString(PyExc_RuntimeError, error.what());
        }
    } catch (py::error_already_set& error) { // while the exception was being made
        error.restore();
    } catch (...) {
        PyErr_SetString(PyExc_RuntimeError, "quern: an unknown C++ exception");
    }
}

void bind_error(py::module_&) {
    py::register_exception_translator([](std::exception_ptr pointer) {
        try {
            if (pointer)
                std::rethrow_exception(pointer);
        } catch (const Error& error) {
            raise(error);
        }
    });
}

} // namespace quern::python
