// Searches, sets and counts for the functions of quern._sorting, quern._sets and quern._histograms,
// which make arrays 1-D, dense and of one dtype.
#include "compiler/base/error.h"
#include "python/bindings/bind_array.h"
#include "python/bindings/bind_call.h"
#include "python/bindings/bind_error.h"
#include "python/bindings/module.h"
#include "runtime/kernel/count.h"
#include "runtime/kernel/search.h"

namespace py = pybind11;

namespace quern::python {
namespace {

py::object done(Array&& made) {
    if (has_waited()) [[unlikely]]
        surface_warnings();
    return py::cast(std::move(made));
}

const Array* array_or_none(const py::object& object) {
    return object.is_none() ? nullptr : find_array(object.ptr());
}

py::object or_none(std::optional<Array>&& array) {
    return array ? py::cast(std::move(*array)) : py::none();
}

} // namespace

void bind_search(py::module_& module) {
    module.def(
        "_search_sorted",
        [](const Array& sorted, const Array& wanted, bool right, const py::object& sorter) {
            return done(search_sorted(sorted, wanted, right ? Side::right : Side::left,
                                      array_or_none(sorter), drop_gil));
        },
        py::arg("sorted"), py::arg("wanted"), py::arg("right"), py::arg("sorter") = py::none());
    module.def(
        "_interpolate",
        [](const Array& x, const Array& xp, const Array& fp, const py::object& left,
           const py::object& right) {
            return done(
                interpolate(x, xp, fp, array_or_none(left), array_or_none(right), drop_gil));
        },
        py::arg("x"), py::arg("xp"), py::arg("fp"), py::arg("left"), py::arg("right"));
    module.def(
        "_is_in",
        [](const Array& values, const Array& wanted, bool invert, bool are_sorted) {
            return done(is_in(values, are_sorted, wanted, invert, drop_gil));
        },
        py::arg("values"), py::arg("wanted"), py::arg("invert"), py::kw_only(),
        py::arg("are_sorted"));
    module.def(
        "_distinct",
        [](const Array& a, bool firsts, bool inverse, bool counts, bool one_nan) {
            Distinct made = distinct(a, {firsts, inverse, counts, one_nan}, drop_gil);
            return py::make_tuple(done(std::move(made.values)), or_none(std::move(made.firsts)),
                                  or_none(std::move(made.inverse)),
                                  or_none(std::move(made.counts)));
        },
        py::arg("a"), py::arg("firsts"), py::arg("inverse"), py::arg("counts"), py::arg("one_nan"));
    module.def(
        "_lonely", [](const Array& sorted) { return done(lonely(sorted, drop_gil)); },
        py::arg("sorted"));
    module.def(
        "_count",
        [](const Array& x, std::int64_t count, const py::object& edges, double scale,
           const py::object& weights) {
            Bins bins;
            bins.bins = count;
            bins.edges = array_or_none(edges);
            bins.scale = scale;
            return done(count_by_bin(x, bins, array_or_none(weights), drop_gil));
        },
        py::arg("x"), py::arg("bins"), py::arg("edges") = py::none(), py::arg("scale") = 0.0,
        py::arg("weights") = py::none());
}

} // namespace quern::python
