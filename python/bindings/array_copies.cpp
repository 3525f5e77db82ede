// New arrays from old ones: the same elements in another layout, dtype or device.
#include "python/bindings/array_parts.h"
#include "runtime/array/views.h"
#include "runtime/kernel/casts.h"
#include "runtime/kernel/fill.h"
#include "runtime/kernel/recorder.h"
#include "runtime/memory/copy.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <vector>

namespace py = pybind11;

namespace quern::python {
namespace {

// Every element once, no gaps, in the same places of both: bytes can be copied as they lie.
bool same_dense_layout(const Array& a, const Array& b) {
    return a.dtype() == b.dtype() &&
           ((a.c_contiguous() && b.c_contiguous()) || (a.f_contiguous() && b.f_contiguous()));
}

// Axes from the largest stride to the smallest; equal ones stay in order. What NumPy keeps as order
// 'K'.
std::vector<std::int64_t> axes_by_stride(const Array& array) {
    std::vector<std::int64_t> axes(static_cast<std::size_t>(array.ndim()));
    std::iota(axes.begin(), axes.end(), 0);
    const Dims& strides = array.strides();
    std::stable_sort(axes.begin(), axes.end(), [&](std::int64_t a, std::int64_t b) {
        return std::abs(strides[static_cast<int>(a)]) > std::abs(strides[static_cast<int>(b)]);
    });
    return axes;
}

} // namespace

Array empty_like(const Array& model, DType dtype, Device& device, char order, CUstream stream) {
    if (order == 'A' || (order == 'K' && (model.c_contiguous() || model.f_contiguous())))
        order = model.f_contiguous() && !model.c_contiguous() ? 'F' : 'C';
    if (order != 'K')
        return Array::empty(device, dtype, model.shape(), stream,
                            order == 'F' ? Order::f : Order::c);
    const std::vector<std::int64_t> axes = axes_by_stride(model);
    Dims shape(axes.size());
    std::vector<std::int64_t> places(axes.size());
    for (std::size_t k = 0; k < axes.size(); ++k) {
        shape[static_cast<int>(k)] = model.shape()[static_cast<int>(axes[k])];
        places[static_cast<std::size_t>(axes[k])] = static_cast<std::int64_t>(k);
    }
    return transpose(Array::empty(device, dtype, shape, stream), places);
}

Array duplicate(const Array& array, DType dtype, char order, CUstream stream) {
    Array result = empty_like(array, dtype, array.device(), order, stream);
    if (array.size() == 0) {
        note_cast(array.dtype(), dtype);
        return result;
    }
    py::gil_scoped_release release;
    if (same_dense_layout(array, result) && current_recorder() == nullptr) {
        Device& device = array.device();
        note_use(array, stream);
        copy_between(device, result.address(), stream, device, array.address(), stream,
                     static_cast<std::size_t>(array.nbytes()));
    } else {
        copy_into(result, array, stream);
    }
    return result;
}

Array duplicate_on(const Array& array, Device& device) {
    if (&device == &array.device())
        return duplicate(array, array.dtype(), 'K', current_stream(device));
    const CUstream stream = current_stream(device);
    Array result = empty_like(array, array.dtype(), device, 'K', stream);
    if (array.size() == 0)
        return result;
    py::gil_scoped_release release;
    copy_into(result, array, stream);
    return result;
}

Array reshape(const Array& array, const Dims& shape, char order) {
    const Array copy = duplicate(array, array.dtype(), order, current_stream(array.device()));
    return *reshape_view(copy, shape, order == 'F' ? Order::f : Order::c);
}

} // namespace quern::python
