// The table of NumPy's dtype objects, and the way from Python's spellings to quern's dtypes and
// shapes.
#include "python/bindings/bind_dtype.h"

#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "python/bindings/bind_scalar.h"

#include <pybind11/gil_safe_call_once.h>

#include <array>
#include <bit>

namespace py = pybind11;

namespace quern::python {
namespace {

std::array<PyObject*, dtype_count>
    dtype_objects{}; // never released: they live as long as the process

py::object numpy_dtype_type() {
    PYBIND11_CONSTINIT static py::gil_safe_call_once_and_store<py::object> type;
    return type
        .call_once_and_store_result(
            [] { return py::object(py::module_::import("numpy").attr("dtype")); })
        .get_stored();
}

PyObject* make_dtype_object(DType dtype) {
    if (dtype == DType::bfloat16) {
        const py::object scalar = py::module_::import("ml_dtypes").attr("bfloat16");
        return numpy_dtype_type()(scalar).release().ptr();
    }
    return numpy_dtype_type()(py::str(row(dtype).name.data(), row(dtype).name.size()))
        .release()
        .ptr();
}

std::optional<DType> find_by_kind(char kind, py::ssize_t bytes) {
    for (const DTypeRow& row : dtype_table) {
        if (row.bytes != bytes || row.id == DType::bfloat16)
            continue;
        switch (row.kind) {
        case Kind::boolean:
            if (kind == 'b')
                return row.id;
            break;
        case Kind::signed_integer:
            if (kind == 'i')
                return row.id;
            break;
        case Kind::unsigned_integer:
            if (kind == 'u')
                return row.id;
            break;
        case Kind::floating:
            if (kind == 'f')
                return row.id;
            break;
        case Kind::complex:
            if (kind == 'c')
                return row.id;
            break;
        }
    }
    return std::nullopt;
}

[[noreturn]] void refuse(const py::object& dtype) {
    const auto name = py::str(dtype).cast<std::string>();
    const char kind = dtype.attr("kind").cast<std::string>()[0];
    std::string cure =
        "quern has bool, (u)int8 to 64, float16, bfloat16, float32, float64, complex64, complex128";
    if (!is_native(dtype))
        cure = "arrays on a device have this machine's byte-order: dtype.newbyteorder('=')";
    else if (kind == 'O')
        cure = "an array of Python objects stays on the host: give a numeric dtype, as in "
               "quern.asarray(x, dtype=float)";
    else if (kind == 'U' || kind == 'S' || kind == 'T')
        cure = "text stays on the host: convert it to numbers first";
    else if (kind == 'M' || kind == 'm')
        cure = "convert it to integers first: a.view('int64')";
    else if (kind == 'f')
        cure = "no device has it: convert to float64 first";
    else if (kind == 'c')
        cure = "no device has it: convert to complex128 first";
    else if (kind == 'V')
        cure = "make one array of each field (structured scalars can be passed to kernels)";
    const py::object error = py::module_::import("quern._errors").attr("UnsupportedDtypeError");
    PyErr_SetString(error.ptr(), join("Unsupported dtype ", name, ": ", cure).c_str());
    throw py::error_already_set();
}

} // namespace

PyObject* dtype_object(DType dtype) {
    PyObject*& object = dtype_objects[static_cast<std::size_t>(dtype)];
    if (object == nullptr) [[unlikely]]
        object = make_dtype_object(dtype);
    return object;
}

py::dtype numpy_dtype(DType dtype) {
    return py::reinterpret_borrow<py::dtype>(dtype_object(dtype));
}

std::optional<DType> find_dtype_of(py::handle numpy_dtype) {
    for (std::size_t k = 0; k < dtype_count; ++k)
        if (dtype_objects[k] == numpy_dtype.ptr())
            return static_cast<DType>(k);
    const auto dtype = py::reinterpret_borrow<py::dtype>(numpy_dtype);
    if (dtype.byteorder() == (std::endian::native == std::endian::little ? '>' : '<'))
        return std::nullopt;
    if (dtype.kind() == 'V')
        return py::str(dtype.attr("name")).equal(py::str("bfloat16"))
                   ? std::optional(DType::bfloat16)
                   : std::nullopt;
    return find_by_kind(dtype.kind(), dtype.itemsize());
}

// The spellings that need no question to NumPy.
static std::optional<DType> find_dtype_quickly(PyObject* object) {
    for (std::size_t k = 0; k < dtype_count; ++k)
        if (dtype_objects[k] == object)
            return static_cast<DType>(k);
    if (PyUnicode_Check(object)) {
        Py_ssize_t bytes = 0;
        const char* text = PyUnicode_AsUTF8AndSize(object, &bytes);
        if (text == nullptr)
            throw py::error_already_set();
        return find_dtype({text, static_cast<std::size_t>(bytes)});
    }
    if (object == reinterpret_cast<PyObject*>(&PyFloat_Type))
        return DType::float64;
    if (object == reinterpret_cast<PyObject*>(&PyLong_Type))
        return DType::int64;
    if (object == reinterpret_cast<PyObject*>(&PyBool_Type))
        return DType::boolean;
    if (object == reinterpret_cast<PyObject*>(&PyComplex_Type))
        return DType::complex128;
    if (PyType_Check(object))
        return find_scalar_type(reinterpret_cast<PyTypeObject*>(object));
    return std::nullopt;
}

bool is_native(const py::dtype& dtype) {
    const char order = dtype.byteorder();
    return order == '=' || order == '|';
}

DType native_dtype_of(const py::array& values) {
    const py::dtype dtype = values.dtype();
    return to_dtype(is_native(dtype) ? py::object(dtype) : dtype.attr("newbyteorder")("="));
}

DType to_dtype(py::handle object) {
    if (const std::optional<DType> quick = find_dtype_quickly(object.ptr()))
        return *quick;
    if (object.is_none())
        throw TypeError("a dtype is wanted, not None");
    const py::object dtype = numpy_dtype_type()(object);
    const std::optional<DType> found = find_dtype_of(dtype);
    if (!found)
        refuse(dtype);
    return *found;
}

std::int64_t to_int(py::handle object, const char* what) {
    if (!PyIndex_Check(object.ptr()))
        throw TypeError(join(what, ": '", Py_TYPE(object.ptr())->tp_name,
                             "' object cannot be interpreted as an integer"));
    const auto number = py::reinterpret_steal<py::object>(PyNumber_Index(object.ptr()));
    if (!number)
        throw py::error_already_set();
    const long long value = PyLong_AsLongLong(number.ptr());
    if (value == -1 && PyErr_Occurred() != nullptr)
        throw py::error_already_set();
    return value;
}

std::int64_t to_int_not_bool(py::handle object, const char* what) {
    if (PyBool_Check(object.ptr()))
        throw TypeError(join(what, ": an integer is required, not a bool"));
    return to_int(object, what);
}

Dims to_dims(py::handle object, const char* what) {
    const bool is_sequence = PySequence_Check(object.ptr()) && !PyUnicode_Check(object.ptr());
    if (PyIndex_Check(object.ptr())) {
        if (!is_sequence || PySequence_Size(object.ptr()) < 0) { // a 0-d array has no length
            PyErr_Clear();
            return Dims{to_int_not_bool(object, what)};
        }
    } else if (!is_sequence) {
        throw TypeError(join(what, " must be an int or a sequence of ints, not ",
                             Py_TYPE(object.ptr())->tp_name,
                             object.is_none() ? ". Use () for no axes" : ""));
    }
    const auto items = py::reinterpret_steal<py::object>(PySequence_Tuple(object.ptr()));
    if (!items)
        throw py::error_already_set();
    return to_dims(std::span(reinterpret_cast<PyTupleObject*>(items.ptr())->ob_item,
                             static_cast<std::size_t>(PyTuple_GET_SIZE(items.ptr()))),
                   what);
}

Dims to_dims(std::span<PyObject* const> ints, const char* what) {
    if (ints.size() > max_ndim)
        throw ValueError(join("maximum supported dimension for an ndarray is ", max_ndim,
                              ", found ", ints.size()));
    Dims dims(ints.size());
    for (std::size_t k = 0; k < ints.size(); ++k)
        dims[static_cast<int>(k)] = to_int_not_bool(ints[k], what);
    return dims;
}

PyObject* dims_tuple(const Dims& dims) noexcept {
    PyObject* tuple = PyTuple_New(dims.size());
    if (tuple == nullptr)
        return nullptr;
    for (int k = 0; k < dims.size(); ++k) {
        PyObject* value = PyLong_FromLongLong(dims[k]);
        if (value == nullptr) {
            Py_DECREF(tuple);
            return nullptr;
        }
        PyTuple_SET_ITEM(tuple, k, value);
    }
    return tuple;
}

bool read_axes(py::handle object, std::vector<std::int64_t>& axes) {
    if (object.is_none())
        return false;
    if (PyTuple_Check(object.ptr()))
        for (const py::handle item : object)
            axes.push_back(to_int_not_bool(item, "axis"));
    else
        axes.push_back(to_int_not_bool(object, "axis"));
    return true;
}

bool is_true(py::handle object) {
    const int truth = PyObject_IsTrue(object.ptr());
    if (truth < 0)
        throw py::error_already_set();
    return truth != 0;
}

std::optional<bool> to_copy_rule(py::handle object) {
    if (object.is_none())
        return std::nullopt;
    if (PyUnicode_Check(object.ptr()))
        throw ValueError(
            "strings are not allowed for 'copy' keyword. Use True/False/None instead.");
    return is_true(object);
}

char to_order(py::handle object, char otherwise) {
    if (object.is_none())
        return otherwise;
    if (PyUnicode_Check(object.ptr())) {
        const auto text = object.cast<std::string>();
        if (text.size() == 1) {
            const char letter = static_cast<char>(text[0] & ~0x20);
            if (letter == 'C' || letter == 'F' || letter == 'A' || letter == 'K')
                return letter;
        }
    }
    throw ValueError(join("order must be one of 'C', 'F', 'A', or 'K' (got '",
                          py::str(object).cast<std::string>(), "')"));
}

} // namespace quern::python
