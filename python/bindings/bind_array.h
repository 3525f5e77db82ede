// quern.ndarray as a hand-made heap type that holds an Array in place: made in tens of nanoseconds,
// found in two loads. Everything here expects the GIL.
#pragma once
#include "runtime/array/array.h"

#include <pybind11/pybind11.h>

#include <type_traits>
#include <utility>

namespace quern::python {

struct ArrayObject {
    PyObject_HEAD Array array;
    PyObject* weakrefs; // the list that Python keeps
    PyObject* base;     // the object whose memory this is a view of, as in NumPy; nullptr: its own
};

extern PyTypeObject* array_type; // set once, when the module is made

// The array of an ndarray or of an instance of a subclass; nullptr for anything else. No exception,
// no new reference.
[[nodiscard]] inline Array* find_array(PyObject* object) noexcept {
    if (Py_TYPE(object) == array_type || PyType_IsSubtype(Py_TYPE(object), array_type))
        return &reinterpret_cast<ArrayObject*>(object)->array;
    return nullptr;
}

// A new ndarray (a new reference); nullptr with MemoryError set.
[[nodiscard]] PyObject* wrap_array(Array&& array) noexcept;

// The same for a view: `owner` (or the owner's own base) becomes its `.base`.
[[nodiscard]] PyObject* wrap_view(Array&& array, PyObject* owner) noexcept;

// What those have made, or the error that they have set.
[[nodiscard]] inline pybind11::object made_object(PyObject* made) {
    if (made == nullptr)
        throw pybind11::error_already_set();
    return pybind11::reinterpret_steal<pybind11::object>(made);
}

// `self` of a method that is attached to the type: the object and its array.
struct Self {
    PyObject* object = nullptr;
    [[nodiscard]] Array& array() const noexcept {
        return reinterpret_cast<ArrayObject*>(object)->array;
    }
    [[nodiscard]] pybind11::object view(Array&& array) const {
        return made_object(wrap_view(std::move(array), object));
    }
};

// Adds a method to an existing type, as py::class_::def would.
template <class Function, class... Extra>
void attach(pybind11::handle type, const char* name, Function&& function, const Extra&... extra) {
    pybind11::cpp_function method(
        std::forward<Function>(function), pybind11::name(name), pybind11::is_method(type),
        pybind11::sibling(pybind11::getattr(type, name, pybind11::none())), extra...);
    type.attr(name) = method;
}

} // namespace quern::python

namespace pybind11::detail {

// Array& and const Array& as parameters (ndarray only, nothing is converted); Array by value as a
// result.
template <> struct type_caster<quern::Array> {
    static constexpr auto name = const_name("quern.ndarray");
    template <class T> using cast_op_type =
        std::conditional_t<std::is_pointer_v<std::remove_reference_t<T>>, quern::Array*,
                           quern::Array&>;

    bool load(handle source, bool) {
        array_ = quern::python::find_array(source.ptr());
        return array_ != nullptr;
    }
    operator quern::Array*() { return array_; }
    operator quern::Array&() { return *array_; }

    static handle cast(quern::Array&& array, return_value_policy, handle) {
        return quern::python::wrap_array(std::move(array));
    }
    static handle cast(const quern::Array& array, return_value_policy, handle) {
        return quern::python::wrap_array(quern::Array(array));
    }

  private:
    quern::Array* array_ = nullptr;
};

template <> struct type_caster<quern::python::Self> {
    static constexpr auto name = const_name("quern.ndarray");
    template <class T> using cast_op_type = quern::python::Self;

    bool load(handle source, bool) {
        self_.object = source.ptr();
        return quern::python::find_array(source.ptr()) != nullptr;
    }
    operator quern::python::Self() { return self_; }

  private:
    quern::python::Self self_;
};

} // namespace pybind11::detail
