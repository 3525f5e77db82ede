// The parts of the raw kernels' binding: the program, the kernel type and its arguments.
#pragma once
#include "python/bindings/bind_scalar.h"
#include "runtime/kernel/raw.h"

#include <pybind11/pybind11.h>

#include <memory>
#include <string>

namespace quern::python {

// What a RawKernel or a RawModule was made with, as its attributes and its pickle tell it.
struct RawSettings {
    pybind11::object code = pybind11::none(), path = pybind11::none(); // a str, the other None
    pybind11::tuple options;
    std::string backend = "nvrtc";
    bool translate_cucomplex = false, cooperative = false, strict = true;
    pybind11::object name_expressions = pybind11::none(); // a tuple or None
};

// Checks what it can without compiling. Throws TypeError, ValueError.
[[nodiscard]] std::shared_ptr<RawProgram> make_program(const RawSettings& settings,
                                                       const std::string& name);

// CuPy takes the argument no longer seriously and neither do we: a DeprecationWarning.
void warn_of_jitify(bool wanted);

// A new RawKernel (a new reference) of a program that exists.
[[nodiscard]] pybind11::object make_raw_kernel(std::shared_ptr<RawProgram> program,
                                               const std::string& name,
                                               const RawSettings& settings);

// Compiles on the current device, without the GIL; writes the toolchain's log to `log_stream`
// unless it is None.
void compile_now(RawProgram& program, pybind11::handle log_stream);

// One argument of a raw kernel. Borrows from `object` and `imported`.
[[nodiscard]] Argument to_raw_argument(PyObject* object, ImportedArrays& imported);

[[nodiscard]] CallHooks python_hooks() noexcept;

} // namespace quern::python
