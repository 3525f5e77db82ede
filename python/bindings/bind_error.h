// C++ errors become Python's, each kind once. For code that is not inside a pybind11 function.
#pragma once
#include <pybind11/pybind11.h>

#include <string>

namespace quern::python {

// Inside catch (...): sets the Python error that belongs to the exception in flight. Needs the GIL.
void set_python_error() noexcept;

// Calls `function` from a C slot: its result, or `failure` with the Python error set.
template <class Function, class Result>
Result guarded(Function&& function, Result failure) noexcept {
    try {
        return function();
    } catch (...) {
        set_python_error();
        return failure;
    }
}

// The cache's one warning about its disk, if there is one now, as a RuntimeWarning. Call it after a
// compile. Throws error_already_set when warnings are errors. Needs the GIL.
void surface_warnings();

} // namespace quern::python
