// Reads one value and makes Python's number of it.
#include "python/bindings/array_number.h"

#include "python/bindings/array_parts.h"

#include <cstring>

namespace py = pybind11;

namespace quern::python {
namespace {

template <class T> T read(const Array& array) {
    wait_for_writes(array);
    T value;
    std::memcpy(&value, reinterpret_cast<const void*>(array.address()), sizeof value);
    return value;
}

template <class T> PyObject* number(const Array& array) {
    if constexpr (std::is_same_v<T, bool>) // a view's bytes may be any
        return PyBool_FromLong(read<std::uint8_t>(array) != 0);
    const T value = read<T>(array);
    if constexpr (std::is_floating_point_v<T>)
        return PyFloat_FromDouble(static_cast<double>(value));
    else if constexpr (std::is_signed_v<T>)
        return PyLong_FromLongLong(value);
    else
        return PyLong_FromUnsignedLongLong(value);
}

PyObject* number_of(const Array& array) {
    switch (array.dtype()) {
    case DType::boolean:
        return number<bool>(array);
    case DType::int8:
        return number<std::int8_t>(array);
    case DType::int16:
        return number<std::int16_t>(array);
    case DType::int32:
        return number<std::int32_t>(array);
    case DType::int64:
        return number<std::int64_t>(array);
    case DType::uint8:
        return number<std::uint8_t>(array);
    case DType::uint16:
        return number<std::uint16_t>(array);
    case DType::uint32:
        return number<std::uint32_t>(array);
    case DType::uint64:
        return number<std::uint64_t>(array);
    case DType::float32:
        return number<float>(array);
    case DType::float64:
        return number<double>(array);
    default:
        return nullptr;
    }
}

} // namespace

py::object plain_value(const Array& array) {
    if (array.ndim() > 0 || !array.device().is_cpu())
        return {};
    PyObject* const made = number_of(array);
    if (made == nullptr && PyErr_Occurred() != nullptr)
        throw py::error_already_set();
    return py::reinterpret_steal<py::object>(made);
}

} // namespace quern::python
