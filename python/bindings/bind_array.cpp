// quern.ndarray: the type first, then its methods and the functions that make arrays.
#include "python/bindings/array_parts.h"
#include "python/bindings/module.h"

namespace quern::python {

void bind_array(pybind11::module_& module) {
    make_array_type(module);
    const pybind11::handle type = reinterpret_cast<PyObject*>(array_type);
    bind_array_views(module, type);
    bind_array_reductions(module, type);
    bind_array_indexing(module, type);
    bind_array_operators(type);
    bind_array_values(module, type);
    bind_array_components(type);
    bind_array_interop(type);
    bind_array_dlpack(module, type);
    bind_array_makers(module);
    bind_array_nested(module);
    bind_array_filled(module);
    bind_array_joins(module);
}

} // namespace quern::python
