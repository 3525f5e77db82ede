// What other bindings ask of textures.
#pragma once
#include "runtime/texture/texture.h"

#include <pybind11/pybind11.h>

namespace quern::python {

// The texture or the surface that this object is, borrowed; nullptr for anything else.
[[nodiscard]] const TexelObject* find_texel_object(PyObject* object) noexcept;

} // namespace quern::python
