// Sorts: functions of quern._core that quern._sorting offers, and ndarray's methods.
#include "compiler/base/error.h"
#include "python/bindings/bind_array.h"
#include "python/bindings/bind_call.h"
#include "python/bindings/bind_dtype.h"
#include "python/bindings/bind_error.h"
#include "python/bindings/module.h"
#include "runtime/kernel/lexsort.h"
#include "runtime/kernel/order.h"

#include <pybind11/stl.h>

namespace py = pybind11;

namespace quern::python {
namespace {

std::optional<std::int64_t> read_axis(const py::object& axis) {
    if (axis.is_none())
        return std::nullopt;
    return to_int_not_bool(axis.ptr(), "axis");
}

SortCall call_of(bool gpu_layout, int road, int held, int block, int key_bits) {
    SortCall call;
    call.gpu_layout = gpu_layout;
    if (road >= 0)
        call.road = static_cast<SortRoad>(road);
    call.held = held;
    call.block = block;
    call.key_bits = key_bits;
    return call;
}

template <class Result> Result&& checked(Result&& result) {
    if (has_waited()) [[unlikely]]
        surface_warnings();
    return std::forward<Result>(result);
}

} // namespace

void bind_sort(py::module_& module) {
    // The layout's arguments are for experiments and tests.
    const auto define = [&](const char* name, const auto& body) {
        module.def(name, body, py::arg("a"), py::arg("axis"), py::kw_only(),
                   py::arg("gpu_layout") = false, py::arg("road") = -1, py::arg("held") = 0,
                   py::arg("block") = 0, py::arg("key_bits") = 0);
    };
    define("_sort", [](const Array& a, const py::object& axis, bool gpu_layout, int road, int held,
                       int block, int key_bits) {
        return checked(
            sort(a, read_axis(axis), call_of(gpu_layout, road, held, block, key_bits), drop_gil));
    });
    define("_argsort", [](const Array& a, const py::object& axis, bool gpu_layout, int road,
                          int held, int block, int key_bits) {
        return checked(argsort(a, read_axis(axis), call_of(gpu_layout, road, held, block, key_bits),
                               drop_gil));
    });
    define("_explain_sort", [](const Array& a, const py::object& axis, bool gpu_layout, int road,
                               int held, int block, int key_bits) {
        return explain_order(a, read_axis(axis), false,
                             call_of(gpu_layout, road, held, block, key_bits));
    });
    module.def(
        "_partition",
        [](const Array& a, std::vector<std::int64_t> wanted, const py::object& axis) {
            return checked(partition(a, std::move(wanted), read_axis(axis), drop_gil));
        },
        py::arg("a"), py::arg("wanted"), py::arg("axis"));
    module.def(
        "_argpartition",
        [](const Array& a, std::vector<std::int64_t> wanted, const py::object& axis) {
            return checked(argpartition(a, std::move(wanted), read_axis(axis), drop_gil));
        },
        py::arg("a"), py::arg("wanted"), py::arg("axis"));
    module.def(
        "_lexsort", [](const std::vector<Array>& keys) { return checked(lexsort(keys, drop_gil)); },
        py::arg("keys"));
    module.def(
        "_sort_with_places",
        [](const Array& a, int key_bits) {
            SortCall call;
            call.key_bits = key_bits;
            SortedWithPlaces made = checked(sort_with_places(a, call, drop_gil));
            return std::make_pair(std::move(made.values), std::move(made.places));
        },
        py::arg("a"), py::kw_only(), py::arg("key_bits") = 0);
    module.def(
        "_sort_in_place",
        [](const Array& a, std::int64_t axis) {
            sort_in_place(a, axis, drop_gil);
            if (has_waited()) [[unlikely]]
                surface_warnings();
        },
        py::arg("a"), py::arg("axis"));
}

} // namespace quern::python
