// NumPy's reductions as methods of ndarray, and as one function by name for the module's functions.
#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "python/bindings/array_parts.h"
#include "python/bindings/bind_call.h"
#include "python/bindings/bind_dtype.h"
#include "python/bindings/bind_error.h"
#include "python/bindings/fast_call.h"
#include "python/bindings/reduce_options.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace py = pybind11;

namespace quern::python {
namespace {

Reduction reduction_named(const std::string& name) {
    const auto found = find_reduction(name);
    if (!found)
        throw ValueError("there is no reduction named '" + name + "'");
    return *found;
}

py::object run(Reduction op, const Array& array, const ReduceOptions& options) {
    const ReadReduceOptions read(array, options);
    std::optional<Array> made = reduce(op, array, read.call, drop_gil);
    if (has_waited()) [[unlikely]]
        surface_warnings();
    return made ? made_object(wrap_array(std::move(*made))) : options.out;
}

std::string explain(const std::string& name, const Array& array, const py::object& axis,
                    const py::object& dtype, bool keepdims) {
    const ReadReduceOptions read(array,
                                 {axis, dtype, py::none(), py::none(), py::none(), keepdims, 0});
    return explain_reduce(reduction_named(name), array, read.call);
}

const auto none = [](const char* name) { return py::arg(name) = py::none(); };
const auto no = [](const char* name) { return py::arg(name) = false; };

// The methods: what each takes, in NumPy's order.
enum class Option : std::uint8_t { axis, dtype, out, keepdims, initial, where, ddof, mean };
constexpr std::array option_names{"axis",    "dtype", "out",  "keepdims",
                                  "initial", "where", "ddof", "mean"};

struct Method {
    Reduction op;
    std::span<const Option> options;
    std::size_t positional; // of these, the others are keywords
};

constexpr std::array totals{Option::axis,     Option::dtype,   Option::out,
                            Option::keepdims, Option::initial, Option::where};
constexpr std::array extremes{Option::axis, Option::out, Option::keepdims, Option::initial,
                              Option::where};
constexpr std::array answers{Option::axis, Option::out, Option::keepdims, Option::where};
constexpr std::array positions{Option::axis, Option::out, Option::keepdims, Option::dtype};
constexpr std::array ranges{Option::axis, Option::out, Option::keepdims};
constexpr std::array means{Option::axis, Option::dtype, Option::out, Option::keepdims,
                           Option::where};
constexpr std::array spreads{Option::axis,     Option::dtype, Option::out, Option::ddof,
                             Option::keepdims, Option::where, Option::mean};
constexpr std::array methods{
    Method{Reduction::sum, totals, 6},       Method{Reduction::prod, totals, 6},
    Method{Reduction::max, extremes, 5},     Method{Reduction::min, extremes, 5},
    Method{Reduction::any, answers, 3},      Method{Reduction::all, answers, 3},
    Method{Reduction::argmax, positions, 2}, Method{Reduction::argmin, positions, 2},
    Method{Reduction::ptp, ranges, 3},       Method{Reduction::mean, means, 4},
    Method{Reduction::var, spreads, 5},      Method{Reduction::std, spreads, 5}};

using GivenOptions = std::array<PyObject*, option_names.size()>;

// What a call gives, by option; nullptr where it gives none.
template <std::size_t which> GivenOptions read_options(const FastArguments& made) {
    constexpr const Method& method = methods[which];
    static constexpr auto names = [] {
        std::array<const char*, method.options.size()> found{};
        std::ranges::transform(method.options, found.begin(), [](Option option) {
            return option_names[static_cast<std::size_t>(option)];
        });
        return found;
    }();
    std::array<PyObject*, names.size()> values{};
    read_arguments(row(method.op).name, names, method.positional, made, values);
    GivenOptions given{};
    for (std::size_t k = 0; k < names.size(); ++k)
        given[static_cast<std::size_t>(method.options[k])] = values[k];
    return given;
}

double to_double(PyObject* object) {
    const double value = PyFloat_AsDouble(object);
    if (value == -1 && PyErr_Occurred() != nullptr)
        throw py::error_already_set();
    return value;
}

py::object call(const Method& method, PyObject* self, const GivenOptions& given) {
    const auto get = [&](Option option) { return given[static_cast<std::size_t>(option)]; };
    const auto object = [&](Option option) {
        PyObject* value = get(option);
        return py::reinterpret_borrow<py::object>(value == nullptr ? Py_None : value);
    };
    const auto is_given = [&](Option option) {
        return get(option) != nullptr && get(option) != Py_None;
    };
    const bool keepdims = get(Option::keepdims) != nullptr && is_true(get(Option::keepdims));
    const double ddof = get(Option::ddof) == nullptr ? 0 : to_double(get(Option::ddof));
    const py::object where =
        get(Option::where) == nullptr ? py::object(py::bool_(true)) : object(Option::where);
    if (is_given(Option::mean))
        return py::module_::import("quern").attr(row(method.op).name.data())(
            py::handle(self), object(Option::axis), object(Option::dtype), object(Option::out),
            ddof, keepdims, py::arg("where") = where, py::arg("mean") = object(Option::mean));
    const bool placed = method.op == Reduction::argmax || method.op == Reduction::argmin;
    py::object found =
        run(method.op, *find_array(self),
            {object(Option::axis), placed ? py::object(py::none()) : object(Option::dtype),
             object(Option::out), object(Option::initial), where, keepdims, ddof});
    if (placed && is_given(Option::dtype) && !is_given(Option::out))
        return found.attr("astype")(object(Option::dtype));
    return found;
}

template <std::size_t which> PyObject* method(PyObject* self, PyObject* const* arguments,
                                              Py_ssize_t count, PyObject* names) noexcept {
    return guarded(
        [&] {
            const GivenOptions given =
                read_options<which>({arguments, static_cast<std::size_t>(count), names});
            return call(methods[which], self, given).release().ptr();
        },
        static_cast<PyObject*>(nullptr));
}

// "sum($self, /, axis=None, ...)", which inspect.signature reads, and the text behind it.
std::string document(const Method& method) {
    std::string text = join(row(method.op).name, "($self, /");
    for (std::size_t k = 0; k < method.options.size(); ++k) {
        const Option option = method.options[k];
        text += join(k == method.positional ? ", *" : "", ", ",
                     option_names[static_cast<std::size_t>(option)],
                     option == Option::keepdims ? "=False"
                     : option == Option::where  ? "=True"
                     : option == Option::ddof   ? "=0.0"
                                                : "=None");
    }
    return text + ")\n--\n\nAs the function of this name.";
}

template <std::size_t... which>
void attach_methods(py::handle type, std::index_sequence<which...>) {
    static const std::array documents{document(methods[which])...};
    static std::array entries{fast_entry(row(methods[which].op).name.data(), &method<which>,
                                         documents[which].c_str())...};
    for (PyMethodDef& entry : entries)
        attach_fast(type, entry);
}

} // namespace

void bind_array_reductions(py::module_& module, py::handle type) {
    attach_methods(type, std::make_index_sequence<methods.size()>());
    module.def(
        "reduce",
        [](const std::string& name, const Array& array, py::object axis, py::object dtype,
           py::object out, bool keepdims, py::object initial, py::object where, double ddof) {
            return run(reduction_named(name), array,
                       {axis, dtype, out, initial, where, keepdims, ddof});
        },
        py::arg("name"), py::arg("a"), none("axis"), none("dtype"), none("out"), no("keepdims"),
        none("initial"), py::arg("where") = true, py::arg("ddof") = 0.0,
        "The reduction of that name.");
    module.def("explain_reduce", &explain, py::arg("name"), py::arg("a"), none("axis"),
               none("dtype"), no("keepdims"), "The plan of such a reduction, as text.");
}

} // namespace quern::python
