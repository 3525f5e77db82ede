// Matrix products for ndarray's operators.
#pragma once
#include <pybind11/pybind11.h>

namespace quern::python {

// a @ b, or into `out`: a new reference, or nullptr with the error set; NotImplemented where one of
// them is no array.
[[nodiscard]] PyObject* matmul_operator(PyObject* a, PyObject* b, PyObject* out) noexcept;

} // namespace quern::python
