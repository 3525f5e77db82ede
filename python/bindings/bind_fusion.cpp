// What quern.fuse calls: a Python function whose elementwise calls are kept back and fused.
#include "python/bindings/bind_call.h"
#include "python/bindings/module.h"
#include "runtime/fusion/fusion.h"

#include <pybind11/functional.h>
#include <pybind11/stl.h>

namespace py = pybind11;

namespace quern::python {
namespace {

struct Recording {
    Pending* before;
    explicit Recording(Pending& work) : before(set_pending_work(&work)) {}
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;
    ~Recording() { set_pending_work(before); }
};

py::dict told(const FusedLaunch& launch) {
    return py::dict(py::arg("graph") = launch.graph, py::arg("source") = launch.source,
                    py::arg("lines") = launch.lines, py::arg("calls") = launch.calls,
                    py::arg("read") = launch.read, py::arg("written") = launch.written);
}

// function(*args, **kwargs) with its elementwise calls fused; all of it has been launched when this
// returns or throws. Within another such call it just joins in.
py::object call_fused(const std::string& name, const py::object& function, const py::tuple& args,
                      const py::dict& kwargs, const py::object& on_read, const py::object& line,
                      const py::object& launches) {
    if (pending_work() != nullptr && launches.is_none())
        return function(*args, **kwargs);
    Fusion fusion(name);
    if (!on_read.is_none())
        fusion.on_read = [&] {
            const py::gil_scoped_acquire held; // whoever reads may have let go of it
            on_read();
        };
    if (!line.is_none())
        fusion.line = [&] {
            const py::gil_scoped_acquire held;
            return line().cast<int>();
        };
    if (!launches.is_none())
        fusion.watch();
    const Recording recording(fusion);
    py::object result;
    try {
        result = function(*args, **kwargs);
    } catch (...) {
        fusion.settle(); // what was called before the error has happened
        throw;
    }
    fusion.settle(drop_gil);
    if (!launches.is_none())
        for (const FusedLaunch& launch : fusion.launches())
            launches.attr("append")(told(launch));
    return result;
}

} // namespace

void bind_fusion(py::module_& module) {
    module.def("_call_fused", &call_fused, py::arg("name"), py::arg("function"), py::arg("args"),
               py::arg("kwargs"), py::arg("on_read") = py::none(), py::arg("line") = py::none(),
               py::arg("launches") = py::none());
}

} // namespace quern::python
