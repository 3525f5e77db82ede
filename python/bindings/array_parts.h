// The parts of ndarray's binding, file by file: the type, its views, its values, its makers and its
// interfaces.
#pragma once
#include "python/bindings/bind_array.h"
#include "runtime/array/indexing.h"
#include "runtime/kernel/argument.h"

#include <pybind11/numpy.h>

#include <optional>
#include <vector>

namespace quern::python {

// array_type.cpp: the type object itself; adds it to the module as `ndarray`.
void make_array_type(pybind11::module_& module);

// array_index.cpp: what Python's brackets hold. A get is a view for integers, slices, ... and None,
// else a new array.
[[nodiscard]] PyObject* get_by_key(PyObject* self, PyObject* key);
void set_by_key(const Array& array, pybind11::handle key, pybind11::handle value);
// The key of an index by arrays, on the array's device.
[[nodiscard]] std::vector<AdvancedItem> read_key(const Array& array, pybind11::handle key);
// Integers or bools of any kind as an array of the device: an ndarray as it is, others are sent.
[[nodiscard]] Array to_index_array(pybind11::handle object, Device& device);
// What is to be written into `target`: a scalar that its dtype holds, or an array on its device,
// which `kept` keeps.
[[nodiscard]] Argument to_value(const Array& target, pybind11::handle value,
                                std::optional<Array>& kept);

// array_transfer.cpp: between NumPy's memory and a device's. The GIL is released while bytes move.
// A new NumPy array in order 'C', 'F' or 'A'; or `out`, which must fit. `blocking` waits for the
// bytes.
[[nodiscard]] pybind11::array download(const Array& array, CUstream stream, char order = 'C',
                                       pybind11::object out = pybind11::none(),
                                       bool blocking = true);
// target[...] = source, broadcast and cast.
void upload(const Array& target, const pybind11::array& source, CUstream stream);
// array_interop.cpp: NumPy's memory as an array of the CPU, without a copy. Throws ValueError for
// elements that are not aligned.
[[nodiscard]] Array share(const pybind11::array& host);
// numpy.asarray.
[[nodiscard]] pybind11::array numpy_array(pybind11::handle value,
                                          pybind11::handle dtype = pybind11::none());
// An array of CPU memory as NumPy sees it, without a copy; `owner` keeps the memory.
[[nodiscard]] pybind11::array host_view(const Array& array, pybind11::handle owner);
// The values for NumPy to read at once: an array of the CPU as it lies, else a copy.
[[nodiscard]] pybind11::array readable(const Array& array, CUstream stream);
// Waits for what a stream holds, without the interpreter's lock.
void wait_for(const Device& device, CUstream stream);
// The same for what the current stream writes to an array that is to be read where it lies, if the
// thread may wait (runtime/device/waits.h).
void wait_for_writes(const Array& array);
// target[...] = value for whatever a person may write there.
void assign(const Array& target, pybind11::handle value, CUstream stream);

// array_nested.cpp: lists and tuples.
inline constexpr const char* wrapped_array = "__cupy_get_ndarray__"; // what has it wraps an array
[[nodiscard]] bool is_list(pybind11::handle value);
// Is it a list that has an array of ours, or an object that wraps one, at any depth?
[[nodiscard]] bool holds_arrays(pybind11::handle value);
// What Python holds as a NumPy array: arrays of ours, and lists of them, are fetched at once.
[[nodiscard]] pybind11::array host_array(pybind11::handle value,
                                         pybind11::handle dtype = pybind11::none());
// A new array of all that such a list holds, in C order, by NumPy's rules; on the device of the
// first array in it unless told. Throws ValueError where shapes differ.
[[nodiscard]] Array join_nested(pybind11::handle list, std::optional<DType> dtype, Device* device);

// array_values.cpp: copies. `order` is one of "CFAK".
[[nodiscard]] Array empty_like(const Array& model, DType dtype, Device& device, char order,
                               CUstream stream);
[[nodiscard]] Array duplicate(const Array& array, DType dtype, char order, CUstream stream);
[[nodiscard]] Array duplicate_on(const Array& array, Device& device);
[[nodiscard]] Array reshape(const Array& array, const Dims& shape, char order); // copies if it must

// array_values.cpp: memory as Python sees it.
struct Memory {
    BufferPtr buffer;
};
struct MemoryPointer {
    BufferPtr buffer;
    std::uint64_t address;
};

// array_interop.cpp: the buffer protocol's slots.
int get_buffer(PyObject* self, Py_buffer* view, int flags);
void release_buffer(PyObject* self, Py_buffer* view);

// array_operators.cpp: the slots of operators and comparisons.
[[nodiscard]] std::vector<PyType_Slot> operator_slots();

// Each attaches its methods to ndarray and its functions to the module.
void bind_array_views(pybind11::module_& module, pybind11::handle type);
void bind_array_values(pybind11::module_& module, pybind11::handle type);
void bind_array_components(pybind11::handle type);
void bind_array_reductions(pybind11::module_& module, pybind11::handle type);
void bind_array_indexing(pybind11::module_& module, pybind11::handle type);
void bind_array_operators(pybind11::handle type);
void bind_array_makers(pybind11::module_& module);
void bind_array_nested(pybind11::module_& module);
void bind_array_filled(pybind11::module_& module);
// The array itself; what else Python holds as one, of that dtype and there if told.
pybind11::object as_array(const pybind11::object& value, std::optional<DType> dtype = std::nullopt,
                          Device* device = nullptr);
void bind_array_interop(pybind11::handle type);
// An array over memory that `owner` keeps. Throws ValueError for elements that are not aligned.
Array array_over(Device& device, std::uint64_t address, DType dtype, Dims shape, Dims strides,
                 bool read_only, PyObject* owner);
void bind_array_joins(pybind11::module_& module);
void bind_array_dlpack(pybind11::module_& module, pybind11::handle type);

// A read-only property of an existing type.
template <class Getter>
void attach_property(pybind11::handle type, const char* name, Getter&& getter, const char* doc) {
    const pybind11::cpp_function get(std::forward<Getter>(getter), pybind11::is_method(type));
    const auto property = pybind11::reinterpret_borrow<pybind11::object>(
        reinterpret_cast<PyObject*>(&PyProperty_Type));
    type.attr(name) = property(get, pybind11::none(), pybind11::none(), doc);
}

} // namespace quern::python
