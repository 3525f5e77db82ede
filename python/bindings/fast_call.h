// Functions and methods that CPython calls without a tuple and a dict of their arguments
// (METH_FASTCALL): where pybind's dispatch would take as long as the work.
#pragma once
#include <pybind11/pybind11.h>

#include <span>
#include <string_view>

namespace quern::python {

// As CPython hands them over: positional ones, then the values of `keywords`, a tuple of names or
// nullptr.
struct FastArguments {
    PyObject* const* values;
    std::size_t positional;
    PyObject* keywords;
};

using FastFunction = PyObject* (*)(PyObject* self, PyObject* const* values, Py_ssize_t positional,
                                   PyObject* keywords) noexcept;

// `given` has a place for each name: the call's value, or what was there where it gives none. Of
// the names the first `most_positional` may be given without them. Throws TypeError for others, too
// many or one twice.
void read_arguments(std::string_view function, std::span<const char* const> names,
                    std::size_t most_positional, const FastArguments& call,
                    std::span<PyObject*> given);

// The entry of a method table; `text` begins with "name($self, /, ...)\n--\n\n" for a signature.
// The texts must live on.
[[nodiscard]] PyMethodDef fast_entry(const char* name, FastFunction function, const char* text);

// Adds a method to a type, or a function to a module. The entry must live on.
void attach_fast(pybind11::handle type, PyMethodDef& entry);
void define_fast(pybind11::module_& module, PyMethodDef& entry);

} // namespace quern::python
