// The process's compile cache: figures, clearing, its folder, and its one warning.
#include "compiler/base/settings.h"
#include "compiler/cache/cache.h"
#include "compiler/compile.h"
#include "python/bindings/bind_error.h"
#include "python/bindings/module.h"
#include "runtime/kernel/ahead.h"

#include <pybind11/stl.h>

#include <utility>

namespace py = pybind11;

namespace quern::python {

void surface_warnings() {
    static bool told = false; // under the GIL
    if (!std::exchange(told, true) && !settings().warning.empty() &&
        PyErr_WarnEx(PyExc_RuntimeWarning, settings().warning.c_str(), 2) != 0)
        throw py::error_already_set();
    const std::string warning = process_cache().take_warning();
    if (!warning.empty() && PyErr_WarnEx(PyExc_RuntimeWarning, warning.c_str(), 2) != 0)
        throw py::error_already_set();
}

void bind_cache(py::module_& module) {
    start_going_ahead(); // values leave quern by doors that say so
    py::module_::import("atexit").attr("register")(py::cpp_function([] {
        py::gil_scoped_release release;
        stop_going_ahead();
    }));
    module.def("cache_stats", [] {
        CacheStats stats;
        {
            py::gil_scoped_release release;
            wait_for_ahead();
            stats = process_cache().stats();
        }
        py::dict fields;
        for (const auto& [name, value] : stats.last_miss)
            fields[py::str(name)] = value;
        py::dict result;
        result["memory_hits"] = stats.memory_hits;
        result["disk_hits"] = stats.disk_hits;
        result["compiles"] = stats.compiles;
        result["entries"] = stats.entries;
        result["bytes"] = stats.bytes;
        result["last_miss"] = fields;
        surface_warnings();
        return result;
    });
    module.def("cache_clear", [] {
        {
            py::gil_scoped_release release;
            wait_for_ahead();
            process_cache().clear();
        }
        surface_warnings();
    });
    module.def("_goes_ahead", &goes_ahead);
    module.def("cache_folder", [] { return process_cache().folder(); });
}

} // namespace quern::python
