// What other bindings ask of devices and streams: a Python object becomes the Device or the
// CUstream it names.
#pragma once
#include "runtime/stream/stream.h"

#include <pybind11/pybind11.h>

namespace quern::python {

// None: this thread's current device. A Device; a name ("cpu", "cuda:1"); an int, which counts GPUs
// as CuPy does, and where there is no GPU names the CPU by 0. Throws ValueError, or TypeError for
// another type.
[[nodiscard]] Device& to_device(pybind11::handle object);

// CuPy's `id`: a GPU's ordinal; the CPU is 0 where there is no GPU, else -1.
[[nodiscard]] int id_of(const Device& device);

// None: the current stream of `device`. A Stream, an int, or an object with `__cuda_stream__` or
// `ptr`. Throws ValueError for a stream of another device.
[[nodiscard]] CUstream to_stream(pybind11::handle object, const Device& device);

} // namespace quern::python
