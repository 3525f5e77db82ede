// DLPack in both directions: memory is shared, streams are ordered, the exporter's object lives as
// long as the importer's.
#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "python/bindings/array_parts.h"
#include "python/bindings/bind_dtype.h"
#include "python/bindings/bind_stream.h"
#include "python/bindings/dlpack_abi.h"
#include "runtime/kernel/ahead.h"

#include <memory>
#include <vector>

namespace py = pybind11;

namespace quern::python {
namespace {

struct TypeRow {
    DType dtype;
    dlpack::TypeCode code;
};
constexpr TypeRow type_table[] = {
    {DType::boolean, dlpack::boolean},         {DType::int8, dlpack::integer},
    {DType::int16, dlpack::integer},           {DType::int32, dlpack::integer},
    {DType::int64, dlpack::integer},           {DType::uint8, dlpack::unsigned_integer},
    {DType::uint16, dlpack::unsigned_integer}, {DType::uint32, dlpack::unsigned_integer},
    {DType::uint64, dlpack::unsigned_integer}, {DType::float16, dlpack::floating},
    {DType::bfloat16, dlpack::bfloat},         {DType::float32, dlpack::floating},
    {DType::float64, dlpack::floating},        {DType::complex64, dlpack::complex},
    {DType::complex128, dlpack::complex},
};

dlpack::DataType type_of(DType dtype) {
    for (const TypeRow& row : type_table)
        if (row.dtype == dtype)
            return {row.code, static_cast<std::uint8_t>(8 * bytes_of(dtype)), 1};
    return {};
}

DType dtype_of(const dlpack::DataType& type) {
    if (type.lanes == 1)
        for (const TypeRow& row : type_table)
            if (row.code == type.code && 8 * bytes_of(row.dtype) == type.bits)
                return row.dtype;
    throw TypeError(join("from_dlpack(): no dtype of quern has DLPack's type code ", int{type.code},
                         " with ", int{type.bits}, " bits and ", int{type.lanes}, " lanes"));
}

// Export

struct Exported {
    Array array;
    std::vector<std::int64_t> shape, strides; // strides in elements
    dlpack::ManagedTensor plain{};
    dlpack::ManagedTensorVersioned versioned{};
};

dlpack::Device device_of(const Array& array) {
    if (array.device().is_cpu())
        return {dlpack::cpu, 0};
    return {dlpack::cuda, array.device().ordinal()};
}

dlpack::Tensor tensor_of(Exported& exported) {
    const Array& array = exported.array;
    array.device().make_current(); // as in array_interop.cpp
    const auto bytes = static_cast<std::int64_t>(bytes_of(array.dtype()));
    exported.shape.assign(array.shape().begin(), array.shape().end());
    for (const std::int64_t stride : array.strides())
        exported.strides.push_back(stride / bytes);
    return {reinterpret_cast<void*>(array.size() == 0 ? 0 : array.address()),
            device_of(array),
            array.ndim(),
            type_of(array.dtype()),
            exported.shape.data(),
            exported.strides.data(),
            0};
}

template <class Managed> void drop(Managed* managed) {
    delete static_cast<Exported*>(managed->context);
}

// A consumer renames the capsule when it takes the tensor over.
template <class Managed> void destroy_capsule(PyObject* capsule, const char* name) {
    if (PyCapsule_IsValid(capsule, name) == 0)
        return;
    auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
    if (managed != nullptr && managed->deleter != nullptr)
        managed->deleter(managed);
}

// The consumer's stream goes on after what ours has; a CPU's consumer reads at once.
void order_for_consumer(const Array& array, const py::object& stream) {
    Device& device = array.device();
    const CUstream ours = current_stream(device);
    if (device.is_cpu()) {
        if (!stream.is_none() && stream.cast<long long>() != -1)
            throw ValueError("__dlpack__(): an array on the CPU takes no stream");
        stop_going_ahead();
        return wait_for_writes(array);
    }
    const long long number = stream.is_none() ? 1 : stream.cast<long long>();
    if (number == -1)
        return;
    if (number == 0)
        throw ValueError("__dlpack__(): a stream of 0 is ambiguous; 1 is the default stream");
    const auto theirs = reinterpret_cast<CUstream>(number == 1 ? 0 : number);
    if (theirs == ours)
        return;
    Event event(device, false);
    event.record(ours);
    Stream::external(device, theirs).wait(event.handle());
}

py::object exported(const Array& array, const py::object& stream, const py::object& max_version,
                    const py::object& dl_device, const py::object& copy) {
    const dlpack::Device place = device_of(array);
    if (!dl_device.is_none()) {
        const auto [type, id] = dl_device.cast<std::pair<int, int>>();
        if (type != place.type || id != place.id)
            throw py::buffer_error(
                "__dlpack__(): export to another device is not supported: move the array first");
    }
    const bool copied = !copy.is_none() && copy.cast<bool>();
    const bool versioned =
        !max_version.is_none() && max_version.cast<std::pair<int, int>>().first >= 1;
    if (!versioned && !array.writable())
        throw py::buffer_error("a read-only array can be exported only by DLPack 1.0 or later");
    auto made = std::make_unique<Exported>(
        copied ? duplicate(array, array.dtype(), 'K', current_stream(array.device())) : array);
    order_for_consumer(array, stream);
    PyObject* capsule = nullptr;
    if (versioned) {
        made->versioned = {1,
                           0,
                           made.get(),
                           &drop<dlpack::ManagedTensorVersioned>,
                           (array.writable() ? 0 : dlpack::read_only_flag) |
                               (copied ? dlpack::copied_flag : 0),
                           tensor_of(*made)};
        capsule = PyCapsule_New(&made->versioned, "dltensor_versioned", [](PyObject* object) {
            destroy_capsule<dlpack::ManagedTensorVersioned>(object, "dltensor_versioned");
        });
    } else {
        made->plain = {tensor_of(*made), made.get(), &drop<dlpack::ManagedTensor>};
        capsule = PyCapsule_New(&made->plain, "dltensor", [](PyObject* object) {
            destroy_capsule<dlpack::ManagedTensor>(object, "dltensor");
        });
    }
    if (capsule == nullptr)
        throw py::error_already_set();
    (void)made.release(); // the capsule's, or whoever takes the tensor
    return py::reinterpret_steal<py::object>(capsule);
}

// Import

quern::Device& find_place(const dlpack::Device& device) {
    if (device.type == dlpack::cpu || device.type == dlpack::cuda_host)
        return find_device("cpu");
    if (device.type == dlpack::cuda || device.type == dlpack::cuda_managed)
        return find_device(join("cuda:", device.id));
    throw py::buffer_error(
        join("from_dlpack(): device type ", device.type, " is neither a CPU nor CUDA"));
}

template <class Managed> Array imported(Managed* managed, bool writable) {
    const std::shared_ptr<Managed> owner(managed, [](Managed* given) {
        if (given->deleter == nullptr || Py_IsInitialized() == 0)
            return;
        const PyGILState_STATE state = PyGILState_Ensure(); // a deleter may belong to Python
        given->deleter(given);
        PyGILState_Release(state);
    });
    const dlpack::Tensor& tensor = managed->tensor;
    const DType dtype = dtype_of(tensor.dtype);
    const auto bytes = static_cast<std::int64_t>(bytes_of(dtype));
    const auto count = static_cast<std::size_t>(tensor.ndim);
    Dims shape(count), strides(count);
    std::int64_t step = bytes, size = 1;
    for (int k = tensor.ndim - 1; k >= 0; --k) {
        shape[k] = tensor.shape[k];
        strides[k] = tensor.strides != nullptr ? tensor.strides[k] * bytes : step;
        step *= std::max<std::int64_t>(shape[k], 1);
        size *= shape[k];
    }
    const std::uint64_t address =
        reinterpret_cast<std::uintptr_t>(tensor.data) + tensor.byte_offset;
    if (size > 0 && address % static_cast<std::uint64_t>(bytes) != 0)
        throw py::buffer_error(join("from_dlpack(): the elements are not aligned to ", bytes,
                                    " bytes: make a copy first"));
    Device& place = find_place(tensor.device);
    if (place.is_cpu())
        stop_going_ahead();
    BufferPtr buffer(
        new ForeignBuffer(place, address, static_cast<std::size_t>(size * bytes), [owner] {}));
    return Array(std::move(buffer), address, dtype, std::move(shape), std::move(strides), writable);
}

Array take(const py::object& capsule) {
    constexpr const char* versioned = "dltensor_versioned";
    if (PyCapsule_IsValid(capsule.ptr(), versioned) != 0) {
        auto* managed = static_cast<dlpack::ManagedTensorVersioned*>(
            PyCapsule_GetPointer(capsule.ptr(), versioned));
        if (managed->major > 1)
            throw py::buffer_error(join("from_dlpack(): DLPack ", managed->major, " is too new"));
        PyCapsule_SetName(capsule.ptr(), "used_dltensor_versioned");
        return imported(managed, (managed->flags & dlpack::read_only_flag) == 0);
    }
    if (PyCapsule_IsValid(capsule.ptr(), "dltensor") != 0) {
        auto* managed =
            static_cast<dlpack::ManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
        PyCapsule_SetName(capsule.ptr(), "used_dltensor");
        return imported(managed, true);
    }
    throw ValueError("from_dlpack(): the capsule holds no tensor, or it was taken already");
}

py::object from_dlpack(const py::object& x, const py::object& device, const py::object& copy) {
    py::object capsule = x;
    if (py::hasattr(x, "__dlpack__")) {
        const auto place = x.attr("__dlpack_device__")().cast<std::pair<int, int>>();
        py::dict options;
        options["max_version"] = py::make_tuple(1, 0);
        if (place.first == dlpack::cuda || place.first == dlpack::cuda_managed) {
            const auto ours = reinterpret_cast<std::uintptr_t>(
                current_stream(find_place({place.first, place.second})));
            options["stream"] = ours == 0 ? 1 : ours;
        }
        try {
            capsule = x.attr("__dlpack__")(**options);
        } catch (py::error_already_set& error) { // an exporter from before version 1.0
            if (!error.matches(PyExc_TypeError))
                throw;
            PyDict_DelItemString(options.ptr(), "max_version");
            capsule = x.attr("__dlpack__")(**options);
        }
    } else if (PyCapsule_CheckExact(x.ptr()) == 0) {
        throw TypeError(join("from_dlpack(): ", Py_TYPE(x.ptr())->tp_name, " has no __dlpack__"));
    }
    Array array = take(capsule);
    quern::Device& wanted = device.is_none() ? array.device() : to_device(device);
    const bool must_copy = !copy.is_none() && copy.cast<bool>();
    if (&wanted == &array.device() && !must_copy)
        return made_object(wrap_view(std::move(array), x.ptr()));
    if (!copy.is_none() && !must_copy)
        throw py::buffer_error("from_dlpack(): another device needs a copy");
    return py::cast(duplicate_on(array, wanted));
}

} // namespace

void bind_array_dlpack(py::module_& module, py::handle type) {
    attach(type, "__dlpack__", &exported, py::kw_only(), py::arg("stream") = py::none(),
           py::arg("max_version") = py::none(), py::arg("dl_device") = py::none(),
           py::arg("copy") = py::none());
    attach(type, "__dlpack_device__", [](const Array& self) {
        const dlpack::Device device = device_of(self);
        return py::make_tuple(device.type, device.id);
    });
    attach(
        type, "toDlpack", [](const py::object& self) { return self.attr("__dlpack__")(); },
        "This array's memory as a DLPack capsule. Source: CuPy, where `__dlpack__` takes its "
        "place.");
    module.def(
        "fromDlpack",
        [](const py::object& dltensor) { return from_dlpack(dltensor, py::none(), py::none()); },
        py::arg("dltensor"),
        "A view of the array in a DLPack capsule or an object with `__dlpack__`.\n\n"
        "Source: CuPy, where `from_dlpack` takes its place.");
    module.def("from_dlpack", &from_dlpack, py::arg("x"), py::kw_only(),
               py::arg("device") = py::none(), py::arg("copy") = py::none(),
               "An array over another library's memory, without a copy.");
}

} // namespace quern::python
