// The rooms' bindings, each called once when quern._core is made.
#pragma once
#include <pybind11/pybind11.h>

namespace quern::python {

void bind_error(pybind11::module_& module);
void bind_output();
void bind_library(pybind11::module_& module);
void bind_cache(pybind11::module_& module);
void bind_device(pybind11::module_& module);
void bind_stream(pybind11::module_& module);
void bind_memory(pybind11::module_& module);
void bind_array(pybind11::module_& module);
void bind_texture(pybind11::module_& module);
void bind_kernel(pybind11::module_& module);
void bind_reduction(pybind11::module_& module);
void bind_scan(pybind11::module_& module);
void bind_sort(pybind11::module_& module);
void bind_search(pybind11::module_& module);
void bind_ufunc(pybind11::module_& module);
void bind_quantile(pybind11::module_& module);
void bind_product(pybind11::module_& module);
void bind_fusion(pybind11::module_& module);
void bind_raw_kernel(pybind11::module_& module);
void bind_raw_module(pybind11::module_& module);

} // namespace quern::python
