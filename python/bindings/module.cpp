// quern._core: every room's bindings in one module. Importing it starts no thread and touches no
// driver.
#include "python/bindings/module.h"

PYBIND11_MODULE(_core, module) {
    using namespace quern::python;
    module.doc() = "quern's C++ core; import quern instead";
    module.attr("__version__") = QUERN_VERSION;
    bind_error(module);
    bind_output();
    bind_library(module);
    bind_cache(module);
    bind_device(module);
    bind_stream(module);
    bind_memory(module);
    bind_array(module);
    bind_texture(module);
#ifdef QUERN_BIND_KERNEL
    bind_kernel(module);
    bind_reduction(module);
    bind_scan(module);
    bind_sort(module);
    bind_search(module);
    bind_ufunc(module);
    bind_quantile(module);
    bind_product(module);
    bind_fusion(module);
    bind_raw_kernel(module);
    bind_raw_module(module);
#endif
}
