// Bytes between NumPy's memory and a device's. Memory of the CPU device is memory that NumPy can
// read, so there NumPy itself copies, whatever the layouts; a GPU gets and gives contiguous bytes,
// and a kernel of ours rearranges them.
#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "python/bindings/array_parts.h"
#include "python/bindings/bind_dtype.h"
#include "python/bindings/bind_output.h"
#include "python/bindings/bind_scalar.h"
#include "python/bindings/bind_stream.h"
#include "runtime/array/views.h"
#include "runtime/device/faults.h"
#include "runtime/device/waits.h"
#include "runtime/driver/check.h"
#include "runtime/kernel/fill.h"
#include "runtime/memory/copy.h"

#include <algorithm>
#include <array>

namespace py = pybind11;

namespace quern::python {
namespace {

std::vector<py::ssize_t> list_of(const Dims& dims) { return {dims.begin(), dims.end()}; }

void* pointer_of(const Array& array) {
    return reinterpret_cast<void*>(
        static_cast<std::uintptr_t>(array.address())); // NOLINT: an address of host memory
}

bool contiguous(const Array& array, char order) {
    return order == 'F' ? array.f_contiguous() : array.c_contiguous();
}

py::array new_numpy(const Array& array, char order) {
    std::vector<py::ssize_t> strides(static_cast<std::size_t>(array.ndim()));
    auto step = static_cast<py::ssize_t>(bytes_of(array.dtype()));
    for (int k = 0; k < array.ndim(); ++k) {
        const int axis = order == 'F' ? k : array.ndim() - 1 - k;
        strides[static_cast<std::size_t>(axis)] = step;
        step *= std::max<py::ssize_t>(array.shape()[axis], 1);
    }
    return py::array(numpy_dtype(array.dtype()), list_of(array.shape()), std::move(strides));
}

// target[...] = source by NumPy's own rules; it releases the GIL itself.
void numpy_copy(const py::object& target, const py::object& source) {
    if (PyObject_SetItem(target.ptr(), Py_Ellipsis, source.ptr()) != 0)
        throw py::error_already_set();
}

void check_out(const Array& array, const py::object& out) {
    if (!py::isinstance<py::array>(out))
        throw TypeError("Only numpy.ndarray can be obtained from quern.ndarray.get(out=)");
    const auto target = py::reinterpret_borrow<py::array>(out);
    const std::optional<DType> dtype = find_dtype_of(target.dtype());
    if (dtype != array.dtype())
        throw TypeError(join("out array has incorrect dtype: expected ", row(array.dtype()).name,
                             ", got ", py::str(target.dtype()).cast<std::string>()));
    if (!py::tuple(target.attr("shape")).equal(py::cast(array.shape())))
        throw ValueError(join("Shape mismatch. Expected shape: ",
                              py::str(py::cast(array.shape())).cast<std::string>(), ", got ",
                              py::str(target.attr("shape")).cast<std::string>()));
    if (!target.writeable())
        throw ValueError("out is read-only");
}

// A GPU's contiguous bytes into NumPy memory of the same layout.
void fetch(const Array& array, py::array& target, CUstream stream, bool blocking) {
    void* place = target.mutable_data();
    note_use(array, stream);
    const WaitForDevice waiting;
    Device& device = array.device();
    const auto bytes = static_cast<std::size_t>(array.nbytes());
    if (blocking)
        return copy_to_host(device, place, array.address(), bytes, stream);
    device.make_current();
    check(device.api(), device.api().cuMemcpyDtoHAsync(place, array.address(), bytes, stream),
          "copy ", bytes, " bytes from ", device.name());
}

// NumPy's contiguous bytes into a GPU's array of the same layout; the source may change at once.
void send(const py::array& source, const Array& target, CUstream stream) {
    const void* place = source.data();
    note_use(target, stream);
    const py::gil_scoped_release release;
    copy_to_device(target.device(), target.address(), place,
                   static_cast<std::size_t>(target.nbytes()), stream);
}

// NumPy's assignment drops leading extents of 1 that the target has not.
Array fitted(const Array& source, const Array& target) {
    const int extra = source.ndim() - target.ndim();
    std::vector<std::int64_t> axes;
    for (int k = 0; k < extra && source.shape()[k] == 1; ++k)
        axes.push_back(k);
    const Array fit = axes.empty() ? source : squeeze(source, axes);
    try {
        return broadcast_to(fit, target.shape());
    } catch (const ValueError&) {
        throw ValueError(join("could not broadcast input array from shape ",
                              py::str(py::cast(source.shape())).cast<std::string>(), " into shape ",
                              py::str(py::cast(target.shape())).cast<std::string>()));
    }
}

void assign_array(const Array& target, const Array& given, CUstream stream) {
    Array source = fitted(given, target);
    if (target.size() == 0)
        return;
    const bool same = source.address() == target.address() && source.dtype() == target.dtype() &&
                      source.strides() == target.strides();
    if (same)
        return;
    if (&source.device() == &target.device() && may_share_memory(source, target))
        source = fitted(duplicate(given, given.dtype(), 'K', stream), target);
    py::gil_scoped_release release;
    copy_into(target, source, stream);
}

} // namespace

py::array numpy_array(py::handle value, py::handle dtype) {
    return py::module_::import("numpy").attr("asarray")(value, dtype).cast<py::array>();
}

void wait_for(const Device& device, CUstream stream) {
    const WaitForDevice waiting;
    device.make_current();
    check(device.api(), device.api().cuStreamSynchronize(stream), "wait for a stream of ",
          device.name());
    throw_fault(device);
}

void wait_for_writes(const Array& array) {
    check_may_wait();
    wait_for(array.device(), current_stream(array.device()));
}

py::array host_view(const Array& array, py::handle owner) {
    if (array.size() == 0)
        return py::array(numpy_dtype(array.dtype()), list_of(array.shape()));
    return py::array(numpy_dtype(array.dtype()), list_of(array.shape()), list_of(array.strides()),
                     pointer_of(array), owner);
}

py::array download(const Array& array, CUstream stream, char order, py::object out, bool blocking) {
    check_may_wait();
    if (order == 'A' || order == 'K')
        order = array.f_contiguous() && !array.c_contiguous() ? 'F' : 'C';
    if (!out.is_none()) {
        check_out(array, out);
    } else {
        out = new_numpy(array, order);
    }
    auto target = py::reinterpret_borrow<py::array>(out);
    if (array.size() == 0)
        return target;
    if (array.device().is_cpu()) {
        wait_for(array.device(), stream);
        numpy_copy(target, host_view(array, py::none()));
        return target;
    }
    const bool c = (target.flags() & py::array::c_style) != 0;
    const bool f = (target.flags() & py::array::f_style) != 0;
    if (!c && !f) { // a sliced `out`
        numpy_copy(target, download(array, stream));
        return target;
    }
    const char layout = (c && array.c_contiguous()) || !f ? 'C' : 'F';
    if (contiguous(array, layout))
        fetch(array, target, stream, blocking);
    else
        fetch(duplicate(array, array.dtype(), layout, stream), target, stream, blocking);
    return target;
}

py::array readable(const Array& array, CUstream stream) {
    check_may_wait();
    if (!array.device().is_cpu())
        return download(array, stream, 'K');
    wait_for(array.device(), stream);
    return host_view(array, py::none());
}

void upload(const Array& target, const py::array& source, CUstream stream) {
    if (target.device().is_cpu()) {
        wait_for(target.device(), stream);
        const py::array view = host_view(target, py::none());
        numpy_copy(view, source); // also raises NumPy's own complaint about shapes
        return;
    }
    const py::module_ numpy = py::module_::import("numpy");
    const char order = target.f_contiguous() && !target.c_contiguous() ? 'F' : 'C';
    const py::array host =
        numpy.attr("require")(source, numpy_dtype(target.dtype()), std::string(1, order))
            .cast<py::array>();
    const bool same_shape = py::tuple(host.attr("shape")).equal(py::cast(target.shape()));
    if (same_shape && contiguous(target, order)) {
        if (target.size() > 0)
            send(host, target, stream);
        return;
    }
    const Array staged = Array::empty(target.device(), target.dtype(), to_dims(host.attr("shape")),
                                      stream, order == 'F' ? Order::f : Order::c);
    if (staged.size() > 0)
        send(host, staged, stream);
    assign_array(target, staged, stream);
}

void assign(const Array& target, py::handle value, CUstream stream) {
    if (const Array* array = find_array(value.ptr()))
        return assign_array(target, *array, stream);
    if (const std::optional<Scalar> scalar = find_scalar(value.ptr(), target.dtype())) {
        if (target.size() == 0) { // nothing runs, but what does not fit is told all the same
            std::array<std::byte, 16> stored{};
            return store_scalar(*scalar, target.dtype(), stored.data());
        }
        std::optional<py::gil_scoped_release> release;
        if (target.size() > 1 || !target.device().is_cpu())
            release.emplace();
        fill(target, *scalar, stream);
        return;
    }
    if (holds_arrays(value))
        return assign_array(target, join_nested(value, std::nullopt, &target.device()), stream);
    if (!py::isinstance<py::array>(value))
        if (const std::optional<Array> foreign = find_foreign_array(value.ptr()))
            return assign_array(target, *foreign, stream);
    upload(target,
           py::isinstance<py::array>(value) ? py::reinterpret_borrow<py::array>(value)
                                            : numpy_array(value, numpy_dtype(target.dtype())),
           stream);
}

} // namespace quern::python
