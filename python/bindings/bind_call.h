// What every kernel's binding needs around its core: the GIL while the core waits, the place in the
// script, options.
#pragma once
#include <pybind11/pybind11.h>

#include <string>
#include <vector>

namespace quern::python {

// Hook of a call: lets go of the GIL while the core compiles or runs a long launch, and takes it
// back.
void drop_gil(bool entering);
// Whether this thread has waited since it was last asked: then surface_warnings() is due.
[[nodiscard]] bool has_waited() noexcept;

// Warns as NumPy does where a cast drops imaginary parts; the core's notice. Takes the GIL.
void warn_of_dropped_imaginary();

// "script.py:12": the innermost Python frame. Expects the GIL.
[[nodiscard]] std::string origin_of_call();

// None or a sequence of strings. Throws TypeError.
[[nodiscard]] std::vector<std::string> options_of(PyObject* options);

} // namespace quern::python
