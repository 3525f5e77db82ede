// What stands between an array's brackets, as basic indexing.
#include "compiler/base/text.h"
#include "python/bindings/array_parts.h"
#include "python/bindings/bind_dtype.h"
#include "runtime/array/views.h"

#include <vector>

namespace py = pybind11;

namespace quern::python {
namespace {

// Python cuts a slice's bounds to what an index can be; so do we.
std::optional<std::int64_t> bound_of(PyObject* object) {
    if (object == Py_None)
        return std::nullopt;
    if (!PyIndex_Check(object))
        throw TypeError("slice indices must be integers or None or have an __index__ method");
    const Py_ssize_t value = PyNumber_AsSsize_t(object, nullptr);
    if (value == -1 && PyErr_Occurred() != nullptr)
        throw py::error_already_set();
    return value;
}

// Lists and arrays; not an array without axes, which may stand for an integer.
bool has_length(PyObject* object) {
    if (PySequence_Check(object) == 0)
        return false;
    if (PySequence_Size(object) >= 0)
        return true;
    PyErr_Clear();
    return false;
}

IndexItem item_of(PyObject* object) {
    if (PyLong_CheckExact(object)) {
        const Py_ssize_t value = PyNumber_AsSsize_t(object, PyExc_IndexError);
        if (value == -1 && PyErr_Occurred() != nullptr)
            throw py::error_already_set();
        return static_cast<std::int64_t>(value);
    }
    if (PySlice_Check(object)) {
        const auto* part = reinterpret_cast<PySliceObject*>(object);
        return SliceIndex{bound_of(part->start), bound_of(part->stop), bound_of(part->step)};
    }
    if (object == Py_None)
        return NewAxis{};
    if (object == Py_Ellipsis)
        return Ellipsis{};
    const bool sequence = has_length(object) && !PyUnicode_Check(object) && !PyBytes_Check(object);
    if (PyBool_Check(object) || sequence ||
        (!PyIndex_Check(object) && py::hasattr(object, "__array__")))
        throw Error(
            ErrorKind::not_implemented,
            "indexing by arrays, lists and booleans is not supported yet: use integers, slices, "
            "... and None");
    if (!PyIndex_Check(object))
        throw Error(
            ErrorKind::index,
            "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or "
            "boolean arrays are valid indices");
    return to_int(object, "index");
}

} // namespace

Array index_array(const Array& array, py::handle key) {
    if (!PyTuple_Check(key.ptr())) {
        const IndexItem item = item_of(key.ptr());
        return basic_index(array, {&item, 1});
    }
    std::vector<IndexItem> items;
    const Py_ssize_t count = PyTuple_GET_SIZE(key.ptr());
    items.reserve(static_cast<std::size_t>(count));
    for (Py_ssize_t k = 0; k < count; ++k)
        items.push_back(item_of(PyTuple_GET_ITEM(key.ptr(), k)));
    return basic_index(array, items);
}

} // namespace quern::python
