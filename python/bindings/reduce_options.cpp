// Axes, dtypes, outputs, masks and initial values of a reduction, read from Python's objects.
#include "python/bindings/reduce_options.h"

#include "compiler/base/error.h"
#include "python/bindings/array_parts.h"
#include "python/bindings/bind_dtype.h"
#include "python/bindings/bind_scalar.h"
#include "runtime/device/device.h"
#include "runtime/kernel/fill.h"

#include <string>

namespace py = pybind11;

namespace quern::python {
namespace {

// where=True is no mask at all; where=False and lists are ones that lie in `kept`.
const Array* mask_of(const py::object& where, Device& device, std::optional<Array>& kept) {
    if (where.ptr() == Py_True)
        return nullptr;
    if (const Array* array = find_array(where.ptr()))
        return array;
    if (is_list(where)) {
        const py::object mask = as_array(where, DType::boolean, &device);
        kept = *find_array(mask.ptr());
        return &*kept;
    }
    const std::optional<Scalar> truth = find_scalar(where.ptr());
    if (!truth || truth->kind != Scalar::Kind::boolean)
        return array_or_null(where, "where");
    if (truth->boolean)
        return nullptr;
    const CUstream stream = current_stream(device);
    kept = Array::empty(device, DType::boolean, Dims{}, stream);
    fill(*kept, *truth, stream);
    return &*kept;
}

} // namespace

const Array* array_or_null(const py::object& object, const char* what) {
    if (object.is_none())
        return nullptr;
    if (Array* array = find_array(object.ptr()))
        return array;
    throw TypeError(std::string(what) + " must be a quern.ndarray, not " +
                    Py_TYPE(object.ptr())->tp_name);
}

ReadReduceOptions::ReadReduceOptions(const Array& array, const ReduceOptions& options) {
    call.all_axes = !read_axes(options.axis, axes);
    call.axes = axes;
    call.keepdims = options.keepdims;
    call.ddof = options.ddof;
    if (!options.dtype.is_none())
        call.dtype = to_dtype(options.dtype);
    call.out = array_or_null(options.out, "out");
    call.where = mask_of(options.where, array.device(), mask);
    if (!options.initial.is_none()) {
        const Array* known = find_array(options.initial.ptr());
        const bool is_read = known != nullptr && known->ndim() == 0; // and waited for
        const py::object value =
            is_read ? host_array(options.initial)[py::tuple()] : options.initial;
        call.initial = find_scalar(value.ptr());
        if (!call.initial)
            throw TypeError(std::string("initial must be a number, not ") +
                            Py_TYPE(options.initial.ptr())->tp_name);
    }
}

} // namespace quern::python
