// concatenate: arrays of Python's into one of the core's.
#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "python/bindings/array_parts.h"
#include "python/bindings/bind_dtype.h"
#include "runtime/kernel/concatenate.h"

namespace py = pybind11;

namespace quern::python {
namespace {

py::object joined(const std::vector<Array>& parts, const py::object& axis, const py::object& out,
                  const py::object& dtype, const std::string& casting) {
    ConcatenateCall call;
    if (!axis.is_none())
        call.axis = to_int_not_bool(axis, "axis");
    if (!out.is_none()) {
        call.out = find_array(out.ptr());
        if (call.out == nullptr)
            throw TypeError(
                join("'out' must be a quern.ndarray, not ", Py_TYPE(out.ptr())->tp_name));
        if (!dtype.is_none())
            throw TypeError("concatenate() only takes `out` or `dtype` as an argument, but both "
                            "were provided.");
    }
    if (!dtype.is_none())
        call.dtype = to_dtype(dtype);
    const std::optional<Casting> rule = find_casting(casting);
    if (!rule)
        throw ValueError(join("casting must be one of 'no', 'equiv', 'safe', 'same_kind', "
                              "'unsafe' (got '",
                              casting, "')"));
    call.casting = *rule;
    std::optional<Array> made;
    {
        const py::gil_scoped_release release;
        made = concatenate(parts, call);
    }
    return out.is_none() ? py::cast(std::move(*made)) : out;
}

} // namespace

void bind_array_joins(py::module_& module) {
    module.def(
        "concatenate",
        [](const py::list& arrays, const py::object& axis, const py::object& out,
           const py::object& dtype, const std::string& casting) {
            std::vector<Array> parts;
            parts.reserve(arrays.size());
            for (const py::handle item : arrays) {
                const Array* array = find_array(item.ptr());
                if (array == nullptr)
                    throw TypeError(join("Only quern arrays can be concatenated, not ",
                                         Py_TYPE(item.ptr())->tp_name));
                parts.push_back(*array);
            }
            return joined(parts, axis, out, dtype, casting);
        },
        py::arg("arrays"), py::arg("axis") = 0, py::arg("out") = py::none(),
        py::arg("dtype") = py::none(), py::arg("casting") = "same_kind");
}

} // namespace quern::python
