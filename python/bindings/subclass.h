// Instances of subclasses of ndarray: what is made from one is one too, and its __array_finalize__
// is told, as NumPy does it.
#pragma once
#include "python/bindings/bind_array.h"

namespace quern::python {

// A new instance (a new reference) of the type of `model`; nullptr with an error set.
[[nodiscard]] PyObject* wrap_like(Array&& array, PyObject* model) noexcept;

// A view as `wrap_view` makes it, of another type than its owner's.
[[nodiscard]] PyObject* wrap_view_as(PyTypeObject* type, Array&& array, PyObject* owner) noexcept;

} // namespace quern::python
