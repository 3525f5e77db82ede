// Ufuncs as Python objects, and their calls for the operators of ndarray.
#pragma once
#include "runtime/kernel/ufunc.h"

#include <pybind11/pybind11.h>

namespace quern::python {

// The ufunc's object; a borrowed reference.
[[nodiscard]] PyObject* ufunc_object(Ufunc ufunc) noexcept;
// nullopt: it is none.
[[nodiscard]] std::optional<Ufunc> find_ufunc(PyObject* object) noexcept;

// What an operator computes with. Lists and NumPy's arrays are not among it, and say so.
[[nodiscard]] bool is_operand(PyObject* object);
// ufunc(*inputs), or into `out`: a new reference, or nullptr with the error set. What has an
// `__array_ufunc__` of its own answers by it; what else no array can be computed with is
// NotImplemented, so that Python asks the other operand.
[[nodiscard]] PyObject* call_operator(Ufunc ufunc, std::initializer_list<PyObject*> inputs,
                                      PyObject* out = nullptr) noexcept;

// NumPy's shortcuts for an array's powers by plain numbers that have a function of their own. Its
// `power` has the square of numbers alone.
[[nodiscard]] Ufunc power_by(PyObject* base, PyObject* exponent, bool is_operator);

// ufunc_methods.cpp
void bind_ufunc_methods(pybind11::module_& module, pybind11::handle type);

} // namespace quern::python
